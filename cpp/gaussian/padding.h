// Silent neurons: permutations of a larger space than the larger network of a pair.
#pragma once
#include "gaussian/network.h"

namespace repshape {

// The network with `count` neurons that never respond after its own.
inline Network with_silent_neurons(const Network& net, int count) {
  const int n = net.neurons, more = n + count, rank = net.diagonal ? more : net.rank;
  const std::size_t entries = net.diagonal ? more : std::size_t(more) * rank;
  const std::size_t conditions = net.conditions;
  std::vector<double> means(conditions * more, 0), factors(conditions * entries, 0), spectrum(conditions * rank, 0);
  for (std::size_t m = 0; m < conditions; ++m) {
    for (int i = 0; i < n; ++i) means[m * more + i] = net.mean(int(m))[i] * net.mean_scale;
    for (int r = 0; r < net.rank; ++r) spectrum[m * rank + r] = net.spectrum[m * net.rank + r] * net.scale;
    net.copy_condition(int(m), factors.data() + m * entries);
    for (std::size_t e = 0; e < net.entries(); ++e) factors[m * entries + e] *= net.scale;
  }
  return Network(means.data(), factors.data(), spectrum.data(), net.conditions, more, rank, net.diagonal, net.reduced);
}

}  // namespace repshape
