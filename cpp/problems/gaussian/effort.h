// How large the Gaussian objective is, what one evaluation costs, and a cheaper objective to begin with.
#pragma once
#include "problems/gaussian/objective.h"
#include "problems/gaussian/parts.h"
#include "common/spread.h"

namespace repshape {

// An upper bound of the objective.
inline double scale_of(const Objective& f) {
  return std::sqrt(energy(*f.pair.x, f.pair) * energy(*f.pair.y, f.pair));
}

// The objective at distance zero.
inline double total_of(const Objective& f) {
  return 0.5 * (energy(*f.pair.x, f.pair) + energy(*f.pair.y, f.pair));
}

// Floating-point operations of one iteration: a gradient, and a step in the group.
inline double cost_of(const Network& x, const Network& y) {
  const double nx = x.neurons, ny = y.neurons, rx = x.rank, ry = y.rank;
  const double products = 2 * nx * (ry * ny + rx * ry) * 2 * x.positions;
  return x.blocks * (products + 17 * std::min(rx, ry) * std::min(rx, ry) * std::max(rx, ry)) + 40 * nx * nx * nx;
}

// How many conditions fix a transform: those with noise of full rank tell more than means do.
inline int fixed_by(const Network& x, const Network& y) {
  const bool full = x.positions == 1 && !x.diagonal && !y.diagonal && x.rank == x.neurons && y.rank == y.neurons;
  return full ? x.neurons / 2 : 2 * x.neurons;
}

// The same on some of the conditions: enough to determine a transform of this size.
inline Objective on_some_conditions(Objective f) {
  const Network& x = *f.pair.x;
  constexpr int fewest = 8;  // groups of eight conditions
  const int total = x.groups();
  const int conditions = fixed_by(x, *f.pair.y);
  const int wanted = std::max(fewest, (conditions + kDoubleLanes - 1) / kDoubleLanes);
  if (wanted >= total) return f;
  f.pair.groups = spread_evenly(total, wanted);
  double weight = 0;
  for (int group : f.pair.groups)
    for (int b = group * kDoubleLanes; b < std::min((group + 1) * kDoubleLanes, x.blocks); ++b)
      weight += f.pair.weights[b];
  if (!(weight > 0)) f.pair.groups = all_groups(x);
  if (!(weight > 0)) return f;
  f.pair.boost = (x.blocks / x.conditions) / weight;
  return f;
}

}  // namespace repshape
