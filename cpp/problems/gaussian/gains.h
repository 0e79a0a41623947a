// What matching single neurons gains: starts for permutations, and bounds.
#pragma once
#include <cmath>

#include "problems/gaussian/pair.h"

namespace repshape {

// Standard deviations of the neurons in one block.
inline Values deviations(const Network& net, int b) {
  const Matrix block = net.block(b);
  Values out(net.neurons);
  for (int i = 0; i < net.neurons; ++i)
    out[i] = net.diagonal ? block[i] : std::sqrt(dot(block.row(i), block.row(i), block.columns()));
  return out;
}

// (2 - alpha) sum w s s', s the standard deviations.
inline Matrix deviation_gain(const Pair& pair) {
  Matrix out(pair.x->neurons, pair.y->neurons);
  const double share = pair.covariance_share();
  for (int b = 0; b < pair.x->blocks; ++b) {
    const Values sx = deviations(*pair.x, b), sy = deviations(*pair.y, b);
    for (int i = 0; i < out.rows(); ++i)
      for (int j = 0; j < out.columns(); ++j) out(i, j) += share * pair.weights[b] * sx[i] * sy[j];
  }
  return out;
}

// The same with alpha sum w mu mu': at least the objective of single neurons (and equal, at one position).
inline Matrix marginal_gain(const Pair& pair) {
  Matrix out = deviation_gain(pair);
  out.add(1, pair.mean_term);
  return out;
}

}  // namespace repshape
