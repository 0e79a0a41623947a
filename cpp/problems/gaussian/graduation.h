// Graduated starts for few trials of many neurons (graduated optimisation: from a smoothed objective to the true one).
//
// There the objective has many maxima, because the noise of a condition fixes few directions of the transform, and a
// start that is wrong in one of them keeps the others from turning. A graduated start decides first what all conditions
// agree on: it follows the gradient of
//   <mean, T> + sum w tr((K'K + e^2)^(1/2) - e),   K = A' T C,
// whose polar factors K (K'K + e^2)^(-1/2) hardly respond to what is small beside e, through contractions
// T = U s/(s + l) V' of the gradients U s V'. Both e and l decrease. The objective is convex on contractions, so the
// best transform for the last gradient is no worse than the last contraction.
//
// On copies with 30 % noise (5 to 14 conditions, 3 to 6 trials, 22 to 47 neurons), at alpha = 0, 38 % of graduated
// correspondences end in the planted optimum and 4 % of others; at alpha = 1, 82 % and 24 %. Without e, fewer do.
#pragma once
#include "problems/gaussian/pair.h"
#include "problems/gaussian/path_constants.h"

namespace repshape {

class Graduation {
 public:
  // Whether factors are thin, and their eigenvectors affordable.
  static bool suits(const Network& x, const Network& y) {
    const int rank = std::max(x.rank, y.rank);
    return x.positions == 1 && !x.diagonal && !y.diagonal && std::min(x.rank, y.rank) > 0 &&
           paths::kGraduatedThin * rank <= y.neurons && x.neurons < paths::kGraduatedBelow;
  }

  explicit Graduation(const Pair& pair)
      : pair_(pair), rx_(pair.x->rank), ry_(pair.y->rank), left_(stacked(*pair.x)), right_(stacked(*pair.y)) {
    for (int m = 0; m < pair.x->blocks; ++m) {
      const double powers = power(left_.column_block(m * rx_, rx_)) * power(right_.column_block(m * ry_, ry_));
      typical_.push_back(std::sqrt(powers) / std::min(rx_, ry_));
    }
  }

  // From a start (n x n) to a gain (n x k), whose best transform is the graduated start.
  // `share`: how far the start is to be trusted; 1 for little.
  Matrix operator()(const Matrix& start, double share) const {
    Matrix t = first_columns(start, pair_.y->neurons);
    for (; share > kLastShare; share *= kDecrease) t = contraction(gradient(t, share), share);
    return gradient(t, share);
  }

 private:
  static Matrix stacked(const Network& net) {
    return net.stacked<double>(net.rank, [](int) { return 1.0; });
  }

  // |A_m|^2
  static double power(const View<const double>& factor) {
    double sum = 0;
    for (int i = 0; i < factor.rows(); ++i) sum += dot(factor.row(i), factor.row(i), factor.columns());
    return sum;
  }

  // The smoothed gradient at t (n x k), e being a share of a typical singular value.
  Matrix gradient(const Matrix& t, double share) const {
    const Matrix moved = product(t, right_);
    Matrix lifted(moved.rows(), moved.columns()), out = pair_.mean_term;
    for (int m = 0; m < pair_.x->blocks; ++m) {
      const View<const double> a = left_.column_block(m * rx_, rx_);
      const double e = share * typical_[m], weight = pair_.covariance_share() * pair_.weights[m];
      const Matrix polar = divided(product(transpose(a), moved.column_block(m * ry_, ry_)),
                                   [e](double square, double) { return std::sqrt(square + e * e); });
      gemm(a, polar, lifted.column_block(m * ry_, ry_), weight);
    }
    gemm(lifted, transpose(right_), out, 1, 1);
    return out;
  }

  // U s/(s + l) V' of U s V' (n x k), l being a share of the mean of s.
  static Matrix contraction(const Matrix& g, double share) {
    return divided(g,
                   [share](double square, double mean) { return std::sqrt(square) + kFirstShrinkage * share * mean; });
  }

  // X V diag(1/d) V' for X = U s V', with d = denominator(s^2, mean of s); zero where d is.
  template <class Denominator>
  static Matrix divided(const Matrix& x, Denominator denominator) {
    Eigen of = symmetric_eigen(product(transpose(x), x));
    const int columns = x.columns();
    double mean = 0;
    for (double& s : of.values) s = std::max(s, 0.0), mean += std::sqrt(s) / columns;
    Matrix scaled(of.vectors);
    for (int j = 0; j < columns; ++j) {
      const double d = denominator(of.values[j], mean), inverse = d > 0 ? 1 / d : 0;
      for (int i = 0; i < columns; ++i) scaled(i, j) *= inverse;
    }
    return product(x, product(scaled, transpose(of.vectors)));
  }

  // The share falls by a factor of kDecrease down to kLastShare; l is kFirstShrinkage times the share of the mean
  // singular value. Chosen by hand; their outcome is measured above.
  static constexpr double kLastShare = 0.02, kDecrease = 0.6, kFirstShrinkage = 2;

  const Pair& pair_;
  int rx_, ry_;
  Matrix left_, right_;  // factors of all conditions, side by side
  Values typical_;       // singular values of A' T C, by condition
};

}  // namespace repshape
