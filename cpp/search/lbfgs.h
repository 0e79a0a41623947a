// The memory of L-BFGS: pairs of steps and what they did to the gradient, for ascent in flat coordinates.
#pragma once
#include <deque>

#include "common/dense.h"

namespace repshape {

class Memory {
 public:
  explicit Memory(int most) : most_(most) {}

  bool empty() const { return steps_.empty(); }
  void clear() { steps_.clear(); }
  void hold(int most) { most_ = most; }  // raises the memory limit; never lowers it

  // The two-loop recursion. `precondition` applies the model's inverse curvature; `weighed` is its quadratic form.
  template <class Precondition, class Weighed>
  Matrix direction(const Matrix& r, Precondition precondition, Weighed weighed) const {
    Matrix q = r;
    std::vector<double> along(steps_.size());
    for (std::size_t h = steps_.size(); h-- > 0;) {
      const Step& step = steps_[h];
      along[h] = step.inverse * dot(step.s, q);
      for (std::size_t e = 0; e < q.size(); ++e) q[e] -= along[h] * step.y[e];
    }
    Matrix w = precondition(q);
    if (!steps_.empty()) {
      const Step& last = steps_.back();
      const double curve = weighed(last.y);
      const double ratio = curve > 0 ? 1 / (last.inverse * curve) : 1;
      for (double& e : w) e *= ratio;
    }
    for (std::size_t h = 0; h < steps_.size(); ++h) {
      const Step& step = steps_[h];
      const double back = along[h] - step.inverse * dot(step.y, w);
      for (std::size_t e = 0; e < w.size(); ++e) w[e] += back * step.s[e];
    }
    return w;
  }

  // The step size * w took the gradient from `before` to `after`. Returns false where the objective is convex along it.
  bool remember(const Matrix& w, double size, const Matrix& before, const Matrix& after) {
    Step step{Matrix(w.size()), Matrix(w.size()), 0};
    for (std::size_t e = 0; e < w.size(); ++e) {
      step.s[e] = size * w[e];
      step.y[e] = before[e] - after[e];
    }
    const double curve = dot(step.s, step.y);
    if (!(curve > 1e-12 * std::sqrt(dot(step.s, step.s) * dot(step.y, step.y)))) return false;
    step.inverse = 1 / curve;
    steps_.push_back(std::move(step));
    if (int(steps_.size()) > most_) steps_.pop_front();
    return true;
  }

 private:
  struct Step {
    Matrix s, y;
    double inverse;
  };

  int most_;
  std::deque<Step> steps_;
};

}  // namespace repshape
