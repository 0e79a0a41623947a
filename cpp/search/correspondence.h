// Starts from the correspondence of conditions. Condition m of x belongs to condition m of y, so any weighted sum of
// covariances of x should resemble the same sum of y, turned by the alignment. The eigenvectors of two such sums,
// matched in order, suggest an alignment up to the signs of its axes; the signs are chosen to suit all conditions.
#pragma once
#include "common/orthogonal.h"
#include "common/random.h"
#include "common/roots.h"

namespace repshape {

// What suggestions are made of. The objective weighs means and covariances of condition m by mean_share and
// covariance_share times weights[m]. x has at least as many neurons as y.
struct Suggested {
  const Roots &x, &y;
  const double* weights;  // by the condition that the roots name
  double mean_share, covariance_share;
};

class Correspondence {
 public:
  // `special`: suggestions are rotations.
  Correspondence(const Suggested& from, bool special, Random& random)
      : x_(from.x), y_(from.y), weights_(from.weights), mean_share_(from.mean_share),
        covariance_share_(from.covariance_share), special_(special), random_(random) {
    for (int c = 0; c < int(x_.conditions.size()); ++c)
      if (weights_[x_.conditions[c]] > 0) kept_.push_back(c);
    square(x_, of_x_), square(y_, of_y_);
  }

  // An orthogonal n x n matrix whose first k columns are the suggestion, slightly perturbed.
  Matrix next() {
    const int n = x_.n, k = y_.n;
    const double shape = kShapes[drawn_ % 3];
    const bool with_means = drawn_ % 2 == 0 && mean_share_ > 0;
    ++drawn_;
    Matrix sum_x(std::size_t(n) * n, 0), sum_y(std::size_t(k) * k, 0);
    for (int c : kept_) {
      const double weight = random_.gamma(shape);
      add(x_, of_x_, c, weight, with_means, sum_x);
      add(y_, of_y_, c, weight, with_means, sum_y);
    }
    const Matrix axes_x = axes(n, sum_x), axes_y = axes(k, sum_y);
    const Matrix signs = best_signs(axes_x, axes_y);
    Matrix inner(std::size_t(n) * n, 0), out(std::size_t(n) * n);
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < k; ++j) inner[std::size_t(i) * n + j] = signs[i] * axes_y[std::size_t(j) * k + i];
    for (int i = k; i < n; ++i) inner[std::size_t(i) * n + i] = 1;
    gemm(false, false, n, n, n, 1, axes_x.data(), n, inner.data(), n, 0, out.data(), n);
    const double size = kJitter / std::sqrt(double(n));
    for (double& e : out) e += size * random_.normal();
    return nearest_orthogonal(n, n, out.data(), special_);
  }

 private:
  // The covariances, from their roots; of networks whose neurons are independent, all but the diagonals is zero.
  void square(const Roots& net, Matrix& out) const {
    const int n = net.n;
    out.assign(net.values.size(), 0);
    for (int c : kept_) {
      const double* r = net.root(c);
      double* s = out.data() + std::size_t(c) * n * n;
      if (net.diagonal)
        for (std::size_t e = 0; e < std::size_t(n) * n; e += n + 1) s[e] = r[e] * r[e];
      else
        gemm(false, true, n, n, n, 1, r, n, r, n, 0, s, n);
    }
  }

  // sum += weight (covariance_share S + mean_share mu mu')
  void add(const Roots& net, const Matrix& covariances, int c, double weight, bool with_means, Matrix& sum) const {
    const int n = net.n;
    const double* s = covariances.data() + std::size_t(c) * sum.size();
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += weight * covariance_share_ * s[e];
    if (!with_means) return;
    const double* mu = net.mean(c);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) sum[std::size_t(i) * n + j] += weight * mean_share_ * mu[i] * mu[j];
  }

  // Eigenvectors as columns, in descending order.
  static Matrix axes(int n, Matrix& s) {
    Matrix v, values, out(std::size_t(n) * n);
    symmetric_eigen(n, s, v, values);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) out[std::size_t(i) * n + j] = v[std::size_t(i) * n + (n - 1 - j)];
    return out;
  }

  // V' R V, n x n
  static void turn(int n, const Matrix& v, const double* r, Matrix& scratch, Matrix& out) {
    gemm(true, false, n, n, n, 1, v.data(), n, r, n, 0, scratch.data(), n);
    gemm(false, false, n, n, n, 1, scratch.data(), n, v.data(), n, 0, out.data(), n);
  }

  // The signs s enter g(V_x diag(s) V_y') >= sum w [b <X_m, diag(s) Y_m diag(s)> + a <p_m, diag(s) q_m>] =
  // s'Hs + l's, with roots X, Y and means p, q in the two bases: the trace of a product is at most its nuclear norm.
  Matrix best_signs(const Matrix& axes_x, const Matrix& axes_y) {
    const int n = x_.n, k = y_.n;
    Matrix h(std::size_t(k) * k, 0), l(k, 0);
    Matrix a(std::size_t(n) * n), b(std::size_t(k) * k), scratch(std::size_t(n) * n), p(n), q(k);
    for (int c : kept_) {
      const double weight = weights_[x_.conditions[c]];
      turn(n, axes_x, x_.root(c), scratch, a);
      turn(k, axes_y, y_.root(c), scratch, b);
      for (int i = 0; i < k; ++i)
        for (int j = 0; j < k; ++j)
          h[std::size_t(i) * k + j] +=
              covariance_share_ * weight * a[std::size_t(i) * n + j] * b[std::size_t(i) * k + j];
      if (!(mean_share_ > 0)) continue;
      gemm(true, false, n, 1, n, 1, axes_x.data(), n, x_.mean(c), 1, 0, p.data(), 1);
      gemm(true, false, k, 1, k, 1, axes_y.data(), k, y_.mean(c), 1, 0, q.data(), 1);
      for (int i = 0; i < k; ++i) l[i] += mean_share_ * weight * p[i] * q[i];
    }
    const bool odd = special_ && negative_determinant(n, axes_x) != negative_determinant(k, axes_y);
    Matrix best(k, 1);
    double highest = -INFINITY;
    for (int attempt = 0; attempt < kSignTries; ++attempt) {
      Matrix s(k);
      for (double& e : s) e = random_.uniform() < 0.5 ? -1 : 1;
      flip(h, l, s);
      if (special_) orient(h, l, s, odd);
      const double value = worth(h, l, s);
      if (value > highest) highest = value, best = std::move(s);
    }
    return best;
  }

  static double worth(const Matrix& h, const Matrix& l, const Matrix& s) {
    const int k = int(s.size());
    double value = 0;
    for (int i = 0; i < k; ++i) value += s[i] * (l[i] + dot(h.data() + std::size_t(i) * k, s.data(), k));
    return value;
  }

  // Flips the most profitable sign until none is. A profit within rounding of zero is none: it could be had for ever.
  static void flip(const Matrix& h, const Matrix& l, Matrix& s) {
    const int k = int(s.size());
    Matrix field(k);
    double scale = 0;
    for (double e : h) scale += std::abs(e);
    for (double e : l) scale += std::abs(e);
    for (int i = 0; i < k; ++i) field[i] = l[i] + 2 * dot(h.data() + std::size_t(i) * k, s.data(), k);
    for (;;) {
      int which = -1;
      double most = 1e-12 * scale;
      for (int i = 0; i < k; ++i) {
        const double gain = -2 * s[i] * field[i] + 4 * h[std::size_t(i) * k + i];
        if (gain > most) most = gain, which = i;
      }
      if (which < 0) break;
      s[which] = -s[which];
      for (int i = 0; i < k; ++i) field[i] += 4 * h[std::size_t(i) * k + which] * s[which];
    }
  }

  // Gives the product of the signs its parity, at the lowest cost: by reversing all of an odd number, or one.
  static void orient(const Matrix& h, const Matrix& l, Matrix& s, bool odd) {
    const int k = int(s.size());
    bool negative = false;
    for (double e : s) negative = negative != (e < 0);
    if (negative == odd) return;
    Matrix best = s;
    double highest = -INFINITY;
    auto consider = [&](const Matrix& other) {
      const double value = worth(h, l, other);
      if (value > highest) highest = value, best = other;
    };
    for (int i = -1; i < k; ++i) {
      Matrix other = s;
      if (i >= 0)
        other[i] = -other[i];
      else if (k % 2 == 1)
        for (double& e : other) e = -e;
      else
        continue;
      consider(other);
    }
    s = best;
  }

  static constexpr double kShapes[] = {0.1, 0.3, 1.0};  // of the gamma distribution: few conditions, or many
  static constexpr double kJitter = 0.3;                // without it, starts repeat each other
  static constexpr int kSignTries = 8;

  const Roots &x_, &y_;
  const double* weights_;
  double mean_share_, covariance_share_;
  bool special_;
  Random& random_;
  std::vector<int> kept_;
  Matrix of_x_, of_y_;  // covariances of the conditions, one after the other
  int drawn_ = 0;
};

}  // namespace repshape
