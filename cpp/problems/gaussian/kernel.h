// What the Gaussian kernels read and offer: plain data, so that no kernel object defines a symbol of a container.
#pragma once
#include <cstddef>

namespace repshape {

// A network in lanes, one block of factors in each; network.h says what the arrays hold.
struct LaneNetwork {
  int blocks, neurons, positions, rank;
  bool diagonal, triangular;
  std::ptrdiff_t entries;  // of one factor
  const double *factors, *spectrum, *smallest, *ranks, *variance;
};

// A pair of networks; pair.h says what the numbers mean.
struct LanePair {
  LaneNetwork x, y;
  const double* weights;
  const int* groups;
  int n_groups;
  double subset_scale, gain_x, gain_y;
};

// The routines that are compiled once for every instruction set.
struct GaussianKernels {
  const char* name;
  int max_lane_size;
  // The objective sum of w |A' T C|_* over the pair's groups, its gradient added into `gradient`
  // (x.neurons x y.neurons); both without alpha and the mean term.
  double (*gradient)(const LanePair&, const double* transform, double* gradient, bool single);
  // Sum of w |A P - T C|_F^2, the squared Bures distances from residuals.
  double (*residual)(const LanePair&, const double* transform);
  // Each of `count` matrices (lo x hi, row-major, lo <= hi) becomes its polar factor; `ranks` says how many singular
  // values of each are not zero.
  void (*polar_factors)(float* matrices, int count, int lo, int hi, const double* ranks);
};

const GaussianKernels& gaussian_kernels();                  // the widest that this processor runs
const GaussianKernels* gaussian_kernels(const char* name);  // null where it cannot run them

// Memory of the calling thread for at least this many doubles, aligned to a Pack. Slots are independent and keep their
// memory between calls.
constexpr int kScratchSlots = 20;
double* lane_scratch(int slot, std::ptrdiff_t doubles);

}  // namespace repshape
