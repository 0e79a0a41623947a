// Some of many, evenly spaced.
#pragma once
#include <algorithm>
#include <vector>

namespace repshape {

// At most `wanted` of the numbers below `total`.
inline std::vector<int> spread_evenly(int total, int wanted) {
  const int count = std::min(total, wanted);
  std::vector<int> out;
  for (int c = 0; c < count; ++c) out.push_back(int((2L * c + 1) * total / (2L * count)));
  return out;
}

}  // namespace repshape
