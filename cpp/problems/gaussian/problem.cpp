#include "problems/gaussian/problem.h"

#include "problems/gaussian/branch_and_bound.h"
#include "problems/gaussian/circle.h"
#include "problems/gaussian/graduation.h"
#include "problems/gaussian/layer_ascent.h"
#include "problems/gaussian/matching.h"
#include "problems/gaussian/wide_ascent.h"

namespace repshape {
namespace {

// How many conditions fix a transform: those with noise of full rank tell more than means do.
int fixing_conditions(const Network& x, const Network& y) {
  const bool full = x.positions == 1 && !x.diagonal && !y.diagonal && x.rank == x.neurons && y.rank == y.neurons;
  return full ? x.neurons / 2 : 2 * x.neurons;
}

template <class AnyAscent>
AscentResult result_of(const AnyAscent& ascent, bool settled) {
  return {ascent.transform(), ascent.iterations(), settled};
}

}  // namespace

Values repeated(const Values& weights, int count) {
  Values out(count);
  const int each = count / int(weights.size());
  for (int e = 0; e < count; ++e) out[e] = weights[e / each];
  return out;
}

GaussianProblem::GaussianProblem(const Network& x, const Network& y, const Ground& ground)
    : x_(x), y_(y), ground_(ground), weights_(repeated(ground.weights, x.blocks)),
      row_weights_(repeated(ground.weights, x.rows)), means_(mean_term(x, y, 1, row_weights_.data())),
      whole_(objective_of(x, y)) {
  scale = scale_of(pair()), total = power = total_of(pair()), cost = cost_of(x, y);
  same_space = x.neurons == y.neurons && !x.reduced && !y.reduced;
  if (GaussianCurvature::suits(pair())) curvature_.emplace(pair(), cost);
}

GaussianObjective GaussianProblem::objective_of(const Network& x, const Network& y) const {
  GaussianObjective f;
  f.pair = Pair(x, y, weights_.data());
  f.pair.alpha = ground_.alpha, f.pair.row_weights = row_weights_.data();
  f.pair.set_units();
  f.pair.mean_term = mean_term(x, y, f.pair.mean_share(), row_weights_.data());
  return f;
}

std::unique_ptr<Function> GaussianProblem::in_single_precision() const {
  auto out = std::make_unique<GaussianObjective>(whole_);
  out->single = true;
  return out;
}

Values GaussianProblem::rated(const std::vector<Matrix>& transforms) const {
  GaussianObjective f = whole_;
  f.pair.choose_groups(paths::kRankedGroups);
  f.single = f.lanes();
  Matrix unused;
  Values out;
  for (const Matrix& t : transforms) out.push_back(f.at(t, unused));
  return out;
}

AscentResult GaussianProblem::search_plane(const std::vector<Matrix>& starts, bool explore, bool special,
                                           double tolerance) const {
  const double flat = std::sqrt(2.0) * tolerance * scale;  // |skew(T'G)| is |slope| / sqrt 2
  const Circle circles[] = {{pair(), pair().covariance_share(), false}, {pair(), pair().covariance_share(), true}};
  AscentResult out;
  Circle::Point best{0, -INFINITY};
  auto consider = [&](const Circle& circle, const Circle::Point& found) {
    if (!(found.value > best.value + 1e-15 * scale)) return;  // prefer the means' own start among equals
    best = found;
    out.transform = first_columns(circle.transform(found.angle), y_.neurons);
  };
  for (const Matrix& start : starts) {
    const Circle& circle = circles[start(0, 0) * start(1, 1) < start(0, 1) * start(1, 0)];
    consider(circle, circle.climb(Circle::angle_of(start), flat));
    if (explore) break;
  }
  for (int mirrored = 0; explore && mirrored < (special ? 1 : 2); ++mirrored)
    consider(circles[mirrored], circles[mirrored].highest(flat));
  out.settled = std::abs(best.slope) <= flat;
  out.iterations = int(circles[0].evaluations + circles[1].evaluations);
  return out;
}

// Independent neurons, matched one by one; nothing if that is no better than aligned means.
Matrix GaussianProblem::matched(const Matrix& means, bool special) const {
  constexpr double rounding = 1e-12;  // of the objective
  if (!x_.diagonal || !y_.diagonal || ground_.alpha >= paths::kMeansDecide) return {};
  Matrix match = Matching(pair(), special).transform(), unused;
  return whole_(match, unused) > whole_(means, unused) + rounding * scale ? match : Matrix();
}

bool GaussianProblem::wide() const { return !linear() && WideAscent<double>::suits(x_, y_, paths::kWideTimes); }

AscentResult GaussianProblem::ascend_wide(const AscentSettings& settings, const Matrix& start, int limit) const {
  WideAscent<double> ascent(pair(), settings, start);
  const bool settled = ascent.run(limit);
  return result_of(ascent, settled);
}

bool GaussianProblem::graduates() const { return !linear() && Graduation::suits(x_, y_); }

Matrix GaussianProblem::graduated_gain(const Matrix& start, double share) const {
  return Graduation(pair())(start, share);
}

bool GaussianProblem::layered() const { return !linear() && LayerAscent::suits(x_, y_); }

AscentResult GaussianProblem::ascend_layer(const AscentSettings& settings, const Matrix& start, bool annealed,
                                           int limit, double floor) const {
  // Between covariances that leave most of the transform free, an ascent over the small rotations of the noise ends
  // higher.
  if (ground_.alpha < paths::kWideLayerAlpha && WideAscent<float>::suits(x_, y_, paths::kWideLayerTimes)) {
    WideAscent<float> ascent(pair(), settings, start);
    const bool settled = ascent.run(limit);
    return result_of(ascent, settled);
  }
  LayerAscent ascent(pair(), settings, total);
  if (annealed && limit >= paths::kAnnealedFrom)
    ascent.anneal(first_gain(), x_.rows);
  else
    ascent.begin(start);
  const bool settled = ascent.run(limit, floor);
  return result_of(ascent, settled);
}

bool GaussianProblem::search_exhaustively(const Function& rough, int spare, Matrix& t, double& value) const {
  const int n = x_.neurons, k = y_.neurons;
  if (n - spare > paths::kExhaustiveUpTo || count_injections(n, k, spare) * cost > paths::kExhaustiveOperations)
    return false;
  Matrix unused;
  value = whole_.at(t, unused);
  BranchAndBound(whole_, rough, marginal_gain(pair()), spare, scale).improve(t, value);
  return true;
}

std::vector<Matrix> GaussianProblem::first_gains() const {
  return {preferring_identity(means_), marginal_gain(pair())};
}

StartData GaussianProblem::start_data() const {
  return {x_.roots(), y_.roots(), row_weights_.data(), pair().mean_share(), pair().covariance_share()};
}

ExplorationTarget GaussianProblem::exploration_target() const {
  const Network &a = x_.truncated(), &b = y_.truncated();
  auto f = std::make_unique<GaussianObjective>(objective_of(a, b));
  f->single = true;
  ExplorationTarget out;
  out.scale = scale_of(f->pair), out.total = total_of(f->pair), out.cost = cost_of(a, b);
  out.approximate = &a != &x_ || &b != &y_;
  auto subset = std::make_unique<GaussianObjective>(*f);
  const int groups = (fixing_conditions(a, b) + kDoubleLanes - 1) / kDoubleLanes;
  subset->pair.choose_groups(std::max(paths::kSubsetGroups, groups));
  if (paths::kSubsetShare * subset->pair.groups.size() <= f->pair.groups.size()) {
    out.subset_total = total_of(subset->pair);
    out.subset = std::move(subset);
  }
  out.f = std::move(f);
  return out;
}

Measurement GaussianProblem::measure(const Matrix& t, const Oracle& oracle) const {
  const double mean = mean_residual(pair(), t), covariance = covariance_residual(pair(), t);
  const double mean_unit = std::max(x_.mean_scale, y_.mean_scale), unit = std::max(x_.scale, y_.scale);
  auto combine = [&](double of_means, double of_covariances) {
    return std::hypot(std::sqrt(ground_.alpha * of_means) * mean_unit,
                      std::sqrt((2 - ground_.alpha) * of_covariances) * unit);
  };
  Measurement out;
  out.mean = mean_unit * std::sqrt(mean);
  out.covariance = unit * std::sqrt(covariance);
  out.distance = out.lower_bound = combine(mean, covariance);
  if (oracle.group != Group::identity)
    out.lower_bound = std::min(out.distance, combine(mean_residual(pair(), oracle(means_)), spectral_gap(pair())));
  return out;
}

Parts evaluate(const Network& x, const Network& y, const View<const double>& transform, const Values& weights) {
  const bool swapped = y < x;
  const Network &first = swapped ? y : x, &second = swapped ? x : y;
  const Matrix t = swapped ? Matrix(transform) : transposed(transform);
  const Values of_blocks = repeated(weights, x.blocks), of_rows = repeated(weights, x.rows);
  Pair pair(first, second, of_blocks.data());
  pair.row_weights = of_rows.data();
  pair.set_units();
  return {mean_residual(pair, t), covariance_residual(pair, t), std::max(first.mean_scale, second.mean_scale),
          std::max(first.scale, second.scale)};
}

}  // namespace repshape
