// BLAS and LAPACK in plain loops, column-major as theirs, for programs without Python: slow, and right.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/lapack.h"

namespace repshape::tests {

template <class T>
void gemm_loops(const char* ta, const char* tb, const int* m, const int* n, const int* k, const T* alpha, const T* a,
                const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc) {
  for (int i = 0; i < *m; ++i)
    for (int j = 0; j < *n; ++j) {
      T sum = 0;
      for (int p = 0; p < *k; ++p)
        sum += (*ta == 'T' ? a[p + i * *lda] : a[i + p * *lda]) * (*tb == 'T' ? b[j + p * *ldb] : b[p + j * *ldb]);
      T& at = c[i + j * *ldc];
      at = *alpha * sum + (*beta == 0 ? 0 : *beta * at);
    }
}

// y = alpha op(a) x + beta y, with unit strides.
template <class T>
void gemv_loops(const char* op, const int* m, const int* n, const T* alpha, const T* a, const int* lda, const T* x,
                const int*, const T* beta, T* y, const int*) {
  const bool turned = *op == 'T';
  for (int i = 0; i < (turned ? *n : *m); ++i) {
    T sum = 0;
    for (int p = 0; p < (turned ? *m : *n); ++p) sum += (turned ? a[p + i * *lda] : a[i + p * *lda]) * x[p];
    y[i] = *alpha * sum + (*beta == 0 ? 0 : *beta * y[i]);
  }
}

// The lower triangle of a' a ("L", "T").
template <class T>
void syrk_loops(const char*, const char*, const int* n, const int* k, const T* alpha, const T* a, const int* lda,
                const T* beta, T* c, const int* ldc) {
  for (int j = 0; j < *n; ++j)
    for (int i = j; i < *n; ++i) {
      T sum = 0;
      for (int p = 0; p < *k; ++p) sum += a[p + i * *lda] * a[p + j * *lda];
      T& at = c[i + j * *ldc];
      at = *alpha * sum + (*beta == 0 ? 0 : *beta * at);
    }
}

// b <- b op(l)^-1 for a lower triangle l ("R", "L", op, "N").
template <class T>
void trsm_loops(const char*, const char*, const char* op, const char*, const int* m, const int* n, const T* alpha,
                const T* l, const int* ldl, T* b, const int* ldb) {
  const bool turned = *op == 'T';
  for (int i = 0; i < *m; ++i)
    for (int s = 0; s < *n; ++s) {
      const int j = turned ? s : *n - 1 - s;
      T sum = *alpha * b[i + j * *ldb];
      for (int q = turned ? 0 : j + 1; q < (turned ? j : *n); ++q)
        sum -= b[i + q * *ldb] * (turned ? l[j + q * *ldl] : l[q + j * *ldl]);
      b[i + j * *ldb] = sum / l[j + j * *ldl];
    }
}

template <class T>
void potrf_loops(const char*, const int* n, T* s, const int* lds, int* info) {
  *info = 0;
  for (int j = 0; j < *n; ++j)
    for (int i = j; i < *n; ++i) {
      T sum = s[i + j * *lds];
      for (int q = 0; q < j; ++q) sum -= s[i + q * *lds] * s[j + q * *lds];
      if (i == j && !(sum > 0)) return void(*info = j + 1);
      s[i + j * *lds] = i == j ? std::sqrt(sum) : sum / s[j + j * *lds];
    }
}

inline void gesv_loops(const int* n, const int* right, double* a, const int* lda, int* pivots, double* b,
                       const int* ldb, int* info) {
  *info = 0;
  for (int c = 0; c < *n; ++c) {
    int pivot = c;
    for (int i = c + 1; i < *n; ++i)
      if (std::abs(a[i + c * *lda]) > std::abs(a[pivot + c * *lda])) pivot = i;
    pivots[c] = pivot + 1;
    if (a[pivot + c * *lda] == 0) return void(*info = c + 1);
    for (int j = 0; j < *n; ++j) std::swap(a[c + j * *lda], a[pivot + j * *lda]);
    for (int j = 0; j < *right; ++j) std::swap(b[c + j * *ldb], b[pivot + j * *ldb]);
    for (int i = 0; i < *n; ++i) {
      if (i == c) continue;
      const double f = a[i + c * *lda] / a[c + c * *lda];
      for (int j = c; j < *n; ++j) a[i + j * *lda] -= f * a[c + j * *lda];
      for (int j = 0; j < *right; ++j) b[i + j * *ldb] -= f * b[c + j * *ldb];
    }
  }
  for (int c = 0; c < *n; ++c)
    for (int j = 0; j < *right; ++j) b[c + j * *ldb] /= a[c + c * *lda];
}

// Singular values of the columns of x (rows x columns, rows >= columns) by one-sided Jacobi: x becomes U S, v is V.
inline void jacobi(int rows, int columns, std::vector<double>& x, std::vector<double>& v) {
  v.assign(std::size_t(columns) * columns, 0);
  for (int j = 0; j < columns; ++j) v[j + j * columns] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool turned = false;
    for (int p = 0; p < columns; ++p)
      for (int q = p + 1; q < columns; ++q) {
        double pp = 0, qq = 0, pq = 0;
        for (int i = 0; i < rows; ++i) {
          const double a = x[i + p * rows], b = x[i + q * rows];
          pp += a * a, qq += b * b, pq += a * b;
        }
        if (pq == 0 || std::abs(pq) <= 1e-16 * std::sqrt(pp * qq)) continue;
        turned = true;
        const double zeta = (qq - pp) / (2 * pq);
        const double t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        auto turn = [&](std::vector<double>& m, int length) {
          for (int i = 0; i < length; ++i) {
            const double a = m[i + p * length], b = m[i + q * length];
            m[i + p * length] = c * a - s * b, m[i + q * length] = s * a + c * b;
          }
        };
        turn(x, rows), turn(v, columns);
      }
    if (!turned) return;
  }
}

// Fills the columns of an orthogonal u (n x n) that have no length yet.
inline void complete_basis(int n, std::vector<double>& u, std::vector<char> known) {
  for (int j = 0, axis = 0; j < n; ++j)
    while (!known[j]) {
      for (int i = 0; i < n; ++i) u[i + j * n] = i == axis;
      ++axis;
      for (int twice = 0; twice < 2; ++twice)
        for (int k = 0; k < n; ++k) {
          if (k == j || !known[k]) continue;
          double dot = 0;
          for (int i = 0; i < n; ++i) dot += u[i + j * n] * u[i + k * n];
          for (int i = 0; i < n; ++i) u[i + j * n] -= dot * u[i + k * n];
        }
      double norm = 0;
      for (int i = 0; i < n; ++i) norm += u[i + j * n] * u[i + j * n];
      if (norm < 0.01 / n) continue;
      for (int i = 0; i < n; ++i) u[i + j * n] /= std::sqrt(norm);
      known[j] = 1;
    }
}

// a (m x n) = u diag(s) v', all of u (m x m) and v (n x n), singular values descending; m >= n.
inline void tall_svd(int m, int n, std::vector<double> a, double* s, std::vector<double>& u, std::vector<double>& v) {
  std::vector<double> turned;
  jacobi(m, n, a, turned);
  std::vector<std::pair<double, int>> order;
  for (int j = 0; j < n; ++j) {
    double norm = 0;
    for (int i = 0; i < m; ++i) norm += a[i + j * m] * a[i + j * m];
    order.emplace_back(-std::sqrt(norm), j);
  }
  std::sort(order.begin(), order.end());
  u.assign(std::size_t(m) * m, 0), v.assign(std::size_t(n) * n, 0);
  std::vector<char> known(m, 0);
  for (int j = 0; j < n; ++j) {
    s[j] = -order[j].first;
    const int from = order[j].second;
    for (int i = 0; i < n; ++i) v[i + j * n] = turned[i + from * n];
    known[j] = s[j] > 1e-14 * s[0];
    for (int i = 0; known[j] && i < m; ++i) u[i + j * m] = a[i + from * m] / s[j];
  }
  complete_basis(m, u, known);
}

// The whole decomposition ("A").
inline void gesdd_loops(const char*, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
                        const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int*, int* info) {
  *info = 0;
  if (*lwork == -1) return void(*work = 1);
  const bool wide = *m < *n;
  const int rows = wide ? *n : *m, columns = wide ? *m : *n;
  std::vector<double> copy(std::size_t(rows) * columns), left, right;
  for (int i = 0; i < *m; ++i)
    for (int j = 0; j < *n; ++j) copy[wide ? j + i * rows : i + j * rows] = a[i + j * *lda];
  tall_svd(rows, columns, copy, s, left, right);
  if (wide) std::swap(left, right);
  for (int i = 0; i < *m; ++i)
    for (int j = 0; j < *m; ++j) u[i + j * *ldu] = left[i + j * *m];
  for (int i = 0; i < *n; ++i)
    for (int j = 0; j < *n; ++j) vt[i + j * *ldvt] = right[j + i * *n];
}

// Eigenvectors of a symmetric matrix, ascending ("V", "L"), by Jacobi rotations of both sides.
template <class T>
void syevd_loops(const char*, const char*, const int* size, T* a, const int* lda, T* values, T* work, const int* lwork,
                 int* iwork, const int*, int* info) {
  *info = 0;
  if (*lwork == -1) return void((*work = 1, *iwork = 1));
  const int n = *size;
  std::vector<double> s(std::size_t(n) * n), v(s.size(), 0);
  for (int i = 0; i < n; ++i) v[i + i * n] = 1;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) s[i + j * n] = a[std::max(i, j) + std::min(i, j) * *lda];
  for (int sweep = 0; sweep < 60; ++sweep)
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        if (s[p + q * n] == 0) continue;
        const double angle = 0.5 * std::atan2(2 * s[p + q * n], s[q + q * n] - s[p + p * n]);
        const double c = std::cos(angle), d = std::sin(angle);
        for (int i = 0; i < n; ++i) {
          const double x = s[i + p * n], y = s[i + q * n], e = v[i + p * n], f = v[i + q * n];
          s[i + p * n] = c * x - d * y, s[i + q * n] = d * x + c * y;
          v[i + p * n] = c * e - d * f, v[i + q * n] = d * e + c * f;
        }
        for (int i = 0; i < n; ++i) {
          const double x = s[p + i * n], y = s[q + i * n];
          s[p + i * n] = c * x - d * y, s[q + i * n] = d * x + c * y;
        }
      }
  std::vector<std::pair<double, int>> order;
  for (int j = 0; j < n; ++j) order.emplace_back(s[j + j * n], j);
  std::sort(order.begin(), order.end());
  for (int j = 0; j < n; ++j) {
    values[j] = T(order[j].first);
    for (int i = 0; i < n; ++i) a[i + j * *lda] = T(v[i + order[j].second * n]);
  }
}

template <class T>
void use_loops() {
  Lapack<T>& la = lapack<T>();
  la.gemm = gemm_loops<T>, la.gemv = gemv_loops<T>, la.syrk = syrk_loops<T>, la.trsm = trsm_loops<T>;
  la.potrf = potrf_loops<T>, la.syevd = syevd_loops<T>;
}

inline void use_plain_lapack() {
  use_loops<double>();
  use_loops<float>();
  lapack<double>().gesv = gesv_loops, lapack<double>().gesdd = gesdd_loops;
}

}  // namespace repshape::tests
