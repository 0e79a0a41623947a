// The memory of L-BFGS: pairs of steps and what they did to the gradient, for ascent in flat coordinates.
#pragma once
#include <deque>

#include "common/dense.h"
#include "search/ascent_constants.h"

namespace repshape {

class LbfgsMemory {
 public:
  explicit LbfgsMemory(int most) : most_(most) {}

  bool empty() const { return steps_.empty(); }
  void clear() { steps_.clear(); }
  void set_limit(int most) { most_ = most; }

  // The two-loop recursion. `precondition` applies the model's inverse curvature; `quadratic_form` is its quadratic
  // form.
  template <class Precondition, class QuadraticForm>
  Matrix direction(const Matrix& r, Precondition precondition, QuadraticForm quadratic_form) const {
    Matrix q = r;
    Values along(steps_.size());
    for (Index h = Index(steps_.size()) - 1; h >= 0; --h) {
      const Step& step = steps_[h];
      along[h] = step.inverse * dot(step.s, q);
      q.add(-along[h], step.y);
    }
    Matrix w = precondition(q);
    if (!steps_.empty()) {
      const Step& last = steps_.back();
      const double curve = quadratic_form(last.y);
      w.scale(curve > 0 ? 1 / (last.inverse * curve) : 1);
    }
    for (Index h = 0; h < Index(steps_.size()); ++h)
      w.add(along[h] - steps_[h].inverse * dot(steps_[h].y, w), steps_[h].s);
    return w;
  }

  // A direction in which the objective rises, and how steeply: the recursion's, or the model's where that one falls.
  template <class Precondition, class QuadraticForm>
  std::pair<Matrix, double> ascent_direction(const Matrix& r, Precondition precondition, QuadraticForm quadratic_form) {
    Matrix w = direction(r, precondition, quadratic_form);
    double slope = dot(r, w);
    if (!(slope > 0)) {
      clear();
      w = precondition(r);
      slope = dot(r, w);
    }
    return {std::move(w), slope};
  }

  // The step size * w took the gradient from `before` to `after`. Returns false where the objective is convex along it.
  bool remember(const Matrix& w, double size, const Matrix& before, const Matrix& after) {
    Step step{w, before, 0};
    step.s.scale(size);
    step.y.add(-1, after);
    const double curve = dot(step.s, step.y);
    if (!(curve > ascent::kConcave * std::sqrt(dot(step.s, step.s) * dot(step.y, step.y)))) return false;
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
