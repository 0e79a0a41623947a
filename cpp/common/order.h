// The two networks of a pair are always solved in the same order, so that both orders in which they are given have the
// same result. It must not depend on rounding, which differs between processors: where a search ends differs between
// the orders. So networks are ordered by a sum of all their numbers with generic weights, which rounding hardly
// changes.
#pragma once
#include <cmath>

#include "common/matrix.h"

namespace repshape {

// `signed_values`: whether the signs of the numbers mean anything. Those of factors are LAPACK's choice.
inline double generic_sum(const double* values, Index count, bool signed_values) {
  constexpr double golden = 0.6180339887498949;
  double sum = 0, weight = 0;
  for (Index e = 0; e < count; ++e) {
    weight += weight + golden < 1 ? golden : golden - 1;
    sum += weight * (std::abs(values[e]) + (signed_values ? 0.5 * values[e] : 0.0));
  }
  return sum;
}

}  // namespace repshape
