// What the Gaussian solver maximises: g(T) = <mean term, T> + (2 - alpha) sum w |sum_p A_p' T C_p|_*.
#pragma once
#include "problems/gaussian/blas_objective.h"
#include "search/function.h"

namespace repshape {

class GaussianObjective : public Function {
 public:
  Pair pair;

  int n() const override { return pair.x->neurons; }
  int k() const override { return pair.y->neurons; }
  bool lanes() const override { return pair.lanes(); }

 private:
  double evaluate(const Matrix& t, Matrix& gradient) const override {
    gradient.reset(n(), k());
    double value = 0;
    const double share = pair.covariance_share();
    if (share > 0) {
      value = share * (pair.lanes() ? gaussian_kernels().gradient(pair.view(), t.data(), gradient.data(), single)
                                    : blas_objective(pair, t, gradient, single));
      gradient.scale(share);
    }
    gradient.add(1, pair.mean_term);
    return value + dot(pair.mean_term, t);
  }
};

}  // namespace repshape
