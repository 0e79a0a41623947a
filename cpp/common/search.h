// From many starting transforms to one.
// F is a function on transforms, to be maximised, that never decreases when the group's oracle maximises its linear
// model: n(), k(), at(t, gradient) for t of n x k, and operator()(full, gradient) for the first k columns of an
// n x n matrix.
#pragma once
#include "common/exploration.h"
#include "common/group.h"
#include "common/transforms.h"

namespace repshape {

struct SearchSettings {
  Group group = Group::orthogonal;
  bool special = false;  // rotations of the whole space: determinant +1
  double scale = 1, tolerance = 1e-9;
  int max_iterations = 500, memory = 30;
  // What the objective can reach at most, on all data and on few; operations of one gradient.
  double total = 0, few_total = 0, cost = 0;
  ExplorationSettings exploration;
};

template <class F>
class Search {
 public:
  Search(const F& whole, const F& few, const SearchSettings& settings)
      : whole_(whole), few_(few), s_(settings), n_(whole.n()), k_(whole.k()) {}

  // The transform (n x k) of the group that maximises <T, g>.
  Matrix oracle(const double* g) const {
    if (s_.group == Group::identity) return identity_injection(n_, k_);
    return first_columns(nearest_orthogonal(n_, k_, g, s_.special), n_, k_);
  }

  // Starts are n x n.
  void run(std::vector<Matrix> starts) {
    starts_ = int(starts.size());
    if (s_.group == Group::identity || n_ * k_ == 0)
      best_ = identity_injection(n_, k_), converged_ = true, starts_ = agreeing_ = 1;
    else
      rotations(std::move(starts));
  }

  // Rotations from a first start (n x n) and others until they agree.
  void explore(const Matrix& first, Correspondence& suggestions, Random& random) {
    Exploration<F> search(whole_, ascent(), s_.exploration, s_.total, s_.cost, s_.max_iterations, random);
    if (s_.cost > kWorthTravelling) search.travel_on(few_, s_.few_total);
    search.run(first, suggestions);
    starts_ = search.starts(), agreeing_ = search.agreeing();
    Ascent best = search.best();
    best.demand(s_.tolerance);
    best.run(whole_, s_.max_iterations);
    settle(best);
  }

  const Matrix& best() const { return best_; }
  bool converged() const { return converged_; }
  int iterations() const { return iterations_; }
  int starts() const { return starts_; }
  int agreeing() const { return agreeing_; }

 private:
  static constexpr double kWorthTravelling = 1e6;  // operations of a gradient

  // Rounding error of the objective, as a share of its scale.
  static constexpr double kRounding = 1e-14;

  AscentSettings ascent() const { return {s_.scale, s_.tolerance, s_.memory, s_.special}; }

  void rotations(std::vector<Matrix> starts) {
    std::vector<Ascent> runs;
    for (Matrix& start : starts) {
      runs.emplace_back(ascent(), std::move(start));
      runs.back().run(whole_, s_.max_iterations);
    }
    std::stable_sort(runs.begin(), runs.end(), higher);
    const double margin = margin_of(s_.exploration, s_.total - runs[0].value(), s_.scale);
    for (const Ascent& run : runs) agreeing_ += run.value() >= runs[0].value() - margin;
    settle(runs[0]);
  }

  void settle(const Ascent& run) {
    best_ = first_columns(run.transform(), n_, k_);
    converged_ = run.converged() || nothing_to_gain();
    iterations_ = run.iterations();
  }

  // At a kink (trials that coincide exactly) the gradient jumps and never gets small. Such a point is
  // stationary if the oracle's own model promises nothing more than rounding.
  bool nothing_to_gain() const {
    Matrix g;
    whole_.at(best_, g);
    return dot(oracle(g.data()), g) - dot(best_, g) <= kRounding * std::max(s_.scale, dot(best_, g));
  }

  const F &whole_, &few_;
  const SearchSettings& s_;
  int n_, k_;
  Matrix best_;
  bool converged_ = false;
  int iterations_ = 0, starts_ = 0, agreeing_ = 0;
};

}  // namespace repshape
