// The search over starts: explore coarsely until independent starts agree on the best maximum, then try moves on it.
#pragma once
#include "search/ascent.h"
#include "search/starts.h"

namespace repshape {

// A function to explore, in the precision of the search, with what its values mean.
template <class F>
struct Explored {
  F f;
  double scale = 1, total = 0, cost = 0;  // upper bound; value at distance zero; operations of one gradient
  bool partial = false;  // it stands for another function: its maximum need not be reached precisely
  bool travels = false;  // every start climbs `few` first, a cheaper function that resembles f
  F few;
  double few_total = 0;
};

template <class F>
class Exploration {
 public:
  Exploration(const Explored<F>& of, AscentSettings ascent, const ExplorationSettings& s, int max_iterations)
      : of_(of), few_(of.travels ? &of.few : nullptr), ascent_(ascent), s_(s),
        stopping_(Stopping::of_rotations(s, of.f.n(), of.cost)), max_iterations_(max_iterations),
        agreement_(s, of.total, of.scale) {
    ascent_.scale = of.scale;
    ascent_.tolerance = std::max(ascent.tolerance, s.tolerance);
  }

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
  void run(const Matrix& first, EndlessStarts& others) {
    consider(first, few_);
    while (!stopping_.enough(starts_, agreement_.hits())) consider(others.next(), few_);
    agreeing_ = agreement_.hits();
    const int moves = stopping_.moves_after(starts_, agreeing_);
    if (agreeing_ < std::min(starts_, stopping_.hits)) resume();
    if (moves == 0) return;
    const std::vector<End> elsewhere = ends_;
    move(others, moves);
    confirm(elsewhere, others);
  }

  const Ascent& best() const { return best_.front(); }
  int starts() const { return starts_; }
  int agreeing() const { return agreeing_; }  // of the starts, how many ended in the best maximum
  double gap() const { return agreement_.gap(); }

 private:
  struct End {
    double value;
    Matrix transform;
  };

  // Tries moves on the best. Where they lead higher, there are more of them.
  void move(EndlessStarts& others, int limit) {
    const int tried = starts_;
    for (int m = 0; m < limit; ++m, starts_ = tried) {
      const double before = agreement_.best(), room = agreement_.margin();
      consider(others.near(best().transform(), m % 2 == 0), few_);
      if (agreement_.best() > before + room) limit = std::min(kMoreMoves * stopping_.moves, m + 1 + stopping_.moves);
    }
  }

  // Begins again at the best of the other ends, and tries moves from there: an independent search, which either ends in
  // the best maximum too, or higher, or casts doubt on it.
  void confirm(const std::vector<End>& elsewhere, EndlessStarts& others) {
    int left = stopping_.chains;
    for (const End& end : elsewhere) {
      if (end.value > agreement_.best() - agreement_.margin()) continue;
      if (left-- == 0 || agreeing_ >= kSure) return;
      Exploration chain(of_, ascent_, s_, max_iterations_);
      chain.offer(curvature_);
      chain.consider(end.transform, nullptr);
      chain.move(others, stopping_.moves);
      if (rank(chain.best(), false) == Agreement::Rank::same) ++agreeing_;
    }
  }

  // Keeps the best ends, each maximum once.
  void keep(double value, const Matrix& transform) {
    const double room = margin_of(s_, of_.total - value, ascent_.scale);
    std::size_t place = 0;
    while (place < ends_.size() && ends_[place].value > value) ++place;
    if (place > 0 && ends_[place - 1].value < value + room) return;
    ends_.insert(ends_.begin() + long(place), {value, transform});
    if (place + 1 < ends_.size() && ends_[place + 1].value > value - room) ends_.erase(ends_.begin() + long(place) + 1);
    if (ends_.size() > kKept) ends_.pop_back();
  }

  // A maximum of the cheaper function, and whether it leads to the best maximum known.
  struct Seen {
    double value;
    bool best;
  };

  // Ascends a cheaper function. Returns false if the run ends where an earlier one did, because it leads to the same
  // maximum of f then.
  bool travel(const F& few, Ascent& run) {
    const Seen* same = nullptr;
    auto known = [&](double value, double expected) {
      for (const Seen& one : seen_) {
        const double margin = margin_of(s_, of_.few_total - one.value, ascent_.scale);
        if (expected > one.value + margin || value < one.value - margin) continue;
        same = &one;
        return true;
      }
      return false;
    };
    run.run_until(few, max_iterations_, known);
    if (!same) known(run.value(), run.value());
    if (same && same->best) agreement_.hit();
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
    double forecast = 0;
    run.run_until(of_.f, max_iterations_, [&](double value, double expected) {
      if (of_.partial && precise(value, expected)) return true;
      if (agreement_.empty()) return false;
      const double best = agreement_.best(), margin = agreement_.margin();
      low = expected < best - margin;
      forecast = value + (expected - value) / Outlook::kDoubt;
      return low || (expected < best + margin && value > best - margin);
    });
    keep(low ? forecast : run.value(), run.transform());
    if (!low) {
      rank(run, few != nullptr);
      return;
    }
    agreement_.miss(forecast);
    if (of_.partial) given_up_.push_back(std::move(run));
  }

  // Compares a finished run with the best. If it `travelled`, the last maximum of the cheaper function led to it.
  Agreement::Rank rank(const Ascent& run, bool travelled) {
    const bool better = agreement_.empty() || run.value() > agreement_.best();
    const Agreement::Rank rank = agreement_.rank(run.value());
    if (rank == Agreement::Rank::lower) return rank;
    if (rank == Agreement::Rank::higher) {
      agreeing_ = std::min(agreeing_, 1);  // where a move led higher, no other start ended there
      for (Seen& one : seen_) one.best = false;
    }
    if (travelled) seen_.back().best = true;
    if (better) best_.assign(1, run);
    return rank;
  }

  bool precise(double value, double expected) const {
    return expected - value < kImprecise * margin_of(s_, of_.total - value, ascent_.scale);
  }

  // With many neurons, an ascent that seems to end often gains as much again behind a saddle: where no two starts agree,
  // the most promising of those given up go on to their ends.
  void resume() {
    std::stable_sort(given_up_.begin(), given_up_.end(), higher);
    for (std::size_t k = 0; k < given_up_.size() && k < kResumed; ++k) {
      Ascent& run = given_up_[k];
      run.run_until(of_.f, max_iterations_, [&](double value, double expected) { return precise(value, expected); });
      rank(run, false);
    }
    agreeing_ = agreement_.hits();
    given_up_.clear();
  }

  static constexpr std::size_t kResumed = 3;
  static constexpr int kMoreMoves = 3;  // times as many
  static constexpr int kSure = 6;  // ends in the best maximum, after which no further search is made
  static constexpr std::size_t kKept = 4;
  static constexpr double kImprecise = 0.01;  // of the margin: what may be left to gain where a maximum is handed on

  const Explored<F>& of_;
  const F* few_;
  const Curvature* curvature_ = nullptr;
  AscentSettings ascent_;
  ExplorationSettings s_;
  Stopping stopping_;
  int max_iterations_;
  Agreement agreement_;
  std::vector<Ascent> best_;  // one, once there is one
  std::vector<Ascent> given_up_;
  std::vector<End> ends_;  // the best first
  std::vector<Seen> seen_;
  int starts_ = 0, agreeing_ = 0;
};

}  // namespace repshape
