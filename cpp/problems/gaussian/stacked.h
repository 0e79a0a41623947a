// The Gaussian objective of wide layers in single precision.
//
// The thin factors of all conditions are stacked into one matrix for each network, so that a gradient is two large
// products, with small ones and lanes of polar factors between them. Unlike the kernels, it assumes nothing about T: any
// contraction will do. Transforms and gradients are transposed here, k x n: row j is the image of axis j of y.
#pragma once
#include "common/single.h"
#include "problems/gaussian/pair.h"

namespace repshape {

class StackedObjective {
 public:
  explicit StackedObjective(const Pair& pair)
      : n_(pair.x->neurons), k_(pair.y->neurons), blocks_(pair.x->blocks), rx_(pair.x->rank), ry_(pair.y->rank),
        left_(stacked(*pair.x)), right_(stacked(*pair.y)), moved_(std::size_t(blocks_) * ry_ * n_),
        cross_(std::size_t(blocks_) * rx_ * ry_), mean_(std::size_t(k_) * n_), weights_(blocks_), ranks_(blocks_) {
    for (int m = 0; m < blocks_; ++m) {
      weights_[m] = pair.covariance_share() * pair.weights[m] * pair.boost;
      ranks_[m] = std::min(pair.x->ranks[m], pair.y->ranks[m]);
    }
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < k_; ++j)
        mean_[std::size_t(j) * n_ + i] = float(pair.mean_term[std::size_t(i) * k_ + j]);
  }

  int n() const { return n_; }
  int k() const { return k_; }
  int evaluations() const { return evaluations_; }

  // Value and gradient at the first k rows of t.
  double operator()(const Floats& t, Floats& gradient) {
    ++evaluations_;
    gemm(false, false, blocks_ * ry_, n_, k_, 1, right_.data(), k_, t.data(), n_, 0, moved_.data(), n_);
    const bool flipped = ry_ < rx_;  // polar factors are stored with the smaller rank first
    const int lo = std::min(rx_, ry_), hi = std::max(rx_, ry_);
    for (int m = 0; m < blocks_; ++m) {
      const float *a = left_.data() + rows(m, rx_), *b = moved_.data() + rows(m, ry_);
      gemm(false, true, lo, hi, n_, 1, flipped ? b : a, n_, flipped ? a : b, n_, 0, cross_.data() + at(m), hi);
    }
    Floats polar(cross_);
    gaussian_kernels().polar_factors(polar.data(), blocks_, lo, hi, ranks_.data());
    double value = 0;
    for (int m = 0; m < blocks_; ++m) {
      value += weights_[m] * dot(cross_.data() + at(m), polar.data() + at(m), std::size_t(lo) * hi);
      gemm(!flipped, false, ry_, n_, rx_, weights_[m], polar.data() + at(m), hi, left_.data() + rows(m, rx_), n_, 0,
           moved_.data() + rows(m, ry_), n_);  // (A_m P_m)'
    }
    gradient = mean_;
    gemm(true, false, k_, n_, blocks_ * ry_, 1, right_.data(), k_, moved_.data(), n_, 1, gradient.data(), n_);
    return value + dot(mean_.data(), t.data(), mean_.size());
  }

  // Turns the axes of y: those of the rows of v (k x k) replace them.
  void turn(const Floats& v) {
    Floats turned(right_.size());
    gemm(false, true, blocks_ * ry_, k_, k_, 1, right_.data(), k_, v.data(), k_, 0, turned.data(), k_);
    right_.swap(turned);
    Floats mean(mean_.size());
    gemm(false, false, k_, n_, k_, 1, v.data(), k_, mean_.data(), n_, 0, mean.data(), n_);
    mean_.swap(mean);
  }

 private:
  std::size_t rows(int m, int rank) const { return std::size_t(m) * rank * n_; }
  std::size_t at(int m) const { return std::size_t(m) * rx_ * ry_; }

  // Columns of all factors, one after the other.
  static Floats stacked(const Network& net) {
    const int n = net.neurons, r = net.rank;
    Floats out(std::size_t(net.blocks) * r * n);
    Matrix one(net.entries());
    for (int m = 0; m < net.blocks; ++m) {
      net.copy_block(m, one.data());
      float* to = out.data() + std::size_t(m) * r * n;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < r; ++j) to[std::size_t(j) * n + i] = float(one[std::size_t(i) * r + j]);
    }
    return out;
  }

  int n_, k_, blocks_, rx_, ry_, evaluations_ = 0;
  Floats left_, right_, moved_, cross_, mean_;
  std::vector<double> weights_, ranks_;
};

}  // namespace repshape
