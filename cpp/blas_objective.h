// The objective for factors too large for lanes: one condition at a time, by BLAS.
#pragma once
#include "dense.h"
#include "polar.h"

namespace repshape {

// x (m x n row-major, m <= n) becomes its polar factor; see polar.h for the iteration.
inline void blas_polar(int m, int n, Matrix& x, Matrix& s, Matrix& z, double smallest, double rank) {
  const Lapack& la = lapack();
  double by_row = 0, frobenius = 0;
  std::vector<double> columns(n, 0);
  for (int i = 0; i < m; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j) {
      const double v = std::abs(x[std::size_t(i) * n + j]);
      sum += v, columns[j] += v, frobenius += v * v;
    }
    by_row = std::max(by_row, sum);
  }
  const double by_column = *std::max_element(columns.begin(), columns.end());
  const double bound = std::sqrt(std::min(frobenius, by_row * by_column));
  if (!(bound > 0)) return;
  for (double& v : x) v /= bound;
  const bool certain = smallest > 0;
  double lower = certain ? std::min(std::max(smallest / bound, kNegligible), 1.0) : kSmallestWeight;
  const double zero = 0, one = 1;
  for (int step = 0; step < kMaxHalleySteps; ++step) {
    const bool done = 1 - lower < polar_tolerance<double>();
    if (done && certain) return;
    // Row-major x is column-major x' (n x m): s = x x' is the Gram matrix of its columns.
    la.dsyrk("L", "T", &m, &n, &one, x.data(), &n, &zero, s.data(), &m);
    if (done) {
      double missing = rank;
      for (int i = 0; i < m; ++i) missing -= s[std::size_t(i) * m + i];
      if (missing < 16 * m * polar_tolerance<double>()) return;
      lower = kSmallestWeight;
    }
    const Halley h = halley(std::max(lower, kSmallestWeight));
    lower = advance(h, lower);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j <= i; ++j) s[std::size_t(j) * m + i] *= h.c;
      s[std::size_t(i) * m + i] += 1;
    }
    int info = 0;
    la.dpotrf("L", &m, s.data(), &m, &info);
    if (info != 0) throw std::runtime_error("a Cholesky factorisation failed in the polar iteration");
    z = x;  // column-major x' (n x m): solve z' s = x'
    la.dtrsm("R", "L", "T", "N", &n, &m, &one, s.data(), &m, z.data(), &n);
    la.dtrsm("R", "L", "N", "N", &n, &m, &one, s.data(), &m, z.data(), &n);
    const double keep = h.b / h.c, add = h.a - h.b / h.c;
    for (std::size_t e = 0; e < x.size(); ++e) x[e] = keep * x[e] + add * z[e];
  }
}

// Both forms of the objective in one pass: the gradient (where `gradient` is given) and its value,
// or the residual form of the squared Bures distances.
inline double blas_objective(const Pair& pair, const double* transform, double* gradient) {
  const Network &x = *pair.x, &y = *pair.y;
  const int nx = x.neurons, ny = y.neurons, rx = x.rank, ry = y.rank;
  const int lo = std::min(rx, ry), hi = std::max(rx, ry);
  Matrix a(x.entries()), c(y.entries()), moved(std::size_t(nx) * ry), lifted(std::size_t(nx) * ry);
  Matrix cross(std::size_t(lo) * hi), polar, small(std::size_t(lo) * lo), solved;
  const double gain_x = pair.gain_x, gain_y = pair.gain_y;
  double total = 0;
  for (int g : pair.groups)
    for (int m = g * kDoubleLanes; m < std::min((g + 1) * kDoubleLanes, x.conditions); ++m) {
      const double weight = pair.weights[m] * pair.boost;
      if (weight == 0) continue;
      if (lo == 0) {
        if (!gradient)
          total += weight * (gain_x * gain_x * x.variance[m] + gain_y * gain_y * y.variance[m]);
        continue;
      }
      x.copy_condition(m, a.data());
      y.copy_condition(m, c.data());
      if (y.diagonal) {
        for (int i = 0; i < nx; ++i)
          for (int j = 0; j < ny; ++j)
            moved[std::size_t(i) * ry + j] = transform[std::size_t(i) * ny + j] * c[j];
      } else {
        gemm(false, false, nx, ry, ny, 1, transform, ny, c.data(), ry, 0, moved.data(), ry);
      }
      const bool flipped = ry < rx;
      if (x.diagonal) {
        for (int i = 0; i < rx; ++i)
          for (int j = 0; j < ry; ++j)
            cross[flipped ? std::size_t(j) * hi + i : std::size_t(i) * hi + j] =
                a[i] * moved[std::size_t(i) * ry + j];
      } else if (flipped) {
        gemm(true, false, ry, rx, nx, 1, moved.data(), ry, a.data(), rx, 0, cross.data(), rx);
      } else {
        gemm(true, false, rx, ry, nx, 1, a.data(), rx, moved.data(), ry, 0, cross.data(), ry);
      }
      polar = cross;
      const bool full = x.ranks[m] == nx || (nx == ny && y.ranks[m] == ny);
      blas_polar(lo, hi, polar, small, solved, full ? x.smallest[m] * y.smallest[m] : 0,
                 std::min(x.ranks[m], y.ranks[m]));
      if (x.diagonal) {
        for (int i = 0; i < nx; ++i)
          for (int j = 0; j < ry; ++j)
            lifted[std::size_t(i) * ry + j] =
                a[i] * polar[flipped ? std::size_t(j) * hi + i : std::size_t(i) * hi + j];
      } else {
        gemm(false, flipped, nx, ry, rx, 1, a.data(), rx, polar.data(), hi, 0, lifted.data(), ry);
      }
      if (!gradient) {
        double distance = 0, kept = 0;
        for (std::size_t e = 0; e < lifted.size(); ++e) {
          const double gap = gain_x * lifted[e] - gain_y * moved[e];
          distance += gap * gap;
          kept += lifted[e] * lifted[e];
        }
        const bool whole = std::abs(dot(polar, polar) - x.ranks[m]) < 1e-9 * rx;
        total += weight * (distance + (whole ? 0 : gain_x * gain_x * std::max(0.0, x.variance[m] - kept)));
        continue;
      }
      total += weight * dot(cross, polar);
      if (y.diagonal) {
        for (int i = 0; i < nx; ++i)
          for (int j = 0; j < ny; ++j)
            gradient[std::size_t(i) * ny + j] += weight * lifted[std::size_t(i) * ry + j] * c[j];
      } else {
        gemm(false, true, nx, ny, ry, weight, lifted.data(), ry, c.data(), ry, 1, gradient, ny);
      }
    }
  return total;
}

}  // namespace repshape
