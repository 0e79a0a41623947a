// From many starting transforms to one.
// F is a function on transforms, to be maximised, that never decreases when the group's oracle maximises its linear
// model: n(), k(), at(t, gradient) for t of n x k, and operator()(full, gradient) for the first k columns of an
// n x n matrix.
#pragma once
#include "common/assignment.h"
#include "common/exploration.h"
#include "common/group.h"
#include "common/transforms.h"

namespace repshape {

struct SearchSettings {
  Group group = Group::orthogonal;
  bool special = false;  // rotations of the whole space: determinant +1
  double scale = 1, tolerance = 1e-9;
  int max_iterations = 500, memory = 30;
  bool screen = true;    // else every start is finished on the full objective
  int finalists = 3;
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
    if (s_.group == Group::permutation) return injection(assign(n_, k_, g), n_);
    return first_columns(nearest_orthogonal(n_, k_, g, s_.special), n_, k_);
  }

  // Starts are n x n for the continuous groups and n x k for permutations.
  void run(std::vector<Matrix> starts) {
    starts_ = int(starts.size());
    if (s_.group == Group::identity || n_ * k_ == 0)
      best_ = identity_injection(n_, k_), converged_ = true, starts_ = agreeing_ = 1;
    else if (s_.group == Group::permutation)
      permutations(std::move(starts));
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

  void permutations(std::vector<Matrix> starts) {
    std::vector<std::pair<double, Matrix>> runs;
    const F& first = s_.screen ? few_ : whole_;
    for (Matrix& t : starts) {
      const double value = climb(first, t);
      runs.emplace_back(value, std::move(t));
    }
    std::stable_sort(runs.begin(), runs.end(), [](auto& a, auto& b) { return a.first > b.first; });
    double best = -INFINITY;
    int finished = 0;
    for (std::size_t r = 0; r < runs.size() && (!s_.screen || finished < s_.finalists); ++r) {
      if (r > 0 && runs[r].second == runs[r - 1].second) continue;
      Matrix t = runs[r].second;
      const double value = climb(whole_, t);
      ++finished;
      if (value > best) best = value, best_ = std::move(t);
    }
    converged_ = improve(best_, best);
    iterations_ = int(whole_.evaluations);
  }

  // Alternation: never decreases; ends at an assignment that is optimal for its own gradient.
  double climb(const F& f, Matrix& t) const {
    Matrix g, next_gradient;
    double value = f.at(t, g);
    for (int step = 0; step < s_.max_iterations; ++step) {
      Matrix next = oracle(g.data());
      if (next == t) break;
      const double next_value = f.at(next, next_gradient);
      if (!(next_value > value)) break;
      t = std::move(next), value = next_value;
      std::swap(g, next_gradient);
    }
    return value;
  }

  // Exchanges of two neurons, the most promising first, until none helps or the budget is spent.
  bool improve(Matrix& t, double value) const {
    const long budget = 4L * n_ + 32;
    long tried = 0;
    for (bool found = true; found;) {
      found = false;
      Matrix g, unused;
      whole_.at(t, g);
      for (const auto& [i, j] : exchanges(t, g, n_, k_, std::size_t(2 * n_))) {
        if (tried++ >= budget) return false;
        Matrix next = t;
        std::swap_ranges(next.begin() + i * k_, next.begin() + (i + 1) * k_, next.begin() + j * k_);
        if (whole_.at(next, unused) > value + 1e-13 * s_.scale) {
          value = climb(whole_, next);
          t = std::move(next);
          found = true;
          break;
        }
      }
    }
    return true;
  }

  const F &whole_, &few_;
  const SearchSettings& s_;
  int n_, k_;
  Matrix best_;
  bool converged_ = false;
  int iterations_ = 0, starts_ = 0, agreeing_ = 0;
};

}  // namespace repshape
