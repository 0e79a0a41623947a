// The best of all injections of a few neurons, by branch and bound.
// Fidelity does not decrease when correlations between two blocks of neurons are dropped, in both networks alike. So an
// injection whose first columns are fixed reaches at most the objective of these neurons alone, plus the best
// assignment of the others by their gain as single neurons: sum w (alpha mu_x mu_y + (2 - alpha) s_x s_y).
#pragma once
#include "common/injections.h"
#include "search/function.h"

namespace repshape {

class BranchAndBound {
 public:
  // `gain` (n x k): the objective of single neurons. `scale`: an upper bound of the objective.
  BranchAndBound(const Function& f, const Function& rough, const Matrix& gain, int spare, double scale)
      : f_(f), rough_(rough), gain_(gain), margin_(kSingle * scale), rounding_(kDouble * scale), n_(f.n()), k_(f.k()),
        spare_(spare), rows_(k_, -1), taken_(n_, 0), tried_(k_ + 1, 0), pruned_(k_ + 1, 0), order_(columns_by_gain()) {}

  // Replaces t, with its value, by the best.
  void improve(Matrix& t, double& value) {
    best_ = t, value_ = value;
    descend(0, 0);
    t = best_, value = value_;
  }

 private:
  // Columns of the greatest spread of gains first: they decide most.
  std::vector<int> columns_by_gain() const {
    std::vector<std::pair<double, int>> ranked;
    for (int j = 0; j < k_; ++j) {
      double most = 0;
      for (int i = 0; i < n_; ++i) most = std::max(most, std::abs(gain_(i, j)));
      ranked.push_back({-most, j});
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> out;
    for (const auto& r : ranked) out.push_back(r.second);
    return out;
  }

  // What the columns from `depth` on can gain at most in the rows that are left.
  double bound_of_rest(int depth) const {
    if (depth == k_) return 0;
    Matrix left(0, k_ - depth);
    Values row(left.columns());
    for (int i = 0; i < n_; ++i) {
      if (taken_[i]) continue;
      for (int d = depth; d < k_; ++d) row[d - depth] = gain_(i, order_[d]);
      left.append_row(row.data());
    }
    const std::vector<int> rows = assign(left);
    double total = 0;
    for (int j = 0; j < left.columns(); ++j) total += left(rows[j], j);
    return total;
  }

  double value_of(const Function& f) {
    Matrix t(n_, k_), unused;
    for (int j = 0; j < k_; ++j)
      if (rows_[j] >= 0) t(rows_[j], j) = 1;
    const double value = f.at(t, unused);
    if (&f == &f_ && value > value_) value_ = value, best_ = std::move(t);
    return value;
  }

  // `fixed`: at least the objective of the columns that have their rows.
  void descend(int depth, double fixed) {
    if (depth == k_) {
      if (value_of(rough_) > value_ - margin_) value_of(f_);
      return;
    }
    const int column = order_[depth];
    std::vector<std::pair<double, int>> children;
    bool silent = false;
    for (int i = 0; i < n_; ++i) {
      if (taken_[i] || (i >= n_ - spare_ && silent)) continue;
      silent = i >= n_ - spare_;
      taken_[i] = 1;
      children.push_back({-(fixed + gain_(i, column) + bound_of_rest(depth + 1)), i});
      taken_[i] = 0;
    }
    std::sort(children.begin(), children.end());
    for (const auto& [bound, i] : children) {
      if (-bound <= value_ + rounding_) break;  // and the others are lower still
      taken_[i] = 1, rows_[column] = i;
      visit(depth + 1, fixed + gain_(i, column));
      taken_[i] = 0, rows_[column] = -1;
    }
  }

  void visit(int depth, double fixed) {
    if (depth < k_ - 1 && worth_evaluating(depth)) {
      ++tried_[depth];
      fixed = std::min(fixed, value_of(rough_) + margin_);
      if (fixed + bound_of_rest(depth) <= value_ + rounding_) {
        ++pruned_[depth];
        return;
      }
    }
    descend(depth, fixed);
  }

  // Whether the objective of a part is worth its evaluation, judged by how often it was: it saves all leaves below.
  bool worth_evaluating(int depth) const {
    double below = 1;
    for (int d = depth; d < k_; ++d) below *= n_ - d;
    return tried_[depth] < kTrial || pruned_[depth] * below > tried_[depth];
  }

  static constexpr long kTrial = 32;  // evaluations at a depth before they are judged; chosen by hand, not measured
  static constexpr double kSingle = 3e-6, kDouble = 1e-13;  // rounding of the objective, as a share of its scale

  const Function &f_, &rough_;
  const Matrix& gain_;
  double margin_, rounding_;
  int n_, k_, spare_;
  std::vector<int> rows_;
  std::vector<char> taken_;
  std::vector<long> tried_, pruned_;
  std::vector<int> order_;
  Matrix best_;
  double value_ = 0;
};

}  // namespace repshape
