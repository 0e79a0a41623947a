// The objective of one pair of networks with positions, x having at least as many neurons as y:
//   g(T) = alpha sum w <mu_x mu_y', T> + (2 - alpha) sum w |sum_p A_p' T C_p|_*
// It is convex in T. The gradient of a block is sum_p A_p P C_p', P the polar factor of its cross product.
#pragma once
#include "common/roots.h"
#include "common/transforms.h"
#include "common/units.h"
#include "process/network.h"

namespace repshape {

struct ProcessPair {
  const ProcessNetwork *x, *y;
  double alpha = 1;
  const double* weights = nullptr;  // conditions
  double gain_x = 1, gain_y = 1, mean_gain_x = 1, mean_gain_y = 1;  // see set_units
  double covariance_weight = 1, mean_weight = 1;

  ProcessPair(const ProcessNetwork& x_, const ProcessNetwork& y_, double alpha_, const double* weights_)
      : x(&x_), y(&y_), alpha(alpha_), weights(weights_) {
    set_units(*this);
  }
  // The weights of the two parts in the objective.
  double mean_share() const { return alpha * mean_weight; }
  double covariance_share() const { return (2 - alpha) * covariance_weight; }
  double mean_unit() const { return std::max(x->mean_scale, y->mean_scale); }
  double unit() const { return std::max(x->scale, y->scale); }
};

// sum w mu_x mu_y' over all rows of the means, n_x x n_y
Matrix mean_term(const ProcessPair& pair);

struct ProcessObjective {
  static constexpr bool single = false;

  ProcessPair pair;
  Matrix means;             // the share of the means in the gradient
  std::vector<int> blocks;  // those that count
  double boost = 1;         // what their sum is multiplied by, so that it stands for all blocks
  mutable long evaluated = 0;

  explicit ProcessObjective(const ProcessPair& of);
  // The same objective on about `count` blocks, spread evenly.
  ProcessObjective thinned(int count) const;

  int n() const { return pair.x->neurons; }
  int k() const { return pair.y->neurons; }
  long evaluations() const { return evaluated; }
  double operations() const;  // floating-point operations of one gradient
  // Upper bound of the objective, and what it is at distance zero.
  double scale() const { return std::sqrt(squares(*pair.x) * squares(*pair.y)); }
  double total() const { return 0.5 * (squares(*pair.x) + squares(*pair.y)); }
  // For permutations: too many to try them all.
  bool prove(int, Matrix&, double&) const { return false; }
  double at(const Matrix& t, Matrix& gradient) const;
  double operator()(const Matrix& full, Matrix& gradient) const { return at(first_columns(full, n(), k()), gradient); }

 private:
  double squares(const ProcessNetwork& net) const;  // weighted sum of squared responses
};

// The squared distance at a fixed transform (n_x x n_y), from residuals: accurate where it is small. In squared units of
// the pair, as is the next.
double mean_residual(const ProcessPair& pair, const Matrix& t);
double covariance_residual(const ProcessPair& pair, const Matrix& t);

// The sum of w |s_x - s_y|^2 over singular values, for each condition the largest of the bounds.
double spectral_gap(const ProcessPair& pair);

// Means and roots of the noise at some positions, for the search; the conditions of `Roots` are rows of the means.
Roots roots_of(const ProcessNetwork& net);

}  // namespace repshape
