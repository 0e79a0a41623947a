// A few conditions of a network as the starts from the correspondence of conditions read them.
#pragma once
#include "common/dense.h"

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

// So many conditions are enough to choose signs by.
constexpr int kRootedConditions = 24;

// At most kRootedConditions of them, spread evenly.
inline std::vector<int> spread_conditions(int total) {
  const int count = std::min(total, kRootedConditions);
  std::vector<int> out;
  for (int c = 0; c < count; ++c) out.push_back(int((2L * c + 1) * total / (2L * count)));
  return out;
}

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
