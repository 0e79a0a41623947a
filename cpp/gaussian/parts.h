// The parts of the distance of one pair: the mean term of its objective, residuals, bounds and units.
#pragma once
#include <numeric>

#include "common/units.h"
#include "gaussian/blas_objective.h"

namespace repshape {

inline std::vector<int> all_groups(const Network& x) {
  std::vector<int> groups(x.groups());
  std::iota(groups.begin(), groups.end(), 0);
  return groups;
}

// alpha sum w mu_x mu_y', n_x x n_y
inline std::vector<double> mean_term(const Network& x, const Network& y, double alpha, const double* weights) {
  const int nx = x.neurons, ny = y.neurons, m = x.conditions;
  std::vector<double> out(std::size_t(nx) * ny, 0), scaled(x.means);
  for (int c = 0; c < m; ++c)
    for (int i = 0; i < nx; ++i) scaled[std::size_t(c) * nx + i] *= weights[c];
  gemm(true, false, nx, ny, m, alpha, scaled.data(), nx, y.means.data(), ny, 0, out.data(), ny);
  return out;
}

inline double mean_residual(const Pair& pair, const double* t) {
  const Network &x = *pair.x, &y = *pair.y;
  const int nx = x.neurons, ny = y.neurons;
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) {
    double sum = 0;
    for (int i = 0; i < nx; ++i) {
      double moved = 0;
      for (int j = 0; j < ny; ++j) moved += t[std::size_t(i) * ny + j] * y.mean(m)[j];
      const double gap = pair.mean_gain_x * x.mean(m)[i] - pair.mean_gain_y * moved;
      sum += gap * gap;
    }
    total += pair.weights[m] * sum;
  }
  return total;
}

inline double covariance_residual(const Pair& pair, const double* t) {
  return pair.lanes() ? gaussian_kernels().residual(pair.view(), t) : blas_objective(pair, t, nullptr);
}

// Sum of w |spectrum_x - spectrum_y|^2: no transform brings covariances closer (Hoffman-Wielandt).
inline double spectral_gap(const Pair& pair) {
  const Network &x = *pair.x, &y = *pair.y;
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) {
    double sum = 0;
    for (int k = 0; k < std::max(x.rank, y.rank); ++k) {
      const double a = k < x.rank ? x.spectrum[std::size_t(m) * x.rank + k] : 0;
      const double b = k < y.rank ? y.spectrum[std::size_t(m) * y.rank + k] : 0;
      sum += (pair.gain_x * a - pair.gain_y * b) * (pair.gain_x * a - pair.gain_y * b);
    }
    total += pair.weights[m] * sum;
  }
  return total;
}

// Weighted squared norm of a network: of the means of all conditions, and of the noise of those that take part.
inline double energy(const Network& x, const Pair& pair) {
  double means = 0, noise = 0;
  for (int m = 0; m < x.conditions; ++m) means += pair.weights[m] * dot(x.mean(m), x.mean(m), x.neurons);
  for (int g : pair.groups)
    for (int m = g * kDoubleLanes; m < std::min((g + 1) * kDoubleLanes, x.conditions); ++m)
      noise += pair.boost * pair.weights[m] * x.variance[m];
  return pair.alpha * pair.mean_weight * means + (2 - pair.alpha) * pair.covariance_weight * noise;
}

}  // namespace repshape
