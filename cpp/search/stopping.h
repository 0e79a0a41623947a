// When a search has made enough starts, and which of them agree.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "search/settings.h"

namespace repshape {

constexpr double kRounding = 1e-6;  // of an objective in single precision

// Objectives this close to the best count as the same maximum: `gap` is proportional to the squared distance.
inline double margin_of(const ExplorationSettings& s, double gap, double scale) {
  return std::max(kRounding * scale, 2 * s.agreement * std::max(gap, 0.0));
}

// How many starts a search makes, given what one costs.
struct Stopping {
  int hits = 0;       // starts that must end in the best maximum, out of `least` or more
  int unanimous = 0;  // starts that are enough if all of them end there; 0: no such rule
  int least = 0, most = 0;
  int moves = 0;   // on the best, where starts do not agree
  int chains = 0;  // of moves that begin elsewhere, to confirm the best

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
  static Stopping of_rotations(const ExplorationSettings& s, int n, double cost) {
    constexpr double typical_iterations = 30;
    Stopping out = by_cost(n, cost);
    const int least = out.least;
    const int affordable = std::max(3, int(s.plenty / (cost * typical_iterations)));
    const int tolerable = std::min(least, int(s.ample / (cost * typical_iterations)));
    out.most = std::min(out.most, std::max(affordable, tolerable));
    out.least = std::min({least, out.most, affordable});
    out.hits = std::min(out.hits, std::max(3, out.least / 2));
    out.moves = std::max(0, std::min(out.moves, affordable - out.most));
    if (s.brief) out = of_brief(s.brief);
    return out;
  }

  // Over permutations; `fixed` starts if that is not zero, the same number for everyone.
  static Stopping of_permutations(const ExplorationSettings& s, double cost, int fixed) {
    constexpr double typical_evaluations = 40;
    const int affordable = std::max(4, int(std::min(1e6, s.plenty / (cost * typical_evaluations))));
    const int given = fixed ? fixed : s.brief;
    if (given) return {fixed ? given + 1 : 0, 0, given, given, 0};
    Stopping out = by_cost(0, cost);
    out.unanimous = 0;
    out.most = std::min(out.most, affordable);
    out.least = std::min(out.least, out.most);
    out.hits = std::min(out.hits, std::max(2, out.least / 2));
    return out;
  }

  // Over rotations of wide pairs (problems/gaussian/wide.h), whose ascents cannot be given up early.
  static Stopping of_wide_pairs(const ExplorationSettings& s, double cost) {
    constexpr int hits = 8, unanimous = 12, least = 24, most = 48, moves = 24;
    if (s.brief) return of_brief(s.brief);
    const int affordable = of_layers(cost), limit = std::min(most, 2 * affordable);
    return {std::min(hits, std::max(2, limit / 2)), std::min(unanimous, limit), std::min(least, limit), limit,
            std::min(moves, affordable)};
  }

  // Starts of wide layers: as many as can be finished.
  static int of_layers(double cost) {
    constexpr int most = 32;
    constexpr double iterations = 100;               // of such an ascent, typically
    constexpr double always = 2e10, at_most = 1e12;  // operations: half a second, and some tens of seconds
    const double each = iterations * cost;
    return std::min({std::max(3, int(always / each)), std::max(1, int(at_most / each)), most});
  }

 private:
  static Stopping of_brief(int starts) { return {starts, starts, starts, starts, 0}; }

  // Generous where a start is cheap: with 8 hits of 24 or more starts, 1 to 2 % of the hardest small pairs are missed,
  // with 4 hits of 8 or more 4 % (resampled from 100 starts each; benchmarks.optimum measures the outcome).
  static Stopping by_cost(int n, double cost) {
    constexpr double cheap = 5e6, moderate = 5e7;  // operations of a gradient: a tenth of a millisecond, and one
    constexpr int small = 12;                      // neurons: there, even starts that all agree may be wrong
    if (cost < cheap) return {8, n <= small ? 24 : 12, 24, 96, 64, 2};
    if (cost < moderate) return {6, 6, 16, 64, 60, 1};
    return {4, 3, 8, 64, 60};
  }
};

// Which starts end in the best maximum. The squared distance is proportional to `total` less the objective.
class Agreement {
 public:
  enum class Rank { lower, same, higher };

  Agreement(const ExplorationSettings& s, double total, double scale) : s_(s), total_(total), scale_(scale) {}

  bool empty() const { return empty_; }
  double best() const { return best_; }
  int hits() const { return hits_; }
  double margin() const { return margin_of(s_, total_ - best_, scale_); }
  void hit() { ++hits_; }  // a start that is known to end in the best maximum
  void miss(double value) { ends_.push_back(value); }  // a start that is expected to end lower

  // By what share the distance at the second-best maximum exceeds that at the best; 0 if there is no other.
  double gap() const {
    const double least = std::max(total_ - best_, kRounding * scale_), room = margin();
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
  ExplorationSettings s_;
  double total_, scale_, best_ = 0;
  bool empty_ = true;
  int hits_ = 0;
  std::vector<double> ends_;
};

}  // namespace repshape
