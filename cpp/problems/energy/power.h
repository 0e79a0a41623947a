// Powers of positive numbers, one per SIMD lane, for the exponents of the energy distance.
#pragma once
#include <cstdint>

#include "common/isa.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace repshape {
namespace REPSHAPE_ISA {
namespace {

constexpr int kVectorLanes = kRegisterBytes / sizeof(double);
typedef double Vector __attribute__((vector_size(kRegisterBytes)));
typedef std::uint64_t Bits __attribute__((vector_size(kRegisterBytes)));

inline Vector spread(double value) { return value - Vector{}; }
inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

inline double sum_lanes(Vector v) {
  double total = 0;
  for (int l = 0; l < kVectorLanes; ++l) total += v[l];
  return total;
}

// 1 / sqrt(s) to a few units in the last place, for s of at least 1e-300.
inline Vector inverse_root(Vector s) {
#if defined(__AVX512F__)
  // 14 bits; each Newton step doubles them. (Unmasked, GCC 12 warns of its own header.)
  Vector r = (Vector)_mm512_maskz_rsqrt14_pd(0xff, (__m512d)s);
  const Vector half = 0.5 * s;
  r = r * (1.5 - half * r * r);
  return r * (1.5 - half * r * r);
#else
  Vector root = s;
  for (int l = 0; l < kVectorLanes; ++l) root[l] = square_root(s[l]);
  return 1 / root;
#endif
}

// The natural logarithm: s = 2^k m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m-1)/(m+1)).
inline Vector logarithm(Vector s) {
  constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcdULL, one = 0x3ff0000000000000ULL;
  const Bits bits = (Bits)s;
  const Bits biased = (bits - root_half + one) >> 52;  // k + 1023
  const Vector m = (Vector)(bits - ((biased - 1023) << 52));
  // An integer below 2^52 in the mantissa of 2^52 reads as 2^52 + integer.
  const Vector k = (Vector)(biased | 0x4330000000000000ULL) - (4503599627370496.0 + 1023);
  const Vector t = (m - 1) / (m + 1), z = t * t;
  Vector series = spread(1.0 / 21);
  for (int odd = 19; odd >= 1; odd -= 2) series = series * z + 1.0 / odd;
  return k * 0.6931471805599453 + 2 * t * series;
}

// e^y for |y| below 700: 2^k times the Taylor series on |r| <= log(2) / 2.
inline Vector exponential(Vector y) {
  constexpr double magic = 6755399441055744.0;  // 1.5 2^52: adding it rounds to an integer
  const Vector shifted = y * 1.4426950408889634 + magic;
  const Vector k = shifted - magic;
  const Vector r = (y - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
  Vector series = spread(1.0);
  for (int n = 13; n >= 1; --n) series = series * r * (1.0 / n) + 1.0;
  const Bits scale = ((Bits)shifted + 1023) << 52;
  return series * (Vector)scale;
}

// s^((q - 2) / 2): the weights of reweighted least squares.
struct PowerTwo {
  explicit PowerTwo(double) {}
  Vector operator()(Vector) const { return spread(1); }
};
struct PowerOne {
  explicit PowerOne(double) {}
  Vector operator()(Vector s) const { return inverse_root(s); }
};
struct PowerThreeHalves {
  explicit PowerThreeHalves(double) {}
  Vector operator()(Vector s) const { return inverse_root(s * inverse_root(s)); }
};
struct PowerHalf {
  explicit PowerHalf(double) {}
  Vector operator()(Vector s) const {
    const Vector r = inverse_root(s);
    return r * inverse_root(s * r);
  }
};
struct PowerAny {
  explicit PowerAny(double q) : exponent(0.5 * q - 1) {}
  Vector operator()(Vector s) const { return exponential(exponent * logarithm(s)); }
  double exponent;
};

}  // namespace
}  // namespace REPSHAPE_ISA
}  // namespace repshape
