// Random numbers that are the same everywhere: a small generator of our own and the few distributions the search needs.
#pragma once
#include <cmath>
#include <cstdint>

namespace repshape {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // SplitMix64 (Steele, Lea and Flood 2014).
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  double uniform() { return (double(bits() >> 11) + 0.5) * (1.0 / 9007199254740992.0); }
  int below(int count) { return int(uniform() * count); }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

  // Marsaglia and Tsang (2000); shapes below one by their boost.
  double gamma(double shape) {
    const double boost = shape < 1 ? std::pow(uniform(), 1 / shape) : 1;
    const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal(), v = std::pow(1 + c * x, 3);
      if (v > 0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return boost * d * v;
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace repshape
