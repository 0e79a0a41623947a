// Pairs whose conditions span few of many dimensions: few trials of many neurons.
//
// There the transform has far more degrees of freedom than the problem: rotating the noise of a condition within its
// own subspace changes little, and an ascent over transforms is slow. With |X|_* = max over orthogonal P of <P, X>,
//   max_T <mean, T> + sum w <P_m, A_m' T C_m>  =  |G|_*,   G = mean + sum w A_m P_m C_m',
// so the same optimum is that of |G|_* over one small P_m for each condition, each T being the polar factor of G; over
// rotations T, the smallest singular value of G counts with the sign of its determinant.
// As in ascent.h, near P every point is P cay(W): R_m = skew(P_m' X_m), X_m = w A_m' T C_m, and the model's step is
// S_m W_m + W_m S_m = 2 R_m with S_m = sym(P_m' X_m).
//
// Matrices of the size of a transform or of all factors are in the precision T, small ones in double. Those of all
// conditions are stacked: the rows of condition m are m r to (m + 1) r.
#pragma once
#include "common/orthogonal.h"
#include "problems/gaussian/blas_objective.h"
#include "problems/gaussian/path_constants.h"
#include "search/ascent_settings.h"
#include "search/lbfgs.h"

namespace repshape {

template <class T>
class WideAscent {
 public:
  // Whether the P_m together are much smaller than the transform. Of rank one they are
  // mere signs, which no continuous ascent can change.
  static bool suits(const Network& x, const Network& y, double times) {
    const double rank = std::max(x.rank, y.rank);
    return x.positions == 1 && !x.diagonal && !y.diagonal && std::min(x.rank, y.rank) > 1 &&
           times * x.blocks * rank * rank <= double(x.neurons) * y.neurons;
  }

  // `start` is an n_x x n_x orthogonal matrix whose first n_y columns are the transform.
  WideAscent(const Pair& pair, const AscentSettings& settings, const Matrix& start)
      : settings_(settings), blocks_(pair.x->blocks), r_(std::max(pair.x->rank, pair.y->rank)),
        left_(pair.x->stacked<T>(r_, [&](int m) { return pair.covariance_share() * pair.weights[m]; })),
        right_(pair.y->stacked<T>(r_, [](int) { return 1.0; })), mean_(transposed_as<T>(pair.mean_term.view())),
        back_(transposed_as<T>(start.column_block(0, pair.y->neurons))), memory_(settings.memory) {
    alternate(cross());
  }

  // Returns whether it ended before the limit.
  bool run(int limit) {
    evaluate();
    double boost = 1;
    while (iterations_ < limit && !at_maximum()) {
      const auto [w, rise] = memory_.ascent_direction(
          slope_, [&](const Matrix& q) { return precondition(q); },
          [&](const Matrix& y) { return dot(y, precondition(y)); });
      // Where the objective is convex, the model does not tell how far to go.
      if (memory_.empty()) boost *= kBoost;
      const double start = memory_.empty() ? boost : 1;
      if (!search_line(w, rise, std::min(start, kLongestStep / norm(w)), limit)) break;
      if (!memory_.empty()) boost = 1;
    }
    return iterations_ < limit;
  }

  int iterations() const { return iterations_; }
  // n_x x n_y. Where the conditions leave directions free, the polar factor is not orthogonal, and one of these
  // directions makes it a rotation.
  Matrix transform() const {
    if (settings_.special) return nearest_orthogonal(transposed_as<double>(gain_.view()), true);
    return transposed_as<double>(back_.view());
  }

 private:
  template <class M>
  auto block(M& stacked, int m) const {
    return stacked.row_block(m * r_, r_);
  }

  // X_m for the current transform.
  Matrix cross() const {
    const MatrixOf<T> moved = product(transpose(back_), right_);
    MatrixOf<T> out(blocks_ * r_, r_);
    for (int m = 0; m < blocks_; ++m)
      gemm(transpose(left_.column_block(m * r_, r_)), moved.column_block(m * r_, r_), block(out, m));
    return Matrix(out);
  }

  // Alternation's step: every P_m becomes the polar factor of X_m.
  void alternate(const Matrix& x) {
    p_.reset(blocks_ * r_, r_);
    for (int m = 0; m < blocks_; ++m) block(p_, m).copy_from(nearest_orthogonal(block(x, m), false).view());
    memory_.clear();
  }

  // Value, transform, slope and curvatures at p_.
  void evaluate() {
    ++iterations_;
    const MatrixOf<T> p(p_);
    MatrixOf<T> lifted(left_.rows(), left_.columns());
    gain_ = mean_;
    for (int m = 0; m < blocks_; ++m)
      gemm(left_.column_block(m * r_, r_), block(p, m), lifted.column_block(m * r_, r_));
    gemm(right_, transpose(lifted), gain_, 1, 1);
    back_ = gain_;
    blas_polar(back_, 0, back_.rows());
    if (settings_.special) make_rotation();
    value_ = dot(gain_, back_);
    x_ = cross();
    slope_.reset(blocks_ * r_, r_), basis_.reset(blocks_ * r_, r_), curvature_.reset(blocks_, r_);
    for (int m = 0; m < blocks_; ++m) {
      const Matrix px = product(transpose(block(p_, m)), block(x_, m));
      const View<double> slope = block(slope_, m);
      Matrix model(r_, r_);
      for (int i = 0; i < r_; ++i)
        for (int j = 0; j < r_; ++j) {
          slope(i, j) = 0.5 * (px(i, j) - px(j, i));
          model(i, j) = 0.5 * (px(i, j) + px(j, i));
        }
      const Eigen of = symmetric_eigen(std::move(model));
      block(basis_, m).copy_from(of.vectors.view());
      std::copy(of.values.begin(), of.values.end(), curvature_.row(m));
    }
  }

  // Reverses the weakest direction of the polar factor if it is no rotation.
  void make_rotation() {
    if (!negative_determinant(Matrix(back_))) return;
    const Matrix axes = symmetric_eigen(Matrix(product(transpose(back_), gain_))).vectors;  // the weakest first
    const MatrixOf<T> weakest(Matrix(axes.column_block(0, 1)));
    gemm(product(back_, weakest), transpose(weakest), back_, -2, 1);
  }

  // Stationary, and at a maximum: alternation would gain twice any negative eigenvalue of S_m.
  bool at_maximum() {
    const double small = settings_.tolerance * settings_.scale;
    if (norm(slope_) > small) return false;
    if (*std::min_element(curvature_.begin(), curvature_.end()) >= -small) return true;
    alternate(x_);
    evaluate();
    return false;
  }

  Matrix precondition(const Matrix& q) const {
    double largest = 0;
    for (double c : curvature_) largest = std::max(largest, std::abs(c));
    const double floor = std::max(kWeakest * largest, ascent::kTiny);
    Matrix out(q.rows(), q.columns());
    for (int m = 0; m < blocks_; ++m) {
      const View<const double> v = block(basis_, m);
      const double* c = curvature_.row(m);
      Matrix turned = product(product(transpose(v), block(q, m)), v);
      for (int i = 0; i < r_; ++i)
        for (int j = 0; j < r_; ++j) turned(i, j) *= 2 / std::max(std::abs(c[i] + c[j]), floor);
      gemm(product(v, turned), transpose(v), block(out, m));
    }
    return out;
  }

  // A backtracking line search along w; false if no step increases the objective or the limit is reached.
  bool search_line(const Matrix& w, double rise, double size, int limit) {
    const Matrix from = p_, before = slope_;
    const double value = value_;
    for (int tries = 0; tries < kLineSearchTries && iterations_ < limit; ++tries, size *= kCut) {
      for (int m = 0; m < blocks_; ++m) block(p_, m).copy_from(cayley_step(block(from, m), block(w, m), size).view());
      evaluate();
      if (value_ < value + ascent::kSufficientRise * size * rise - kRounding * settings_.scale) continue;
      if (!memory_.remember(w, size, before, slope_)) memory_.clear();
      return true;
    }
    p_ = from;
    evaluate();
    return false;
  }

  // Chosen by hand, not measured.
  static constexpr double kLongestStep = 10;  // radians, over all planes of all conditions
  static constexpr double kBoost = 4;         // factor of the step length for each consecutive step that taught nothing
  static constexpr double kWeakest = 1e-10;   // curvatures below this share of the largest are replaced by it
  static constexpr double kRounding = sizeof(T) == sizeof(double) ? ascent::kDoubleSlack : 2e-7;  // of the objective
  static constexpr double kCut = 0.3;  // of a step that failed
  static constexpr int kLineSearchTries = 12;

  AscentSettings settings_;
  int blocks_, r_, iterations_ = 0;
  double value_ = 0;
  MatrixOf<T> left_, right_;        // w A and C of all conditions, side by side
  MatrixOf<T> mean_, gain_, back_;  // the mean term, G and the transform, transposed (n_y x n_x)
  Matrix p_, x_, slope_, basis_, curvature_;
  LbfgsMemory memory_;
};

}  // namespace repshape
