// The parts of the distance of one pair: the mean term of its objective, residuals, bounds and units.
#pragma once
#include <numeric>

#include "common/units.h"
#include "problems/gaussian/blas_objective.h"

namespace repshape {

inline std::vector<int> all_groups(const Network& x) {
  std::vector<int> groups(x.groups());
  std::iota(groups.begin(), groups.end(), 0);
  return groups;
}

// alpha sum w mu_x mu_y' over all rows of the means, n_x x n_y
inline std::vector<double> mean_term(const Network& x, const Network& y, double alpha, const double* weights) {
  const int nx = x.neurons, ny = y.neurons, m = x.rows;
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
  for (int r = 0; r < x.rows; ++r) {
    double sum = 0;
    for (int i = 0; i < nx; ++i) {
      double moved = 0;
      for (int j = 0; j < ny; ++j) moved += t[std::size_t(i) * ny + j] * y.mean(r)[j];
      const double gap = pair.mean_gain_x * x.mean(r)[i] - pair.mean_gain_y * moved;
      sum += gap * gap;
    }
    total += pair.row_weights[r] * sum;
  }
  return total;
}

inline double covariance_residual(const Pair& pair, const double* t) {
  return pair.lanes() ? gaussian_kernels().residual(pair.view(), t) : blas_objective(pair, t, nullptr);
}

// |gain_x a - gain_y b|^2 of singular values, missing ones being zero.
inline double squared_gap(const Pair& pair, const double* a, int count_a, const double* b, int count_b) {
  double sum = 0;
  for (int k = 0; k < std::max(count_a, count_b); ++k) {
    const double gap = pair.gain_x * (k < count_a ? a[k] : 0) - pair.gain_y * (k < count_b ? b[k] : 0);
    sum += gap * gap;
  }
  return sum;
}

// Sum of w |spectrum_x - spectrum_y|^2: no transform brings covariances closer (Hoffman-Wielandt). Where there are
// several such bounds, the largest of them for each condition.
inline double spectral_gap(const Pair& pair) {
  const Network &x = *pair.x, &y = *pair.y;
  const int each = x.blocks / x.conditions;
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) {
    double best = 0;
    for (int b = m * each; b < (m + 1) * each; ++b)
      best += squared_gap(pair, x.spectrum.data() + std::size_t(b) * x.rank, x.rank,
                          y.spectrum.data() + std::size_t(b) * y.rank, y.rank);
    for (std::size_t f = 0; f < x.bounds.size(); ++f) {
      const Spectra &s = x.bounds[f], &r = y.bounds[f];
      double sum = 0;
      for (int g = 0; g < s.groups; ++g) sum += squared_gap(pair, s.of(m, g), s.size, r.of(m, g), r.size);
      best = std::max(best, sum);
    }
    total += pair.weights[m * each] * best;
  }
  return total;
}

// Weighted squared norm of a network: of all means, and of the noise of the blocks that take part.
inline double energy(const Network& x, const Pair& pair) {
  double means = 0, noise = 0;
  for (int r = 0; r < x.rows; ++r) means += pair.row_weights[r] * dot(x.mean(r), x.mean(r), x.neurons);
  for (int g : pair.groups)
    for (int b = g * kDoubleLanes; b < std::min((g + 1) * kDoubleLanes, x.blocks); ++b)
      noise += pair.boost * pair.weights[b] * x.variance[b];
  return pair.alpha * pair.mean_weight * means + (2 - pair.alpha) * pair.covariance_weight * noise;
}

}  // namespace repshape
