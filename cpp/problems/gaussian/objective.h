// What the Gaussian solver maximises: g(T) = <mean term, T> + (2 - alpha) sum w |sum_p A_p' T C_p|_*.
#pragma once
#include "common/transforms.h"
#include "problems/gaussian/blas_objective.h"

namespace repshape {

struct Objective {
  Pair pair;
  static constexpr bool kSingle = true;  // gradients in single precision are faster
  bool single = false;  // gradients in float32, for phases that a double phase finishes
  mutable long evaluations = 0;

  int n() const { return pair.x->neurons; }
  int k() const { return pair.y->neurons; }
  bool lanes() const { return pair.lanes(); }

  // Value and gradient (n x k) at the first k columns of an n x n orthogonal matrix.
  double operator()(const Matrix& full, Matrix& gradient) const {
    return n() == k() ? at(full, gradient) : at(first_columns(full, n(), k()), gradient);
  }

  double at(const Matrix& t, Matrix& gradient) const {
    ++evaluations;
    gradient.assign(t.size(), 0);
    double value = 0;
    const double share = pair.covariance_share();
    if (share > 0) {
      value = share * (pair.lanes() ? gaussian_kernels().gradient(pair.view(), t.data(), gradient.data(), single)
                                    : blas_objective(pair, t.data(), gradient.data(), single));
      for (double& g : gradient) g *= share;
    }
    for (std::size_t e = 0; e < t.size(); ++e) gradient[e] += pair.mean_term[e];
    return value + dot(pair.mean_term, t);
  }
};

}  // namespace repshape
