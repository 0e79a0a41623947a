// What is measured between two networks: the parameters of the distances between responses.
#pragma once
#include <vector>

namespace repshape {

struct Ground {
  std::vector<double> weights;  // conditions; they sum to one
  double alpha = 1;             // weight of the means; that of the covariances is 2 - alpha
  double q = 1;                 // power of the energy distance
  bool unbiased = true;         // energy: within-terms over distinct pairs of trials
  // Energy: data on which starts travel first, where a gradient is expensive.
  int few_conditions = 32, few_trials = 16;
};

}  // namespace repshape
