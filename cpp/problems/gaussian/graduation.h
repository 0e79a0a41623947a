// Graduated starts for few trials of many neurons.
//
// There the objective has many maxima, because the noise of a condition fixes few directions of the transform, and a start
// that is wrong in one of them keeps the others from turning. A graduated start decides first what all conditions
// agree on: it follows the gradient of
//   <mean, T> + sum w tr((K'K + e^2)^(1/2) - e),   K = A' T C,
// whose polar factors K (K'K + e^2)^(-1/2) hardly respond to what is small beside e, through contractions
// T = U s/(s + l) V' of the gradients U s V'. Both e and l decrease. The objective is convex on contractions, so the best
// transform for the last gradient is no worse than the last contraction.
//
// On copies with 30 % noise (5 to 14 conditions, 3 to 6 trials, 22 to 47 neurons), at alpha = 0, 38 % of graduated
// correspondences end in the planted optimum and 4 % of others; at alpha = 1, 82 % and 24 %. Without e, fewer do.
#pragma once
#include "common/dense.h"
#include "problems/gaussian/pair.h"

namespace repshape {

class Graduation {
 public:
  // Whether factors are thin, and their eigenvectors affordable.
  static bool suits(const Network& x, const Network& y) {
    constexpr int thin = 2, most_neurons = 192;  // rank as a share of the neurons at most
    const int rank = std::max(x.rank, y.rank);
    return x.positions == 1 && !x.diagonal && !y.diagonal && std::min(x.rank, y.rank) > 0 &&
           thin * rank <= y.neurons && x.neurons < most_neurons;
  }

  explicit Graduation(const Pair& pair)
      : pair_(pair), n_(pair.x->neurons), k_(pair.y->neurons), rx_(pair.x->rank), ry_(pair.y->rank),
        blocks_(pair.x->blocks), left_(stacked(*pair.x)), right_(stacked(*pair.y)), typical_(blocks_) {
    for (int m = 0; m < blocks_; ++m)
      typical_[m] = std::sqrt(power(left_, n_, rx_, m) * power(right_, k_, ry_, m)) / std::min(rx_, ry_);
  }

  // From a start (n x n) to a gain (n x k), whose best transform is the graduated start.
  // `share`: how far the start is to be trusted; 1 for little.
  Matrix operator()(const Matrix& start, double share) const {
    Matrix t(std::size_t(n_) * k_);
    for (int i = 0; i < n_; ++i) std::copy_n(start.data() + std::size_t(i) * n_, k_, t.data() + std::size_t(i) * k_);
    for (; share > kCold; share *= kCooling) t = contraction(gradient(t, share), share);
    return gradient(t, share);
  }

 private:
  // Factors of all conditions side by side, neurons x (conditions of r columns).
  static Matrix stacked(const Network& net) {
    const int r = net.rank, width = r * net.blocks;
    Matrix out(std::size_t(net.neurons) * width), one(net.entries());
    for (int m = 0; m < net.blocks; ++m) {
      net.copy_block(m, one.data());
      for (int i = 0; i < net.neurons; ++i)
        std::copy_n(one.data() + std::size_t(i) * r, r, out.data() + std::size_t(i) * width + m * r);
    }
    return out;
  }

  // |A_m|^2
  double power(const Matrix& factors, int neurons, int r, int m) const {
    double sum = 0;
    for (int i = 0; i < neurons; ++i) {
      const double* row = factors.data() + (std::size_t(i) * blocks_ + m) * r;
      sum += dot(row, row, r);
    }
    return sum;
  }

  // The smoothed gradient at t (n x k), e being a share of a typical singular value.
  Matrix gradient(const Matrix& t, double share) const {
    const int width_x = rx_ * blocks_, width_y = ry_ * blocks_;
    Matrix moved(std::size_t(n_) * width_y), lifted(moved.size()), cross(std::size_t(rx_) * ry_), out = pair_.mean_term;
    gemm(false, false, n_, width_y, k_, 1, t.data(), k_, right_.data(), width_y, 0, moved.data(), width_y);
    for (int m = 0; m < blocks_; ++m) {
      gemm(true, false, rx_, ry_, n_, 1, left_.data() + m * rx_, width_x, moved.data() + m * ry_, width_y, 0,
           cross.data(), ry_);
      const double e = share * typical_[m], weight = pair_.covariance_share() * pair_.weights[m];
      const Matrix polar = divided(rx_, ry_, cross, [e](double square, double) { return std::sqrt(square + e * e); });
      gemm(false, false, n_, ry_, rx_, weight, left_.data() + m * rx_, width_x, polar.data(), ry_, 0,
           lifted.data() + m * ry_, width_y);
    }
    gemm(false, true, n_, k_, width_y, 1, lifted.data(), width_y, right_.data(), width_y, 1, out.data(), k_);
    return out;
  }

  // U s/(s + l) V' of U s V' (n x k), l being a share of the mean of s.
  Matrix contraction(const Matrix& g, double share) const {
    return divided(n_, k_, g, [share](double square, double mean) {
      return std::sqrt(square) + kHottest * share * mean;
    });
  }

  // X V diag(1/d) V' for X (rows x columns) = U s V', with d = denominator(s^2, mean of s); zero where d is.
  template <class Denominator>
  static Matrix divided(int rows, int columns, const Matrix& x, Denominator denominator) {
    Matrix gram(std::size_t(columns) * columns), v, squares, out(x.size());
    gemm(true, false, columns, columns, rows, 1, x.data(), columns, x.data(), columns, 0, gram.data(), columns);
    symmetric_eigen(columns, gram, v, squares);
    double mean = 0;
    for (double& s : squares) s = std::max(s, 0.0), mean += std::sqrt(s) / columns;
    Matrix scaled(v);
    for (int j = 0; j < columns; ++j) {
      const double d = denominator(squares[j], mean);
      for (int i = 0; i < columns; ++i) scaled[std::size_t(i) * columns + j] *= d > 0 ? 1 / d : 0;
    }
    gemm(false, true, columns, columns, columns, 1, scaled.data(), columns, v.data(), columns, 0, gram.data(), columns);
    gemm(false, false, rows, columns, columns, 1, x.data(), columns, gram.data(), columns, 0, out.data(), columns);
    return out;
  }

  static constexpr double kCold = 0.02, kCooling = 0.6, kHottest = 2;

  const Pair& pair_;
  int n_, k_, rx_, ry_, blocks_;
  Matrix left_, right_, typical_;
};

}  // namespace repshape
