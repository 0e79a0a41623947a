#include "problems/gaussian/problem.h"

#include "problems/gaussian/branches.h"
#include "problems/gaussian/circle.h"
#include "problems/gaussian/effort.h"
#include "problems/gaussian/graduation.h"
#include "problems/gaussian/layer_ascent.h"
#include "problems/gaussian/matching.h"
#include "problems/gaussian/wide.h"

namespace repshape {

std::vector<double> repeated(const std::vector<double>& weights, int count) {
  std::vector<double> out(count);
  for (int e = 0; e < count; ++e) out[e] = weights[e / (count / weights.size())];
  return out;
}

GaussianProblem::GaussianProblem(const Network& x_, const Network& y_, const Ground& ground)
    : x(x_), y(y_), ground_(ground), weights_(repeated(ground.weights, x_.blocks)),
      row_weights_(repeated(ground.weights, x_.rows)), means_(mean_term(x_, y_, 1, row_weights_.data())) {
  whole = objective_of(x, y);
  scale = scale_of(whole), total = power = total_of(whole), cost = cost_of(x, y);
  if (GaussianCurvature::suits(whole)) curvature_.emplace(whole, cost);
}

Objective GaussianProblem::objective_of(const Network& a, const Network& b) const {
  Objective f;
  f.pair.x = &a, f.pair.y = &b;
  f.pair.alpha = ground_.alpha, f.pair.weights = weights_.data(), f.pair.row_weights = row_weights_.data();
  f.pair.groups = all_groups(a);
  set_units(f.pair);
  f.pair.mean_term = mean_term(a, b, f.pair.mean_share(), row_weights_.data());
  return f;
}

PlaneResult GaussianProblem::search_plane(const std::vector<Matrix>& starts, bool explore, bool special,
                                          double tolerance) const {
  const double flat = std::sqrt(2.0) * tolerance * scale;  // |skew(T'G)| is |slope| / sqrt 2
  const Circle circles[] = {{whole.pair, whole.pair.covariance_share(), false},
                            {whole.pair, whole.pair.covariance_share(), true}};
  PlaneResult out;
  Circle::Point best{0, -INFINITY};
  auto consider = [&](const Circle& circle, const Circle::Point& found) {
    if (!(found.value > best.value + 1e-15 * scale)) return;  // prefer the means' own start among equals
    best = found;
    out.best = first_columns(circle.transform(found.angle), 2, y.neurons);
  };
  for (const Matrix& start : starts) {
    const Circle& circle = circles[start[0] * start[3] < start[1] * start[2]];
    consider(circle, circle.climb(Circle::angle_of(start), flat));
    if (explore) break;
  }
  for (int mirrored = 0; explore && mirrored < (special ? 1 : 2); ++mirrored)
    consider(circles[mirrored], circles[mirrored].highest(flat));
  out.converged = std::abs(best.slope) <= flat;
  out.evaluations = int(circles[0].evaluations + circles[1].evaluations);
  return out;
}

// Independent neurons, matched one by one; nothing if that is no better than aligned means.
Matrix GaussianProblem::matched(const Matrix& means, bool special) const {
  constexpr double means_decide = 1;  // alpha from which neurons are not matched one by one
  constexpr double rounding = 1e-12;  // of the objective
  if (!x.diagonal || !y.diagonal || ground_.alpha >= means_decide) return {};
  Matrix match = Matching(whole.pair, special).transform(), unused;
  return whole(match, unused) > whole(means, unused) + rounding * scale ? match : Matrix();
}

bool GaussianProblem::wide() const { return !linear() && WideAscent<double>::suits(x, y); }

Matrix GaussianProblem::climb_wide(const AscentSettings& settings, const Matrix& start, int limit,
                                   int& iterations) const {
  WideAscent<double> way(whole.pair, settings, start);
  way.run(limit);
  iterations = way.iterations();
  return way.transform();
}

bool GaussianProblem::graduates() const { return !linear() && Graduation::suits(x, y); }

Matrix GaussianProblem::graduated(const Matrix& start, double share) const {
  return Graduation(whole.pair)(start, share);
}

bool GaussianProblem::layered() const { return !linear() && LayerAscent::suits(x, y); }

Climbed GaussianProblem::climb_layer(const AscentSettings& settings, const Matrix& start, bool annealed, int limit,
                                     double floor) const {
  // Between covariances that leave most of the transform free, an ascent over the small rotations of the noise ends
  // higher. With means it takes longer, and ends no higher.
  constexpr double means_matter = 0.25, much_smaller = 12;  // alpha; times as few unknowns
  if (ground_.alpha < means_matter && WideAscent<float>::suits(x, y, much_smaller)) {
    WideAscent<float> way(whole.pair, settings, start);
    const bool settled = way.run(limit);
    return {way.transform(), way.iterations(), settled};
  }
  LayerAscent way(whole.pair, settings, total);
  if (annealed && limit >= LayerAscent::kWorthAnnealing)
    way.anneal(first_gain(), x.rows);
  else
    way.begin(start);
  const bool settled = way.run(limit, floor);
  return {way.transform(), way.iterations(), settled};
}

bool GaussianProblem::prove(const Objective& f, const Objective& rough, int spare, Matrix& t, double& value) const {
  constexpr int most = 8;              // neurons
  constexpr double affordable = 5e11;  // operations: about a minute
  const int n = f.n(), k = f.k();
  if (n - spare > most || count_injections(n, k, spare) * cost > affordable) return false;
  Matrix unused;
  value = f.at(t, unused);
  Branches(f, rough, marginal_gain(whole.pair), spare, scale).improve(t, value);
  return true;
}

std::vector<Matrix> GaussianProblem::first_gains() const {
  return {tie_broken(means_, y.neurons), marginal_gain(whole.pair)};
}

Suggested GaussianProblem::suggest() const {
  return {x.roots(), y.roots(), row_weights_.data(), whole.pair.mean_share(), whole.pair.covariance_share()};
}

Explored<Objective> GaussianProblem::explored() const {
  const Network &a = x.truncated(), &b = y.truncated();
  Explored<Objective> out;
  out.f = objective_of(a, b);
  out.f.single = true;
  out.scale = scale_of(out.f), out.total = total_of(out.f), out.cost = cost_of(a, b);
  out.partial = &a != &x || &b != &y;
  out.few = on_some_conditions(out.f);
  out.few_total = total_of(out.few);
  out.travels = 3 * out.few.pair.groups.size() <= out.f.pair.groups.size();
  return out;
}

Measured GaussianProblem::measure(const Matrix& t, const Oracle& oracle) const {
  const Pair& pair = whole.pair;
  const double mean = mean_residual(pair, t.data()), covariance = covariance_residual(pair, t.data());
  const double mean_unit = std::max(x.mean_scale, y.mean_scale), unit = std::max(x.scale, y.scale);
  auto combine = [&](double of_means, double of_covariances) {
    return std::hypot(std::sqrt(ground_.alpha * of_means) * mean_unit,
                      std::sqrt((2 - ground_.alpha) * of_covariances) * unit);
  };
  Measured out;
  out.mean = mean_unit * std::sqrt(mean);
  out.covariance = unit * std::sqrt(covariance);
  out.distance = out.lower_bound = combine(mean, covariance);
  if (oracle.group != Group::identity)
    out.lower_bound = std::min(
        out.distance, combine(mean_residual(pair, oracle(means_).data()), spectral_gap(pair)));
  return out;
}

Parts evaluate(const Network& x, const Network& y, const double* transform, const std::vector<double>& weights) {
  const bool swapped = y < x;
  const Network &first = swapped ? y : x, &second = swapped ? x : y;
  const int n = first.neurons, k = second.neurons;
  Matrix t(transform, transform + std::size_t(n) * k);
  if (!swapped) t = transposed(t, k, n);
  const std::vector<double> of_blocks = repeated(weights, x.blocks), of_rows = repeated(weights, x.rows);
  Pair pair;
  pair.x = &first, pair.y = &second, pair.groups = all_groups(first);
  pair.weights = of_blocks.data(), pair.row_weights = of_rows.data();
  set_units(pair);
  return {mean_residual(pair, t.data()), covariance_residual(pair, t.data()),
          std::max(first.mean_scale, second.mean_scale), std::max(first.scale, second.scale)};
}

}  // namespace repshape
