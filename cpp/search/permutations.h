// The best permutation of neurons for one pair, for any problem.
// A function of injections t (n x k) of the neurons of y into those of x is maximised: n(), k(), single, at(t, gradient)
// and its count of evaluations. The last `spare` rows of x are silent neurons, any of which is as good as another.
#pragma once
#include <functional>

#include "common/assignment.h"
#include "common/transforms.h"
#include "search/correspondence.h"
#include "search/stopping.h"

namespace repshape {

struct PermutationSettings {
  int spare = 0;
  int max_iterations = 500;
  double scale = 1, total = 0;  // of the objective; the squared distance is proportional to total - value
  double cost = 0;              // operations of one gradient
  int fixed = 0;                // number of starts; 0: until they agree, and exact for few neurons
  ExplorationSettings exploration;
};

// Gains whose best assignments are starts: from the correspondence of conditions, from means and standard deviations
// under random weights of the conditions, and at random.
class Suggestions {
 public:
  Suggestions(const Suggested& from, Random& random)
      : x_(from.x), y_(from.y), mean_share_(from.mean_share), covariance_share_(from.covariance_share),
        random_(random), correspondence_(from, false, random) {}

  Matrix next() {
    switch (drawn_++ % 3) {
      case 0: return first_columns(correspondence_.next(), x_.n, y_.n);
      case 1: return weighted();
      default: return at_random();
    }
  }

 private:
  Matrix at_random() {
    Matrix out(std::size_t(x_.n) * y_.n);
    for (double& e : out) e = random_.normal();
    return out;
  }

  Matrix weighted() {
    const int n = x_.n, k = y_.n;
    Matrix out(std::size_t(n) * k, 0), sx(n), sy(k);
    for (int c = 0; c < int(x_.conditions.size()); ++c) {
      const double weight = random_.gamma(kShape);
      deviations(x_, c, sx), deviations(y_, c, sy);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < k; ++j)
          out[std::size_t(i) * k + j] += weight * (mean_share_ * x_.mean(c)[i] * y_.mean(c)[j] +
                                                   covariance_share_ * sx[i] * sy[j]);
    }
    return out;
  }

  static void deviations(const Roots& net, int c, Matrix& out) {
    for (int i = 0; i < net.n; ++i) {
      const double* row = net.root(c) + std::size_t(i) * net.n;
      out[i] = std::sqrt(dot(row, row, net.n));
    }
  }

  static constexpr double kShape = 0.3;  // of the gamma distribution: some conditions

  const Roots &x_, &y_;
  double mean_share_, covariance_share_;
  Random& random_;
  Correspondence correspondence_;
  int drawn_ = 0;
};

template <class F>
class PermutationSearch {
 public:
  using Suggest = std::function<Matrix()>;  // a gain (n x k) whose best assignment is a start
  // Replaces an injection and its value by the best of all if there are few enough of them, and returns whether it did.
  using Prove = std::function<bool(Matrix&, double&)>;

  // `rough` is the function in the precision of the search.
  PermutationSearch(const F& f, const F& rough, const PermutationSettings& settings, Random& random)
      : f_(f), rough_(rough), s_(settings), random_(random), n_(f.n()), k_(f.k()),
        stopping_(Stopping::of_permutations(s_.exploration, s_.cost, s_.fixed)),
        agreement_(s_.exploration, s_.total, s_.scale) {
    evaluations_ = std::max(16.0 * n_, s_.exploration.plenty / s_.cost);
  }

  // From the first gains, then from suggestions until starts agree.
  void explore(const std::vector<Matrix>& first, const Suggest& suggest, const Prove& prove) {
    while (!stopping_.enough(starts_, agreement_.hits()))
      consider(injected(starts_ < int(first.size()) ? first[starts_] : suggest()));
    agreeing_ = agreement_.hits();
    value_ = agreement_.best();
    if (s_.fixed == 0 && prove(best_, value_)) {
      converged_ = true;
      exact_ = true;
      starts_ = agreeing_ = 1;
      return;
    }
    if (agreeing_ < stopping_.hits && s_.fixed == 0) move();
    finish();
  }

  // From the caller's starts (n x k), each of which is completed to an injection.
  void improve(const std::vector<Matrix>& given) {
    for (const Matrix& t : given) consider(injected(t));
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
  Matrix injected(const Matrix& gain) const { return injection(assign(n_, k_, gain.data()), n_); }

  double margin() const { return margin_of(s_.exploration, s_.total - value_, s_.scale); }

  void consider(Matrix t) {
    ++starts_;
    double value = climb(rough_, t);
    exchange(rough_, t, value, kQuickExchanges * n_);
    const bool better = agreement_.empty() || value > agreement_.best();
    agreement_.rank(value);
    if (better) best_ = std::move(t);
  }

  // Where starts do not agree: a few neurons of the best are permuted at random, as often as the budget allows.
  void move() {
    const long from = rough_.evaluations;
    for (int m = 0; m < kMoves * n_ && rough_.evaluations - from < evaluations_; ++m) {
      Matrix t = best_;
      shuffle(t, 3 + m % 3);
      double value = climb(rough_, t);
      exchange(rough_, t, value, kQuickExchanges * n_);
      if (value > value_ + step(rough_)) {
        if (value > value_ + margin()) agreeing_ = 1;
        value_ = value, best_ = std::move(t);
      }
    }
  }

  // All exchanges that the budget allows, then the last steps in full precision.
  void finish() {
    exchange(rough_, best_, value_, long(std::min(evaluations_, 1.5 * n_ * n_)));
    value_ = climb(f_, best_);
  }

  // Alternation: never decreases the objective; ends at an assignment that is optimal for its own gradient.
  double climb(const F& f, Matrix& t) {
    Matrix g, next_gradient;
    double value = f.at(t, g);
    converged_ = true;
    for (int taken = 0;; ++taken) {
      Matrix next = injected(g);
      if (next == t) break;
      if (taken == s_.max_iterations) {
        converged_ = false;
        break;
      }
      const double next_value = f.at(next, next_gradient);
      if (!(next_value > value + step(f))) break;
      t = std::move(next), value = next_value;
      std::swap(g, next_gradient);
    }
    return value;
  }

  // Exchanges of two neurons and cycles of three, the most promising first, until none helps or the budget is spent.
  void exchange(const F& f, Matrix& t, double& value, long budget) {
    for (bool found = true; found && budget > 0;) {
      found = false;
      Matrix g, unused;
      f.at(t, g);
      for (const Cycle& c : cycles(t, g, n_, k_, s_.spare, std::size_t(budget))) {
        --budget;
        Matrix next = cycled(t, k_, c);
        if (f.at(next, unused) > value + step(f)) {
          value = climb(f, next);
          t = std::move(next);
          found = true;
          break;
        }
      }
    }
  }

  // What counts as better.
  double step(const F& f) const { return (f.single ? kSingle : kDouble) * s_.scale; }

  void shuffle(Matrix& t, int count) {
    count = std::min(count, n_);
    std::vector<int> rows(n_);
    std::iota(rows.begin(), rows.end(), 0);
    for (int c = 0; c < count; ++c) std::swap(rows[c], rows[c + random_.below(n_ - c)]);
    for (int c = count - 1; c > 0; --c)
      std::swap_ranges(t.begin() + std::size_t(rows[c]) * k_, t.begin() + std::size_t(rows[c] + 1) * k_,
                       t.begin() + std::size_t(rows[c - 1]) * k_);
  }

  static constexpr int kQuickExchanges = 2;  // times the number of neurons
  static constexpr int kMoves = 40;          // times the number of neurons
  static constexpr double kDouble = 1e-13, kSingle = 1e-6;  // rounding, as a share of the scale

  const F &f_, &rough_;
  PermutationSettings s_;
  Random& random_;
  int n_, k_;
  Matrix best_;
  double value_ = 0, evaluations_ = 0;
  bool converged_ = false, exact_ = false;
  int starts_ = 0, agreeing_ = 0;
  Stopping stopping_;
  Agreement agreement_;
};

}  // namespace repshape
