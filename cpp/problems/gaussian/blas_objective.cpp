#include "problems/gaussian/blas_objective.h"

#include "common/single.h"
#include "problems/gaussian/halley.h"

namespace repshape {
namespace {

// The same calls in both precisions; others are in dense.h and single.h.
using repshape::gram;
inline void gram(int m, int n, const double* x, double* s) {
  const double zero = 0, one = 1;
  lapack().dsyrk("L", "T", &m, &n, &one, x, &n, &zero, s, &m);
}
inline int cholesky(int m, double* s) {
  int info = 0;
  lapack().dpotrf("L", &m, s, &m, &info);
  return info;
}
inline int cholesky(int m, float* s) {
  int info = 0;
  lapack().spotrf("L", &m, s, &m, &info);
  return info;
}
// z (column-major n x m) becomes z (l l')^-1.
inline void divide(int m, int n, const double* l, double* z) {
  const double one = 1;
  lapack().dtrsm("R", "L", "T", "N", &n, &m, &one, l, &m, z, &n);
  lapack().dtrsm("R", "L", "N", "N", &n, &m, &one, l, &m, z, &n);
}
inline void divide(int m, int n, const float* l, float* z) {
  const float one = 1;
  lapack().strsm("R", "L", "T", "N", &n, &m, &one, l, &m, z, &n);
  lapack().strsm("R", "L", "N", "N", &n, &m, &one, l, &m, z, &n);
}

// An upper bound of the largest singular value: the least of |.|_F and sqrt(|.|_1 |.|_inf).
template <class T>
double norm_bound(int m, int n, const std::vector<T>& x) {
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
  return std::sqrt(std::min(frobenius, by_row * by_column));
}

// See blas_polar.
template <class T>
void form_polar_factor(int m, int n, std::vector<T>& x, std::vector<T>& s, std::vector<T>& z, double smallest,
                       double rank) {
  const double bound = norm_bound(m, n, x);
  if (!(bound > 0)) return;
  for (T& v : x) v = T(v / bound);
  const bool certain = smallest > 0;
  double lower = certain ? std::min(std::max(smallest / bound, kNegligible), 1.0) : kSmallestWeight;
  for (int step = 0; step < kMaxHalleySteps; ++step) {
    const bool done = 1 - lower < polar_tolerance<T>();
    if (done && certain) return;
    gram(m, n, x.data(), s.data());  // row-major x is column-major x' (n x m): s = x x'
    if (done) {
      double missing = rank;
      for (int i = 0; i < m; ++i) missing -= s[std::size_t(i) * m + i];
      if (missing < 16 * m * polar_tolerance<T>()) return;
      lower = kSmallestWeight;
    }
    const Halley h = halley(std::max(lower, kSmallestWeight));
    lower = advance(h, lower);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j <= i; ++j) s[std::size_t(j) * m + i] *= T(h.c);
      s[std::size_t(i) * m + i] += 1;
    }
    if (cholesky(m, s.data()) != 0)
      throw std::runtime_error("a Cholesky factorisation failed in the polar iteration");
    z = x;  // column-major x' (n x m): solve z' s = x'
    divide(m, n, s.data(), z.data());
    const T keep = T(h.b / h.c), add = T(h.a - h.b / h.c);
    for (std::size_t e = 0; e < x.size(); ++e) x[e] = keep * x[e] + add * z[e];
  }
}

// One block at a time: moved = T C (n_x x positions x r_y), cross = A' T C and its polar factor P, lifted = A P.
template <class T>
class BlasObjective {
 public:
  BlasObjective(const Pair& pair, const double* transform)
      : pair_(pair), x_(*pair.x), y_(*pair.y),
        transform_(transform, transform + std::size_t(x_.neurons) * y_.neurons), lo_(std::min(x_.rank, y_.rank)),
        hi_(std::max(x_.rank, y_.rank)), flipped_(y_.rank < x_.rank), a_(x_.entries()), c_(y_.entries()),
        tall_(x_.neurons * x_.positions), moved_(std::size_t(tall_) * y_.rank), cross_(std::size_t(lo_) * hi_),
        small_(std::size_t(lo_) * lo_), lifted_(moved_.size()) {}

  double run(double* gradient) {
    double total = 0;
    if (gradient) gradient_.assign(transform_.size(), 0);
    for (int g : pair_.groups)
      for (int m = g * kDoubleLanes; m < std::min((g + 1) * kDoubleLanes, x_.blocks); ++m) {
        const double weight = pair_.weights[m] * pair_.boost;
        if (weight == 0) continue;
        if (lo_ > 0) form_polar(m);
        total += gradient ? add_gradient(weight) : weight * residual(m);
      }
    for (std::size_t e = 0; gradient && e < gradient_.size(); ++e) gradient[e] += gradient_[e];
    return total;
  }

 private:
  // Cross and its polar factor are stored with the smaller rank first.
  std::size_t at(int i, int j) const { return flipped_ ? std::size_t(j) * hi_ + i : std::size_t(i) * hi_ + j; }

  void form_polar(int m) {
    const int nx = x_.neurons, ny = y_.neurons, rx = x_.rank, ry = y_.rank;
    copy(x_, m, a_);
    copy(y_, m, c_);
    if (y_.diagonal) {
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ny; ++j) moved_[std::size_t(i) * ry + j] = transform_[std::size_t(i) * ny + j] * c_[j];
    } else {
      const int columns = y_.positions * ry;
      gemm(false, false, nx, columns, ny, 1, transform_.data(), ny, c_.data(), columns, 0, moved_.data(), columns);
    }
    if (x_.diagonal) {
      for (int i = 0; i < rx; ++i)
        for (int j = 0; j < ry; ++j) cross_[at(i, j)] = a_[i] * moved_[std::size_t(i) * ry + j];
    } else if (flipped_) {
      gemm(true, false, ry, rx, tall_, 1, moved_.data(), ry, a_.data(), rx, 0, cross_.data(), rx);
    } else {
      gemm(true, false, rx, ry, tall_, 1, a_.data(), rx, moved_.data(), ry, 0, cross_.data(), ry);
    }
    polar_ = cross_;
    const bool full = x_.ranks[m] == tall_ || (nx == ny && y_.ranks[m] == tall_);
    form_polar_factor(lo_, hi_, polar_, small_, solved_, full ? x_.smallest[m] * y_.smallest[m] : 0,
               std::min(x_.ranks[m], y_.ranks[m]));
    lift();
  }

  void lift() {
    const int nx = x_.neurons, rx = x_.rank, ry = y_.rank;
    if (x_.diagonal) {
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ry; ++j) lifted_[std::size_t(i) * ry + j] = a_[i] * polar_[at(i, j)];
    } else {
      gemm(false, flipped_, tall_, ry, rx, 1, a_.data(), rx, polar_.data(), hi_, 0, lifted_.data(), ry);
    }
  }

  double residual(int m) const {
    const double gain_x = pair_.gain_x, gain_y = pair_.gain_y;
    if (lo_ == 0) return gain_x * gain_x * x_.variance[m] + gain_y * gain_y * y_.variance[m];
    double distance = 0, kept = 0;
    for (std::size_t e = 0; e < lifted_.size(); ++e) {
      const double gap = gain_x * lifted_[e] - gain_y * moved_[e];
      distance += gap * gap;
      kept += lifted_[e] * lifted_[e];
    }
    const bool whole = std::abs(product(polar_, polar_) - x_.ranks[m]) < 1e-9 * x_.rank;
    return distance + (whole ? 0 : gain_x * gain_x * std::max(0.0, x_.variance[m] - kept));
  }

  double add_gradient(double weight) {
    const int nx = x_.neurons, ny = y_.neurons, ry = y_.rank;
    if (lo_ == 0) return 0;
    if (y_.diagonal) {
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ny; ++j)
          gradient_[std::size_t(i) * ny + j] += T(weight) * lifted_[std::size_t(i) * ry + j] * c_[j];
    } else {
      const int columns = y_.positions * ry;
      gemm(false, true, nx, ny, columns, weight, lifted_.data(), columns, c_.data(), columns, 1, gradient_.data(),
               ny);
    }
    return weight * product(cross_, polar_);
  }

  static double product(const std::vector<T>& a, const std::vector<T>& b) {
    double part[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    std::size_t i = 0;
    for (; i + 8 <= a.size(); i += 8)
      for (int l = 0; l < 8; ++l) part[l] += double(a[i + l]) * b[i + l];
    for (; i < a.size(); ++i) part[0] += double(a[i]) * b[i];
    double sum = 0;
    for (double p : part) sum += p;
    return sum;
  }

  void copy(const Network& net, int m, std::vector<T>& out) {
    whole_.resize(net.entries());
    net.copy_block(m, whole_.data());
    out.assign(whole_.begin(), whole_.end());
  }

  const Pair& pair_;
  const Network &x_, &y_;
  std::vector<T> transform_;
  int lo_, hi_;
  bool flipped_;
  Matrix whole_;
  std::vector<T> a_, c_;
  int tall_;  // rows of a factor: neurons x positions
  std::vector<T> moved_, cross_, polar_, small_, solved_, lifted_, gradient_;
};

}  // namespace

void blas_polar(int m, int n, Matrix& x, Matrix& s, Matrix& z, double smallest, double rank) {
  form_polar_factor(m, n, x, s, z, smallest, rank);
}

void blas_polar(int m, int n, std::vector<float>& x, std::vector<float>& s, std::vector<float>& z, double smallest,
                double rank) {
  form_polar_factor(m, n, x, s, z, smallest, rank);
}

double blas_objective(const Pair& pair, const double* transform, double* gradient, bool single) {
  if (single) return BlasObjective<float>(pair, transform).run(gradient);
  return BlasObjective<double>(pair, transform).run(gradient);
}

}  // namespace repshape
