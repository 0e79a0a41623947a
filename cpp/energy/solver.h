// Solves one pair of networks under the energy metric: starts, screening, descent and distance.
#pragma once
#include "common/exploration.h"
#include "common/group.h"
#include "energy/samples.h"

namespace repshape {

struct EnergySettings {
  Group group = Group::orthogonal;
  double q = 1;
  bool unbiased = true;  // within-terms over distinct pairs of trials
  std::vector<double> weights;
  double tolerance = 1e-9;
  int max_iterations = 500, memory = 30;
  // Starting transforms besides the means': n_starts matrices of n x n, n the larger size.
  std::vector<double> starts;
  int n_starts = 0;
  bool screen = true;  // else every start is finished on all trials
  std::uint64_t seed = 0;
  int pad_to = 0;  // neurons of the space in which permutations act, if more than the larger network has
  int screen_conditions = 32, screen_trials = 16;
  ExplorationSettings exploration;
};

struct EnergySolution {
  double distance = 0, lower_bound = 0;
  double loss = 0;  // sum of w mean |x - T y|^q, what the search minimises
  bool converged = false;
  int iterations = 0, starts = 0, agreeing = 0;
  long evaluations = 0;
  std::vector<double> transform;  // n_y x n_x for the caller's x and y: y @ transform lies on x
};

// Given starts replace all others: n_given matrices of n_y x n_x, rows of y onto x.
EnergySolution solve_energy(const Samples& x, const Samples& y, const EnergySettings& settings,
                            const double* given = nullptr, int n_given = 0);

// Sum of w mean |x - T y|^q, T being n_x x n_y with n_x >= n_y. `gradient` (n_x x n_y), where given,
// receives the gradient of minus the value along the orthogonal group; kernel.h says how the two
// forms differ where trials coincide.
double energy_loss(const Samples& x, const Samples& y, const double* weights, double q, const double* transform,
                   double* gradient, const EnergyKernels& kernels);

}  // namespace repshape
