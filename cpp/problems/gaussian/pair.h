// Two networks and what the objective needs besides them.
#pragma once
#include <vector>

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
  double boost = 1;                     // makes a subset's weights sum to one
  double gain_x = 1, gain_y = 1, mean_gain_x = 1, mean_gain_y = 1;
  double covariance_weight = 1, mean_weight = 1;
  std::vector<double> mean_term;  // x.neurons x y.neurons: alpha sum w mu_x mu_y'

  // The weights of the two parts in the objective.
  double mean_share() const { return alpha * mean_weight; }
  double covariance_share() const { return (2 - alpha) * covariance_weight; }
  bool lanes() const { return x->lanes && y->lanes; }

  // Plain data for the kernels, valid as long as the pair.
  LanePair view() const {
    return {x->view(), y->view(), weights, groups.data(), int(groups.size()), boost, gain_x, gain_y};
  }
};

// Parts of the squared distance at a fixed transform.
struct Parts {
  double mean = 0, covariance = 0;
  double mean_scale = 1, scale = 1;  // the parts are in units of their squares
};

}  // namespace repshape
