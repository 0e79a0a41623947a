// Two networks and what the objective needs besides them.
#pragma once
#include "problems/gaussian/network.h"

namespace repshape {

// x has at least as many neurons as y. The objective is bilinear in the two networks, so that only the ratio of
// covariances to means matters to it: their weights. Distances are those of gain_x x and gain_y y, the larger gain
// being one.
struct Pair {
  const Network* x = nullptr;
  const Network* y = nullptr;
  double alpha = 1;
  const double* weights = nullptr;      // blocks
  const double* row_weights = nullptr;  // rows of the means
  std::vector<int> groups;              // groups of blocks that take part
  double subset_scale = 1;              // makes the weights of these blocks sum to one
  double gain_x = 1, gain_y = 1, mean_gain_x = 1, mean_gain_y = 1;
  double covariance_weight = 1, mean_weight = 1;
  Matrix mean_term;  // x.neurons x y.neurons: alpha sum w mu_x mu_y'

  Pair() = default;
  Pair(const Network& x_, const Network& y_, const double* block_weights);

  // Sets gains and weights from the scales of the two networks.
  void set_units();

  // The weights of the two parts in the objective.
  double mean_share() const { return alpha * mean_weight; }
  double covariance_share() const { return (2 - alpha) * covariance_weight; }
  bool lanes() const { return x->lanes && y->lanes; }

  // Lets at most `count` evenly spaced groups take part. Returns false, and changes nothing, if all do already or the
  // others have no weight.
  bool choose_groups(int count);

  // Calls visit(block) for the blocks that take part.
  template <class Visit>
  void for_blocks(Visit visit) const {
    for (int g : groups)
      for (int b = g * kDoubleLanes; b < std::min((g + 1) * kDoubleLanes, x->blocks); ++b) visit(b);
  }

  // Plain data for the kernels, valid as long as the pair.
  LanePair view() const {
    return {x->view(), y->view(), weights, groups.data(), int(groups.size()), subset_scale, gain_x, gain_y};
  }
};

// alpha sum w mu_x mu_y' over all rows of the means, n_x x n_y
Matrix mean_term(const Network& x, const Network& y, double alpha, const double* weights);

// Squared distances of means and of covariances at a transform (n_x x n_y), in units of the larger scales.
double mean_residual(const Pair& pair, const Matrix& t);
double covariance_residual(const Pair& pair, const Matrix& t);

// Sum of w |spectrum_x - spectrum_y|^2: no transform brings covariances closer (Hoffman-Wielandt). Where there are
// several such bounds, the largest of them for each condition.
double spectral_gap(const Pair& pair);

// An upper bound of the objective, and its value at distance zero.
double scale_of(const Pair& pair);
double total_of(const Pair& pair);

// Floating-point operations of one iteration: a gradient, and a step in the group.
double cost_of(const Network& x, const Network& y);

}  // namespace repshape
