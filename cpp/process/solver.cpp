#include "process/solver.h"

#include "process/search.h"

namespace repshape {
namespace {

std::vector<Matrix> make_starts(const ProcessSearch& search, const ProcessPair& pair, const ProcessSettings& s,
                                bool special) {
  const int n = pair.x->neurons, k = pair.y->neurons;
  const std::size_t count = std::size_t(n) * n;
  const bool permuted = s.group == Group::permutation;
  const Matrix means = mean_term(pair);
  std::vector<Matrix> out{permuted ? search.oracle(means) : nearest_orthogonal(n, k, means.data(), special)};
  for (int c = 0; c < s.n_starts; ++c) {
    Matrix start(s.starts.data() + c * count, s.starts.data() + (c + 1) * count);
    if (special && negative_determinant(n, start))
      for (int i = 0; i < n; ++i) start[std::size_t(i) * n] *= -1;
    out.push_back(permuted ? search.oracle(first_columns(start, n, k)) : std::move(start));
  }
  return out;
}

// A composition of transforms through another network need not be in the group. The objective is convex, so that the
// best transform for the gradient at such a matrix is no worse than the matrix.
std::vector<Matrix> complete(const ProcessSearch& search, const ProcessObjective& f, const std::vector<Matrix>& given,
                             const ProcessSettings& s, bool special) {
  const int n = f.n(), k = f.k();
  std::vector<Matrix> out;
  for (const Matrix& t : given) {
    Matrix gram(std::size_t(k) * k), square(gram.size()), toward = t;
    gemm(true, false, k, k, n, 1, t.data(), k, t.data(), k, 0, gram.data(), k);
    gemm(false, false, k, k, k, 1, gram.data(), k, gram.data(), k, 0, square.data(), k);
    if (squared_gap(gram, square) > 1e-12) f.at(t, toward);  // not a projection: some directions are shortened
    out.push_back(s.group == Group::permutation ? search.oracle(toward)
                                                : nearest_orthogonal(n, k, toward.data(), special));
  }
  return out;
}

ProcessSolution solve_ordered(const ProcessNetwork& x, const ProcessNetwork& y, const ProcessSettings& s,
                              const std::vector<Matrix>& given) {
  const ProcessPair pair{&x, &y, s.alpha, s.weights.data()};
  const ProcessObjective f(pair);
  // A dimension that one network does not use can be reversed at no cost.
  const bool special = s.group == Group::rotation && x.neurons == y.neurons && !x.reduced && !y.reduced;
  ProcessSearch search(f, s.group, special, objective_scale(pair), s.tolerance, s.max_iterations);
  search.run(given.empty() ? make_starts(search, pair, s, special) : complete(search, f, given, s, special),
             s.screen && given.empty());
  ProcessSolution out;
  out.transform = search.best;
  const double mean = mean_residual(pair, search.best), covariance = covariance_residual(pair, search.best);
  out.mean_distance = std::sqrt(mean);
  out.covariance_distance = std::sqrt(covariance);
  out.distance = out.lower_bound = std::sqrt(s.alpha * mean + (2 - s.alpha) * covariance);
  if (s.group != Group::identity) {
    const double least = mean_residual(pair, search.oracle(mean_term(pair)));
    out.lower_bound = std::min(out.distance, std::sqrt(s.alpha * least + (2 - s.alpha) * spectral_gap(pair)));
  }
  out.converged = search.converged;
  out.iterations = search.iterations;
  out.starts = search.n_starts;
  out.evaluations = f.evaluations;
  return out;
}

}  // namespace

ProcessSolution solve_process(const ProcessNetwork& x, const ProcessNetwork& y, const ProcessSettings& settings,
                              const double* given, int n_given) {
  const bool swapped = y < x;
  const ProcessNetwork &first = swapped ? y : x, &second = swapped ? x : y;
  // The solver's transform maps columns of second onto first; the caller's, rows of y onto x.
  const std::size_t count = std::size_t(x.neurons) * y.neurons;
  std::vector<Matrix> starts;
  for (int g = 0; g < n_given; ++g) {
    starts.emplace_back(given + g * count, given + (g + 1) * count);
    if (!swapped) starts.back() = transposed(starts.back(), y.neurons, x.neurons);
  }
  ProcessSolution out = solve_ordered(first, second, settings, starts);
  if (!swapped) out.transform = transposed(out.transform, x.neurons, y.neurons);
  return out;
}

}  // namespace repshape
