// When a search has made enough starts, and which of them agree.
#pragma once
#include <algorithm>
#include <cmath>

#include "search/settings.h"
#include "search/stopping_constants.h"

namespace repshape {

// Objectives this close to the best count as the same maximum: `gap` is proportional to the squared distance.
inline double margin_of(double gap, double scale) {
  return std::max(stopping::kRounding * scale, 2 * stopping::kAgreement * std::max(gap, 0.0));
}

// How many starts a search makes, given what one costs. `brief` is Settings::brief_starts.
struct Stopping : stopping::Rule {
  // hits       starts that must end in the best maximum, out of `least` or more
  // unanimous  starts that are enough if all of them end there; 0: unanimity never suffices
  // moves      on the best, where starts do not agree
  // chains     of moves that begin elsewhere, to confirm the best

  bool enough(int starts, int agreeing) const {
    if (starts >= most) return true;
    if (unanimous && agreeing == starts) return agreeing >= unanimous;
    return agreeing >= hits && starts >= least;
  }

  // How many moves to make after the starts: all where few agree, and some where most do not.
  int moves_after(int starts, int agreeing) const {
    if (agreeing == starts) return 0;
    if (agreeing < hits) return moves;
    return 2 * agreeing < starts ? moves / 4 : 0;
  }

  // Over rotations of n neurons; `cost` are the operations of one gradient.
  static Stopping of_rotations(int brief, int n, double cost) {
    if (brief) return of_brief(brief);
    Stopping out = by_cost(n, cost);
    const double each = cost * stopping::kRotationGradients;
    const int affordable = std::max(3, int(stopping::kAlways / each));
    const int tolerable = std::min(out.least, int(stopping::kAtMost / each));
    out.most = std::min(out.most, std::max(affordable, tolerable));
    out.least = std::min({out.least, out.most, affordable});
    out.hits = std::min(out.hits, std::max(3, out.least / 2));
    out.moves = std::max(0, std::min(out.moves, affordable - out.most));
    return out;
  }

  // Over permutations; `fixed` starts if that is not zero, the same number for everyone.
  static Stopping of_permutations(int brief, double cost, int fixed) {
    if (fixed) return {{fixed + 1, 0, fixed, fixed, 0, 0}};
    if (brief) return {{0, 0, brief, brief, 0, 0}};
    const double each = cost * stopping::kPermutationGradients;
    Stopping out = by_cost(0, cost);
    out.unanimous = 0;
    out.most = std::min(out.most, std::max(4, int(std::min(1e6, stopping::kAlways / each))));
    out.least = std::min(out.least, out.most);
    out.hits = std::min(out.hits, std::max(2, out.least / 2));
    return out;
  }

  // Over rotations of wide pairs (problems/gaussian/wide_ascent.h), whose ascents cannot be given up early.
  static Stopping of_wide_pairs(int brief, double cost) {
    if (brief) return of_brief(brief);
    constexpr stopping::Rule rule = stopping::kWidePairRule;
    const int affordable = of_layers(cost), limit = std::min(rule.most, 2 * affordable);
    return {{std::min(rule.hits, std::max(2, limit / 2)), std::min(rule.unanimous, limit), std::min(rule.least, limit),
             limit, std::min(rule.moves, affordable), 0}};
  }

  // The number of starts of wide layers that a search can afford to finish.
  static int of_layers(double cost) {
    const double each = stopping::kLayerGradients * cost;
    return std::min({std::max(3, int(stopping::kLayerAlways / each)), std::max(1, int(stopping::kLayerAtMost / each)),
                     stopping::kLayerStarts});
  }

 private:
  static Stopping of_brief(int starts) { return {{starts, starts, starts, starts, 0, 0}}; }

  // Generous where a start is cheap.
  static Stopping by_cost(int n, double cost) {
    if (cost >= stopping::kModerate) return {stopping::kExpensiveRule};
    if (cost >= stopping::kCheap) return {stopping::kModerateRule};
    Stopping out{stopping::kCheapRule};
    if (n <= stopping::kSmall) out.unanimous = stopping::kSmallUnanimous;
    return out;
  }
};

// Which starts end in the best maximum. The squared distance is proportional to `total` less the objective.
class Agreement {
 public:
  enum class Rank { lower, same, higher };

  Agreement(double total, double scale) : total_(total), scale_(scale) {}

  bool empty() const { return empty_; }
  double best() const { return best_; }
  int hits() const { return hits_; }
  double margin() const { return margin_of(total_ - best_, scale_); }
  void add_hit() { ++hits_; }                              // a start that is known to end in the best maximum
  void add_miss(double value) { ends_.push_back(value); }  // a start that is expected to end lower

  // By what share the distance at the second-best maximum exceeds that at the best; 0 if there is no other.
  double gap() const {
    const double least = std::max(total_ - best_, stopping::kRounding * scale_), room = margin();
    double second = -INFINITY;
    for (double value : ends_)
      if (value < best_ - room) second = std::max(second, value);
    return std::isfinite(second) ? std::sqrt(std::max(1.0, (total_ - second) / least)) - 1 : 0;
  }

  // Ranks a maximum against the best so far, and counts it.
  Rank rank(double value) {
    ends_.push_back(value);
    const double room = empty_ ? 0 : margin();
    if (!empty_ && value < best_ - room) return Rank::lower;
    const bool higher = empty_ || value > best_ + room;
    hits_ = higher ? 1 : hits_ + 1;
    if (empty_ || value > best_) best_ = value;
    empty_ = false;
    return higher ? Rank::higher : Rank::same;
  }

 private:
  double total_, scale_, best_ = 0;
  bool empty_ = true;
  int hits_ = 0;
  Values ends_;
};

}  // namespace repshape
