// The numbers of the energy problem. Chosen by hand, not measured, where nothing else is said.
#pragma once

namespace repshape::energy {

// If a gradient takes more operations than kSubsetFrom, exploration begins on a subset of conditions and trials.
constexpr int kSubsetConditions = 32, kSubsetTrials = 16;
constexpr double kSubsetFrom = 1e6;

// Permutations are searched exhaustively up to this many neurons and seconds. Single precision finds the candidates for
// the best permutation, of which at most kCandidates are compared in double precision.
constexpr int kExhaustiveUpTo = 8;
constexpr double kExhaustiveSeconds = 60;
constexpr int kCandidates = 1000;
// Seconds for a pair of trials and an injection, with powers by square roots and with others.
constexpr double kSecondsByRoots = 1e-9, kSecondsByPower = 8e-9;
constexpr int kPairsAtATime = 1024;    // of trials
constexpr double kSingleError = 2e-5;  // relative error of a loss in single precision

}  // namespace repshape::energy
