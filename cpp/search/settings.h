// What a search is asked to do, and what it returns.
#pragma once
#include <cstdint>

#include "common/matrix.h"

namespace repshape {

// The groups of transforms, numbered as in repshape/groups.py.
enum class Group { orthogonal, rotation, permutation, identity };

struct Settings {
  Group group = Group::orthogonal;
  double tolerance = 1e-6;
  int max_iterations = 500, memory = 30;
  // Starting transforms besides the means': n_starts matrices of n x n, n the larger size, laid out for canonical order
  // (x the larger network).
  Values starts;
  int n_starts = 0;
  bool explore = true;   // whether the search makes its own starts; else every start is finished
  int brief_starts = 0;  // starts of a brief search, without moves; 0: until the stopping rule is met
  std::uint64_t seed = 0;
  int pad_to = 0;  // neurons of the space in which permutations act, if more than the larger network has
};

// Starts of the caller, which replace all others: matrices of n_y x n_x, rows of y onto x.
using GivenStarts = std::vector<View<const double>>;

struct Solution {
  double distance = 0, lower_bound = 0, mean_distance = 0, covariance_distance = 0;
  bool converged = false;
  int iterations = 0, starts = 0, agreeing = 0;
  double gap = 0;    // by what share the second-best optimum found is longer than the best; 0 if there is no other
  Matrix transform;  // n_y x n_x for the caller's x and y: y @ transform lies on x
};

}  // namespace repshape
