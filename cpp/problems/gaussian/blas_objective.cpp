#include "problems/gaussian/blas_objective.h"

#include <cmath>
#include <stdexcept>

#include "common/lapack.h"
#include "problems/gaussian/halley.h"

namespace repshape {
namespace {

// The lower Cholesky factor, in column-major order.
template <class T>
void factorise(MatrixOf<T>& s) {
  int info = 0;
  const int m = s.rows();
  lapack<T>().potrf("L", &m, s.data(), &m, &info);
  if (info != 0) throw std::runtime_error("a Cholesky factorisation failed in the polar iteration");
}

// z (m x n) becomes (l l')^-1 z, l being lower triangular in column-major order.
template <class T>
void divide(const MatrixOf<T>& l, MatrixOf<T>& z) {
  const T one = 1;
  const int m = z.rows(), n = z.columns();
  lapack<T>().trsm("R", "L", "T", "N", &n, &m, &one, l.data(), &m, z.data(), &n);
  lapack<T>().trsm("R", "L", "N", "N", &n, &m, &one, l.data(), &m, z.data(), &n);
}

// An upper bound of the largest singular value: the least of |.|_F and sqrt(|.|_1 |.|_inf).
template <class T>
double norm_bound(const MatrixOf<T>& x) {
  double by_row = 0, frobenius = 0;
  Values columns(x.columns(), 0);
  for (int i = 0; i < x.rows(); ++i) {
    double sum = 0;
    for (int j = 0; j < x.columns(); ++j) {
      const double v = std::abs(x(i, j));
      sum += v, columns[j] += v, frobenius += v * v;
    }
    by_row = std::max(by_row, sum);
  }
  const double by_column = *std::max_element(columns.begin(), columns.end());
  return std::sqrt(std::min(frobenius, by_row * by_column));
}

// One block at a time: moved = T C (n_x x positions x r_y), cross = A' T C and its polar factor P, lifted = A P.
template <class T>
class BlasObjective {
 public:
  BlasObjective(const Pair& pair, const Matrix& transform)
      : pair_(pair), x_(*pair.x), y_(*pair.y), transform_(transform), lo_(std::min(x_.rank, y_.rank)),
        hi_(std::max(x_.rank, y_.rank)), flipped_(y_.rank < x_.rank), tall_(x_.neurons * x_.positions),
        columns_(y_.positions * y_.rank), moved_(x_.neurons, columns_), cross_(lo_, hi_), lifted_(tall_, y_.rank) {}

  double add_gradient(Matrix& gradient) {
    gradient_.reset(x_.neurons, y_.neurons);
    const double total = sum([&](int, double weight) { return lo_ == 0 ? 0 : add_block(weight); });
    for (Index e = 0; e < gradient.size(); ++e) gradient[e] += gradient_[e];
    return total;
  }

  double residual() {
    return sum([&](int m, double weight) { return weight * residual(m); });
  }

 private:
  template <class Term>
  double sum(Term term) {
    double total = 0;
    pair_.for_blocks([&](int m) {
      const double weight = pair_.weights[m] * pair_.subset_scale;
      if (weight == 0) return;
      if (lo_ > 0) form_polar(m);
      total += term(m, weight);
    });
    return total;
  }

  // Cross and its polar factor are stored with the smaller rank first.
  T& at(MatrixOf<T>& of, int i, int j) { return flipped_ ? of(j, i) : of(i, j); }

  void form_polar(int m) {
    const int nx = x_.neurons, ny = y_.neurons, rx = x_.rank, ry = y_.rank;
    a_ = MatrixOf<T>(x_.block(m)), c_ = MatrixOf<T>(y_.block(m));
    if (y_.diagonal) {
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ny; ++j) moved_(i, j) = transform_(i, j) * c_[j];
    } else {
      gemm(transform_, c_, moved_);
    }
    const View<const T> tall_a = a_.reshaped(tall_, rx), tall_moved = moved_.reshaped(tall_, ry);
    if (x_.diagonal) {
      for (int i = 0; i < rx; ++i)
        for (int j = 0; j < ry; ++j) at(cross_, i, j) = a_[i] * tall_moved(i, j);
    } else if (flipped_) {
      gemm(transpose(tall_moved), tall_a, cross_);
    } else {
      gemm(transpose(tall_a), tall_moved, cross_);
    }
    polar_ = cross_;
    const bool full = x_.ranks[m] == tall_ || (nx == ny && y_.ranks[m] == tall_);
    blas_polar(polar_, full ? x_.smallest[m] * y_.smallest[m] : 0, std::min(x_.ranks[m], y_.ranks[m]));
    if (x_.diagonal) {
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ry; ++j) lifted_(i, j) = a_[i] * at(polar_, i, j);
    } else {
      gemm(tall_a, flipped_ ? transpose(polar_) : Operand<T>(polar_), lifted_);
    }
  }

  double residual(int m) const {
    const double gain_x = pair_.gain_x, gain_y = pair_.gain_y;
    if (lo_ == 0) return gain_x * gain_x * x_.variance[m] + gain_y * gain_y * y_.variance[m];
    double distance = 0, kept = 0;
    for (Index e = 0; e < lifted_.size(); ++e) {
      const double gap = gain_x * lifted_[e] - gain_y * moved_[e];
      distance += gap * gap;
      kept += lifted_[e] * lifted_[e];
    }
    const bool whole = std::abs(inner(polar_, polar_) - x_.ranks[m]) < 1e-9 * x_.rank;
    return distance + (whole ? 0 : gain_x * gain_x * std::max(0.0, x_.variance[m] - kept));
  }

  double add_block(double weight) {
    if (y_.diagonal) {
      for (int i = 0; i < gradient_.rows(); ++i)
        for (int j = 0; j < gradient_.columns(); ++j) gradient_(i, j) += T(weight) * lifted_(i, j) * c_[j];
    } else {
      gemm(lifted_.reshaped(x_.neurons, columns_), transpose(c_), gradient_, weight, 1);
    }
    return weight * inner(cross_, polar_);
  }

  // <a, b>, summed in double precision.
  static double inner(const MatrixOf<T>& a, const MatrixOf<T>& b) {
    double part[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    Index i = 0;
    for (; i + 8 <= a.size(); i += 8)
      for (int l = 0; l < 8; ++l) part[l] += double(a[i + l]) * b[i + l];
    for (; i < a.size(); ++i) part[0] += double(a[i]) * b[i];
    double sum = 0;
    for (double p : part) sum += p;
    return sum;
  }

  const Pair& pair_;
  const Network &x_, &y_;
  MatrixOf<T> transform_;
  int lo_, hi_;
  bool flipped_;  // cross and polar are stored transposed: r_y x r_x
  int tall_;      // rows of a factor with one position after another: neurons x positions
  int columns_;   // of a factor of y with positions side by side
  MatrixOf<T> a_, c_, moved_, cross_, polar_, lifted_, gradient_;
};

}  // namespace

template <class T>
void blas_polar(MatrixOf<T>& x, double smallest, double rank) {
  const int m = x.rows();
  const double bound = norm_bound(x);
  if (!(bound > 0)) return;
  for (T& v : x) v = T(v / bound);
  const bool certain = smallest > 0;
  double lower = certain ? std::min(std::max(smallest / bound, kNegligible), 1.0) : kSmallestWeight;
  MatrixOf<T> s(m, m);
  for (int step = 0; step < kMaxHalleySteps; ++step) {
    const bool done = 1 - lower < polar_tolerance<T>();
    if (done && certain) return;
    lower_gram<T>(x, s);
    if (done) {
      double missing = rank;  // of the sum of squared singular values
      for (int i = 0; i < m; ++i) missing -= s(i, i);
      if (missing < 16 * m * polar_tolerance<T>()) return;
      lower = kSmallestWeight;
    }
    const Halley h = halley(std::max(lower, kSmallestWeight));
    lower = advance(h, lower);
    for (int j = 0; j < m; ++j)
      for (int i = j; i < m; ++i) s(j, i) *= T(h.c);
    s.add_to_diagonal(1);
    factorise(s);
    MatrixOf<T> z = x;
    divide(s, z);
    const T keep = T(h.b / h.c), add = T(h.a - h.b / h.c);
    for (Index e = 0; e < x.size(); ++e) x[e] = keep * x[e] + add * z[e];
  }
}
template void blas_polar(Matrix&, double, double);
template void blas_polar(FloatMatrix&, double, double);

double blas_objective(const Pair& pair, const Matrix& transform, Matrix& gradient, bool single) {
  if (single) return BlasObjective<float>(pair, transform).add_gradient(gradient);
  return BlasObjective<double>(pair, transform).add_gradient(gradient);
}

double blas_residual(const Pair& pair, const Matrix& transform) {
  return BlasObjective<double>(pair, transform).residual();
}

}  // namespace repshape
