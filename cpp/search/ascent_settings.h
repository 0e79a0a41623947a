// What every ascent is told, and what its progress says about its end.
#pragma once
#include <algorithm>
#include <cmath>

#include "search/ascent_constants.h"

namespace repshape {

struct AscentSettings {
  double scale = 1;         // of the objective; gradients are compared with it
  double tolerance = 1e-9;  // of the Riemannian gradient, relative to scale
  int memory = 12;          // steps of L-BFGS
  bool special = false;     // stay among rotations
};

// Extrapolates the value an ascent will end at from its last two gains, because gains shrink about geometrically.
class Forecast {
 public:
  // The value that is expected in the end, given the present one; infinite until there is enough to extrapolate from.
  double after(double value) {
    const double gain = value - previous_, last = last_gain_;
    previous_ = value, last_gain_ = gain;
    if (!std::isfinite(gain) || !std::isfinite(last)) return INFINITY;
    const double ratio = std::min(ascent::kMostRatio, std::max(gain / last, ascent::kLeastRatio));
    return value + ascent::kSafety * gain * ratio / (1 - ratio);
  }

 private:
  double previous_ = -INFINITY, last_gain_ = INFINITY;
};

}  // namespace repshape
