// Starts from the correspondence of conditions. Condition m of x belongs to condition m of y, so any weighted sum of
// covariances of x should resemble the same sum of y, turned by the alignment. The eigenvectors of two such sums,
// matched in order, suggest an alignment up to the signs of its axes; the signs are chosen to suit all conditions.
#pragma once
#include "common/orthogonal.h"
#include "common/random.h"
#include "gaussian/parts.h"

namespace repshape {

class Correspondence {
 public:
  Correspondence(const Pair& pair, Random& random)
      : pair_(pair), random_(random), roots_x_(pair.x->roots()), roots_y_(pair.y->roots()) {
    for (int c = 0; c < int(roots_x_.conditions.size()); ++c)
      if (pair.weights[roots_x_.conditions[c]] > 0) kept_.push_back(c);
  }

  // An orthogonal n x n matrix whose first k columns are the suggestion, slightly perturbed.
  Matrix next() {
    const int n = pair_.x->neurons, k = pair_.y->neurons;
    const double shape = kShapes[drawn_ % 3];
    const bool with_means = drawn_ % 2 == 0 && pair_.alpha > 0;
    ++drawn_;
    Matrix sum_x(std::size_t(n) * n, 0), sum_y(std::size_t(k) * k, 0);
    for (int c : kept_) {
      const double weight = random_.gamma(shape);
      add(*pair_.x, roots_x_, c, weight, with_means, sum_x);
      add(*pair_.y, roots_y_, c, weight, with_means, sum_y);
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
    return nearest_orthogonal(n, n, out.data(), false);
  }

 private:
  // sum += weight (S + alpha / (2 - alpha) mu mu')
  void add(const Network& net, const Roots& roots, int c, double weight, bool with_means, Matrix& sum) const {
    const int n = net.neurons;
    const double* r = roots.at(c, n);
    const double share = weight * pair_.covariance_weight;
    if (net.diagonal)
      for (std::size_t e = 0; e < sum.size(); e += n + 1) sum[e] += share * r[e] * r[e];
    else
      gemm(false, true, n, n, n, share, r, n, r, n, 1, sum.data(), n);
    if (!with_means) return;
    const double mean_share = weight * pair_.mean_weight * pair_.alpha / (2 - pair_.alpha);
    const double* mu = net.mean(roots.conditions[c]);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) sum[std::size_t(i) * n + j] += mean_share * mu[i] * mu[j];
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

  // The signs s enter g(V_x diag(s) V_y') >= sum w [(2 - a) <X_m, diag(s) Y_m diag(s)> + a <p_m, diag(s) q_m>] =
  // s'Hs + l's, with roots X, Y and means p, q in the two bases: the trace of a product is at most its nuclear norm.
  Matrix best_signs(const Matrix& axes_x, const Matrix& axes_y) {
    const Network &x = *pair_.x, &y = *pair_.y;
    const int n = x.neurons, k = y.neurons;
    Matrix h(std::size_t(k) * k, 0), l(k, 0);
    Matrix a(std::size_t(n) * n), b(std::size_t(k) * k), scratch(std::size_t(n) * n), p(n), q(k);
    for (int c : kept_) {
      const int m = roots_x_.conditions[c];
      const double share = (2 - pair_.alpha) * pair_.covariance_weight * pair_.weights[m];
      turn(n, axes_x, roots_x_.at(c, n), scratch, a);
      turn(k, axes_y, roots_y_.at(c, k), scratch, b);
      for (int i = 0; i < k; ++i)
        for (int j = 0; j < k; ++j)
          h[std::size_t(i) * k + j] += share * a[std::size_t(i) * n + j] * b[std::size_t(i) * k + j];
      const double mean_share = pair_.alpha * pair_.mean_weight * pair_.weights[m];
      if (!(mean_share > 0)) continue;
      gemm(true, false, n, 1, n, 1, axes_x.data(), n, x.mean(m), 1, 0, p.data(), 1);
      gemm(true, false, k, 1, k, 1, axes_y.data(), k, y.mean(m), 1, 0, q.data(), 1);
      for (int i = 0; i < k; ++i) l[i] += mean_share * p[i] * q[i];
    }
    Matrix best;
    double highest = -INFINITY;
    for (int attempt = 0; attempt < kSignTries; ++attempt) {
      Matrix s(k);
      for (double& e : s) e = random_.uniform() < 0.5 ? -1 : 1;
      const double value = flip(h, l, s);
      if (value > highest) highest = value, best = std::move(s);
    }
    return best;
  }

  // Flips the most profitable sign until none is; returns s'Hs + l's.
  static double flip(const Matrix& h, const Matrix& l, Matrix& s) {
    const int k = int(s.size());
    Matrix field(k);
    for (int i = 0; i < k; ++i) field[i] = l[i] + 2 * dot(h.data() + std::size_t(i) * k, s.data(), k);
    for (;;) {
      int which = -1;
      double most = 0;
      for (int i = 0; i < k; ++i) {
        const double gain = -2 * s[i] * field[i] + 4 * h[std::size_t(i) * k + i];
        if (gain > most + 1e-12 * std::abs(field[i])) most = gain, which = i;
      }
      if (which < 0) break;
      s[which] = -s[which];
      for (int i = 0; i < k; ++i) field[i] += 4 * h[std::size_t(i) * k + which] * s[which];
    }
    double value = 0;
    for (int i = 0; i < k; ++i) value += 0.5 * s[i] * (field[i] + l[i]);
    return value;
  }

  static constexpr double kShapes[] = {0.1, 0.3, 1.0};  // of the gamma distribution: few conditions, or many
  static constexpr double kJitter = 0.3;                // without it, starts repeat each other
  static constexpr int kSignTries = 8;

  const Pair& pair_;
  Random& random_;
  const Roots &roots_x_, &roots_y_;
  std::vector<int> kept_;
  int drawn_ = 0;
};

}  // namespace repshape
