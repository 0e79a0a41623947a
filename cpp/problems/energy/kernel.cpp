// The energy distance of one condition and its gradient, fused: no table of pairs is ever built.
// This file is compiled once per instruction set (REPSHAPE_ISA names the copy).
#include "problems/energy/kernel.h"

#include "problems/energy/power.h"

namespace repshape {
namespace REPSHAPE_ISA {
namespace {

constexpr int kTileRows = kRegisterBytes == 64 ? 8 : 4;  // trials of x at a time, within the registers

inline Vector load(const double* from) {
  Vector out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
inline void store(double* to, Vector value) { __builtin_memcpy(to, &value, sizeof value); }

// moved (nx x stride) = T y
void move(const EnergyCondition& c, const EnergyTask& task, double* moved) {
  for (int p = 0; p < c.y_trials; p += kVectorLanes)
    for (int i = 0; i < task.nx; ++i) {
      Vector sum = spread(0);
      for (int j = 0; j < task.ny; ++j) sum += task.transform[i * task.ny + j] * load(c.y + j * c.y_stride + p);
      store(moved + i * c.y_stride + p, sum);
    }
}

// R trials of x, from l on, against a vector of trials of T y, which start at `moved`: their
// powers, summed; and weighted (nx vectors, y_stride apart) += sum over the R trials of weight x.
template <int R, class Power>
inline Vector accumulate(const EnergyCondition& c, const EnergyTask& task, const Power& power, int l,
                         const double* moved, double* weighted) {
  const std::ptrdiff_t x_stride = c.x_stride, y_stride = c.y_stride;
  const double *x = c.x + l, *last = x + (task.nx - 1) * x_stride;
  Vector s[R], weight[R], total = spread(0);
  for (int r = 0; r < R; ++r) {  // the first neuron apart: sums that start from it stay in registers
    const Vector gap = x[r] - load(moved);
    s[r] = gap * gap;
  }
  while (x != last) {
    x += x_stride, moved += y_stride;
    const Vector y = load(moved);
    for (int r = 0; r < R; ++r) {
      const Vector gap = x[r] - y;
      s[r] += gap * gap;
    }
  }
  const Vector floor = spread(task.floor);
  const double slope = task.chord ? 1.0 : 0.5 * task.q;
  for (int r = 0; r < R; ++r) {
    const Vector above = larger(s[r], floor);
    weight[r] = power(above);
    total += weight[r] * (above + slope * (s[r] - above));
  }
  if (!weighted) return total;
  for (x = c.x + l; x <= last; x += x_stride, weighted += y_stride) {
    Vector even = load(weighted), odd = spread(0);
    for (int r = 0; r + 1 < R; r += 2) {
      even += x[r] * weight[r];
      odd += x[r + 1] * weight[r + 1];
    }
    if (R % 2) even += x[R - 1] * weight[R - 1];
    store(weighted, even + odd);
  }
  return total;
}

// gradient (in lanes) += q share weighted y'. Lanes beyond the last trial of y are multiplied by its zeros.
void add_gradient(const EnergyCondition& c, const EnergyTask& task, const double* weighted) {
  const double factor = task.q * c.share;
  for (int i = 0; i < task.nx; ++i)
    for (int j = 0; j < task.ny; ++j) {
      const double* left = weighted + i * c.y_stride;
      const double* right = c.y + j * c.y_stride;
      Vector sum = spread(0);
      for (int p = 0; p < c.y_trials; p += kVectorLanes) sum += load(left + p) * load(right + p);
      double* at = task.gradient + (i * task.ny + j) * kVectorLanes;
      store(at, load(at) + factor * sum);
    }
}

template <class Power>
double run(const EnergyCondition& c, const EnergyTask& task) {
  const Power power(task.q);
  double* moved = task.scratch;
  double* weighted = task.gradient ? moved + task.nx * c.y_stride : nullptr;
  move(c, task, moved);
  double total = 0;
  for (int p = 0; p < c.y_trials; p += kVectorLanes) {
    double* sums = weighted ? weighted + p : nullptr;
    for (int i = 0; sums && i < task.nx; ++i) store(sums + i * c.y_stride, spread(0));
    Vector block = spread(0);
    int l = 0;
    for (; l + kTileRows <= c.x_trials; l += kTileRows)
      block += accumulate<kTileRows>(c, task, power, l, moved + p, sums);
    for (; l < c.x_trials; ++l) block += accumulate<1>(c, task, power, l, moved + p, sums);
    for (int lane = 0; lane < kVectorLanes && p + lane < c.y_trials; ++lane) total += block[lane];
  }
  if (weighted) add_gradient(c, task, weighted);
  return c.share * total;
}

double condition(const EnergyCondition& c, const EnergyTask& task) {
  if (task.q == 2) return run<PowerTwo>(c, task);
  if (task.q == 1) return run<PowerOne>(c, task);
  if (task.q == 1.5) return run<PowerThreeHalves>(c, task);
  if (task.q == 0.5) return run<PowerHalf>(c, task);
  return run<PowerAny>(c, task);
}

}  // namespace

extern const EnergyKernels energy_table;
const EnergyKernels energy_table = {REPSHAPE_STRING(REPSHAPE_ISA), kVectorLanes, condition};

}  // namespace REPSHAPE_ISA
}  // namespace repshape
