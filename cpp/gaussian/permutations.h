// The best permutation for one pair: alternation, then exchanges of two neurons; exhaustive search for few neurons.
#pragma once
#include "common/assignment.h"
#include "gaussian/objective.h"

namespace repshape {

struct PermutationSearch {
  const Objective& f;
  int max_iterations;
  double cost;  // operations of one gradient

  const Network& x() const { return *f.pair.x; }
  const Network& y() const { return *f.pair.y; }

  // How many starts the budget allows.
  int affordable() const { return int(std::max(4.0, kSearch / (6 * cost))); }

  // Ascends from every start and improves the best. `certain` says that no exchange improves it further.
  Matrix best_of(std::vector<Matrix> starts, bool& certain) const {
    std::vector<double> values;
    for (Matrix& t : starts) values.push_back(climb(t));
    const std::size_t top = std::max_element(values.begin(), values.end()) - values.begin();
    certain = improve(starts[top], values[top]);
    // More starts must never give a worse result than the first alone.
    if (top != 0) improve(starts[0], values[0]);
    return starts[values[0] > values[top] ? 0 : top];
  }

  // Floating-point operations that a search may use beyond its minimum.
  static constexpr double kSearch = 2e10;
  // Up to so many neurons, every injection is evaluated.
  static constexpr int kEnumerated = 5;

  Matrix best_of_all() const {
    const int n = x().neurons, k = y().neurons;
    std::vector<int> rows(n);
    std::iota(rows.begin(), rows.end(), 0);
    double best = -INFINITY;
    Matrix g, found;
    do {
      Matrix t = injection(std::vector<int>(rows.begin(), rows.begin() + k), n);
      const double value = f.at(t, g);
      if (value > best) best = value, found = std::move(t);
      std::reverse(rows.begin() + k, rows.end());  // the order of the rest does not matter
    } while (std::next_permutation(rows.begin(), rows.end()));
    return found;
  }

  // alpha sum w mu mu' + (2 - alpha) sum w s s', s the standard deviations: the whole objective
  // where both covariances are diagonal, and a good guess otherwise.
  Matrix marginal_gain() const {
    Matrix out = f.pair.mean_term, a(x().entries()), c(y().entries()), sx(x().neurons), sy(y().neurons);
    auto deviations = [](const Network& net, int m, Matrix& entries, Matrix& sd) {
      net.copy_condition(m, entries.data());
      for (int i = 0; i < net.neurons; ++i)
        sd[i] = net.diagonal ? entries[i]
                             : std::sqrt(dot(entries.data() + std::size_t(i) * net.rank,
                                             entries.data() + std::size_t(i) * net.rank, net.rank));
    };
    for (int m = 0; m < x().conditions; ++m) {
      deviations(x(), m, a, sx);
      deviations(y(), m, c, sy);
      for (int i = 0; i < x().neurons; ++i)
        for (int j = 0; j < y().neurons; ++j)
          out[std::size_t(i) * y().neurons + j] += (2 - f.pair.alpha) * f.pair.weights[m] * sx[i] * sy[j];
    }
    return out;
  }

  // Alternation: never decreases the objective; ends at an assignment that is optimal for its own gradient.
  double climb(Matrix& t) const {
    Matrix g;
    double value = f.at(t, g);
    for (int step = 0; step < max_iterations; ++step) {
      Matrix next = injection(assign(x().neurons, y().neurons, g.data()), x().neurons);
      if (next == t) break;
      Matrix next_gradient;
      const double next_value = f.at(next, next_gradient);
      if (!(next_value > value)) break;
      t = std::move(next), g = std::move(next_gradient), value = next_value;
    }
    return value;
  }

  // Exchanges of two neurons, the most promising first, until none helps or the budget is spent.
  bool improve(Matrix& t, double& value) const {
    const int n = x().neurons, k = y().neurons;
    const long wished = std::max(4L * n, std::min(1L * n * (n - 1), 1000L));
    const long budget = std::min(wished, std::max(n / 2L, long(kSearch / cost)));
    long tried = 0;
    for (bool found = true; found;) {
      found = false;
      Matrix g;
      f.at(t, g);
      for (const auto& [i, j] : exchanges(t, g, n, k, std::size_t(std::max(2 * n, 500)))) {
        if (tried++ >= budget) return false;
        Matrix next = t, unused;
        std::swap_ranges(next.begin() + i * k, next.begin() + (i + 1) * k, next.begin() + j * k);
        if (f.at(next, unused) > value * (1 + 1e-13)) {
          value = climb(next);
          t = std::move(next);
          found = true;
          break;
        }
      }
    }
    return true;
  }
};

}  // namespace repshape
