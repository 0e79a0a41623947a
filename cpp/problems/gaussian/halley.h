// Dynamically weighted Halley iterations for polar factors (Nakatsukasa, Bai and Gygi 2010):
//   X <- (b/c) X + (a - b/c) (I + c X X')^-1 X
// maps every singular value in [l, 1] close to 1 within a few steps, by Cholesky alone. Here are the coefficients;
// polar.h runs the iteration in lanes, blas_objective.cpp by BLAS. Internal linkage: see common/isa.h.
#pragma once
#include "common/scalar.h"

namespace repshape {
namespace {

struct Halley {
  double a, b, c;
};

// The optimal coefficients for singular values in [lower, 1].
inline Halley halley(double lower) {
  const double l2 = lower * lower;
  const double d = cube_root(4 * (1 - l2) / (l2 * l2));
  const double root = square_root(1 + d);
  const double a = root + 0.5 * square_root(greatest(8 - 4 * d + 8 * (2 - l2) / (l2 * root), 0.0));
  const double b = (a - 1) * (a - 1) / 4;
  return {a, b, a + b - 1};
}

inline double advance(const Halley& h, double lower) {
  const double l2 = lower * lower;
  return least(1.0, lower * (h.a + h.b * l2) / (1 + h.c * l2));
}

// Coefficients for a smaller bound would amplify rounding by c * eps: c = 16 000 at 1e-3. Smaller
// singular values gain a factor of 250 a step instead, and reach 1 a few steps later.
constexpr double kSmallestWeight = 1e-3;
// Singular values below this share of the largest change nothing in double precision.
constexpr double kNegligible = 1e-16;
// More steps than this are never needed in double precision: 250^7 > 1e16, then four to converge.
constexpr int kMaxHalleySteps = 12;
// Steps that matrices of ordinary condition need anyway, before it pays to measure how far they have converged.
constexpr int kBlindSteps = 3;

// How far singular values may stay below one. Gradients are shortened by less than that share.
template <class T>
constexpr double polar_tolerance() {
  return sizeof(T) == 8 ? 1e-12 : 1e-6;
}

}  // namespace
}  // namespace repshape
