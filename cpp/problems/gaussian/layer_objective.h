// The Gaussian objective of wide layers in single precision.
//
// The thin factors of all conditions are stacked into one matrix for each network, so that a gradient is two large
// products, with small ones and lanes of polar factors between them. Unlike the kernels, it assumes nothing about T:
// any contraction will do. Transforms and gradients are transposed here, k x n: row j is the image of axis j of y.
#pragma once
#include "problems/gaussian/pair.h"

namespace repshape {

class LayerObjective {
 public:
  explicit LayerObjective(const Pair& pair)
      : blocks_(pair.x->blocks), rx_(pair.x->rank), ry_(pair.y->rank), lo_(std::min(rx_, ry_)), hi_(std::max(rx_, ry_)),
        left_(stacked_rows(*pair.x)), right_(stacked_rows(*pair.y)), moved_(blocks_ * ry_, pair.x->neurons),
        cross_(blocks_ * lo_, hi_), mean_(transposed_as<float>(pair.mean_term.view())) {
    for (int m = 0; m < blocks_; ++m) {
      weights_.push_back(pair.covariance_share() * pair.weights[m] * pair.subset_scale);
      ranks_.push_back(std::min(pair.x->ranks[m], pair.y->ranks[m]));
    }
  }

  int n() const { return mean_.columns(); }
  int k() const { return mean_.rows(); }
  int evaluations() const { return evaluations_; }

  // Value and gradient at the first k rows of t.
  double operator()(const FloatMatrix& t, FloatMatrix& gradient) {
    ++evaluations_;
    gemm(right_, t.row_block(0, k()), moved_);
    const bool flipped = ry_ < rx_;  // polar factors are stored with the smaller rank first
    for (int m = 0; m < blocks_; ++m) {
      const View<const float> a = left_.row_block(m * rx_, rx_), b = moved_.row_block(m * ry_, ry_);
      gemm(flipped ? b : a, transpose(flipped ? a : b), cross_.row_block(m * lo_, lo_));
    }
    FloatMatrix polar(cross_);
    gaussian_kernels().polar_factors(polar.data(), blocks_, lo_, hi_, ranks_.data());
    double value = 0;
    for (int m = 0; m < blocks_; ++m) {
      value += weights_[m] * dot(cross_.row(m * lo_), polar.row(m * lo_), lo_ * hi_);
      const View<const float> p = polar.row_block(m * lo_, lo_);
      gemm(flipped ? Operand<float>(p) : transpose(p), left_.row_block(m * rx_, rx_), moved_.row_block(m * ry_, ry_),
           weights_[m]);  // (A_m P_m)'
    }
    gradient = mean_;
    gemm(transpose(right_), moved_, gradient, 1, 1);
    return value + dot(mean_.data(), t.data(), mean_.size());
  }

  // Turns the axes of y: those of the rows of v (k x k) replace them.
  void rotate_y(const FloatMatrix& v) {
    right_ = product(right_, transpose(v));
    mean_ = product(v, mean_);
  }

 private:
  // Columns of all factors, one after the other.
  static FloatMatrix stacked_rows(const Network& net) {
    return transposed_as<float>(net.stacked<float>(net.rank, [](int) { return 1.0; }).view());
  }

  int blocks_, rx_, ry_, lo_, hi_, evaluations_ = 0;
  FloatMatrix left_, right_, moved_, cross_, mean_;
  Values weights_, ranks_;
};

}  // namespace repshape
