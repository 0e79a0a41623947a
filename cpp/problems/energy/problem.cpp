#include "problems/energy/problem.h"

#include "common/units.h"
#include "problems/energy/enumeration.h"

namespace repshape {
namespace {

double mean_power(const Samples& x, const Samples& y, const double* weights) {
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) total += weights[m] * (x.power[m] + y.power[m]);
  return total;
}

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
double operations(const Samples& x, const Samples& y) {
  double total = 0;
  for (int m = 0; m < x.conditions; ++m)
    total += double(x.trials[m]) * y.trials[m] * (2.0 * x.neurons + 16) +
             double(y.trials[m]) * x.neurons * (4.0 * y.neurons + 2.0 * x.trials[m]);
  return total;
}

double signed_root(double squared) { return squared < 0 ? -std::sqrt(-squared) : std::sqrt(squared); }

}  // namespace

EnergyProblem::EnergyProblem(const Samples& x_, const Samples& y_, const Ground& ground)
    : x(x_), y(y_), whole{&x_, &y_, ground.weights.data(), ground.q}, ground_(ground) {
  scale = std::pow(mean_power(x, y, ground.weights.data()), 0.5 * ground.q);
  total = -(within_terms(x, ground.weights) + within_terms(y, ground.weights));
  cost = operations(x, y);
}

bool EnergyProblem::prove(const EnergyObjective&, const EnergyObjective&, int spare, Matrix& t, double& value) const {
  constexpr int most = 8;                   // neurons
  constexpr double affordable = 60;         // seconds
  constexpr std::size_t candidates = 1000;  // that single precision may leave
  if (x.neurons - spare > most) return false;
  Enumeration all(x, y, whole.weights, whole.q, spare);
  if (all.duration() > affordable) return false;
  for (Matrix& other : all.best(candidates)) {
    const double reached = -energy_loss(x, y, whole.weights, whole.q, other.data(), nullptr, energy_kernels());
    if (reached > value) value = reached, t = std::move(other);
  }
  return true;
}

Matrix EnergyProblem::first_gain() const { return tie_broken(moment_gain(x, y, whole.weights, false), y.neurons); }

std::vector<Matrix> EnergyProblem::first_gains() const {
  return {first_gain(), moment_gain(x, y, whole.weights, true)};
}

Suggested EnergyProblem::suggest() const {
  roots_x_ = x.roots(), roots_y_ = y.roots();
  return {*roots_x_, *roots_y_, whole.weights, 1, 1};
}

EnergyProblem::Few EnergyProblem::thinned() const {
  const std::vector<int> kept = spread_evenly(x.conditions, ground_.few_conditions);
  std::vector<double> weights;
  double sum = 0;
  for (int m : kept) {
    weights.push_back(ground_.weights[m]);
    sum += weights.back();
  }
  for (double& w : weights) w = sum > 0 ? w / sum : 1.0 / double(kept.size());
  Few out{x.thinned(kept, ground_.few_trials), y.thinned(kept, ground_.few_trials), weights};
  out.x.measure_within(ground_.q), out.y.measure_within(ground_.q);
  return out;
}

Explored<EnergyObjective> EnergyProblem::explored() const {
  constexpr double worth_travelling = 1e6;  // operations of a gradient
  Explored<EnergyObjective> out;
  out.f = whole;
  out.scale = scale, out.total = total, out.cost = cost;
  out.travels = cost > worth_travelling;
  if (!out.travels) return out;
  few_ = std::make_unique<Few>(thinned());
  out.few.x = &few_->x, out.few.y = &few_->y, out.few.weights = few_->weights.data(), out.few.q = ground_.q;
  out.few_total = -within_terms(few_->x, few_->weights) - within_terms(few_->y, few_->weights);
  return out;
}

Measured EnergyProblem::measure(const Matrix& t, const Oracle& oracle) const {
  const double loss = energy_loss(x, y, whole.weights, whole.q, t.data(), nullptr, energy_kernels());
  const double biased = -total;
  const double within =
      within_terms(x, ground_.weights, ground_.unbiased) + within_terms(y, ground_.weights, ground_.unbiased);
  Measured out;
  // Over all pairs of trials the squared distance is never negative, except by rounding; the
  // correction of the within-terms is the same for every transform.
  out.distance = signed_root(std::max(loss - biased, 0.0) + (biased - within));
  out.lower_bound = oracle.group == Group::identity ? out.distance : signed_root(biased - within);
  return out;
}

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

}  // namespace repshape
