// The energy distance of one pair, as the search reads it (search/problem.h).
#pragma once
#include <optional>

#include "problems/energy/samples.h"
#include "problems/ground.h"
#include "search/problem.h"

namespace repshape {

// Sum of w mean |x - T y|^q, T being n_x x n_y with n_x >= n_y. `gradient` (n_x x n_y), where given,
// receives the gradient of minus the value along the orthogonal group; kernel.h says how the two
// forms differ where trials coincide.
double energy_loss(const Samples& x, const Samples& y, const double* weights, double q,
                   const View<const double>& transform, Matrix* gradient, const EnergyKernels& kernels);

// Minus the loss, with its gradient along the group.
class EnergyObjective : public Function {
 public:
  EnergyObjective(const Samples& x, const Samples& y, const double* weights, double q)
      : x_(x), y_(y), weights_(weights), q_(q) {}

  int n() const override { return x_.neurons; }
  int k() const override { return y_.neurons; }

 private:
  double evaluate(const Matrix& t, Matrix& gradient) const override {
    return -energy_loss(x_, y_, weights_, q_, t, &gradient, energy_kernels());
  }

  const Samples &x_, &y_;
  const double* weights_;
  double q_;
};

class EnergyProblem : public Problem {
 public:
  EnergyProblem(const Samples& x, const Samples& y, const Ground& ground);
  EnergyProblem(const EnergyProblem&) = delete;

  const Function& whole() const override { return whole_; }
  // Alternation never increases the loss, but only on the group; and it has kinks where trials coincide.
  bool convex() const override { return false; }
  Matrix first_gain() const override;
  std::vector<Matrix> first_gains() const override;
  StartData start_data() const override;
  ExplorationTarget exploration_target() const override;
  Measurement measure(const Matrix& t, const Oracle& oracle) const override;
  bool search_exhaustively(const Function& rough, int spare, Matrix& t, double& value) const override;

 private:
  // The pair on a few conditions and trials, with its own weights.
  struct Subset {
    Samples x, y;
    Values weights;
  };

  double loss(const Matrix& t) const;

  const Samples &x_, &y_;
  const Ground& ground_;
  EnergyObjective whole_;
  mutable std::optional<Roots> roots_x_, roots_y_;
  mutable std::unique_ptr<Subset> subset_;
};

}  // namespace repshape
