// Starts from the correspondence of conditions. Condition m of x belongs to condition m of y, so any weighted sum of
// covariances of x should resemble the same sum of y, turned by the alignment. The eigenvectors of two such sums,
// matched in order, suggest an alignment up to the signs of its axes; the signs are chosen to suit all conditions.
#pragma once
#include "common/orthogonal.h"
#include "common/random.h"
#include "common/roots.h"
#include "search/start_constants.h"

namespace repshape {

// What starts are made of. The objective weighs means and covariances of condition m by mean_share and covariance_share
// times weights[m]. x has at least as many neurons as y.
struct StartData {
  const Roots &x, &y;
  const double* weights;  // by the condition that the roots name
  double mean_share, covariance_share;
};

class CorrespondenceStarts {
 public:
  // `special`: starts are rotations.
  CorrespondenceStarts(const StartData& from, bool special, Random& random)
      : from_(from), x_(from.x), y_(from.y), special_(special), random_(random) {
    for (int c = 0; c < x_.count(); ++c)
      if (from.weights[x_.conditions[c]] > 0) kept_.push_back(c);
    covariances_x_ = covariances(x_), covariances_y_ = covariances(y_);
  }

  // An orthogonal n x n matrix whose first k columns are the start, slightly perturbed.
  Matrix next() {
    const int n = x_.n, k = y_.n;
    const double shape = starts::kShapes[drawn_ % 3];
    const bool with_means = drawn_ % 2 == 0 && from_.mean_share > 0;
    ++drawn_;
    Matrix sum_x(n, n), sum_y(k, k);
    for (int c : kept_) {
      const double weight = random_.gamma(shape);
      add(covariances_x_[c], x_.means[c], weight, with_means, sum_x);
      add(covariances_y_[c], y_.means[c], weight, with_means, sum_y);
    }
    const Matrix axes_x = axes(std::move(sum_x)), axes_y = axes(std::move(sum_y));
    const Values signs = best_signs(axes_x, axes_y);
    Matrix inner(n, n);
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < k; ++j) inner(i, j) = signs[i] * axes_y(j, i);
    for (int i = k; i < n; ++i) inner(i, i) = 1;
    Matrix out = product(axes_x, inner);
    const double size = starts::kJitter / std::sqrt(double(n));
    for (double& e : out) e += size * random_.normal();
    return nearest_orthogonal(out, special_);
  }

 private:
  // From their roots; of networks whose neurons are independent, all but the diagonals is zero.
  std::vector<Matrix> covariances(const Roots& net) const {
    std::vector<Matrix> out(net.count());
    for (int c : kept_) {
      const Matrix& root = net.roots[c];
      if (!net.diagonal) {
        out[c] = product(root, transpose(root));
        continue;
      }
      out[c].reset(net.n, net.n);
      for (int i = 0; i < net.n; ++i) out[c](i, i) = root(i, i) * root(i, i);
    }
    return out;
  }

  // sum += weight (covariance_share S + mean_share mu mu')
  void add(const Matrix& covariance, const Values& mu, double weight, bool with_means, Matrix& sum) const {
    sum.add(weight * from_.covariance_share, covariance);
    if (!with_means) return;
    for (int i = 0; i < sum.rows(); ++i)
      for (int j = 0; j < sum.rows(); ++j) sum(i, j) += weight * from_.mean_share * mu[i] * mu[j];
  }

  // Eigenvectors as columns, in descending order.
  static Matrix axes(Matrix s) {
    Matrix out = symmetric_eigen(std::move(s)).vectors;
    for (int i = 0; i < out.rows(); ++i) std::reverse(out.row(i), out.row(i) + out.columns());
    return out;
  }

  // The worth of signs s: s'Hs + l's.
  struct SignProblem {
    Matrix h;
    Values l;

    double field(int i, const Values& s) const { return dot(h.row(i), s.data(), h.columns()); }  // (H s)_i
    double worth(const Values& s) const {
      double value = 0;
      for (int i = 0; i < h.rows(); ++i) value += s[i] * (l[i] + field(i, s));
      return value;
    }
  };

  // The signs s enter g(V_x diag(s) V_y') >= sum w [b <X_m, diag(s) Y_m diag(s)> + a <p_m, diag(s) q_m>] =
  // s'Hs + l's, with roots X, Y and means p, q in the two bases: the trace of a product is at most its nuclear norm.
  SignProblem sign_problem(const Matrix& axes_x, const Matrix& axes_y) const {
    const int k = y_.n;
    SignProblem out{Matrix(k, k), Values(k, 0)};
    auto turned = [](const Matrix& v, const Matrix& r) { return product(product(transpose(v), r), v); };
    auto turned_mean = [](const Matrix& v, const Values& mean) {
      return product(transpose(v), View<const double>(mean.data(), v.rows(), 1));
    };
    for (int c : kept_) {
      const double weight = from_.weights[x_.conditions[c]];
      const Matrix a = turned(axes_x, x_.roots[c]), b = turned(axes_y, y_.roots[c]);
      for (int i = 0; i < k; ++i)
        for (int j = 0; j < k; ++j) out.h(i, j) += from_.covariance_share * weight * a(i, j) * b(i, j);
      if (!(from_.mean_share > 0)) continue;
      const Matrix p = turned_mean(axes_x, x_.means[c]), q = turned_mean(axes_y, y_.means[c]);
      for (int i = 0; i < k; ++i) out.l[i] += from_.mean_share * weight * p[i] * q[i];
    }
    return out;
  }

  Values best_signs(const Matrix& axes_x, const Matrix& axes_y) {
    const int k = y_.n;
    const SignProblem of = sign_problem(axes_x, axes_y);
    const bool odd = special_ && negative_determinant(axes_x) != negative_determinant(axes_y);
    Values best(k, 1);
    double highest = -INFINITY;
    for (int attempt = 0; attempt < starts::kSignTries; ++attempt) {
      Values s(k);
      for (double& e : s) e = random_.uniform() < 0.5 ? -1 : 1;
      flip_signs(of, s);
      if (special_) set_parity(of, s, odd);
      const double value = of.worth(s);
      if (value > highest) highest = value, best = std::move(s);
    }
    return best;
  }

  // Flips the most profitable sign until no flip helps. Profits within rounding of zero do not count, or
  // flips might never end.
  static void flip_signs(const SignProblem& of, Values& s) {
    const int k = of.h.rows();
    Values field(k);
    double scale = 0;
    for (double e : of.h) scale += std::abs(e);
    for (double e : of.l) scale += std::abs(e);
    for (int i = 0; i < k; ++i) field[i] = of.l[i] + 2 * of.field(i, s);
    for (;;) {
      int which = -1;
      double most = starts::kSignGain * scale;
      for (int i = 0; i < k; ++i) {
        const double gain = -2 * s[i] * field[i] + 4 * of.h(i, i);
        if (gain > most) most = gain, which = i;
      }
      if (which < 0) break;
      s[which] = -s[which];
      for (int i = 0; i < k; ++i) field[i] += 4 * of.h(i, which) * s[which];
    }
  }

  // Gives the product of the signs its parity, at the lowest cost: by reversing all of an odd number, or one.
  static void set_parity(const SignProblem& of, Values& s, bool odd) {
    const int k = of.h.rows();
    bool negative = false;
    for (double e : s) negative = negative != (e < 0);
    if (negative == odd) return;
    Values best = s;
    double highest = -INFINITY;
    for (int i = k % 2 == 1 ? -1 : 0; i < k; ++i) {
      Values other = s;
      for (int j = 0; j < k; ++j)
        if (i < 0 || i == j) other[j] = -other[j];
      const double value = of.worth(other);
      if (value > highest) highest = value, best = std::move(other);
    }
    s = best;
  }

  StartData from_;
  const Roots &x_, &y_;
  bool special_;
  Random& random_;
  std::vector<int> kept_;
  std::vector<Matrix> covariances_x_, covariances_y_;
  int drawn_ = 0;
};

}  // namespace repshape
