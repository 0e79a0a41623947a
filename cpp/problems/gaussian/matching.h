// Starts for networks of independent neurons, such as the latents of autoencoders: one neuron onto another.
#pragma once
#include "common/assignment.h"
#include "common/orthogonal.h"
#include "problems/gaussian/gains.h"

namespace repshape {

// The signed permutation (n x n) that is best for diagonal covariances: |A' T C|_* is the sum of a_i c_j over matched
// neurons i and j. Without means, all of them are stationary points: the second derivative in the plane of two matched
// neurons 1 and 2 is  - sum w (a_1^2 - a_2^2) (c_1^2 - c_2^2) / (a_1 c_1 + a_2 c_2). Planes in which it is positive are
// turned a little, because no gradient leads away from there.
class Matching {
 public:
  Matching(const Pair& pair, bool special)
      : pair_(pair), n_(pair.x->neurons), k_(pair.y->neurons), transform_(std::size_t(n_) * n_, 0) {
    Matrix gain = deviation_gain(pair);
    for (std::size_t e = 0; e < gain.size(); ++e) gain[e] += std::abs(pair.mean_term[e]);
    rows_ = assign(n_, k_, gain.data());
    for (int j = 0; j < k_; ++j) at(rows_[j], j) = mean(j) < 0 ? -1 : 1;
    complete();
    if (special && negative_determinant(n_, transform_)) reverse();
    if (pair.alpha == 0) leave_saddles();
  }

  const Matrix& transform() const { return transform_; }

 private:
  double& at(int i, int j) { return transform_[std::size_t(i) * n_ + j]; }
  double mean(int j) const { return pair_.mean_term[std::size_t(rows_[j]) * k_ + j]; }

  // Neurons of x that are left get columns of their own.
  void complete() {
    std::vector<char> taken(n_, 0);
    for (int row : rows_) taken[row] = 1;
    for (int i = 0; i < n_; ++i) {
      if (taken[i]) continue;
      rows_.push_back(i);
      at(i, int(rows_.size()) - 1) = 1;
    }
  }

  // The neuron whose means matter least; all have a match, because `special` is for networks of the same size.
  void reverse() {
    int least = 0;
    for (int j = 1; j < k_; ++j)
      if (std::abs(mean(j)) < std::abs(mean(least))) least = j;
    at(rows_[least], least) *= -1;
  }

  void leave_saddles() {
    constexpr double angle = 0.3;
    const Matrix curvature = second_derivatives();
    const double c = std::cos(angle), s = std::sin(angle);
    for (int p = 0; p < k_; ++p)
      for (int q = p + 1; q < n_; ++q) {
        if (!(curvature[std::size_t(p) * n_ + q] > 0)) continue;
        for (int i = 0; i < n_; ++i) {
          const double first = at(i, p), second = at(i, q);
          at(i, p) = c * first + s * second, at(i, q) = c * second - s * first;
        }
      }
  }

  Matrix second_derivatives() const {
    Matrix out(std::size_t(k_) * n_, 0), a(n_), c(n_, 0);
    for (int m = 0; m < pair_.x->blocks; ++m) {
      pair_.x->copy_block(m, a.data());
      pair_.y->copy_block(m, c.data());  // neurons without a match keep zero
      for (int p = 0; p < k_; ++p)
        for (int q = p + 1; q < n_; ++q) {
          const double ap = a[rows_[p]], aq = a[rows_[q]], sum = ap * c[p] + aq * c[q];
          const double alike = (ap * ap - aq * aq) * (c[p] * c[p] - c[q] * c[q]);
          if (sum > 0) out[std::size_t(p) * n_ + q] -= pair_.weights[m] * alike / sum;
        }
    }
    return out;
  }

  const Pair& pair_;
  int n_, k_;
  std::vector<int> rows_;  // of each column
  Matrix transform_;
};

}  // namespace repshape
