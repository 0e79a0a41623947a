// Which pairs are solved by which path, and the sizes at which one becomes faster than another.
//
// Where no measurement is named, a number was chosen by hand and not measured.
#pragma once

namespace repshape::paths {

// Lanes are padded to eight conditions. With fewer conditions than that, networks of more neurons than this would waste
// memory and time in lanes.
constexpr int kMaxPaddedSize = 32;

// Truncation of the factors for exploration: from this many neurons on, if at most this share of the columns carries
// all noise but this share. Pivots are taken until a smaller share of a condition's noise is left, or of the columns at
// most.
constexpr int kTruncatedFrom = 48;
constexpr double kMostKept = 0.75, kNoiseLost = 0.01;
constexpr double kPivotsLost = 0.002, kMostPivots = 0.9;

// Exploration begins on a subset of the conditions, of at least this many groups of eight, if it is at most a third of
// them. On layers (100 neurons, 200 conditions), an optimum found on 25 conditions and finished on all took 1.3 to 2 s
// instead of 11 s at alpha = 1. Fewer than 64 conditions do not rank starts reliably.
constexpr int kSubsetGroups = 8, kSubsetShare = 3;
// Groups of eight conditions on which starts are ranked.
constexpr int kRankedGroups = 16;

// Second derivatives: networks of at most this many neurons, from at most this many blocks, and the least and the most
// gradients between two evaluations. Overhead of one evaluation, in operations.
constexpr int kCurvatureUpTo = 16, kCurvatureBlocks = 64;
constexpr double kLeastCurvatureCost = 10, kMostCurvatureCost = 60, kCurvatureOverhead = 3e6;

// The ascent over the small rotations of the noise (wide_ascent.h): if they have this many times fewer unknowns than
// the transform, in double precision; and in single precision for layers, below this alpha. With means it takes longer
// there, and ends no higher (benchmarks.wide).
constexpr double kWideTimes = 4, kWideLayerTimes = 12, kWideLayerAlpha = 0.25;

// Graduated starts (graduation.h): at most this many neurons, because of the eigenvectors, and at least this many times
// the rank.
constexpr int kGraduatedBelow = 192, kGraduatedThin = 2;

// The ascent of wide layers (layer_ascent.h): from this many neurons on, of at least this many times the rank
// (benchmarks.wide). With fewer gradients than this, annealing would take most of them.
constexpr int kLayersFrom = 192, kLayersThin = 4, kAnnealedFrom = 60;

// From this alpha on, independent neurons are not matched one by one, because the means decide.
constexpr double kMeansDecide = 1;

// Permutations are searched exhaustively up to this many neurons and operations (about a minute).
constexpr int kExhaustiveUpTo = 8;
constexpr double kExhaustiveOperations = 5e11;

}  // namespace repshape::paths
