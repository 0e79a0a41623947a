// Starts for networks of independent neurons, such as the latents of autoencoders: one neuron onto another.
#pragma once
#include "common/injections.h"
#include "common/orthogonal.h"
#include "problems/gaussian/gains.h"

namespace repshape {

// The signed permutation (n x n) that is best for diagonal covariances: |A' T C|_* is the sum of a_i c_j over matched
// neurons i and j. Without means, all of them are stationary points: the second derivative in the plane of two matched
// neurons 1 and 2 is  - sum w (a_1^2 - a_2^2) (c_1^2 - c_2^2) / (a_1 c_1 + a_2 c_2). Planes in which it is positive are
// turned a little, because no gradient leads away from there.
class Matching {
 public:
  Matching(const Pair& pair, bool special) : pair_(pair), n_(pair.x->neurons), k_(pair.y->neurons), transform_(n_, n_) {
    Matrix gain = deviation_gain(pair);
    for (Index e = 0; e < gain.size(); ++e) gain[e] += std::abs(pair.mean_term[e]);
    rows_ = assign(gain);
    for (int j = 0; j < k_; ++j) transform_(rows_[j], j) = mean(j) < 0 ? -1 : 1;
    complete();
    if (special && negative_determinant(transform_)) reverse_weakest();
    if (pair.alpha == 0) leave_saddles();
  }

  const Matrix& transform() const { return transform_; }

 private:
  double mean(int j) const { return pair_.mean_term(rows_[j], j); }

  // Neurons of x that are left get columns of their own.
  void complete() {
    std::vector<char> taken(n_, 0);
    for (int row : rows_) taken[row] = 1;
    for (int i = 0; i < n_; ++i) {
      if (taken[i]) continue;
      transform_(i, int(rows_.size())) = 1;
      rows_.push_back(i);
    }
  }

  // The neuron whose means matter least; all have a match, because `special` is for networks of the same size.
  void reverse_weakest() {
    int least = 0;
    for (int j = 1; j < k_; ++j)
      if (std::abs(mean(j)) < std::abs(mean(least))) least = j;
    transform_(rows_[least], least) *= -1;
  }

  void leave_saddles() {
    constexpr double angle = 0.3;  // radians; chosen by hand, not measured
    const Matrix curvature = second_derivatives();
    const double c = std::cos(angle), s = std::sin(angle);
    for (int p = 0; p < k_; ++p)
      for (int q = p + 1; q < n_; ++q) {
        if (!(curvature(p, q) > 0)) continue;
        for (int i = 0; i < n_; ++i) {
          const double first = transform_(i, p), second = transform_(i, q);
          transform_(i, p) = c * first + s * second, transform_(i, q) = c * second - s * first;
        }
      }
  }

  Matrix second_derivatives() const {
    Matrix out(k_, n_);
    for (int m = 0; m < pair_.x->blocks; ++m) {
      const Matrix a = pair_.x->block(m);
      Matrix c = pair_.y->block(m);
      c.set_rows(n_);  // neurons without a match have none
      for (int p = 0; p < k_; ++p)
        for (int q = p + 1; q < n_; ++q) {
          const double ap = a[rows_[p]], aq = a[rows_[q]], sum = ap * c[p] + aq * c[q];
          const double alike = (ap * ap - aq * aq) * (c[p] * c[p] - c[q] * c[q]);
          if (sum > 0) out(p, q) -= pair_.weights[m] * alike / sum;
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
