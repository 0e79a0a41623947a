// A few conditions of a network as the starts from the correspondence of conditions read them.
#pragma once
#include "common/dense.h"
#include "common/spread.h"

namespace repshape {

// Means and symmetric roots S^(1/2) of the covariances of some conditions.
struct Roots {
  int n = 0;
  bool diagonal = false;
  std::vector<int> conditions;
  Matrix means, values;  // conditions x n, conditions x n x n

  const double* mean(int c) const { return means.data() + std::size_t(c) * n; }
  const double* root(int c) const { return values.data() + std::size_t(c) * n * n; }
  void add(int condition, const double* mean, const Matrix& root) {
    conditions.push_back(condition);
    means.insert(means.end(), mean, mean + n);
    values.insert(values.end(), root.begin(), root.end());
  }
};

// Use at most this many evenly spaced conditions to choose signs by.
constexpr int kRootedConditions = 24;

inline std::vector<int> spread_conditions(int total) { return spread_evenly(total, kRootedConditions); }

// S^(1/2) of a covariance S, n x n.
inline Matrix symmetric_root(int n, Matrix s) {
  Matrix v, values, out(std::size_t(n) * n);
  symmetric_eigen(n, s, v, values);
  Matrix scaled(v);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) scaled[std::size_t(i) * n + j] *= std::sqrt(std::max(values[j], 0.0));
  gemm(false, true, n, n, n, 1, scaled.data(), n, v.data(), n, 0, out.data(), n);
  return out;
}

}  // namespace repshape
