// Small dense matrices of doubles, row-major, and the few factorisations the solver needs.
#pragma once
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "network.h"

namespace repshape {

using Matrix = std::vector<double>;

// c (m x n) = alpha op(a) op(b) + beta c, op(a) being m x k; the flags say "transposed".
inline void gemm(bool ta, bool tb, int m, int n, int k, double alpha, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc) {
  if (m == 0 || n == 0) return;
  if (std::size_t(m) * n * k <= 512) {  // a call to BLAS costs more than the product
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int p = 0; p < k; ++p)
          sum += (ta ? a[p * lda + i] : a[i * lda + p]) * (tb ? b[j * ldb + p] : b[p * ldb + j]);
        c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
      }
    return;
  }
  // Row-major c = a b is column-major c' = b' a'.
  lapack().dgemm(tb ? "T" : "N", ta ? "T" : "N", &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc);
}

inline double dot(const double* a, const double* b, std::size_t count) {
  double part[8] = {0, 0, 0, 0, 0, 0, 0, 0};  // independent sums, which the compiler may take at once
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int l = 0; l < 8; ++l) part[l] += a[i + l] * b[i + l];
  double sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (double p : part) sum += p;
  return sum;
}
inline double dot(const Matrix& a, const Matrix& b) { return dot(a.data(), b.data(), a.size()); }

// Eigenvectors (columns of v, row-major) and eigenvalues of a symmetric matrix, destroyed.
inline void symmetric_eigen(int n, Matrix& s, Matrix& v, Matrix& values) {
  values.resize(n);
  v.assign(std::size_t(n) * n, 0);
  if (n == 1) {
    v[0] = 1, values[0] = s[0];
    return;
  }
  if (n == 2) {
    const double angle = 0.5 * std::atan2(2 * s[1], s[0] - s[3]);
    const double c = std::cos(angle), d = std::sin(angle);
    v = {c, -d, d, c};
    values[0] = c * c * s[0] + 2 * c * d * s[1] + d * d * s[3];
    values[1] = d * d * s[0] - 2 * c * d * s[1] + c * c * s[3];
    return;
  }
  int info = 0, lwork = -1, liwork = -1, iwant = 0;
  double want = 0;
  lapack().dsyevd("V", "L", &n, s.data(), &n, values.data(), &want, &lwork, &iwant, &liwork, &info);
  lwork = int(want), liwork = iwant;
  Matrix work(lwork);
  std::vector<int> iwork(liwork);
  lapack().dsyevd("V", "L", &n, s.data(), &n, values.data(), work.data(), &lwork, iwork.data(), &liwork,
                  &info);
  if (info != 0) throw std::runtime_error("the eigenvalue iteration did not converge");
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) v[std::size_t(i) * n + j] = s[std::size_t(j) * n + i];
}

// Solves a x = b (n x n, n x n, both row-major), overwriting both; b becomes x.
inline void solve_linear(int n, Matrix& a, Matrix& b) {
  if (n > 12) {
    // Row-major a is column-major a'; transpose both so that LAPACK sees a and b.
    for (Matrix* m : {&a, &b})
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) std::swap((*m)[i * n + j], (*m)[j * n + i]);
    std::vector<int> pivots(n);
    int info = 0;
    lapack().dgesv(&n, &n, a.data(), &n, pivots.data(), b.data(), &n, &info);
    if (info != 0) throw std::runtime_error("a linear system was singular");
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) std::swap(b[i * n + j], b[j * n + i]);
    return;
  }
  for (int c = 0; c < n; ++c) {
    int pivot = c;
    for (int i = c + 1; i < n; ++i)
      if (std::abs(a[i * n + c]) > std::abs(a[pivot * n + c])) pivot = i;
    for (int j = 0; pivot != c && j < n; ++j) {
      std::swap(a[c * n + j], a[pivot * n + j]);
      std::swap(b[c * n + j], b[pivot * n + j]);
    }
    for (int i = c + 1; i < n; ++i) {
      const double f = a[i * n + c] / a[c * n + c];
      for (int j = c + 1; j < n; ++j) a[i * n + j] -= f * a[c * n + j];
      for (int j = 0; j < n; ++j) b[i * n + j] -= f * b[c * n + j];
    }
  }
  for (int c = n - 1; c >= 0; --c)
    for (int j = 0; j < n; ++j) {
      double sum = b[c * n + j];
      for (int k = c + 1; k < n; ++k) sum -= a[c * n + k] * b[k * n + j];
      b[c * n + j] = sum / a[c * n + c];
    }
}

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

// Nearest orthogonal 2 x 2 matrix in closed form: the best rotation gains |(a + d, c - b)|, the best reflection
// |(a - d, b + c)|, for g = (a b; c d).
inline Matrix nearest_orthogonal_2x2(const double* g, bool special) {
  const double along = g[0] + g[3], across = g[2] - g[1], twice = g[0] - g[3], both = g[1] + g[2];
  const double turn = std::hypot(along, across), mirror = std::hypot(twice, both);
  if (special || turn >= mirror) {
    const double c = turn > 0 ? along / turn : 1, s = turn > 0 ? across / turn : 0;
    return {c, -s, s, c};
  }
  return {twice / mirror, both / mirror, both / mirror, -twice / mirror};
}

// The orthogonal n x n matrix whose first k columns maximise <T, g>, g being n x k, k <= n. With
// `special` (n == k) the determinant is +1: the last singular direction is flipped if need be.
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

// Injection of the k columns into the n >= k rows of greatest total gain: out[j] is column j's row.
// Shortest augmenting paths with potentials (Jonker and Volgenant 1987).
inline std::vector<int> assign(int n, int k, const double* gain) {
  std::vector<double> column(k + 1, 0), row(n + 1, 0);
  std::vector<int> owner(n + 1, 0), previous(n + 1, 0);
  for (int j = 1; j <= k; ++j) {
    std::vector<double> reach(n + 1, INFINITY);
    std::vector<char> done(n + 1, 0);
    owner[0] = j;
    int i0 = 0;
    do {
      done[i0] = 1;
      const int j0 = owner[i0];
      double delta = INFINITY;
      int next = 0;
      for (int i = 1; i <= n; ++i) {
        if (done[i]) continue;
        const double cost = -gain[std::size_t(i - 1) * k + (j0 - 1)] - column[j0] - row[i];
        if (cost < reach[i]) reach[i] = cost, previous[i] = i0;
        if (reach[i] < delta) delta = reach[i], next = i;
      }
      for (int i = 0; i <= n; ++i) {
        if (done[i])
          column[owner[i]] += delta, row[i] -= delta;
        else
          reach[i] -= delta;
      }
      i0 = next;
    } while (owner[i0] != 0);
    while (i0) {
      owner[i0] = owner[previous[i0]];
      i0 = previous[i0];
    }
  }
  std::vector<int> out(k, 0);
  for (int i = 1; i <= n; ++i)
    if (owner[i]) out[owner[i] - 1] = i - 1;
  return out;
}

}  // namespace repshape
