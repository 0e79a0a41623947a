// Solves one pair of networks: starts, screening, ascent, distance and lower bound.
#pragma once
#include "common/exploration.h"
#include "common/group.h"
#include "gaussian/pair.h"

namespace repshape {

struct Settings {
  Group group = Group::orthogonal;
  double alpha = 1;
  const double* weights = nullptr;
  double tolerance = 1e-6;
  int max_iterations = 500;
  int memory = 30;
  // Starting transforms besides the means': n_starts matrices of n x n, n the larger size. They
  // are laid out for canonical order (x the larger network).
  const double* starts = nullptr;
  int n_starts = 0;
  // Starts of the caller, which replace all others: n_given matrices of n_y x n_x, rows of y onto x.
  const double* given = nullptr;
  int n_given = 0;
  bool explore = true;  // else every start is finished
  std::uint64_t seed = 0;
  int pad_to = 0;  // neurons of the space in which permutations act, if more than the larger network has
  ExplorationSettings exploration;
};

struct Solution {
  double distance = 0, lower_bound = 0, mean_distance = 0, covariance_distance = 0;
  bool converged = false;
  int iterations = 0, starts = 0, agreeing = 0;
  long evaluations = 0;
  std::vector<double> transform;  // n_y x n_x for the caller's x and y: y @ transform lies on x
};

Solution solve(const Network& x, const Network& y, const Settings& settings);

// The parts of the squared distance at a fixed transform (n_y x n_x, any real matrix of the group).
Parts evaluate(const Network& x, const Network& y, const double* transform, const double* weights);

}  // namespace repshape
