// The numbers of the ascents: line searches, models of the curvature, and the limits of single precision.
//
// Angles are in radians. "Of the objective" means as a share of its scale, an upper bound of its values. Where no
// measurement is named, a number was chosen by hand and not measured.
#pragma once

namespace repshape::ascent {

// Line searches.
constexpr double kSufficientRise = 1e-4;  // of what the slope promises (Armijo's rule with its usual constant)
constexpr double kLongestStep = 2.0;      // over all planes together
constexpr int kLineSearchTries = 6;
constexpr double kShortestCut = 0.1, kLongestCut = 0.5;  // of a step that failed

// Alternation's model of the curvature. Directions held more weakly than this share of the strongest share its
// curvature: their steps would be so long that kLongestStep leaves nothing for the others.
constexpr double kWeakest = 1e-5;
constexpr int kModelLife = 4;       // steps that share an eigenbasis, which changes slowly
constexpr double kFlat = 1e-7;      // second derivatives below this share of the largest are rounding
constexpr double kTiny = 1e-300;    // keeps divisors positive
constexpr double kConcave = 1e-12;  // cosine between a step and its change of the gradient, for it to be remembered

// Single precision. Gradients are accurate to about 1e-8 of the objective, and values to about 1e-7.
constexpr double kSingleTolerance = 5e-8;                    // of the objective: gradients below are rounding
constexpr double kSingleGain = 5e-7;                         // of the objective: smaller gains are rounding
constexpr double kSingleSlack = 3e-7, kDoubleSlack = 1e-14;  // of the objective: a step may lose this much to rounding
constexpr int kIdleSteps = 15;     // without progress, after which single precision has nothing more to give
constexpr double kProgress = 0.9;  // a gradient this many times as long as the shortest so far is progress

// Of the objective: what reversing directions at the end of an ascent must promise, which is more than rounding in
// either precision.
constexpr double kSingleReversal = 1e-6, kDoubleReversal = 1e-12;

// Refinement by single precision.
constexpr double kProbe = 1e-2;            // length of the displacement at which changes of the gradient are measured
constexpr double kLinearRange = 1e-2;      // share of a gradient that is left where its linear model ends
constexpr double kRefinedTolerance = 0.3;  // tolerances: aims below, because the end is only a prediction
constexpr double kDiverges = 2, kEnough = 0.5;  // times the shortest gradient so far: stop; times the first: accept

// What an ascent is likely to reach, from two gains kStride gradients apart. Looking every 3 gradients instead of every
// 5 was one of three changes that together took a tenth off the time of a search; it was not measured alone.
constexpr int kStride = 3;
constexpr double kSafety = 3;                           // times the gain that is expected
constexpr double kLeastRatio = 0.6, kMostRatio = 0.96;  // of two gains: others are not believed

}  // namespace repshape::ascent
