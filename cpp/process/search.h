// A small search over starts: the first is finished; the others compete on few blocks, and the best is finished too.
#pragma once
#include "common/ascent.h"
#include "common/assignment.h"
#include "common/group.h"
#include "process/objective.h"

namespace repshape {

class ProcessSearch {
 public:
  ProcessSearch(const ProcessObjective& f, Group group, bool special, double scale, double tolerance, int limit)
      : f_(f), group_(group), special_(special), limit_(limit), n_(f.n()), k_(f.k()) {
    settings_.scale = scale, settings_.tolerance = tolerance, settings_.memory = kMemory, settings_.special = special;
  }

  // The transform (n x k) of the group that maximises <T, g>.
  Matrix oracle(const Matrix& g) const {
    if (group_ == Group::identity) return identity_injection(n_, k_);
    if (group_ == Group::permutation) return injection(assign(n_, k_, g.data()), n_);
    return first_columns(nearest_orthogonal(n_, k_, g.data(), special_), n_, k_);
  }

  // Starts are n x n for the continuous groups and n x k for permutations.
  void run(const std::vector<Matrix>& starts, bool screen) {
    n_starts = int(starts.size());
    if (group_ == Group::identity || n_ * k_ == 0)
      best = identity_injection(n_, k_), converged = true, n_starts = 1;
    else if (group_ == Group::permutation)
      permutations(starts);
    else
      rotations(starts, screen);
  }

  Matrix best;  // n x k
  bool converged = false;
  int iterations = 0, n_starts = 0;

 private:
  static constexpr int kMemory = 30;
  static constexpr int kFewBlocks = 8;          // of the objective on which starts compete
  static constexpr int kFirstSteps = 8;         // of every start there
  static constexpr int kSecondSteps = 12;       // of the survivors on all blocks
  static constexpr int kSurvivors = 3;
  static constexpr double kBudget = 2;          // work on the other starts, relative to that on the first
  static constexpr double kLeastWork = 40;      // gradients over all blocks that are always allowed
  static constexpr double kCheap = 1e8;         // operations that are always allowed, in work on small pairs

  void rotations(const std::vector<Matrix>& starts, bool screen) {
    std::vector<Ascent> runs;
    for (const Matrix& start : starts) runs.emplace_back(settings_, start);
    if (screen && runs.size() > 1) compete(runs);
    for (Ascent& run : runs) run.run(f_, limit_);
    std::stable_sort(runs.begin(), runs.end(), higher);
    best = first_columns(runs[0].transform(), n_, k_);
    converged = runs[0].converged();
    iterations = runs[0].iterations();
  }

  void compete(std::vector<Ascent>& runs) {
    Ascent first = std::move(runs[0]);
    runs.erase(runs.begin());
    first.run(f_, limit_);
    const ProcessObjective few = f_.thinned(std::max(kFewBlocks, int(f_.blocks.size()) / 8));
    const double each = double(few.blocks.size()) / double(f_.blocks.size()) * (kFirstSteps + 1);
    const double budget = std::max({kBudget * f_.work, kLeastWork, kCheap / operations()});
    const std::size_t count = std::max<std::size_t>(2, std::size_t(budget / each));
    runs.erase(runs.begin() + std::min(count, runs.size()), runs.end());
    for (Ascent& run : runs) run.run(few, std::min(kFirstSteps + 1, limit_));
    std::stable_sort(runs.begin(), runs.end(), higher);
    keep_distinct(runs, kSurvivors);
    for (Ascent& run : runs) {
      run.restart();
      run.run(f_, std::min(kSecondSteps, limit_));
    }
    std::stable_sort(runs.begin(), runs.end(), higher);
    if (same_maximum(runs[0], first))
      runs.clear();
    else
      runs.erase(runs.begin() + 1, runs.end());
    runs.insert(runs.begin(), std::move(first));
  }

  // Floating-point operations of one gradient.
  double operations() const {
    const ProcessNetwork &x = *f_.pair.x, &y = *f_.pair.y;
    const double rx = x.rank, ry = y.rank, low = std::min(rx, ry);
    double total = 40.0 * n_ * n_ * n_;
    for (int b : f_.blocks) total += 4.0 * x.lengths[b] * n_ * ry * (k_ + rx) + 20 * low * low * std::max(rx, ry);
    return total;
  }

  void permutations(const std::vector<Matrix>& starts) {
    double highest = -INFINITY;
    for (Matrix t : starts) {
      const double value = climb(t);
      if (value > highest) highest = value, best = std::move(t);
    }
    converged = exchange(highest);
    iterations = int(f_.evaluations);
  }

  // Alternation: never decreases; ends at an assignment that is optimal for its own gradient.
  double climb(Matrix& t) const {
    Matrix g, next_gradient;
    double value = f_.at(t, g);
    for (int step = 0; step < limit_; ++step) {
      Matrix next = oracle(g);
      if (next == t) break;
      const double next_value = f_.at(next, next_gradient);
      if (!(next_value > value)) break;
      t = std::move(next), value = next_value;
      std::swap(g, next_gradient);
    }
    return value;
  }

  // Exchanges of two neurons, the most promising first, until none helps or the budget is spent.
  bool exchange(double value) {
    const long budget = 4L * n_ + 32;
    long tried = 0;
    for (bool found = true; found;) {
      found = false;
      Matrix g, unused;
      f_.at(best, g);
      for (const auto& [i, j] : exchanges(best, g, n_, k_, std::size_t(2 * n_))) {
        if (tried++ >= budget) return false;
        Matrix next = best;
        std::swap_ranges(next.begin() + i * k_, next.begin() + (i + 1) * k_, next.begin() + j * k_);
        if (f_.at(next, unused) <= value + 1e-13 * settings_.scale) continue;
        value = climb(next);
        best = std::move(next);
        found = true;
        break;
      }
    }
    return true;
  }

  const ProcessObjective& f_;
  Group group_;
  bool special_;
  int limit_, n_, k_;
  AscentSettings settings_;
};

}  // namespace repshape
