// Transforms as matrices of n x k, k <= n: parts of orthogonal matrices, injections and their exchanges.
#pragma once
#include <algorithm>
#include <numeric>
#include <utility>

#include "common/dense.h"

namespace repshape {

// Two transforms at a smaller squared Frobenius distance than this have reached the same maximum.
constexpr double kSameMaximum = 1e-4;

inline double squared_gap(const Matrix& a, const Matrix& b) {
  double total = 0;
  for (std::size_t e = 0; e < a.size(); ++e) total += (a[e] - b[e]) * (a[e] - b[e]);
  return total;
}

inline Matrix transposed(const Matrix& a, int rows, int columns) {
  Matrix out(a.size());
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) out[std::size_t(j) * rows + i] = a[std::size_t(i) * columns + j];
  return out;
}

// The first k columns of an n x n matrix.
inline Matrix first_columns(const Matrix& full, int n, int k) {
  Matrix out(std::size_t(n) * k);
  for (int i = 0; i < n; ++i)
    std::copy_n(full.data() + std::size_t(i) * n, k, out.data() + std::size_t(i) * k);
  return out;
}

// The n x k matrix of zeros and ones whose column j has its one in rows[j].
inline Matrix injection(const std::vector<int>& rows, int n) {
  const int k = int(rows.size());
  Matrix out(std::size_t(n) * k, 0);
  for (int j = 0; j < k; ++j) out[std::size_t(rows[j]) * k + j] = 1;
  return out;
}

inline Matrix identity_injection(int n, int k) {
  std::vector<int> rows(k);
  std::iota(rows.begin(), rows.end(), 0);
  return injection(rows, n);
}

// Pairs of rows of an injection t, at most `most`, in order of what their exchange loses to first order; g is the
// gradient at t.
inline std::vector<std::pair<int, int>> exchanges(const Matrix& t, const Matrix& g, int n, int k, std::size_t most) {
  std::vector<int> column(n, -1);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < k; ++j)
      if (t[std::size_t(i) * k + j] != 0) column[i] = j;
  auto gain = [&](int row, int col) { return col < 0 ? 0.0 : g[std::size_t(row) * k + col]; };
  std::vector<std::pair<double, std::pair<int, int>>> ranked;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j)
      if (column[i] != column[j])
        ranked.push_back({gain(i, column[i]) + gain(j, column[j]) - gain(i, column[j]) - gain(j, column[i]), {i, j}});
  most = std::min(most, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + most, ranked.end());
  std::vector<std::pair<int, int>> out;
  for (std::size_t e = 0; e < most; ++e) out.push_back(ranked[e].second);
  return out;
}

}  // namespace repshape
