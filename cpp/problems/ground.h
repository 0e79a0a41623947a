// What is measured between two networks: the parameters of the distances between responses.
#pragma once
#include "common/matrix.h"

namespace repshape {

struct Ground {
  Values weights;        // conditions; they sum to one
  double alpha = 1;      // weight of the means; that of the covariances is 2 - alpha
  double q = 1;          // power of the energy distance
  bool unbiased = true;  // energy: within-terms over distinct pairs of trials
};

}  // namespace repshape
