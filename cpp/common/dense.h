// Dense linear algebra on shaped matrices: products, eigenvectors, singular vectors and linear systems.
#pragma once
#include <cmath>

#include "common/matrix.h"

namespace repshape {

// A factor of a product: a matrix, or with transpose(), its transpose.
template <class T>
struct Operand {
  Operand(const View<const T>& from, bool flip = false) : view(from), transposed(flip) {}
  Operand(const View<T>& from) : view(from), transposed(false) {}
  Operand(const MatrixOf<T>& from) : view(from.view()), transposed(false) {}

  View<const T> view;
  bool transposed;
  int rows() const { return transposed ? view.columns() : view.rows(); }
  int columns() const { return transposed ? view.rows() : view.columns(); }
};

inline Operand<double> transpose(const View<const double>& a) { return {a, true}; }
inline Operand<float> transpose(const View<const float>& a) { return {a, true}; }

// c = alpha a b + beta c
void gemm(const Operand<double>& a, const Operand<double>& b, const View<double>& c, double alpha = 1, double beta = 0);
void gemm(const Operand<float>& a, const Operand<float>& b, const View<float>& c, double alpha = 1, double beta = 0);

// alpha a b
Matrix product(const Operand<double>& a, const Operand<double>& b, double alpha = 1);
FloatMatrix product(const Operand<float>& a, const Operand<float>& b, double alpha = 1);

// out = a x, or out = a' x + beta out.
void apply(const View<const float>& a, const float* x, float* out);
void apply_transposed(const View<const float>& a, const float* x, double beta, float* out);

double dot(const double* a, const double* b, Index count);
double dot(const float* a, const float* b, Index count);
template <class T>
double dot(const MatrixOf<T>& a, const MatrixOf<T>& b) {
  return dot(a.data(), b.data(), a.size());
}
template <class T>
double norm(const MatrixOf<T>& a) {
  return std::sqrt(dot(a, a));
}

// Eigenvectors of a symmetric matrix as columns, and its eigenvalues: ascending, except that two are descending.
struct Eigen {
  Matrix vectors;
  Values values;
};
Eigen symmetric_eigen(Matrix s);

// The same in single precision, with eigenvectors as rows, from the lower triangle in column-major order.
struct FloatEigen {
  FloatMatrix rows;
  std::vector<float> values;
};
FloatEigen symmetric_eigen_rows(FloatMatrix s);

// The lower triangle, in column-major order, of x x'; the rest of s stays as it is.
template <class T>
void lower_gram(const View<const T>& x, MatrixOf<T>& s);

// x = u diag(s) v', all columns of u and v.
struct Svd {
  Matrix u, v_transposed;
  Values s;
};
Svd full_svd(const View<const double>& x);

// x with a x = b, for square a and b.
Matrix solve_linear(Matrix a, Matrix b);

// t cay(size w) = t (I - size w / 2)^-1 (I + size w / 2) for skew w, followed by a Newton-Schulz step, which keeps the
// product orthogonal.
Matrix cayley_step(const View<const double>& t, const View<const double>& w, double size);

}  // namespace repshape
