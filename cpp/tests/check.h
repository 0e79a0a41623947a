// The few checks that the tests need, and random inputs.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/random.h"

#define CHECK(holds)                                                            \
  do {                                                                          \
    if (!(holds)) {                                                             \
      std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #holds); \
      std::abort();                                                             \
    }                                                                           \
  } while (false)

namespace repshape::tests {

using Values = std::vector<double>;

inline long checked = 0;  // numbers that were compared

// Whether a number is what it should be, up to a share of `scale`. NaN is near nothing.
inline bool near(double found, double expected, double tolerance, double scale) {
  ++checked;
  const bool holds = std::abs(found - expected) <= tolerance * scale;
  if (!holds) std::fprintf(stderr, "found %.17g, expected %.17g, scale %.3g\n", found, expected, scale);
  return holds;
}

inline bool near(const Values& found, const Values& expected, double tolerance) {
  double gap = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    gap += (found[i] - expected[i]) * (found[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return found.size() == expected.size() && near(std::sqrt(gap), 0, tolerance, std::sqrt(norm) + 1e-300);
}

inline Values normals(Random& random, std::size_t count, double scale = 1) {
  Values out(count);
  for (double& v : out) v = scale * random.normal();
  return out;
}

}  // namespace repshape::tests
