// What the energy kernels read and offer: plain data, so that no kernel object defines a symbol of a container.
#pragma once
#include <cstddef>

namespace repshape {

// Trials are stored neuron by neuron, in rows padded with zeros to this many doubles.
constexpr int kTrialPadding = 8;
// Squared distances below this share of the mean squared response are rounding: the trials coincide.
constexpr double kCoincident = 1e-24;
// A floor whose inverse powers are finite, for responses that are all zero.
constexpr double kLeastSquare = 1e-300;

// One condition of a pair of networks; x has at least as many neurons as y.
struct EnergyCondition {
  const double *x, *y;  // neurons x stride
  int x_trials, y_trials;
  std::ptrdiff_t x_stride, y_stride;  // from a neuron to the next
  double share;                       // weight of one pair of trials
};

// What all conditions share. For |x - T y|^2 = s below `floor` the power s^(q/2) is continued, while
// searching, by its tangent, which is concave too: reweighted least squares still never increases the loss. In
// the distance that is reported it is continued by the chord to zero, so that rounding is not
// magnified (at q = 1/2, 1e-16 would count as 1e-8) and trials that coincide contribute nothing.
struct EnergyTask {
  std::ptrdiff_t nx, ny;
  const double* transform;  // nx x ny
  double q, floor;
  bool chord;        // else the tangent
  double* gradient;  // nx x ny x lanes, added to; null where only the value is wanted
  double* scratch;   // 2 nx x stride of y
};

// Compiled once for every instruction set.
struct EnergyKernels {
  const char* name;
  int lanes;
  // Sum over pairs of trials of share |x - T y|^q; and of q share |x - T y|^(q - 2) x y' in lanes,
  // the gradient of minus the value along the orthogonal group.
  double (*condition)(const EnergyCondition&, const EnergyTask&);
};

const EnergyKernels& energy_kernels();                  // the widest that this processor runs
const EnergyKernels* energy_kernels(const char* name);  // null where it cannot run them

}  // namespace repshape
