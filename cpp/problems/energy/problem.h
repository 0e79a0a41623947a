// The energy distance of one pair, as the search reads it (search/problem.h).
#pragma once
#include <memory>
#include <optional>

#include "problems/energy/samples.h"
#include "problems/ground.h"
#include "search/exploration.h"
#include "search/problem.h"

namespace repshape {

// Sum of w mean |x - T y|^q, T being n_x x n_y with n_x >= n_y. `gradient` (n_x x n_y), where given,
// receives the gradient of minus the value along the orthogonal group; kernel.h says how the two
// forms differ where trials coincide.
double energy_loss(const Samples& x, const Samples& y, const double* weights, double q, const double* transform,
                   double* gradient, const EnergyKernels& kernels);

// Minus the loss, with its gradient along the group.
struct EnergyObjective {
  static constexpr bool kSingle = false;

  const Samples *x = nullptr, *y = nullptr;
  const double* weights = nullptr;
  double q = 1;
  bool single = false;
  mutable long evaluations = 0;

  int n() const { return x->neurons; }
  int k() const { return y->neurons; }
  bool lanes() const { return true; }
  double at(const Matrix& t, Matrix& gradient) const {
    ++evaluations;
    gradient.resize(t.size());
    return -energy_loss(*x, *y, weights, q, t.data(), gradient.data(), energy_kernels());
  }
  double operator()(const Matrix& full, Matrix& gradient) const { return at(first_columns(full, n(), k()), gradient); }
};

class EnergyProblem : public ProblemDefaults<EnergyObjective> {
 public:
  using Net = Samples;
  using Function = EnergyObjective;
  // Alternation never increases the loss, but only on the group; and it has kinks where trials coincide.
  static constexpr bool kConvex = false;

  EnergyProblem(const Samples& x, const Samples& y, const Ground& ground);

  const Samples &x, &y;
  EnergyObjective whole;
  double scale, total, cost, power = 0;

  bool prove(const EnergyObjective& f, const EnergyObjective& rough, int spare, Matrix& t, double& value) const;
  Matrix first_gain() const;
  std::vector<Matrix> first_gains() const;
  Suggested suggest() const;
  Explored<EnergyObjective> explored() const;
  Measured measure(const Matrix& t, const Oracle& oracle) const;

 private:
  // The pair on a few conditions and trials, with its own weights.
  struct Few {
    Samples x, y;
    std::vector<double> weights;
  };
  Few thinned() const;

  const Ground& ground_;
  mutable std::optional<Roots> roots_x_, roots_y_;
  mutable std::unique_ptr<Few> few_;
};

}  // namespace repshape
