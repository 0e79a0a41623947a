// The best permutation of neurons for one pair, for any problem: a function of injections t (n x k) of the neurons of y
// into those of x is maximised. The last `spare` rows of x are silent neurons, any of which is as good as another.
#pragma once
#include <numeric>

#include "search/problem.h"
#include "search/stopping.h"

namespace repshape {

// Gains whose best assignments are starts: from the correspondence of conditions, from means and standard deviations
// under random weights of the conditions, and at random.
class PermutationStarts {
 public:
  PermutationStarts(const StartData& from, Random& random)
      : from_(from), random_(random), correspondences_(from, false, random) {}

  Matrix next() {
    switch (drawn_++ % 3) {
      case 0: return first_columns(correspondences_.next(), from_.y.n);
      case 1: return weighted();
      default: return at_random();
    }
  }

 private:
  Matrix at_random() {
    Matrix out(from_.x.n, from_.y.n);
    for (double& e : out) e = random_.normal();
    return out;
  }

  Matrix weighted() {
    Matrix out(from_.x.n, from_.y.n);
    for (int c = 0; c < from_.x.count(); ++c) {
      const double weight = random_.gamma(starts::kPermutationShape);
      const Values sx = deviations(from_.x.roots[c]), sy = deviations(from_.y.roots[c]);
      const Values &mu_x = from_.x.means[c], &mu_y = from_.y.means[c];
      for (int i = 0; i < out.rows(); ++i)
        for (int j = 0; j < out.columns(); ++j)
          out(i, j) += weight * (from_.mean_share * mu_x[i] * mu_y[j] + from_.covariance_share * sx[i] * sy[j]);
    }
    return out;
  }

  static Values deviations(const Matrix& root) {
    Values out(root.rows());
    for (int i = 0; i < root.rows(); ++i) out[i] = std::sqrt(dot(root.row(i), root.row(i), root.columns()));
    return out;
  }

  StartData from_;
  Random& random_;
  CorrespondenceStarts correspondences_;
  int drawn_ = 0;
};

class PermutationSearch {
 public:
  // `rough` is the function in the precision of the search.
  PermutationSearch(const Problem& problem, const Function& rough, const Settings& s, int spare)
      : p_(problem), f_(problem.whole()), rough_(rough), s_(s), spare_(spare), random_(s.seed),
        fixed_(s.explore ? 0 : 1 + s.n_starts), n_(f_.n()), budget_(std::max(16.0 * n_, stopping::kAlways / p_.cost)),
        stopping_(Stopping::of_permutations(s.brief_starts, p_.cost, fixed_)), agreement_(p_.total, p_.scale) {}

  // From the first gains, then from further ones until starts agree.
  void explore() {
    const std::vector<Matrix> first = p_.first_gains();
    PermutationStarts further(p_.start_data(), random_);
    while (!stopping_.enough(starts_, agreement_.hits()))
      try_start(best_injection(starts_ < int(first.size()) ? first[starts_] : further.next()));
    agreeing_ = agreement_.hits();
    value_ = agreement_.best();
    if (fixed_ == 0 && p_.search_exhaustively(rough_, spare_, best_, value_)) {
      converged_ = exact_ = true;
      starts_ = agreeing_ = 1;
      return;
    }
    if (agreeing_ < stopping_.hits && fixed_ == 0) try_moves();
    finish();
  }

  // From the caller's starts (n x k), each of which is completed to an injection.
  void improve(const std::vector<Matrix>& given) {
    for (const Matrix& t : given) try_start(best_injection(t));
    agreeing_ = 0;
    value_ = agreement_.best();
    finish();
  }

  const Matrix& best() const { return best_; }
  bool converged() const { return converged_; }  // no assignment is better for its own gradient
  int starts() const { return starts_; }
  int agreeing() const { return agreeing_; }
  double gap() const { return exact_ ? 0 : agreement_.gap(); }

 private:
  Matrix best_injection(const Matrix& gain) const { return injection(assign(gain), n_); }

  double ascend_and_exchange(Matrix& t) {
    double value = ascend(rough_, t);
    exchange(rough_, t, value, stopping::kQuickExchanges * n_);
    return value;
  }

  void try_start(Matrix t) {
    ++starts_;
    const double value = ascend_and_exchange(t);
    const bool better = agreement_.empty() || value > agreement_.best();
    agreement_.rank(value);
    if (better) best_ = std::move(t);
  }

  // Where starts do not agree: a few neurons of the best are permuted at random, as often as the budget allows.
  void try_moves() {
    const long from = rough_.evaluations;
    for (int m = 0; m < stopping::kPermutationMoves * n_ && rough_.evaluations - from < budget_; ++m) {
      Matrix t = best_;
      shuffle(t, 3 + m % 3);
      const double value = ascend_and_exchange(t);
      if (value > value_ + least_gain(rough_)) {
        if (value > value_ + margin_of(p_.total - value_, p_.scale)) agreeing_ = 1;
        value_ = value, best_ = std::move(t);
      }
    }
  }

  // All exchanges that the budget allows, then the last steps in full precision.
  void finish() {
    exchange(rough_, best_, value_, long(std::min(budget_, 1.5 * n_ * n_)));
    value_ = ascend(f_, best_);
  }

  // Alternation: never decreases the objective; ends at an assignment that is optimal for its own gradient.
  double ascend(const Function& f, Matrix& t) {
    Matrix g, next_gradient;
    double value = f.at(t, g);
    converged_ = true;
    for (int taken = 0;; ++taken) {
      Matrix next = best_injection(g);
      if (next == t) break;
      if (taken == s_.max_iterations) {
        converged_ = false;
        break;
      }
      const double next_value = f.at(next, next_gradient);
      if (!(next_value > value + least_gain(f))) break;
      t = std::move(next), value = next_value;
      std::swap(g, next_gradient);
    }
    return value;
  }

  // Exchanges of two neurons and cycles of three, the most promising first, until none helps or the budget is spent.
  void exchange(const Function& f, Matrix& t, double& value, long budget) {
    for (bool found = true; found && budget > 0;) {
      found = false;
      Matrix g, unused;
      f.at(t, g);
      for (const Cycle& c : cycles(t, g, spare_, budget)) {
        --budget;
        Matrix next = cycled(t, c);
        if (f.at(next, unused) > value + least_gain(f)) {
          value = ascend(f, next);
          t = std::move(next);
          found = true;
          break;
        }
      }
    }
  }

  // What counts as better.
  double least_gain(const Function& f) const { return (f.single ? stopping::kSingle : stopping::kDouble) * p_.scale; }

  void shuffle(Matrix& t, int count) {
    count = std::min(count, n_);
    std::vector<int> rows(n_);
    std::iota(rows.begin(), rows.end(), 0);
    for (int c = 0; c < count; ++c) std::swap(rows[c], rows[c + random_.below(n_ - c)]);
    for (int c = count - 1; c > 0; --c)
      std::swap_ranges(t.row(rows[c]), t.row(rows[c]) + t.columns(), t.row(rows[c - 1]));
  }

  const Problem& p_;
  const Function &f_, &rough_;
  const Settings& s_;
  int spare_;
  Random random_;
  int fixed_;  // number of starts; 0: until they agree, and exact for few neurons
  int n_;
  double budget_;  // evaluations of exchanges and moves
  Matrix best_;
  double value_ = 0;
  bool converged_ = false, exact_ = false;
  int starts_ = 0, agreeing_ = 0;
  Stopping stopping_;
  Agreement agreement_;
};

}  // namespace repshape
