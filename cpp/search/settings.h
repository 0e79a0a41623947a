// What a search is asked to do, and what it returns.
#pragma once
#include <cstdint>
#include <vector>

namespace repshape {

// The groups of transforms, numbered as in repshape/groups.py.
enum class Group { orthogonal, rotation, permutation, identity };

// The numbers that decide when a search ends; stopping.h says how.
struct ExplorationSettings {
  double tolerance = 1e-5;  // of the gradient while exploring: the distance is then known to about 1e-5
  double agreement = 3e-4;  // relative difference of distances that count as one
  double suggested = 0.875;  // share of starts from the correspondence of conditions; the others are random
  double plenty = 4e10;     // operations that a search may always take: about half a second
  double ample = 3e11;      // operations that the least number of starts may take, if they do not agree sooner

  int brief = 0;            // starts of a brief search, without moves; 0: until the stopping rule is met
};

struct Settings {
  Group group = Group::orthogonal;
  double tolerance = 1e-6;
  int max_iterations = 500, memory = 30;
  // Starting transforms besides the means': n_starts matrices of n x n, n the larger size, laid out for canonical order
  // (x the larger network).
  std::vector<double> starts;
  int n_starts = 0;
  bool explore = true;  // whether the search makes its own starts; else every start is finished
  std::uint64_t seed = 0;
  int pad_to = 0;  // neurons of the space in which permutations act, if more than the larger network has
  ExplorationSettings exploration;
};

// Starts of the caller, which replace all others: `count` matrices of n_y x n_x, rows of y onto x.
struct Given {
  const double* values = nullptr;
  int count = 0;
};

struct Solution {
  double distance = 0, lower_bound = 0, mean_distance = 0, covariance_distance = 0;
  bool converged = false;
  int iterations = 0, starts = 0, agreeing = 0;
  double gap = 0;  // by what share the second-best optimum found is longer than the best; 0 if there is no other
  std::vector<double> transform;  // n_y x n_x for the caller's x and y: y @ transform lies on x
};

}  // namespace repshape
