// The nearest orthogonal matrix: the linear oracle of the orthogonal and rotation groups.
#pragma once
#include "common/dense.h"

namespace repshape {

inline bool negative_determinant(int n, Matrix a) {
  bool negative = false;
  for (int c = 0; c < n; ++c) {
    int pivot = c;
    for (int i = c + 1; i < n; ++i)
      if (std::abs(a[i * n + c]) > std::abs(a[pivot * n + c])) pivot = i;
    if (pivot != c) negative = !negative;
    for (int j = 0; j < n; ++j) std::swap(a[c * n + j], a[pivot * n + j]);
    if (a[c * n + c] < 0) negative = !negative;
    for (int i = c + 1; i < n; ++i) {
      const double f = a[i * n + c] / a[c * n + c];
      for (int j = c; j < n; ++j) a[i * n + j] -= f * a[c * n + j];
    }
  }
  return negative;
}

// An orthogonal matrix with its first column reversed if it is to be a rotation and is not.
inline Matrix oriented(int n, Matrix t, bool special) {
  if (special && negative_determinant(n, t))
    for (int i = 0; i < n; ++i) t[std::size_t(i) * n] *= -1;
  return t;
}

// Nearest orthogonal 2 x 2 matrix in closed form: the best rotation gains |(a + d, c - b)|, the best reflection
// |(a - d, b + c)|, for g = (a b; c d).
inline Matrix nearest_orthogonal_2x2(const double* g, bool special) {
  double along = g[0] + g[3], across = g[2] - g[1], twice = g[0] - g[3], both = g[1] + g[2];
  if (std::max({std::abs(along), std::abs(across), std::abs(twice), std::abs(both)}) < 1e-290)
    for (double* e : {&along, &across, &twice, &both}) *e *= 0x1p500;  // denormal numbers have too few digits to divide
  const double turn = std::hypot(along, across), mirror = std::hypot(twice, both);
  if (special || turn >= mirror) {
    const double c = turn > 0 ? along / turn : 1, s = turn > 0 ? across / turn : 0;
    return {c, -s, s, c};
  }
  return {twice / mirror, both / mirror, both / mirror, -twice / mirror};
}

// A gain (n x k) that prefers the identity where the means leave an alignment free: in the principal axes of both
// networks, that a network is at distance zero from itself takes no search.
inline Matrix tie_broken(Matrix gain, int k) {
  constexpr double share = 1e-8;
  double largest = 0;
  for (double e : gain) largest = std::max(largest, std::abs(e));
  for (int i = 0; i < k; ++i) gain[std::size_t(i) * k + i] += largest > 0 ? share * largest : 1;
  return gain;
}

// The orthogonal n x n matrix whose first k columns maximise <T, g>, g being n x k, k <= n. With
// `special` (n == k) the determinant is +1: the last singular direction is reversed if necessary.
inline Matrix nearest_orthogonal(int n, int k, const double* g, bool special) {
  if (n == 2 && k == 2) return nearest_orthogonal_2x2(g, special);
  Matrix copy(g, g + std::size_t(n) * k), values(k), u(std::size_t(k) * k), vt(std::size_t(n) * n);
  Matrix out(std::size_t(n) * n, 0);
  int info = 0, lwork = -1;
  double want = 0;
  std::vector<int> iwork(8 * k);
  // Row-major g is the column-major k x n matrix g' = u s vt.
  lapack().dgesdd("A", &k, &n, copy.data(), &k, values.data(), u.data(), &k, vt.data(), &n, &want, &lwork,
                  iwork.data(), &info);
  lwork = int(want);
  Matrix work(lwork);
  lapack().dgesdd("A", &k, &n, copy.data(), &k, values.data(), u.data(), &k, vt.data(), &n, work.data(),
                  &lwork, iwork.data(), &info);
  if (info != 0) throw std::runtime_error("the singular value iteration did not converge");
  // vt in memory is row-major v (n x n); u in memory is row-major u'.
  auto assemble = [&] {
    gemm(false, false, n, k, k, 1, vt.data(), n, u.data(), k, 0, out.data(), n);
    for (int i = 0; i < n; ++i)
      for (int j = k; j < n; ++j) out[std::size_t(i) * n + j] = vt[std::size_t(i) * n + j];
  };
  assemble();
  if (special && negative_determinant(n, out)) {
    for (int j = 0; j < k; ++j) u[std::size_t(k - 1) * k + j] *= -1;
    assemble();
  }
  return out;
}

}  // namespace repshape
