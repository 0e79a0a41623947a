#include "process/solver.h"

#include "common/permutations.h"
#include "common/search.h"

namespace repshape {
namespace {

constexpr int kFewBlocks = 8;  // of the objective on which starts travel, at least

// The transform (n x k) of the group that maximises <T, g>.
Matrix oracle(const Matrix& g, int n, int k, Group group, bool special) {
  if (group == Group::identity) return identity_injection(n, k);
  if (group == Group::permutation) return injection(assign(n, k, g.data()), n);
  return first_columns(nearest_orthogonal(n, k, g.data(), special), n, k);
}

// Aligns the means, and the axes where the means leave them free.
Matrix first_gain(const ProcessPair& pair) {
  const Matrix means = mean_term(pair);
  return pair.alpha < 2 ? tie_broken(means, pair.y->neurons) : means;
}

std::vector<Matrix> make_starts(const ProcessPair& pair, const ProcessSettings& s, bool special) {
  const int n = pair.x->neurons, k = pair.y->neurons;
  const std::size_t count = std::size_t(n) * n;
  std::vector<Matrix> out{nearest_orthogonal(n, k, first_gain(pair).data(), special)};
  for (int c = 0; c < s.n_starts; ++c) {
    Matrix start(s.starts.data() + c * count, s.starts.data() + (c + 1) * count);
    if (special && negative_determinant(n, start))
      for (int i = 0; i < n; ++i) start[std::size_t(i) * n] *= -1;
    out.push_back(std::move(start));
  }
  return out;
}

// A composition of transforms through another network need not be in the group. The objective is convex, so that the
// best transform for the gradient at such a matrix is no worse than the matrix.
Matrix toward(const ProcessObjective& f, const Matrix& t) {
  const int n = f.n(), k = f.k();
  Matrix gram(std::size_t(k) * k), square(gram.size()), out = t;
  gemm(true, false, k, k, n, 1, t.data(), k, t.data(), k, 0, gram.data(), k);
  gemm(false, false, k, k, k, 1, gram.data(), k, gram.data(), k, 0, square.data(), k);
  if (squared_gap(gram, square) > 1e-12) f.at(t, out);  // not a projection: some directions are shortened
  return out;
}

// One pair in canonical order. `given` starts (n x k) replace all others. The last `spare` neurons of x are silent.
class ProcessSolver {
 public:
  ProcessSolver(const ProcessPair& pair, const ProcessSettings& s, const std::vector<Matrix>& given, int spare = 0)
      : pair_(pair), s_(s), given_(given), spare_(spare), f_(pair), random_(s.seed) {
    const ProcessNetwork &x = *pair.x, &y = *pair.y;
    // A dimension that one network does not use can be reversed at no cost.
    special_ = s.group == Group::rotation && x.neurons == y.neurons && !x.reduced && !y.reduced;
    for (int r = 0; r < x.rows; ++r) row_weights_.push_back(s.weights[x.condition_of_row(r)]);
  }

  ProcessSolution run() {
    if (s_.group == Group::permutation && f_.n() * f_.k() > 0)
      search_permutations();
    else
      search_rotations();
    if (!given_.empty()) out_.agreeing = 0;
    measure();
    return std::move(out_);
  }

 private:
  template <class AnySearch>
  void settle(const AnySearch& search) {
    out_.transform = search.best();
    out_.converged = search.converged();
    out_.starts = search.starts();
    out_.agreeing = search.agreeing();
  }

  void search_permutations() {
    const PermutationSettings own{spare_,   s_.max_iterations,  f_.scale(),
                                  f_.total(), f_.operations(), s_.screen ? 0 : 1 + s_.n_starts, s_.exploration};
    PermutationSearch<ProcessObjective> search(f_, f_, own, random_);
    if (given_.empty()) {
      const Roots x = roots_of(*pair_.x), y = roots_of(*pair_.y);
      Suggestions suggestions(x, y, row_weights_.data(), pair_.mean_share(), pair_.covariance_share(), random_);
      search.explore({first_gain(pair_)}, [&] { return suggestions.next(); });
    } else {
      std::vector<Matrix> starts;
      for (const Matrix& t : given_) {
        starts.push_back(toward(f_, t));
        if (starts.back() == t) invite(starts.back(), f_.k(), spare_);
      }
      search.improve(starts);
    }
    settle(search);
    out_.iterations = int(f_.evaluated);
  }

  void search_rotations() {
    const ProcessObjective few = f_.thinned(std::max(kFewBlocks, int(f_.blocks.size()) / 8));
    const SearchSettings settings{s_.group == Group::permutation ? Group::identity : s_.group,
                                  special_,
                                  f_.scale(),
                                  s_.tolerance,
                                  s_.max_iterations,
                                  kMemory,
                                  f_.total(),
                                  few.total(),
                                  f_.operations(),
                                  s_.exploration};
    Search<ProcessObjective> search(f_, few, settings);
    std::vector<Matrix> starts;
    for (const Matrix& t : given_) starts.push_back(nearest_orthogonal(f_.n(), f_.k(), toward(f_, t).data(), special_));
    if (starts.empty()) starts = make_starts(pair_, s_, special_);
    if (given_.empty() && s_.screen && s_.alpha < 2 && s_.group != Group::identity && f_.n() * f_.k() > 0) {
      const Roots x = roots_of(*pair_.x), y = roots_of(*pair_.y);
      Correspondence suggestions(x, y, row_weights_.data(), pair_.mean_share(), pair_.covariance_share(), special_,
                                 random_);
      search.explore(starts[0], suggestions, random_);
    } else {
      search.run(std::move(starts));
    }
    settle(search);
    out_.iterations = search.iterations();
  }

  void measure() {
    const double mean = mean_residual(pair_, out_.transform), covariance = covariance_residual(pair_, out_.transform);
    out_.mean_distance = pair_.mean_unit() * std::sqrt(mean);
    out_.covariance_distance = pair_.unit() * std::sqrt(covariance);
    out_.distance = out_.lower_bound = combined(mean, covariance);
    out_.evaluations = f_.evaluated;
    if (s_.group == Group::identity) return;
    const double least = mean_residual(pair_, oracle(mean_term(pair_), f_.n(), f_.k(), s_.group, special_));
    out_.lower_bound = std::min(out_.distance, combined(least, spectral_gap(pair_)));
  }

  // The distance from its squared parts, each in its own unit.
  double combined(double means, double covariances) const {
    const double unit = pair_.unit(), mean_unit = pair_.mean_unit();
    means *= s_.alpha, covariances *= 2 - s_.alpha;
    if (unit == mean_unit) return unit * std::sqrt(means + covariances);
    return std::hypot(mean_unit * std::sqrt(means), unit * std::sqrt(covariances));
  }

  static constexpr int kMemory = 30;

  ProcessPair pair_;
  const ProcessSettings& s_;
  const std::vector<Matrix>& given_;
  int spare_;
  ProcessObjective f_;
  Random random_;
  bool special_ = false;
  std::vector<double> row_weights_;
  ProcessSolution out_;
};

}  // namespace

ProcessSolution solve_process(const ProcessNetwork& x, const ProcessNetwork& y, const ProcessSettings& settings,
                              const double* given, int n_given) {
  const bool swapped = y < x;
  const ProcessNetwork &first = swapped ? y : x, &second = swapped ? x : y;
  // The solver's transform maps columns of second onto first; the caller's, rows of y onto x.
  const std::size_t count = std::size_t(x.neurons) * y.neurons;
  std::vector<Matrix> starts;
  // More silent neurons than the other network has neurons make no difference.
  const int spare =
      settings.group != Group::permutation ? 0 : std::max(0, std::min(settings.pad_to - first.neurons, second.neurons));
  for (int g = 0; g < n_given; ++g) {
    starts.emplace_back(given + g * count, given + (g + 1) * count);
    if (!swapped) starts.back() = transposed(starts.back(), y.neurons, x.neurons);
    starts.back().resize(count + std::size_t(spare) * second.neurons, 0);
  }
  const double* weights = settings.weights.data();
  ProcessSolution out;
  if (spare > 0) {
    const ProcessNetwork larger = first.with_silent_neurons(spare);
    out = ProcessSolver({larger, second, settings.alpha, weights}, settings, starts, spare).run();
    out.transform.resize(count);
  } else {
    out = ProcessSolver({first, second, settings.alpha, weights}, settings, starts).run();
  }
  if (!swapped) out.transform = transposed(out.transform, x.neurons, y.neurons);
  return out;
}

}  // namespace repshape
