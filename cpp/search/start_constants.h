// The numbers by which starts are made.
//
// Where no measurement is named, a number was chosen by hand and not measured.
#pragma once

namespace repshape::starts {

// Share of starts from the correspondence of conditions; the others are random. On 13 families with 128 starts, mean
// excess over the best known distance: random 0.175 %, correspondences 0.035 %, half of each 0.038 %. One family
// (macaque V1 at alpha = 0) needs some random starts.
constexpr double kCorrespondences = 0.875;

// Shapes of the gamma distribution of the conditions' weights, in turn: few conditions, or many.
constexpr double kShapes[] = {0.1, 0.3, 1.0};
constexpr double kPermutationShape = 0.3;
constexpr double kJitter = 0.3;      // length of the perturbation of a start; without it, starts repeat each other
constexpr int kSignTries = 8;        // random signs from which flips begin
constexpr double kSignGain = 1e-12;  // of the sum of all terms: smaller gains of a flip are rounding

// How far a correspondence is trusted where it is graduated, in turn: 1 for little, 0 for no graduation.
constexpr double kGraduatedShares[] = {1, 0.2, 0};

// Moves: directions that are turned, anywhere or along axes.
constexpr int kMovedDirections = 4, kMovedAxes = 3;

// From this many neurons on, the roots of the covariances, some n^3 operations each, would take longer than an ascent,
// so that there are no starts from the correspondence of conditions.
constexpr int kRootsBelow = 256;
// Above this many neurons, a random orthogonal matrix costs more than an ascent.
constexpr int kRandomUpTo = 1000;

}  // namespace repshape::starts
