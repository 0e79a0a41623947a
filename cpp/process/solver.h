// Solves one pair of networks with positions: starts, ascent, distance and lower bound.
#pragma once
#include "common/exploration.h"
#include "common/group.h"
#include "process/objective.h"

namespace repshape {

struct ProcessSettings {
  Group group = Group::orthogonal;
  double alpha = 1;
  std::vector<double> weights;  // conditions
  double tolerance = 1e-9;
  int max_iterations = 500;
  // Starting transforms besides the means': n_starts matrices of n x n, n the larger size.
  std::vector<double> starts;
  int n_starts = 0;
  bool screen = true;  // whether the search makes its own starts; else every start is finished
  std::uint64_t seed = 0;
  int pad_to = 0;  // neurons of the space in which permutations act, if more than the larger network has
  ExplorationSettings exploration;
};

struct ProcessSolution {
  double distance = 0, lower_bound = 0, mean_distance = 0, covariance_distance = 0;
  bool converged = false;
  int iterations = 0, starts = 0, agreeing = 0;
  long evaluations = 0;
  Matrix transform;  // n_y x n_x for the caller's x and y: y @ transform lies on x
};

// Given starts replace all others: n_given matrices of n_y x n_x, rows of y onto x.
ProcessSolution solve_process(const ProcessNetwork& x, const ProcessNetwork& y, const ProcessSettings& settings,
                              const double* given = nullptr, int n_given = 0);

}  // namespace repshape
