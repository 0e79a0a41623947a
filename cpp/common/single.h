// Dense matrices in single precision, row-major, by BLAS.
#pragma once
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "common/lapack.h"

namespace repshape {

using Floats = std::vector<float>;

// As gemm of dense.h.
inline void gemm(bool ta, bool tb, int m, int n, int k, double alpha, const float* a, int lda, const float* b, int ldb,
                 double beta, float* c, int ldc) {
  const float first = float(alpha), second = float(beta);
  if (m == 0 || n == 0) return;
  lapack().sgemm(tb ? "T" : "N", ta ? "T" : "N", &n, &m, &k, &first, b, &ldb, a, &lda, &second, c, &ldc);
}

// The lower triangle, column-major, of s = x x', x being m x n.
inline void gram(int m, int n, const float* x, float* s) {
  const float zero = 0, one = 1;
  lapack().ssyrk("L", "T", &m, &n, &one, x, &n, &zero, s, &m);
}

// out = a x (rows), or out = a' x (columns), a being rows x columns.
inline void apply(int rows, int columns, const float* a, const float* x, float* out) {
  const float zero = 0, one = 1;
  const int unit = 1;
  lapack().sgemv("T", &columns, &rows, &one, a, &columns, x, &unit, &zero, out, &unit);
}
inline void apply_transposed(int rows, int columns, const float* a, const float* x, double beta, float* out) {
  const float second = float(beta), one = 1;
  const int unit = 1;
  lapack().sgemv("N", &columns, &rows, &one, a, &columns, x, &unit, &second, out, &unit);
}

inline double dot(const float* a, const float* b, std::size_t count) {
  constexpr std::size_t stride = 4096;  // sums of this many terms keep every digit that matters
  double sum = 0;
  for (std::size_t from = 0; from < count; from += stride) {
    const std::size_t to = from + stride < count ? from + stride : count;
    float part[16] = {};  // independent sums, which the compiler may vectorise
    std::size_t i = from;
    for (; i + 16 <= to; i += 16)
      for (int l = 0; l < 16; ++l) part[l] += a[i + l] * b[i + l];
    for (; i < to; ++i) part[0] += a[i] * b[i];
    for (float p : part) sum += p;
  }
  return sum;
}
inline double dot(const Floats& a, const Floats& b) { return dot(a.data(), b.data(), a.size()); }

// The eigenvalues of a symmetric matrix of which the lower triangle, column-major, is given, ascending. Its rows become
// the eigenvectors.
inline Floats symmetric_eigen(int n, Floats& s) {
  Floats values(n);
  int info = 0, lwork = -1, liwork = -1, iwant = 0;
  float want = 0;
  lapack().ssyevd("V", "L", &n, s.data(), &n, values.data(), &want, &lwork, &iwant, &liwork, &info);
  const int exact = 1 + 6 * n + 2 * n * n;  // a float may round the wanted size down
  lwork = int(want) < exact ? exact : int(want), liwork = iwant;
  Floats work(lwork);
  std::vector<int> iwork(liwork);
  lapack().ssyevd("V", "L", &n, s.data(), &n, values.data(), work.data(), &lwork, iwork.data(), &liwork, &info);
  if (info != 0) throw std::runtime_error("the eigenvalue iteration did not converge");
  return values;
}

}  // namespace repshape
