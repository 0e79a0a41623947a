// The search over starts: explore coarsely until independent starts agree on the best maximum, then try moves on it.
#pragma once
#include "search/ascent.h"
#include "search/problem.h"
#include "search/starts.h"

namespace repshape {

class Exploration {
 public:
  Exploration(const ExplorationTarget& of, AscentSettings ascent, const Settings& s, const Curvature* curvature)
      : of_(of), curvature_(curvature), ascent_(ascent), s_(s),
        stopping_(Stopping::of_rotations(s.brief_starts, of.f->n(), of.cost)), agreement_(of.total, of.scale) {
    ascent_.scale = of.scale;
    ascent_.tolerance = std::max(ascent.tolerance, stopping::kExplorationTolerance);
  }

  // Tries a start (n x n) before all others, which may be close to a maximum: the subset is climbed from its end only,
  // so that others that lead to it are recognised.
  void begin_at(const Matrix& start) {
    try_start(start, nullptr);
    Ascent run(ascent_, best().transform());
    if (of_.subset && ascend_subset(*of_.subset, run)) seen_.back().best = true;
  }

  // From a first start (n x n) and as many others as it takes.
  void run(const Matrix& first, RotationStarts& others) {
    try_start(first, of_.subset.get());
    while (!stopping_.enough(starts_, agreement_.hits())) try_start(others.next(), of_.subset.get());
    agreeing_ = agreement_.hits();
    const int moves = stopping_.moves_after(starts_, agreeing_);
    if (agreeing_ < std::min(starts_, stopping_.hits)) resume();
    if (moves == 0) return;
    const std::vector<End> elsewhere = ends_;
    try_moves(others, moves);
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
  void try_moves(RotationStarts& others, int limit) {
    const int tried = starts_;
    for (int m = 0; m < limit; ++m, starts_ = tried) {
      const double before = agreement_.best(), room = agreement_.margin();
      try_start(others.move(best().transform(), m % 2 == 0), of_.subset.get());
      if (agreement_.best() > before + room)
        limit = std::min(stopping::kMoreMoves * stopping_.moves, m + 1 + stopping_.moves);
    }
  }

  // Begins again at the best of the other ends, and tries moves from there: an independent search, which either ends in
  // the best maximum too, or higher, or casts doubt on it.
  void confirm(const std::vector<End>& elsewhere, RotationStarts& others) {
    int left = stopping_.chains;
    for (const End& end : elsewhere) {
      if (end.value > agreement_.best() - agreement_.margin()) continue;
      if (left-- == 0 || agreeing_ >= stopping::kSure) return;
      Exploration chain(of_, ascent_, s_, curvature_);
      chain.try_start(end.transform, nullptr);
      chain.try_moves(others, stopping_.moves);
      if (rank(chain.best(), false) == Agreement::Rank::same) ++agreeing_;
    }
  }

  // Keeps the best ends, each maximum once.
  void keep(double value, const Matrix& transform) {
    const double room = margin_of(of_.total - value, ascent_.scale);
    auto place = ends_.begin();
    while (place != ends_.end() && place->value > value) ++place;
    if (place != ends_.begin() && std::prev(place)->value < value + room) return;
    const auto next = std::next(ends_.insert(place, {value, transform}));
    if (next != ends_.end() && next->value > value - room) ends_.erase(next);
    if (int(ends_.size()) > stopping::kKept) ends_.pop_back();
  }

  // A maximum of the subset, and whether it leads to the best maximum known.
  struct SubsetMaximum {
    double value;
    bool best;
  };

  // Ascends the subset. Returns false if the run ends where an earlier one did, because it leads to the same maximum of
  // f then.
  bool ascend_subset(const Function& subset, Ascent& run) {
    const SubsetMaximum* same = nullptr;
    auto known = [&](double value, double expected) {
      for (const SubsetMaximum& one : seen_) {
        const double margin = margin_of(of_.subset_total - one.value, ascent_.scale);
        if (expected > one.value + margin || value < one.value - margin) continue;
        same = &one;
        return true;
      }
      return false;
    };
    if (!run.run_until(subset, s_.max_iterations, known)) same = nullptr;
    if (!same) known(run.value(), run.value());
    if (same && same->best) agreement_.add_hit();
    if (same) return false;
    seen_.push_back({run.value(), false});
    run.restart(ascent_);
    return true;
  }

  void try_start(const Matrix& start, const Function* subset) {
    ++starts_;
    Ascent run(ascent_, start);
    if (subset && !ascend_subset(*subset, run)) return;
    run.use_curvature(curvature_);
    bool low = false;
    double forecast = 0;
    const bool stopped = run.run_until(*of_.f, s_.max_iterations, [&](double value, double expected) {
      low = false;
      if (of_.approximate && precise(value, expected)) return true;
      if (agreement_.empty()) return false;
      const double best = agreement_.best(), margin = agreement_.margin();
      low = expected < best - margin;
      forecast = value + (expected - value) / ascent::kSafety;
      return low || (expected < best + margin && value > best - margin);
    });
    low = low && stopped;
    keep(low ? forecast : run.value(), run.transform());
    if (!low) {
      rank(run, subset != nullptr);
      return;
    }
    agreement_.add_miss(forecast);
    if (of_.approximate) given_up_.push_back(std::move(run));
  }

  // Compares a finished run with the best. `from_subset`: the last maximum of the subset led to it.
  Agreement::Rank rank(const Ascent& run, bool from_subset) {
    const bool better = agreement_.empty() || run.value() > agreement_.best();
    const Agreement::Rank rank = agreement_.rank(run.value());
    if (rank == Agreement::Rank::lower) return rank;
    if (rank == Agreement::Rank::higher) {
      agreeing_ = std::min(agreeing_, 1);  // where a move led higher, no other start ended there
      for (SubsetMaximum& one : seen_) one.best = false;
    }
    if (from_subset) seen_.back().best = true;
    if (better) best_.assign(1, run);
    return rank;
  }

  bool precise(double value, double expected) const {
    return expected - value < stopping::kImprecise * margin_of(of_.total - value, ascent_.scale);
  }

  // With many neurons, an ascent that seems to end often gains as much again behind a saddle: where no two starts
  // agree, the most promising of those given up go on to their ends.
  void resume() {
    std::stable_sort(given_up_.begin(), given_up_.end(), higher);
    if (int(given_up_.size()) > stopping::kResumed)
      given_up_.erase(given_up_.begin() + stopping::kResumed, given_up_.end());
    for (Ascent& run : given_up_) {
      run.run_until(*of_.f, s_.max_iterations, [&](double value, double expected) { return precise(value, expected); });
      rank(run, false);
    }
    agreeing_ = agreement_.hits();
    given_up_.clear();
  }

  const ExplorationTarget& of_;
  const Curvature* curvature_;
  AscentSettings ascent_;
  const Settings& s_;
  Stopping stopping_;
  Agreement agreement_;
  std::vector<Ascent> best_;  // one, once there is one
  std::vector<Ascent> given_up_;
  std::vector<End> ends_;  // the best first
  std::vector<SubsetMaximum> seen_;
  int starts_ = 0, agreeing_ = 0;
};

}  // namespace repshape
