// The Gaussian distance of one pair, as the search reads it (search/problem.h).
#pragma once
#include <optional>

#include "problems/gaussian/curvature.h"
#include "problems/gaussian/parts.h"
#include "problems/ground.h"
#include "search/exploration.h"
#include "search/problem.h"

namespace repshape {

class GaussianProblem : public ProblemDefaults<Objective> {
 public:
  using Net = Network;
  using Function = Objective;
  static constexpr bool kConvex = true;

  GaussianProblem(const Network& x, const Network& y, const Ground& ground);
  GaussianProblem(const GaussianProblem&) = delete;

  const Network &x, &y;
  Objective whole;
  double scale, total, cost, power;

  // The gain of the means: the linear part of the objective.
  const Matrix& linear_gain() const { return whole.pair.mean_term; }
  bool linear() const { return ground_.alpha == 2; }
  bool sign_suffices() const { return true; }
  bool solves_planes() const { return x.positions == 1; }
  PlaneResult search_plane(const std::vector<Matrix>& starts, bool explore, bool special, double tolerance) const;
  Matrix matched(const Matrix& means, bool special) const;
  bool prefers_matched() const { return ground_.alpha == 0 && x.neurons > 2; }
  const Curvature* curvature() const { return curvature_ ? &*curvature_ : nullptr; }
  bool wide() const;
  Matrix climb_wide(const AscentSettings& settings, const Matrix& start, int limit, int& iterations) const;
  bool layered() const;
  Climbed climb_layer(const AscentSettings& settings, const Matrix& start, bool annealed, int limit,
                      double floor) const;
  bool graduates() const;
  Matrix graduated(const Matrix& start, double share) const;
  bool prove(const Objective& f, const Objective& rough, int spare, Matrix& t, double& value) const;

  Matrix first_gain() const { return linear() ? means_ : tie_broken(means_, y.neurons); }
  std::vector<Matrix> first_gains() const;
  Suggested suggest() const;
  Explored<Objective> explored() const;
  Measured measure(const Matrix& t, const Oracle& oracle) const;

 private:
  Objective objective_of(const Network& x, const Network& y) const;

  const Ground& ground_;
  std::vector<double> weights_, row_weights_;  // of blocks, of rows of the means
  Matrix means_;  // sum of w mu_x mu_y'
  std::optional<GaussianCurvature> curvature_;
};

// The parts of the squared distance at a fixed transform (n_y x n_x, any real matrix of the group).
Parts evaluate(const Network& x, const Network& y, const double* transform, const std::vector<double>& weights);

// The weights of conditions, each as often as `count` things have it.
std::vector<double> repeated(const std::vector<double>& weights, int count);

}  // namespace repshape
