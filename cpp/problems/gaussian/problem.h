// The Gaussian distance of one pair, as the search reads it (search/problem.h).
#pragma once
#include <optional>

#include "problems/gaussian/curvature.h"
#include "problems/ground.h"
#include "search/problem.h"

namespace repshape {

class GaussianProblem : public Problem {
 public:
  GaussianProblem(const Network& x, const Network& y, const Ground& ground);
  GaussianProblem(const GaussianProblem&) = delete;

  const Pair& pair() const { return whole_.pair; }
  // What is maximised at fixed transforms (n x k), from at most some of the conditions: to choose among starts.
  Values rated(const std::vector<Matrix>& transforms) const;

  const Function& whole() const override { return whole_; }
  std::unique_ptr<Function> in_single_precision() const override;
  bool convex() const override { return true; }
  Matrix first_gain() const override { return linear() ? means_ : preferring_identity(means_); }
  std::vector<Matrix> first_gains() const override;
  StartData start_data() const override;
  ExplorationTarget exploration_target() const override;
  Measurement measure(const Matrix& t, const Oracle& oracle) const override;

  bool linear() const override { return ground_.alpha == 2; }
  const Matrix* linear_gain() const override { return &pair().mean_term; }
  bool solves_planes() const override { return x_.positions == 1; }
  AscentResult search_plane(const std::vector<Matrix>& starts, bool explore, bool special,
                            double tolerance) const override;
  Matrix matched(const Matrix& means, bool special) const override;
  bool prefers_matched() const override { return ground_.alpha == 0 && x_.neurons > 2; }
  const Curvature* curvature() const override { return curvature_ ? &*curvature_ : nullptr; }
  bool wide() const override;
  AscentResult ascend_wide(const AscentSettings& settings, const Matrix& start, int limit) const override;
  bool layered() const override;
  AscentResult ascend_layer(const AscentSettings& settings, const Matrix& start, bool annealed, int limit,
                            double floor) const override;
  bool graduates() const override;
  Matrix graduated_gain(const Matrix& start, double share) const override;
  bool search_exhaustively(const Function& rough, int spare, Matrix& t, double& value) const override;

 private:
  GaussianObjective objective_of(const Network& x, const Network& y) const;

  const Network &x_, &y_;
  const Ground& ground_;
  Values weights_, row_weights_;  // of blocks, of rows of the means
  Matrix means_;                  // sum of w mu_x mu_y'
  GaussianObjective whole_;
  std::optional<GaussianCurvature> curvature_;
};

// Parts of the squared distance at a fixed transform, in units of the squares of their scales.
struct Parts {
  double mean = 0, covariance = 0;
  double mean_scale = 1, scale = 1;
};

// At a transform of n_y x n_x, any real matrix of the group.
Parts evaluate(const Network& x, const Network& y, const View<const double>& transform, const Values& weights);

// The weights of conditions, each as often as `count` things have it.
Values repeated(const Values& weights, int count);

}  // namespace repshape
