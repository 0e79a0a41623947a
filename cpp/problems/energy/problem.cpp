#include "problems/energy/problem.h"

#include "problems/energy/constants.h"
#include "problems/energy/enumeration.h"

namespace repshape {
namespace {

double mean_power(const Samples& x, const Samples& y, const double* weights) {
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) total += weights[m] * (x.power[m] + y.power[m]);
  return total;
}

// Standard deviations of the neurons in one condition.
Values deviations(const Samples& net, int m) {
  Values out(net.neurons);
  for (int i = 0; i < net.neurons; ++i) {
    const double *row = net.condition(m).row(i), mean = net.means(m, i);
    double sum = 0;
    for (int l = 0; l < net.trials[m]; ++l) sum += (row[l] - mean) * (row[l] - mean);
    out[i] = std::sqrt(sum / net.trials[m]);
  }
  return out;
}

// sum w mu_x mu_y', n_x x n_y; with deviations also sum w s_x s_y', s the standard deviations.
Matrix moment_gain(const Samples& x, const Samples& y, const Values& weights, bool with_deviations) {
  Matrix out(x.neurons, y.neurons);
  Values sx(x.neurons, 0), sy(y.neurons, 0);
  for (int m = 0; m < x.conditions; ++m) {
    if (with_deviations) sx = deviations(x, m), sy = deviations(y, m);
    for (int i = 0; i < out.rows(); ++i)
      for (int j = 0; j < out.columns(); ++j)
        out(i, j) += weights[m] * (x.means(m, i) * y.means(m, j) + (with_deviations ? sx[i] * sy[j] : 0));
  }
  return out;
}

// What the within-terms subtract from the loss: a constant for the pair.
double within_terms(const Samples& net, const Values& weights, bool unbiased = false) {
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

EnergyProblem::EnergyProblem(const Samples& x, const Samples& y, const Ground& ground)
    : x_(x), y_(y), ground_(ground), whole_(x, y, ground.weights.data(), ground.q) {
  scale = std::pow(mean_power(x, y, ground.weights.data()), 0.5 * ground.q);
  total = -(within_terms(x, ground.weights) + within_terms(y, ground.weights));
  cost = operations(x, y);
  same_space = x.neurons == y.neurons && !x.reduced && !y.reduced;
}

double EnergyProblem::loss(const Matrix& t) const {
  return energy_loss(x_, y_, ground_.weights.data(), ground_.q, t, nullptr, energy_kernels());
}

bool EnergyProblem::search_exhaustively(const Function&, int spare, Matrix& t, double& value) const {
  if (x_.neurons - spare > energy::kExhaustiveUpTo) return false;
  Enumeration all(x_, y_, ground_.weights, ground_.q, spare);
  if (all.duration() > energy::kExhaustiveSeconds) return false;
  for (Matrix& other : all.best(energy::kCandidates)) {
    const double reached = -loss(other);
    if (reached > value) value = reached, t = std::move(other);
  }
  return true;
}

Matrix EnergyProblem::first_gain() const { return preferring_identity(moment_gain(x_, y_, ground_.weights, false)); }

std::vector<Matrix> EnergyProblem::first_gains() const {
  return {first_gain(), moment_gain(x_, y_, ground_.weights, true)};
}

StartData EnergyProblem::start_data() const {
  roots_x_ = x_.roots(), roots_y_ = y_.roots();
  return {*roots_x_, *roots_y_, ground_.weights.data(), 1, 1};
}

ExplorationTarget EnergyProblem::exploration_target() const {
  ExplorationTarget out;
  out.f = std::make_unique<EnergyObjective>(whole_);
  out.scale = scale, out.total = total, out.cost = cost;
  if (!(cost > energy::kSubsetFrom)) return out;
  const std::vector<int> kept = spread_evenly(x_.conditions, energy::kSubsetConditions);
  Values weights;
  double sum = 0;
  for (int m : kept) {
    weights.push_back(ground_.weights[m]);
    sum += weights.back();
  }
  for (double& w : weights) w = sum > 0 ? w / sum : 1.0 / double(kept.size());
  subset_ = std::make_unique<Subset>(
      Subset{x_.thinned(kept, energy::kSubsetTrials), y_.thinned(kept, energy::kSubsetTrials), weights});
  Samples &x = subset_->x, &y = subset_->y;
  x.measure_within(ground_.q), y.measure_within(ground_.q);
  out.subset = std::make_unique<EnergyObjective>(x, y, subset_->weights.data(), ground_.q);
  out.subset_total = -within_terms(x, weights) - within_terms(y, weights);
  return out;
}

Measurement EnergyProblem::measure(const Matrix& t, const Oracle& oracle) const {
  const double biased = -total;
  const double within =
      within_terms(x_, ground_.weights, ground_.unbiased) + within_terms(y_, ground_.weights, ground_.unbiased);
  Measurement out;
  // Over all pairs of trials the squared distance is never negative, except by rounding; the
  // correction of the within-terms is the same for every transform.
  out.distance = signed_root(std::max(loss(t) - biased, 0.0) + (biased - within));
  out.lower_bound = oracle.group == Group::identity ? out.distance : signed_root(biased - within);
  return out;
}

double energy_loss(const Samples& x, const Samples& y, const double* weights, double q,
                   const View<const double>& transform, Matrix* gradient, const EnergyKernels& kernels) {
  const int n = x.neurons, k = y.neurons;
  const Index stride = *std::max_element(y.strides.begin(), y.strides.end());
  Buffer scratch(2 * n * stride), lanes(gradient ? Index(n) * k * kernels.lanes : 0);
  const double floor = std::max(kCoincident * mean_power(x, y, weights), kLeastSquare);
  const EnergyTask task{n, k, transform.data(), q, floor, !gradient, gradient ? lanes.data() : nullptr, scratch.data()};
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) {
    if (weights[m] == 0) continue;
    const double share = weights[m] / (double(x.trials[m]) * y.trials[m]);
    total += kernels.condition(
        {x.condition(m).data(), y.condition(m).data(), x.trials[m], y.trials[m], x.strides[m], y.strides[m], share},
        task);
  }
  if (!gradient) return total;
  gradient->reset(n, k);
  for (Index e = 0; e < gradient->size(); ++e)
    for (int l = 0; l < kernels.lanes; ++l) (*gradient)[e] += lanes.data()[e * kernels.lanes + l];
  return total;
}

}  // namespace repshape
