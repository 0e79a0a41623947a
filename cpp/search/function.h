// A function of transforms that a search maximises.
#pragma once
#include "common/matrix.h"

namespace repshape {

class Function {
 public:
  virtual ~Function() = default;
  virtual int n() const = 0;
  virtual int k() const = 0;
  // Whether small matrices are evaluated side by side, one per SIMD lane; else one after another by BLAS.
  virtual bool lanes() const { return true; }
  // Value and gradient (n x k) at t (n x k).
  double at(const Matrix& t, Matrix& gradient) const {
    ++evaluations;
    return evaluate(t, gradient);
  }
  // The same at the first k columns of an n x n orthogonal matrix.
  double operator()(const Matrix& full, Matrix& gradient) const {
    return n() == k() ? at(full, gradient) : at(first_columns(full, k()), gradient);
  }

  bool single = false;  // gradients in single precision, for phases that double precision finishes
  mutable long evaluations = 0;

 private:
  virtual double evaluate(const Matrix& t, Matrix& gradient) const = 0;
};

}  // namespace repshape
