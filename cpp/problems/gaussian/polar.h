// Polar factors in lanes, by the iteration of halley.h.
#pragma once
#include "problems/gaussian/halley.h"
#include "problems/gaussian/lanes.h"

namespace repshape {
namespace REPSHAPE_ISA {
namespace {

template <class P>
P frobenius_squared(LaneView<P> x, int m, int n) {
  P sum = P::zero();
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) sum += x.at(i, j) * x.at(i, j);
  return sum;
}

// An upper bound of the largest singular value of each lane: the least of |.|_F and
// sqrt(|.|_1 |.|_inf). Zero matrices get one, so that division by the bound is safe.
template <class P>
P norm_bound(LaneView<P> x, int m, int n) {
  P by_row = P::zero(), by_column = P::zero();
  for (int i = 0; i < m; ++i) {
    P sum = P::zero();
    for (int j = 0; j < n; ++j) sum += abs(x.at(i, j));
    by_row = max(by_row, sum);
  }
  for (int j = 0; j < n; ++j) {
    P sum = P::zero();
    for (int i = 0; i < m; ++i) sum += abs(x.at(i, j));
    by_column = max(by_column, sum);
  }
  P bound = sqrt(min(frobenius_squared(x, m, n), by_row * by_column));
  for (int l = 0; l < P::width; ++l)
    if (!(bound.get(l) > 0)) bound.set(l, 1);
  return bound;
}

// Matrices below this count as zero: stored numbers are near one, and the inverse of a smaller number may overflow.
template <class T>
constexpr double kVanishing = sizeof(T) == 8 ? 1e-290 : 1e-30;

// The polar factor of 2 x 2 matrices in closed form: X plus or minus its cofactors, of the sign of
// its determinant, has both singular values equal to their sum, |X|_* = sqrt(|X|_F^2 + 2 |det X|).
template <class P>
void polar_2x2(LaneView<P> x) {
  const P a = x.at(0, 0), b = x.at(0, 1), c = x.at(1, 0), d = x.at(1, 1);
  const P det = a * d - b * c;
  P sign = P(1), sum = sqrt(a * a + b * b + c * c + d * d + abs(det) + abs(det));
  for (int l = 0; l < P::width; ++l) {
    if (det.get(l) < 0) sign.set(l, -1);
    if (!(sum.get(l) > 0)) sum.set(l, 1);  // zero stays zero
  }
  const P inverse = P(1) / sum;
  x.at(0, 0) = (a + sign * d) * inverse;
  x.at(0, 1) = (b - sign * c) * inverse;
  x.at(1, 0) = (c - sign * b) * inverse;
  x.at(1, 1) = (d + sign * a) * inverse;
}

// Sum over the singular values sigma of 1 - sigma^2 in the worst lane, x having `ranks` of them: row by
// row, because it would be lost in the rounding of a sum near m.
template <class P>
double missing(LaneView<P> x, int m, int n, const P& ranks) {
  P total = ranks - P(typename P::Scalar(m));
  for (int i = 0; i < m; ++i) {
    P row = P::zero();
    for (int j = 0; j < n; ++j) row += x.at(i, j) * x.at(i, j);
    total += P(1) - row;
  }
  double worst = 0;
  for (int l = 0; l < P::width; ++l) worst = greatest(worst, double(total.get(l)));
  return worst;
}

// x (m x n, m <= n) becomes its polar factor in every lane; singular values of exactly zero stay
// zero. `smallest` bounds the nonzero singular values of each lane from below (zero: unknown), `largest`
// from above; `ranks` holds how many there are. s is m x m and z is m x P::tile scratch.
//
// No singular value ever exceeds one, so that the difference between the rank and the sum of their squares bounds each
// of them from below. It is measured where the known bounds may be too cautious, or where no bounds are known.
template <class P>
void polar(LaneView<P> x, LaneView<P> s, LaneView<P> z, int m, int n, const P& smallest, const P& largest,
           const P& ranks) {
  using T = typename P::Scalar;
  if (m == 2 && n == 2) return polar_2x2(x);
  const P bound_above = min(norm_bound(x, m, n), largest);
  P scale = P(1) / bound_above;
  for (int l = 0; l < P::width; ++l)
    if (!(double(bound_above.get(l)) > kVanishing<T>)) scale.set(l, 0);
  double lower = 1;
  bool certain = true;
  for (int l = 0; l < P::width; ++l) {
    if (ranks.get(l) == 0) continue;
    const double bound = double(smallest.get(l)) * double(scale.get(l));
    certain = certain && bound > 0;
    lower = least(lower, bound);
  }
  lower = certain ? least(greatest(lower, kNegligible), 1.0) : kSmallestWeight;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) x.at(i, j) *= scale;
  for (int step = 0; step < kMaxHalleySteps; ++step) {
    const bool done = 1 - lower < polar_tolerance<T>();
    if (done && certain) return;
    if (done || step >= kBlindSteps) {
      const double gap = missing(x, m, n, ranks);
      if (gap < 2 * m * polar_tolerance<T>()) return;
      if (gap < 0.5)  // else the sum may be mostly rounding
        lower = greatest(certain ? lower : 0.0, square_root(1 - gap)), certain = true;
      else if (done)
        lower = kSmallestWeight;
    }
    const Halley h = halley(greatest(lower, kSmallestWeight));
    lower = advance(h, lower);
    shifted_gram(s, x, P(T(h.c)), m, n);
    cholesky_of_shifted(s, m);
    add_solution(x, s, z, P(T(h.b / h.c)), P(T(h.a - h.b / h.c)), m, n);
  }
}

}  // namespace
}  // namespace REPSHAPE_ISA
}  // namespace repshape
