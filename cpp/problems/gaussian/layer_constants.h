// The numbers of the ascent of wide layers (layer_ascent.h).
//
// kAnnealingSteps, kFirstLambda, kLambdaDecrease, kMomentumSteps, kMostMemory and kLongestStep are those of a pilot on
// one pair of 512 neurons and two of 256 (200 conditions, 10 passes), in which less annealing ended 1e-4 higher, and
// memories of 10 or 80 steps, and momentum or L-BFGS alone, did not help; benchmarks.wide measures the outcome on other
// layers. The others were chosen by hand and not measured.
#pragma once

namespace repshape::layers {

// Annealing: lambda begins as a multiple of the median singular value of the gradient.
constexpr int kAnnealingSteps = 20;
constexpr double kFirstLambda = 30, kLambdaDecrease = 0.7;
constexpr float kNoise = 1e-3f;  // singular values below this share of the largest are rounding: squares were summed

constexpr int kMomentumSteps = 80;  // at most, of alternation with momentum

// The ascent ends when kWindow gradients gain less than kWindowGain tolerances of the distance.
constexpr int kWindow = 10;
constexpr double kWindowGain = 2;

// L-BFGS. The frame in which the model is diagonal is updated every kFrameLife steps.
constexpr int kFrameLife = 60, kLineSearchTries = 5;
constexpr double kFewestMemory = 8, kMostMemory = 30;  // steps that are kept, in the memory that the factors take
constexpr double kWeakest = 0.02;                      // of the mean curvature, added to all
constexpr double kLongestStep = 0.7;                   // radians, in any plane
constexpr double kSufficientRise = 1e-4;               // of what the slope promises
constexpr double kRounding = 2e-6;                     // of a value: smaller changes are rounding
constexpr double kOvershoot = 0.9;                     // of the slope: as steep a fall after a step is too long a step
constexpr double kShortestCut = 0.1, kLongestCut = 0.6;  // of a step that failed

// Newton-Schulz iterations of a retraction: their maximum, and the gap to orthogonality below which one more suffices.
constexpr int kMostNewtonSchulz = 8;
constexpr double kNearlyOrthogonal = 1e-2;

}  // namespace repshape::layers
