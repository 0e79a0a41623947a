// The search over starts: explore coarsely until independent starts agree on the best maximum, then try moves on it.
#pragma once
#include "common/ascent.h"
#include "common/correspondence.h"

namespace repshape {

struct ExplorationSettings {
  double tolerance = 1e-5;  // of the gradient while exploring: the distance is then known to about 1e-5
  int hits = 4;             // starts that must end in the best maximum, out of `least` or more
  int unanimous = 3;        // starts that are enough if all of them end there
  int least = 8, most = 64;  // starts
  int small_least = 24;      // for networks of few neurons, even if all agree
  int moves = 60;           // on the best, where starts do not agree
  double agreement = 3e-4;  // relative difference of distances that count as one
  double suggested = 0.67;  // share of starts from the correspondence of conditions; the others are random
  double plenty = 4e10;     // operations that a search may always take: about half a second
  double ample = 3e11;      // operations that the least number of starts may take, if they do not agree sooner

  // A brief search: so many starts, and no moves.
  void shorten(int starts) { hits = unanimous = least = most = starts, moves = 0; }
};

// Objectives this close to the best count as the same maximum: `gap` is proportional to the squared distance.
inline double margin_of(const ExplorationSettings& s, double gap, double scale) {
  constexpr double rounding = 1e-6;  // of an objective in single precision
  return std::max(rounding * scale, 2 * s.agreement * std::max(gap, 0.0));
}

template <class F>
class Exploration {
 public:
  // `f` is the objective in the precision of the search; the squared distance is proportional to `total` less the
  // objective; `cost` are the operations of one gradient.
  Exploration(const F& f, const AscentSettings& ascent, const ExplorationSettings& s, double total, double cost,
              int max_iterations, Random& random)
      : f_(f), ascent_(ascent), s_(s), total_(total), max_iterations_(max_iterations), random_(random) {
    ascent_.tolerance = std::max(ascent.tolerance, s.tolerance);
    // Where starts cost next to nothing, more of them are asked.
    if (f.n() <= kSmall)
      s_.least = s_.unanimous = s.small_least;
    else if (cost < kCheap)
      s_.unanimous = std::max(s.unanimous, s.hits);
    const int affordable = std::max(3, int(s.plenty / (cost * kTypicalIterations)));
    const int tolerable = std::min(s.least, int(s.ample / (cost * kTypicalIterations)));
    s_.most = std::min(s.most, std::max(affordable, tolerable));
    s_.least = std::min({s_.least, s_.most, affordable});
    s_.hits = std::min(s.hits, std::max(3, s_.least / 2));
    s_.moves = std::max(0, std::min(s.moves, affordable - s_.most));
  }

  // Lets every start travel first on a cheaper objective, which resembles f, with a total of its own.
  void travel_on(const F& few, double total) { few_ = &few, few_total_ = total; }

  // The best maximum is only a start for another objective: it need not be reached precisely.
  void hand_on() { handed_on_ = true; }

  // Offers second derivatives to runs that are slow.
  void offer(const Curvature* curvature) { curvature_ = curvature; }

  // Considers a start (n x n) before all others, which may be close to a maximum: it travels from there only, so that
  // others that lead to it are recognised.
  void begin_at(const Matrix& start) {
    consider(start, nullptr);
    Ascent run(ascent_, best().transform());
    if (few_ && travel(*few_, run)) seen_.back().best = true;
  }

  // From a first start (n x n) and as many others as it takes.
  void run(const Matrix& first, Correspondence& suggestions) {
    consider(first, few_);
    auto enough = [&] { return hits_ == starts_ ? hits_ >= s_.unanimous : hits_ >= s_.hits && starts_ >= s_.least; };
    while (starts_ < s_.most && !enough())
      consider(random_.uniform() < s_.suggested ? suggestions.next() : random_start(), few_);
    agreeing_ = hits_;
    if (hits_ >= s_.hits || hits_ == starts_) return;
    resume();
    for (int m = 0, tried = starts_; m < s_.moves; ++m, starts_ = tried) consider(moved(m % 2 == 0), few_);
  }

  const Ascent& best() const { return best_.front(); }
  int starts() const { return starts_; }
  int agreeing() const { return agreeing_; }  // of the starts, how many ended in the best maximum

 private:
  double margin() const { return margin_of(s_, total_ - best().value(), ascent_.scale); }

  // A maximum of the cheaper objective, and whether it leads to the best maximum known.
  struct Seen {
    double value;
    bool best;
  };

  // Ascends a cheaper objective. Returns false if the run ends where an earlier one did, because it leads to the same
  // maximum of f then.
  bool travel(const F& few, Ascent& run) {
    const Seen* same = nullptr;
    auto known = [&](double value, double expected) {
      for (const Seen& one : seen_) {
        const double margin = margin_of(s_, few_total_ - one.value, ascent_.scale);
        if (expected > one.value + margin || value < one.value - margin) continue;
        same = &one;
        return true;
      }
      return false;
    };
    run.run_until(few, max_iterations_, known);
    if (!same) known(run.value(), run.value());
    if (same) hits_ += same->best;
    if (same) return false;
    seen_.push_back({run.value(), false});
    run.transfer(ascent_);
    return true;
  }

  void consider(const Matrix& start, const F* few) {
    ++starts_;
    Ascent run(ascent_, start);
    if (few && !travel(*few, run)) return;
    run.use(curvature_);
    bool low = false;
    run.run_until(f_, max_iterations_, [&](double value, double expected) {
      if (handed_on_ && precise(value, expected)) return true;
      if (best_.empty()) return false;
      low = expected < best().value() - margin();
      return low || (expected < best().value() + margin() && value > best().value() - margin());
    });
    if (!low)
      rank(run, few != nullptr);
    else if (handed_on_)
      given_up_.push_back(std::move(run));
  }

  // Compares a finished run with the best. If it `travelled`, the last maximum of the cheaper objective led to it.
  void rank(const Ascent& run, bool travelled) {
    const bool first = best_.empty();
    if (!first && run.value() < best().value() - margin()) return;
    const bool higher = first || run.value() > best().value() + margin();
    hits_ = higher ? 1 : hits_ + 1;
    if (higher) {
      agreeing_ = std::min(agreeing_, 1);  // where a move led higher, no other start ended there
      for (Seen& one : seen_) one.best = false;
    }
    if (travelled) seen_.back().best = true;
    if (first) best_.push_back(run);
    if (run.value() > best().value()) best_.front() = run;
  }

  bool precise(double value, double expected) const {
    return expected - value < kImprecise * margin_of(s_, total_ - value, ascent_.scale);
  }

  // With many neurons, an ascent that seems to end often gains as much again behind a saddle: where no two starts agree,
  // the most promising of those given up go on to their ends.
  void resume() {
    std::stable_sort(given_up_.begin(), given_up_.end(), higher);
    for (std::size_t k = 0; k < given_up_.size() && k < kResumed; ++k) {
      Ascent& run = given_up_[k];
      run.run_until(f_, max_iterations_, [&](double value, double expected) { return precise(value, expected); });
      rank(run, false);
    }
    agreeing_ = hits_;
    given_up_.clear();
  }

  Matrix random_start() {
    const int n = f_.n();
    Matrix g(std::size_t(n) * n);
    for (double& e : g) e = random_.normal();
    return nearest_orthogonal(n, n, g.data(), ascent_.special);
  }

  Matrix oriented(Matrix t) const {
    const int n = f_.n();
    if (ascent_.special && negative_determinant(n, t))
      for (int i = 0; i < n; ++i) t[std::size_t(i) * n] *= -1;
    return t;
  }

  // The best alignment, turned at random within four random directions or within three axes.
  Matrix moved(bool anywhere) {
    const int n = f_.n(), d = std::min(n, anywhere ? 4 : 3);
    Matrix basis(std::size_t(n) * d, 0), turn(std::size_t(d) * d);
    if (anywhere) {
      for (double& e : basis) e = random_.normal();
      basis = first_columns(nearest_orthogonal(n, d, basis.data(), false), n, d);
    } else {
      std::vector<int> order(n);
      std::iota(order.begin(), order.end(), 0);
      for (int j = 0; j < d; ++j) {
        std::swap(order[j], order[j + random_.below(n - j)]);
        basis[std::size_t(order[j]) * d + j] = 1;
      }
    }
    for (double& e : turn) e = random_.normal();
    turn = nearest_orthogonal(d, d, turn.data(), false);
    for (int i = 0; i < d; ++i) turn[std::size_t(i) * d + i] -= 1;
    Matrix out = best().transform(), image(std::size_t(n) * d), turned(std::size_t(n) * d);
    gemm(false, false, n, d, n, 1, out.data(), n, basis.data(), d, 0, image.data(), d);
    gemm(false, false, n, d, d, 1, image.data(), d, turn.data(), d, 0, turned.data(), d);
    gemm(false, true, n, n, d, 1, turned.data(), d, basis.data(), d, 1, out.data(), n);
    return oriented(std::move(out));
  }

  static constexpr int kSmall = 6;                // neurons
  static constexpr double kCheap = 5e6;           // operations of a gradient: less than a tenth of a millisecond
  static constexpr double kTypicalIterations = 30;
  static constexpr std::size_t kResumed = 3;
  static constexpr double kImprecise = 0.01;  // of the margin: what may be left to gain where a maximum is handed on

  const F& f_;
  const F* few_ = nullptr;
  const Curvature* curvature_ = nullptr;
  AscentSettings ascent_;
  ExplorationSettings s_;
  double total_, few_total_ = 0;
  int max_iterations_;
  bool handed_on_ = false;
  Random& random_;
  std::vector<Ascent> best_;  // one, once there is one
  std::vector<Ascent> given_up_;
  std::vector<Seen> seen_;
  int starts_ = 0, hits_ = 0, agreeing_ = 0;
};

}  // namespace repshape
