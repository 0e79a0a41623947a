// Pairs whose conditions span few of many dimensions: few trials of many neurons.
//
// There the transform has far more degrees of freedom than the problem: rotating the noise of a condition within its
// own subspace changes little, and an ascent over transforms is slow. With |X|_* = max over orthogonal P of <P, X>,
//   max_T <mean, T> + sum w <P_m, A_m' T C_m>  =  |G|_*,   G = mean + sum w A_m P_m C_m',
// so the same optimum is that of |G|_* over one small P_m for each condition, each T being the polar factor of G.
// As in ascent.h, near P every point is P cay(W): R_m = skew(P_m' X_m), X_m = w A_m' T C_m, and the model's step is
// S_m W_m + W_m S_m = 2 R_m with S_m = sym(P_m' X_m).
//
// Matrices of the size of a transform or of all factors are in the precision T, small ones in double.
#pragma once
#include "common/single.h"
#include "search/ascent.h"
#include "problems/gaussian/blas_objective.h"

namespace repshape {

template <class T>
class WideAscent {
 public:
  using Large = std::vector<T>;

  // Whether the P_m together are much smaller than the transform. Of rank one they are
  // mere signs, which no continuous ascent can change.
  static bool suits(const Network& x, const Network& y, double times = 4) {
    const double rank = std::max(x.rank, y.rank);
    return x.positions == 1 && !x.diagonal && !y.diagonal && std::min(x.rank, y.rank) > 1 &&
           times * x.blocks * rank * rank <= double(x.neurons) * y.neurons;
  }

  // `start` is an n_x x n_x orthogonal matrix whose first n_y columns are the transform.
  WideAscent(const Pair& pair, const AscentSettings& settings, const Matrix& start)
      : pair_(pair), settings_(settings), nx_(pair.x->neurons), ny_(pair.y->neurons),
        r_(std::max(pair.x->rank, pair.y->rank)), width_(r_ * pair.x->blocks), memory_(settings.memory) {
    const double share = pair.covariance_share();
    left_ = stacked(*pair.x, [&](int m) { return share * pair.weights[m]; });
    right_ = stacked(*pair.y, [](int) { return 1.0; });
    back_.resize(std::size_t(ny_) * nx_);
    for (int i = 0; i < nx_; ++i)
      for (int j = 0; j < ny_; ++j) back_[std::size_t(j) * nx_ + i] = T(start[std::size_t(i) * nx_ + j]);
    turn(cross());
  }

  // Returns whether it ended before the limit.
  bool run(int limit) {
    look();
    double boost = 1;
    while (iterations_ < limit && !settled()) {
      Matrix w = memory_.direction(
          slope_, [&](const Matrix& q) { return precondition(q); },
          [&](const Matrix& y) { return dot(y, precondition(y)); });
      double rise = dot(slope_, w);
      if (!(rise > 0)) {
        memory_.clear();
        w = precondition(slope_);
        rise = dot(slope_, w);
      }
      // Where the objective is convex, the model does not tell how far to go.
      if (memory_.empty()) boost *= kBoost;
      const double start = memory_.empty() ? boost : 1;
      if (!step(w, rise, std::min(start, kLongestStep / std::sqrt(dot(w, w))), limit)) break;
      if (!memory_.empty()) boost = 1;
    }
    return iterations_ < limit;
  }

  int iterations() const { return iterations_; }
  // n_x x n_y
  Matrix transform() const {
    Matrix out(back_.size());
    for (int j = 0; j < ny_; ++j)
      for (int i = 0; i < nx_; ++i) out[std::size_t(i) * ny_ + j] = back_[std::size_t(j) * nx_ + i];
    return out;
  }

 private:
  // Factors of all conditions side by side, neurons x (conditions of r columns), each times its weight.
  template <class Weight>
  Large stacked(const Network& net, Weight weight) const {
    Large out(std::size_t(net.neurons) * width_, 0);
    Matrix one(net.entries());
    for (int m = 0; m < net.blocks; ++m) {
      net.copy_block(m, one.data());
      for (int i = 0; i < net.neurons; ++i)
        for (int j = 0; j < net.rank; ++j)
          out[std::size_t(i) * width_ + m * r_ + j] = T(weight(m) * one[std::size_t(i) * net.rank + j]);
    }
    return out;
  }

  std::size_t block() const { return std::size_t(r_) * r_; }
  int blocks() const { return pair_.x->blocks; }

  // X_m for the current transform.
  Matrix cross() const {
    Large moved(std::size_t(nx_) * width_), out(blocks() * block());
    gemm(true, false, nx_, width_, ny_, 1, back_.data(), nx_, right_.data(), width_, 0, moved.data(), width_);
    for (int m = 0; m < blocks(); ++m)
      gemm(true, false, r_, r_, nx_, 1, left_.data() + m * r_, width_, moved.data() + m * r_, width_, 0,
           out.data() + m * block(), r_);
    return Matrix(out.begin(), out.end());
  }

  // Alternation's step: every P_m becomes the polar factor of X_m.
  void turn(const Matrix& x) {
    p_.resize(x.size());
    for (int m = 0; m < blocks(); ++m) {
      const Matrix nearest = nearest_orthogonal(r_, r_, x.data() + m * block(), false);
      std::copy(nearest.begin(), nearest.end(), p_.begin() + m * block());
    }
    memory_.clear();
  }

  // Value, transform, slope and curvatures at p_.
  void look() {
    ++iterations_;
    Large lifted(std::size_t(nx_) * width_), small(std::size_t(ny_) * ny_), scratch, p(p_.begin(), p_.end());
    for (int m = 0; m < blocks(); ++m)
      gemm(false, false, nx_, r_, r_, 1, left_.data() + m * r_, width_, p.data() + m * block(), r_, 0,
           lifted.data() + m * r_, width_);
    Large g(std::size_t(ny_) * nx_);
    for (int i = 0; i < nx_; ++i)
      for (int j = 0; j < ny_; ++j) g[std::size_t(j) * nx_ + i] = T(pair_.mean_term[std::size_t(i) * ny_ + j]);
    gemm(false, true, ny_, nx_, width_, 1, right_.data(), width_, lifted.data(), width_, 1, g.data(), nx_);
    back_ = g;
    blas_polar(ny_, nx_, back_, small, scratch, 0, ny_);
    value_ = dot(g, back_);
    x_ = cross();
    slope_.resize(x_.size());
    basis_.resize(x_.size());
    curvature_.resize(std::size_t(blocks()) * r_);
    Matrix product(block()), model(block()), v, values;
    for (int m = 0; m < blocks(); ++m) {
      gemm(true, false, r_, r_, r_, 1, p_.data() + m * block(), r_, x_.data() + m * block(), r_, 0, product.data(), r_);
      for (int i = 0; i < r_; ++i)
        for (int j = 0; j < r_; ++j) {
          const double a = product[std::size_t(i) * r_ + j], b = product[std::size_t(j) * r_ + i];
          slope_[m * block() + i * r_ + j] = 0.5 * (a - b);
          model[std::size_t(i) * r_ + j] = 0.5 * (a + b);
        }
      symmetric_eigen(r_, model, v, values);
      std::copy(v.begin(), v.end(), basis_.begin() + m * block());
      std::copy(values.begin(), values.end(), curvature_.begin() + std::size_t(m) * r_);
    }
  }

  // Stationary, and at a maximum: alternation would gain twice any negative eigenvalue of S_m.
  bool settled() {
    const double small = settings_.tolerance * settings_.scale;
    if (std::sqrt(dot(slope_, slope_)) > small) return false;
    if (*std::min_element(curvature_.begin(), curvature_.end()) >= -small) return true;
    turn(x_);
    look();
    return false;
  }

  Matrix precondition(const Matrix& q) const {
    double largest = 0;
    for (double c : curvature_) largest = std::max(largest, std::abs(c));
    const double floor = std::max(1e-10 * largest, 1e-300);
    Matrix out(q.size()), half(block()), turned(block());
    for (int m = 0; m < blocks(); ++m) {
      const double *v = basis_.data() + m * block(), *c = curvature_.data() + std::size_t(m) * r_;
      gemm(true, false, r_, r_, r_, 1, v, r_, q.data() + m * block(), r_, 0, half.data(), r_);
      gemm(false, false, r_, r_, r_, 1, half.data(), r_, v, r_, 0, turned.data(), r_);
      for (int i = 0; i < r_; ++i)
        for (int j = 0; j < r_; ++j) turned[i * r_ + j] *= 2 / std::max(std::abs(c[i] + c[j]), floor);
      gemm(false, false, r_, r_, r_, 1, v, r_, turned.data(), r_, 0, half.data(), r_);
      gemm(false, true, r_, r_, r_, 1, half.data(), r_, v, r_, 0, out.data() + m * block(), r_);
    }
    return out;
  }

  // A backtracking line search along w; false if no step increases the objective or the limit is reached.
  bool step(const Matrix& w, double rise, double size, int limit) {
    const Matrix from = p_, before = slope_;
    const double value = value_;
    for (int tries = 0; tries < kLineSearchTries && iterations_ < limit; ++tries, size *= 0.3) {
      for (int m = 0; m < blocks(); ++m) retract(from, w, size, m);
      look();
      if (value_ < value + 1e-4 * size * rise - kRounding * settings_.scale) continue;
      if (!memory_.remember(w, size, before, slope_)) memory_.clear();
      return true;
    }
    p_ = from;
    look();
    return false;
  }

  // P_m cay(size W_m), then a Newton-Schulz step, which keeps it orthogonal.
  void retract(const Matrix& from, const Matrix& w, double size, int m) {
    Matrix left(block()), right(block()), next(block());
    for (std::size_t e = 0; e < block(); ++e) {
      right[e] = 0.5 * size * w[m * block() + e];
      left[e] = -right[e];
    }
    for (int i = 0; i < r_; ++i) left[i * r_ + i] += 1, right[i * r_ + i] += 1;
    solve_linear(r_, left, right);
    gemm(false, false, r_, r_, r_, 1, from.data() + m * block(), r_, right.data(), r_, 0, next.data(), r_);
    gemm(true, false, r_, r_, r_, -0.5, next.data(), r_, next.data(), r_, 0, left.data(), r_);
    for (int i = 0; i < r_; ++i) left[i * r_ + i] += 1.5;
    gemm(false, false, r_, r_, r_, 1, next.data(), r_, left.data(), r_, 0, p_.data() + m * block(), r_);
  }

  static constexpr double kLongestStep = 10;  // radians, over all planes of all conditions
  static constexpr double kBoost = 4;
  static constexpr double kRounding = sizeof(T) == sizeof(double) ? 1e-14 : 2e-7;  // of values
  static constexpr int kLineSearchTries = 12;

  const Pair& pair_;
  AscentSettings settings_;
  int nx_, ny_, r_, width_, iterations_ = 0;
  double value_ = 0;
  Large left_, right_, back_;  // w A and C of all conditions; the transform, transposed (n_y x n_x)
  Matrix p_, x_, slope_, basis_, curvature_;
  Memory memory_;
};

}  // namespace repshape
