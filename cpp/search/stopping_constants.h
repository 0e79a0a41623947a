// The numbers that decide how many starts a search makes, and which of them agree. stopping.h applies them.
//
// Where no measurement is named, a number was chosen by hand and not measured.
#pragma once

namespace repshape::stopping {

// Values of an objective in single precision that differ by less than this share of its scale are the same.
constexpr double kRounding = 1e-6;
// Relative difference of distances that count as one optimum.
constexpr double kAgreement = 3e-4;
// Gradient tolerance while exploring, of the objective: distances are then known to 4e-6 in the median and 6e-5 in the
// worst case but one (with 1e-6, to 5e-8).
constexpr double kExplorationTolerance = 1e-5;

// Operations that a search may always take (about half a second), and that its least number of starts may take.
constexpr double kAlways = 4e10, kAtMost = 3e11;

// Hits are starts that end in the best maximum. In 1848 runs resampled from the starts of hard small pairs, 4 hits of
// at least 8 starts missed 4 % of the optima, 6 of 24 missed 1.9 %, 8 of 24 missed 1.7 %, and 12 of 24 missed 1.2 %.
// Hence more hits where a start is cheap; benchmarks.optimum measures the outcome.
struct Rule {
  int hits, unanimous, least, most, moves, chains;  // as in Stopping
};
constexpr double kCheap = 5e6, kModerate = 5e7;  // operations of a gradient: a tenth of a millisecond, and one
constexpr Rule kCheapRule{8, 12, 24, 96, 64, 2};
constexpr Rule kModerateRule{6, 6, 16, 64, 60, 1};
constexpr Rule kExpensiveRule{4, 3, 8, 64, 60, 0};
constexpr Rule kWidePairRule{8, 12, 24, 48, 24, 0};
// Up to kSmall neurons, even starts that all agree may be wrong, so that more of them must agree.
constexpr int kSmall = 12, kSmallUnanimous = 24;

// Gradients of a typical ascent, to estimate what starts cost: over rotations, permutations, and of wide layers.
constexpr double kRotationGradients = 30, kPermutationGradients = 40, kLayerGradients = 100;
// Wide layers: starts are always made up to kLayerAlways operations (half a second), at least one in any case, up to
// three within kLayerAtMost (some tens of seconds).
constexpr int kLayerStarts = 32;
constexpr double kLayerAlways = 2e10, kLayerAtMost = 1e12;

// Moves on the best optimum: a random rotation of a few directions, then another ascent. At alpha = 0, 600 further
// gradients spent on moves took the mean excess of four families from 0.1-0.4 % to 0.01-0.2 %; more starts gave less.
constexpr int kMoreMoves = 3;  // times as many at most, where moves lead higher
// Ends in the best maximum after which no further search from elsewhere is made, and other maxima kept for it.
constexpr int kSure = 6, kKept = 4;
// Ascents given up that are finished if no starts agree: with many neurons they often gain as much again.
constexpr int kResumed = 3;
// Share of the margin that may be left to gain where another search finishes an ascent.
constexpr double kImprecise = 0.01;

// Permutations: exchanges tried after each ascent, and moves, both times the number of neurons; and rounding of
// the objective in double and single precision, as a share of its scale.
constexpr int kQuickExchanges = 2, kPermutationMoves = 40;
constexpr double kDouble = 1e-13, kSingle = 1e-6;

}  // namespace repshape::stopping
