// Small dense matrices of doubles, row-major: products, eigenvectors and linear systems.
#pragma once
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "common/lapack.h"

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
  double part[8] = {0, 0, 0, 0, 0, 0, 0, 0};  // independent sums, which the compiler may vectorise
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int l = 0; l < 8; ++l) part[l] += a[i + l] * b[i + l];
  double sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (double p : part) sum += p;
  return sum;
}
inline double dot(const Matrix& a, const Matrix& b) { return dot(a.data(), b.data(), a.size()); }

// Eigenvectors (columns of v, row-major) and eigenvalues of a symmetric matrix, which is overwritten.
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

}  // namespace repshape
