#include "problems/gaussian/pair.h"

#include <cmath>
#include <numeric>

#include "problems/gaussian/blas_objective.h"

namespace repshape {
namespace {

// |gain_x a - gain_y b|^2 of singular values, missing ones being zero.
double squared_gap(const Pair& pair, const double* a, int count_a, const double* b, int count_b) {
  double sum = 0;
  for (int k = 0; k < std::max(count_a, count_b); ++k) {
    const double gap = pair.gain_x * (k < count_a ? a[k] : 0) - pair.gain_y * (k < count_b ? b[k] : 0);
    sum += gap * gap;
  }
  return sum;
}

// Weighted squared norm of a network: of all means, and of the noise of the blocks that take part.
double energy(const Network& x, const Pair& pair) {
  double means = 0, noise = 0;
  for (int r = 0; r < x.rows; ++r) means += pair.row_weights[r] * dot(x.means.row(r), x.means.row(r), x.neurons);
  pair.for_blocks([&](int b) { noise += pair.subset_scale * pair.weights[b] * x.variance[b]; });
  return pair.alpha * pair.mean_weight * means + (2 - pair.alpha) * pair.covariance_weight * noise;
}

}  // namespace

Pair::Pair(const Network& x_, const Network& y_, const double* block_weights)
    : x(&x_), y(&y_), weights(block_weights), groups(x_.groups()) {
  std::iota(groups.begin(), groups.end(), 0);
}

void Pair::set_units() {
  const double scale = std::max(x->scale, y->scale), mean_scale = std::max(x->mean_scale, y->mean_scale);
  gain_x = x->scale / scale, gain_y = y->scale / scale;
  mean_gain_x = x->mean_scale / mean_scale, mean_gain_y = y->mean_scale / mean_scale;
  if (alpha == 0 || alpha == 2) return;  // there is only one part
  const int ratio = std::ilogb(x->scale) + std::ilogb(y->scale) - std::ilogb(x->mean_scale) - std::ilogb(y->mean_scale);
  (ratio > 0 ? mean_weight : covariance_weight) = std::ldexp(1.0, -std::abs(ratio));
}

bool Pair::choose_groups(int count) {
  Pair chosen = *this;
  chosen.groups = spread_evenly(int(groups.size()), count);
  double weight = 0;
  chosen.for_blocks([&](int b) { weight += weights[b]; });
  if (chosen.groups.size() == groups.size() || !(weight > 0)) return false;
  groups = std::move(chosen.groups);
  subset_scale = x->blocks_each() / weight;
  return true;
}

Matrix mean_term(const Network& x, const Network& y, double alpha, const double* weights) {
  Matrix scaled(x.means);
  for (int r = 0; r < scaled.rows(); ++r)
    for (int i = 0; i < scaled.columns(); ++i) scaled(r, i) *= weights[r];
  return product(transpose(scaled), y.means, alpha);
}

double mean_residual(const Pair& pair, const Matrix& t) {
  const Network &x = *pair.x, &y = *pair.y;
  double total = 0;
  for (int r = 0; r < x.rows; ++r) {
    double sum = 0;
    for (int i = 0; i < x.neurons; ++i) {
      double moved = 0;
      for (int j = 0; j < y.neurons; ++j) moved += t(i, j) * y.means(r, j);
      const double gap = pair.mean_gain_x * x.means(r, i) - pair.mean_gain_y * moved;
      sum += gap * gap;
    }
    total += pair.row_weights[r] * sum;
  }
  return total;
}

double covariance_residual(const Pair& pair, const Matrix& t) {
  return pair.lanes() ? gaussian_kernels().residual(pair.view(), t.data()) : blas_residual(pair, t);
}

double spectral_gap(const Pair& pair) {
  const Network &x = *pair.x, &y = *pair.y;
  const int each = x.blocks_each();
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) {
    double best = 0;
    for (int b = m * each; b < (m + 1) * each; ++b)
      best += squared_gap(pair, x.spectrum.row(b), x.rank, y.spectrum.row(b), y.rank);
    for (int f = 0; f < int(x.bounds.size()); ++f) {
      const Spectra &s = x.bounds[f], &r = y.bounds[f];
      double sum = 0;
      for (int g = 0; g < s.groups; ++g) sum += squared_gap(pair, s.of(m, g), s.size(), r.of(m, g), r.size());
      best = std::max(best, sum);
    }
    total += pair.weights[m * each] * best;
  }
  return total;
}

double scale_of(const Pair& pair) { return std::sqrt(energy(*pair.x, pair) * energy(*pair.y, pair)); }

double total_of(const Pair& pair) { return 0.5 * (energy(*pair.x, pair) + energy(*pair.y, pair)); }

double cost_of(const Network& x, const Network& y) {
  const double nx = x.neurons, ny = y.neurons, rx = x.rank, ry = y.rank;
  const double products = 2 * nx * (ry * ny + rx * ry) * 2 * x.positions;
  return x.blocks * (products + 17 * std::min(rx, ry) * std::min(rx, ry) * std::max(rx, ry)) + 40 * nx * nx * nx;
}

}  // namespace repshape
