// What matching single neurons gains: starts for permutations, and bounds.
#pragma once
#include "problems/gaussian/pair.h"
#include "common/dense.h"

namespace repshape {

// (2 - alpha) sum w s s', s the standard deviations.
inline Matrix deviation_gain(const Pair& pair) {
  const Network &x = *pair.x, &y = *pair.y;
  Matrix out(std::size_t(x.neurons) * y.neurons, 0), a(x.entries()), c(y.entries()), sx(x.neurons), sy(y.neurons);
  auto deviations = [](const Network& net, int b, Matrix& entries, Matrix& sd) {
    net.copy_block(b, entries.data());
    const int width = net.positions * net.rank;
    for (int i = 0; i < net.neurons; ++i) {
      const double* row = entries.data() + std::size_t(i) * width;
      sd[i] = net.diagonal ? entries[i] : std::sqrt(dot(row, row, width));
    }
  };
  const double share = pair.covariance_share();
  for (int b = 0; b < x.blocks; ++b) {
    deviations(x, b, a, sx);
    deviations(y, b, c, sy);
    for (int i = 0; i < x.neurons; ++i)
      for (int j = 0; j < y.neurons; ++j)
        out[std::size_t(i) * y.neurons + j] += share * pair.weights[b] * sx[i] * sy[j];
  }
  return out;
}

// The same with alpha sum w mu mu': at least the objective of single neurons (and equal, at one position).
inline Matrix marginal_gain(const Pair& pair) {
  Matrix out = deviation_gain(pair);
  for (std::size_t e = 0; e < out.size(); ++e) out[e] += pair.mean_term[e];
  return out;
}

}  // namespace repshape
