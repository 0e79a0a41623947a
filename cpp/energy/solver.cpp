#include "energy/solver.h"

#include "common/permutations.h"
#include "common/search.h"
#include "energy/enumeration.h"

namespace repshape {
namespace {

double mean_power(const Samples& x, const Samples& y, const double* weights) {
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) total += weights[m] * (x.power[m] + y.power[m]);
  return total;
}

// Minus the loss, with its gradient along the group.
struct EnergyObjective {
  const Samples *x, *y;
  const double* weights;
  double q;
  static constexpr bool single = false;
  mutable long evaluated = 0;

  int n() const { return x->neurons; }
  int k() const { return y->neurons; }
  long evaluations() const { return evaluated; }
  double at(const Matrix& t, Matrix& gradient) const {
    ++evaluated;
    gradient.resize(t.size());
    return -energy_loss(*x, *y, weights, q, t.data(), gradient.data(), energy_kernels());
  }
  double operator()(const Matrix& full, Matrix& gradient) const {
    return at(first_columns(full, n(), k()), gradient);
  }

  // For permutations: replaces t by the best of all, if there are few enough of them.
  bool prove(int spare, Matrix& t, double& value) const {
    constexpr int most = 8;                   // neurons
    constexpr double affordable = 60;         // seconds
    constexpr std::size_t candidates = 1000;  // that single precision may leave
    if (n() - spare > most) return false;
    Enumeration all(*x, *y, weights, q, spare);
    if (all.duration() > affordable) return false;
    for (Matrix& other : all.best(candidates)) {
      const double reached = -energy_loss(*x, *y, weights, q, other.data(), nullptr, energy_kernels());
      if (reached > value) value = reached, t = std::move(other);
    }
    return true;
  }
};

// sum w mu_x mu_y', n_x x n_y; with `deviations` also sum w s_x s_y', s the standard deviations.
Matrix moment_gain(const Samples& x, const Samples& y, const double* weights, bool deviations) {
  const int n = x.neurons, k = y.neurons;
  Matrix out(std::size_t(n) * k, 0), sx(n), sy(k);
  auto spread = [](const Samples& net, int m, Matrix& sd) {
    for (int i = 0; i < net.neurons; ++i) {
      const double* row = net.condition(m) + std::size_t(i) * net.strides[m];
      const double mean = net.means[std::size_t(m) * net.neurons + i];
      double sum = 0;
      for (int l = 0; l < net.trials[m]; ++l) sum += (row[l] - mean) * (row[l] - mean);
      sd[i] = std::sqrt(sum / net.trials[m]);
    }
  };
  for (int m = 0; m < x.conditions; ++m) {
    const double *a = x.means.data() + std::size_t(m) * n, *b = y.means.data() + std::size_t(m) * k;
    if (deviations) spread(x, m, sx), spread(y, m, sy);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < k; ++j)
        out[std::size_t(i) * k + j] += weights[m] * (a[i] * b[j] + (deviations ? sx[i] * sy[j] : 0));
  }
  return out;
}

// A pair thinned to a few conditions and trials, with its own weights.
struct Few {
  std::vector<int> kept;
  Samples x, y;
  std::vector<double> weights;
};

Few thin(const Samples& x, const Samples& y, const EnergySettings& s) {
  const int total = x.conditions, wanted = std::min(s.screen_conditions, total);
  std::vector<int> kept;
  std::vector<double> weights;
  double sum = 0;
  for (int c = 0; c < wanted; ++c) {
    kept.push_back(int((2L * c + 1) * total / (2L * wanted)));
    weights.push_back(s.weights[kept.back()]);
    sum += weights.back();
  }
  for (double& w : weights) w = sum > 0 ? w / sum : 1.0 / wanted;
  Few out{kept, x.thinned(kept, s.screen_trials), y.thinned(kept, s.screen_trials), weights};
  out.x.measure_within(s.q), out.y.measure_within(s.q);
  return out;
}

std::vector<Matrix> make_starts(const Samples& x, const Samples& y, const EnergySettings& s, bool special) {
  const int n = x.neurons;
  const std::size_t count = std::size_t(n) * n;
  const Matrix means = tie_broken(moment_gain(x, y, s.weights.data(), false), y.neurons);
  std::vector<Matrix> out{nearest_orthogonal(n, y.neurons, means.data(), special)};
  for (int c = 0; c < s.n_starts; ++c) {
    Matrix start(s.starts.data() + c * count, s.starts.data() + (c + 1) * count);
    if (special && negative_determinant(n, start))
      for (int i = 0; i < n; ++i) start[std::size_t(i) * n] *= -1;
    out.push_back(std::move(start));
  }
  return out;
}

// Matrices of n x k, completed to orthogonal ones.
std::vector<Matrix> complete(const std::vector<Matrix>& given, int n, int k, bool special) {
  std::vector<Matrix> out;
  for (const Matrix& g : given) out.push_back(nearest_orthogonal(n, k, g.data(), special));
  return out;
}

// What the within-terms subtract from the loss: a constant for the pair.
double within_terms(const Samples& net, const std::vector<double>& weights, bool unbiased = false) {
  double total = 0;
  for (int m = 0; m < net.conditions; ++m) {
    const double correction = unbiased ? net.trials[m] / (net.trials[m] - 1.0) : 1.0;
    total += 0.5 * weights[m] * net.within[m] * correction;
  }
  return total;
}

// Floating-point operations of a gradient, roughly.
double cost(const Samples& x, const Samples& y) {
  double total = 0;
  for (int m = 0; m < x.conditions; ++m)
    total += double(x.trials[m]) * y.trials[m] * (2.0 * x.neurons + 16) +
             double(y.trials[m]) * x.neurons * (4.0 * y.neurons + 2.0 * x.trials[m]);
  return total;
}

double signed_root(double squared) { return squared < 0 ? -std::sqrt(-squared) : std::sqrt(squared); }

template <class AnySearch>
void settle(const AnySearch& search, EnergySolution& out) {
  out.transform = search.best();
  out.converged = search.converged();
  out.starts = search.starts();
  out.agreeing = search.agreeing();
}

void search_permutations(const EnergyObjective& whole, const EnergySettings& s, const SearchSettings& settings,
                         const std::vector<Matrix>& given, int spare, EnergySolution& out) {
  const Samples &x = *whole.x, &y = *whole.y;
  Random random(s.seed);
  const PermutationSettings own{spare,         s.max_iterations,          settings.scale,      settings.total,
                                settings.cost, s.screen ? 0 : 1 + s.n_starts, settings.exploration};
  PermutationSearch<EnergyObjective> search(whole, whole, own, random);
  if (given.empty()) {
    const Roots roots_x = x.roots(), roots_y = y.roots();
    Suggestions suggestions(roots_x, roots_y, s.weights.data(), 1, 1, random);
    search.explore({tie_broken(moment_gain(x, y, s.weights.data(), false), y.neurons),
                    moment_gain(x, y, s.weights.data(), true)},
                   [&] { return suggestions.next(); });
  } else {
    search.improve(given);
  }
  settle(search, out);
  out.iterations = int(whole.evaluated);
}

void search_rotations(const EnergyObjective& whole, const EnergySettings& s, SearchSettings settings,
                      const std::vector<Matrix>& given, EnergySolution& out) {
  const Samples &x = *whole.x, &y = *whole.y;
  const bool special = settings.special;
  const Few few = thin(x, y, s);
  settings.few_total = -within_terms(few.x, few.weights) - within_terms(few.y, few.weights);
  const EnergyObjective part{&few.x, &few.y, few.weights.data(), s.q};
  Search<EnergyObjective> search(whole, part, settings);
  if (given.empty() && s.screen && s.group != Group::identity && x.neurons * y.neurons > 0) {
    Random random(s.seed);
    const Roots roots_x = x.roots(), roots_y = y.roots();
    Correspondence suggestions(roots_x, roots_y, s.weights.data(), 1, 1, special, random);
    search.explore(make_starts(x, y, s, special)[0], suggestions, random);
  } else {
    search.run(given.empty() ? make_starts(x, y, s, special) : complete(given, x.neurons, y.neurons, special));
  }
  settle(search, out);
  if (!given.empty()) out.agreeing = 0;
  out.iterations = search.iterations();
}

// The last `spare` neurons of x are silent, and unknown to the caller.
EnergySolution solve_ordered(const Samples& x, const Samples& y, const EnergySettings& s,
                             const std::vector<Matrix>& given, int spare = 0) {
  const bool special = s.group == Group::rotation && x.space == y.space && x.neurons == x.space &&
                       y.neurons == y.space;
  const double scale = std::pow(mean_power(x, y, s.weights.data()), 0.5 * s.q);
  const double biased = within_terms(x, s.weights) + within_terms(y, s.weights);
  const SearchSettings settings{s.group,  special, scale, s.tolerance, s.max_iterations,
                                s.memory, -biased, 0,     cost(x, y),  s.exploration};
  const EnergyObjective whole{&x, &y, s.weights.data(), s.q};
  EnergySolution out;
  if (s.group == Group::permutation)
    search_permutations(whole, s, settings, given, spare, out);
  else
    search_rotations(whole, s, settings, given, out);
  out.loss = energy_loss(x, y, s.weights.data(), s.q, out.transform.data(), nullptr, energy_kernels());
  const double within = within_terms(x, s.weights, s.unbiased) + within_terms(y, s.weights, s.unbiased);
  // Over all pairs of trials the squared distance is never negative, except by rounding; the
  // correction of the within-terms is the same for every transform.
  out.distance = signed_root(std::max(out.loss - biased, 0.0) + (biased - within));
  out.lower_bound = s.group == Group::identity ? out.distance : signed_root(biased - within);
  out.evaluations = whole.evaluated;
  return out;
}

}  // namespace

double energy_loss(const Samples& x, const Samples& y, const double* weights, double q, const double* transform,
                   double* gradient, const EnergyKernels& kernels) {
  const int n = x.neurons, k = y.neurons;
  const std::size_t stride = *std::max_element(y.strides.begin(), y.strides.end());
  Buffer scratch(2 * n * stride), lanes(gradient ? std::size_t(n) * k * kernels.lanes : 0);
  const double floor = std::max(kMeeting * mean_power(x, y, weights), kLeastSquare);
  const EnergyTask task{n, k, transform, q, floor, !gradient, gradient ? lanes.data() : nullptr, scratch.data()};
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) {
    if (weights[m] == 0) continue;
    const double share = weights[m] / (double(x.trials[m]) * y.trials[m]);
    total += kernels.condition(
        {x.condition(m), y.condition(m), x.trials[m], y.trials[m], x.strides[m], y.strides[m], share}, task);
  }
  for (std::size_t e = 0; gradient && e < std::size_t(n) * k; ++e) {
    gradient[e] = 0;
    for (int l = 0; l < kernels.lanes; ++l) gradient[e] += lanes.data()[e * kernels.lanes + l];
  }
  return total;
}

EnergySolution solve_energy(const Samples& x, const Samples& y, const EnergySettings& settings,
                            const double* given, int n_given) {
  const bool swapped = y < x;
  const Samples &first = swapped ? y : x, &second = swapped ? x : y;
  // The solver's transform maps columns of second onto first; the caller's, rows of y onto x.
  const std::size_t count = std::size_t(x.neurons) * y.neurons;
  // More silent neurons than the other network has neurons make no difference.
  const int wanted = std::min(settings.pad_to - first.neurons, second.neurons);
  const int spare = settings.group == Group::permutation ? std::max(wanted, 0) : 0;
  std::vector<Matrix> starts;
  for (int g = 0; g < n_given; ++g) {
    starts.emplace_back(given + g * count, given + (g + 1) * count);
    if (!swapped) starts.back() = transposed(starts.back(), y.neurons, x.neurons);
    starts.back().resize(count + std::size_t(spare) * second.neurons, 0);
    if (spare) invite(starts.back(), second.neurons, spare);
  }
  EnergySolution out = spare ? solve_ordered(first.with_silent_neurons(spare), second, settings, starts, spare)
                             : solve_ordered(first, second, settings, starts);
  out.transform.resize(count);
  if (!swapped) out.transform = transposed(out.transform, x.neurons, y.neurons);
  return out;
}

}  // namespace repshape
