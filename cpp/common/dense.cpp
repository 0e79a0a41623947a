#include "common/dense.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "common/lapack.h"

namespace repshape {
namespace {

template <class T>
void blas_product(const Operand<T>& a, const Operand<T>& b, const View<T>& c, double alpha, double beta) {
  const T first = T(alpha), second = T(beta);
  const int m = c.rows(), n = c.columns(), k = a.columns();
  const int lda = a.view.stride(), ldb = b.view.stride(), ldc = c.stride();
  // Row-major c = a b is column-major c' = b' a'.
  lapack<T>().gemm(b.transposed ? "T" : "N", a.transposed ? "T" : "N", &n, &m, &k, &first, b.view.data(), &ldb,
                   a.view.data(), &lda, &second, c.data(), &ldc);
}

// Overwrites s by eigenvectors as rows, and returns the eigenvalues.
template <class T>
std::vector<T> eigen_rows(MatrixOf<T>& s) {
  const int n = s.rows();
  std::vector<T> values(n);
  int info = 0, lwork = -1, liwork = -1, iwant = 0;
  T want = 0;
  lapack<T>().syevd("V", "L", &n, s.data(), &n, values.data(), &want, &lwork, &iwant, &liwork, &info);
  const int least = 1 + 6 * n + 2 * n * n;  // a float may round the wanted size down
  lwork = std::max(int(want), least), liwork = iwant;
  std::vector<T> work(lwork);
  std::vector<int> iwork(liwork);
  lapack<T>().syevd("V", "L", &n, s.data(), &n, values.data(), work.data(), &lwork, iwork.data(), &liwork, &info);
  if (info != 0) throw std::runtime_error("the eigenvalue iteration did not converge");
  return values;
}

}  // namespace

void gemm(const Operand<double>& a, const Operand<double>& b, const View<double>& c, double alpha, double beta) {
  const int m = c.rows(), n = c.columns(), k = a.columns();
  if (m == 0 || n == 0) return;
  constexpr Index small = 512;  // multiplications: a call to BLAS costs more than so small a product
  if (Index(m) * n * k > small) return blas_product(a, b, c, alpha, beta);
  const int a_row = a.transposed ? 1 : a.view.stride(), a_column = a.transposed ? a.view.stride() : 1;
  const int b_row = b.transposed ? 1 : b.view.stride(), b_column = b.transposed ? b.view.stride() : 1;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      const double *left = a.view.data() + i * a_row, *right = b.view.data() + j * b_column;
      double sum = 0;
      for (int p = 0; p < k; ++p) sum += left[p * a_column] * right[p * b_row];
      c(i, j) = alpha * sum + (beta == 0 ? 0 : beta * c(i, j));
    }
}

void gemm(const Operand<float>& a, const Operand<float>& b, const View<float>& c, double alpha, double beta) {
  if (c.rows() > 0 && c.columns() > 0) blas_product(a, b, c, alpha, beta);
}

Matrix product(const Operand<double>& a, const Operand<double>& b, double alpha) {
  Matrix out(a.rows(), b.columns());
  gemm(a, b, out, alpha);
  return out;
}

FloatMatrix product(const Operand<float>& a, const Operand<float>& b, double alpha) {
  FloatMatrix out(a.rows(), b.columns());
  gemm(a, b, out, alpha);
  return out;
}

void apply(const View<const float>& a, const float* x, float* out) {
  const float zero = 0, one = 1;
  const int rows = a.rows(), columns = a.columns(), stride = a.stride(), unit = 1;
  lapack<float>().gemv("T", &columns, &rows, &one, a.data(), &stride, x, &unit, &zero, out, &unit);
}

void apply_transposed(const View<const float>& a, const float* x, double beta, float* out) {
  const float second = float(beta), one = 1;
  const int rows = a.rows(), columns = a.columns(), stride = a.stride(), unit = 1;
  lapack<float>().gemv("N", &columns, &rows, &one, a.data(), &stride, x, &unit, &second, out, &unit);
}

double dot(const double* a, const double* b, Index count) {
  double part[8] = {0, 0, 0, 0, 0, 0, 0, 0};  // independent sums, which the compiler may vectorise
  Index i = 0;
  for (; i + 8 <= count; i += 8)
    for (int l = 0; l < 8; ++l) part[l] += a[i + l] * b[i + l];
  double sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (double p : part) sum += p;
  return sum;
}

double dot(const float* a, const float* b, Index count) {
  constexpr Index stride = 4096;  // sums of this many terms keep every digit that matters
  double sum = 0;
  for (Index from = 0; from < count; from += stride) {
    const Index to = std::min(from + stride, count);
    float part[16] = {};
    Index i = from;
    for (; i + 16 <= to; i += 16)
      for (int l = 0; l < 16; ++l) part[l] += a[i + l] * b[i + l];
    for (; i < to; ++i) part[0] += a[i] * b[i];
    for (float p : part) sum += p;
  }
  return sum;
}

Eigen symmetric_eigen(Matrix s) {
  const int n = s.rows();
  if (n == 1) return {Matrix(1, 1, 1), {s[0]}};
  if (n == 2) {
    const double angle = 0.5 * std::atan2(2 * s(0, 1), s(0, 0) - s(1, 1));
    const double c = std::cos(angle), d = std::sin(angle);
    return {Matrix(2, 2, {c, -d, d, c}),
            {c * c * s(0, 0) + 2 * c * d * s(0, 1) + d * d * s(1, 1),
             d * d * s(0, 0) - 2 * c * d * s(0, 1) + c * c * s(1, 1)}};
  }
  Values values = eigen_rows(s);
  s.transpose_in_place();
  return {std::move(s), std::move(values)};
}

FloatEigen symmetric_eigen_rows(FloatMatrix s) {
  std::vector<float> values = eigen_rows(s);
  return {std::move(s), std::move(values)};
}

template <class T>
void lower_gram(const View<const T>& x, MatrixOf<T>& s) {
  const T zero = 0, one = 1;
  const int m = x.rows(), n = x.columns(), stride = x.stride();
  lapack<T>().syrk("L", "T", &m, &n, &one, x.data(), &stride, &zero, s.data(), &m);
}
template void lower_gram(const View<const double>&, Matrix&);
template void lower_gram(const View<const float>&, FloatMatrix&);

Svd full_svd(const View<const double>& x) {
  const int m = x.rows(), n = x.columns(), low = std::min(m, n);
  Matrix copy(x);
  Svd out{Matrix(m, m), Matrix(n, n), Values(low)};
  // The size of the workspace, of the last shape: to ask for it takes a good part of a small decomposition.
  static thread_local int known_m = -1, known_n = -1, known_size = 0;
  int info = 0, lwork = -1;
  std::vector<int> iwork(8 * low);
  // Row-major x is the column-major n x m matrix x' = v s u'.
  auto decompose = [&](double* work) {
    lapack<double>().gesdd("A", &n, &m, copy.data(), &n, out.s.data(), out.v_transposed.data(), &n, out.u.data(), &m,
                           work, &lwork, iwork.data(), &info);
  };
  if (m != known_m || n != known_n) {
    double want = 0;
    decompose(&want);
    known_m = m, known_n = n, known_size = int(want);
  }
  lwork = known_size;
  Values work(lwork);
  decompose(work.data());
  if (info != 0) throw std::runtime_error("the singular value iteration did not converge");
  return out;
}

Matrix solve_linear(Matrix a, Matrix b) {
  constexpr int small = 12;  // rows: LAPACK is faster from here on
  const int n = a.rows();
  if (n > small) {
    a.transpose_in_place(), b.transpose_in_place();  // LAPACK reads columns
    std::vector<int> pivots(n);
    int info = 0;
    lapack<double>().gesv(&n, &n, a.data(), &n, pivots.data(), b.data(), &n, &info);
    if (info != 0) throw std::runtime_error("a linear system was singular");
    b.transpose_in_place();
    return b;
  }
  for (int c = 0; c < n; ++c) {
    int pivot = c;
    for (int i = c + 1; i < n; ++i)
      if (std::abs(a(i, c)) > std::abs(a(pivot, c))) pivot = i;
    if (pivot != c) {
      std::swap_ranges(a.row(c), a.row(c) + n, a.row(pivot));
      std::swap_ranges(b.row(c), b.row(c) + n, b.row(pivot));
    }
    for (int i = c + 1; i < n; ++i) {
      const double f = a(i, c) / a(c, c);
      for (int j = c + 1; j < n; ++j) a(i, j) -= f * a(c, j);
      for (int j = 0; j < n; ++j) b(i, j) -= f * b(c, j);
    }
  }
  for (int c = n - 1; c >= 0; --c)
    for (int j = 0; j < n; ++j) {
      double sum = b(c, j);
      for (int k = c + 1; k < n; ++k) sum -= a(c, k) * b(k, j);
      b(c, j) = sum / a(c, c);
    }
  return b;
}

Matrix cayley_step(const View<const double>& t, const View<const double>& w, double size) {
  Matrix right(w), left(w);
  right.scale(0.5 * size), left.scale(-0.5 * size);
  right.add_to_diagonal(1), left.add_to_diagonal(1);
  const Matrix next = product(t, solve_linear(std::move(left), std::move(right)));
  Matrix gram = product(transpose(next), next, -0.5);
  gram.add_to_diagonal(1.5);
  return product(next, gram);
}

}  // namespace repshape
