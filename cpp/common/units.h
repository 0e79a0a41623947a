// Powers of two by which numbers are divided before they are multiplied with each other, so that no product overflows
// or vanishes. Multiplying the result by a power of two is exact.
#pragma once
#include <cmath>

#include "common/matrix.h"

namespace repshape {

// The power of two just below the largest magnitude; one where all are zero.
inline double unit_of(const Matrix& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  return largest > 0 ? std::ldexp(1.0, std::ilogb(largest)) : 1;
}

// Sets gains and weights of a pair from the scales of its two networks. The objective is bilinear in the networks, so
// that only the ratio of covariances to means matters to it: their weights. Distances are those of gain_x x and
// gain_y y, the larger gain being one.
template <class AnyPair>
void set_units(AnyPair& pair) {
  const auto &x = *pair.x, &y = *pair.y;
  const double scale = std::max(x.scale, y.scale), mean_scale = std::max(x.mean_scale, y.mean_scale);
  pair.gain_x = x.scale / scale, pair.gain_y = y.scale / scale;
  pair.mean_gain_x = x.mean_scale / mean_scale, pair.mean_gain_y = y.mean_scale / mean_scale;
  if (pair.alpha == 0 || pair.alpha == 2) return;  // there is only one part
  const int ratio = std::ilogb(x.scale) + std::ilogb(y.scale) - std::ilogb(x.mean_scale) - std::ilogb(y.mean_scale);
  (ratio > 0 ? pair.mean_weight : pair.covariance_weight) = std::ldexp(1.0, -std::abs(ratio));
}

}  // namespace repshape
