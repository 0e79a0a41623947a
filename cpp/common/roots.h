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
  std::vector<Values> means;  // n each
  std::vector<Matrix> roots;  // n x n each

  int count() const { return int(conditions.size()); }
  void add(int condition, const double* mean, Matrix root) {
    conditions.push_back(condition);
    means.emplace_back(mean, mean + n);
    roots.push_back(std::move(root));
  }
};

// Use at most this many evenly spaced conditions to choose signs by. Chosen by hand; not measured.
constexpr int kRootedConditions = 24;

inline std::vector<int> rooted_conditions(int total) { return spread_evenly(total, kRootedConditions); }

// S^(1/2) of a covariance S.
Matrix symmetric_root(Matrix s);

}  // namespace repshape
