// The Gaussian objective as the search over permutations asks for it.
#pragma once
#include "common/permutations.h"
#include "gaussian/branches.h"

namespace repshape {

// (2 - alpha) sum w s s', s the standard deviations.
inline Matrix deviation_gain(const Pair& pair) {
  const Network &x = *pair.x, &y = *pair.y;
  Matrix out(std::size_t(x.neurons) * y.neurons, 0), a(x.entries()), c(y.entries()), sx(x.neurons), sy(y.neurons);
  auto deviations = [](const Network& net, int m, Matrix& entries, Matrix& sd) {
    net.copy_condition(m, entries.data());
    for (int i = 0; i < net.neurons; ++i) {
      const double* row = entries.data() + std::size_t(i) * net.rank;
      sd[i] = net.diagonal ? entries[i] : std::sqrt(dot(row, row, net.rank));
    }
  };
  const double share = (2 - pair.alpha) * pair.covariance_weight;
  for (int m = 0; m < x.conditions; ++m) {
    deviations(x, m, a, sx);
    deviations(y, m, c, sy);
    for (int i = 0; i < x.neurons; ++i)
      for (int j = 0; j < y.neurons; ++j)
        out[std::size_t(i) * y.neurons + j] += share * pair.weights[m] * sx[i] * sy[j];
  }
  return out;
}

// The same with alpha sum w mu mu': the objective of single neurons.
inline Matrix marginal_gain(const Pair& pair) {
  Matrix out = deviation_gain(pair);
  for (std::size_t e = 0; e < out.size(); ++e) out[e] += pair.mean_term[e];
  return out;
}

struct GaussianPermutations {
  Objective f;
  const Objective& rough;
  const Matrix& gain;
  double scale, cost;
  const bool single = f.single;

  int n() const { return f.n(); }
  int k() const { return f.k(); }
  double at(const Matrix& t, Matrix& gradient) const { return f.at(t, gradient); }
  long evaluations() const { return f.evaluations; }

  bool prove(int spare, Matrix& t, double& value) const {
    constexpr int most = 8;              // neurons
    constexpr double affordable = 5e11;  // operations: about a minute
    const int n = f.n(), k = f.k();
    if (n - spare > most || count_injections(n, k, spare) * cost > affordable) return false;
    Matrix unused;
    value = f.at(t, unused);
    Branches(f, rough, gain, spare, scale).improve(t, value);
    return true;
  }
};

}  // namespace repshape
