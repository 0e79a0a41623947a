// Transforms as matrices of n x k, k <= n: parts of orthogonal matrices, injections and their exchanges.
#pragma once
#include <algorithm>
#include <numeric>
#include <utility>

#include "common/dense.h"

namespace repshape {

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

// Number of injections of k columns into n rows of which the last `spare` are alike.
inline double count_injections(int n, int k, int spare) {
  double total = 0, ways = 1;  // of choosing the columns in rows that are alike
  for (int silent = 0; silent <= std::min(k, spare); ++silent) {
    double matched = ways;
    for (int m = 0; m < k - silent; ++m) matched *= std::max(n - spare - m, 0);
    total += matched;
    ways *= double(k - silent) / (silent + 1);
  }
  return total;
}

// Lets the columns of a partial injection t (n x k) that have no row prefer the last `spare` rows.
inline void invite(Matrix& t, int k, int spare) {
  const std::size_t n = t.size() / k - spare;
  for (int j = 0; j < k; ++j) {
    bool placed = false;
    for (std::size_t i = 0; i < n; ++i) placed = placed || t[i * k + j] > 0.5;
    for (std::size_t i = n; !placed && i < n + spare; ++i) t[i * k + j] = 0.5;
  }
}

// Rows of an injection that change places: b takes the place of a, c of b and a of c; two rows where c < 0.
struct Cycle {
  int a, b, c;
};

inline Matrix cycled(const Matrix& t, int k, const Cycle& cycle) {
  Matrix out = t;
  auto row = [&](int i) { return out.begin() + std::size_t(i) * k; };
  std::swap_ranges(row(cycle.a), row(cycle.a) + k, row(cycle.b));
  if (cycle.c >= 0) std::swap_ranges(row(cycle.b), row(cycle.b) + k, row(cycle.c));
  return out;
}

// Exchanges of two rows of an injection t, then cycles of three, at most `most`, each in order of what they lose to
// first order; g is the gradient at t. The last `spare` rows are alike, so that exchanges among them do nothing.
inline std::vector<Cycle> cycles(const Matrix& t, const Matrix& g, int n, int k, int spare, std::size_t most) {
  std::vector<int> column(n, -1);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < k; ++j)
      if (t[std::size_t(i) * k + j] != 0) column[i] = j;
  auto gain = [&](int row, int col) { return col < 0 ? 0.0 : g[std::size_t(row) * k + col]; };
  auto alike = [&](int i, int j) { return (i >= n - spare && j >= n - spare) || (column[i] < 0 && column[j] < 0); };
  // What row i loses if it gets the column of row j.
  auto loss = [&](int i, int j) { return gain(i, column[i]) - gain(i, column[j]); };
  using Ranked = std::vector<std::pair<double, Cycle>>;
  Ranked two, three;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j)
      if (!alike(i, j)) two.push_back({loss(i, j) + loss(j, i), {i, j, -1}});
  std::vector<Cycle> out;
  auto append = [&](Ranked& ranked) {
    const std::size_t count = std::min(most - out.size(), ranked.size());
    std::partial_sort(ranked.begin(), ranked.begin() + count, ranked.end(),
                      [](const auto& p, const auto& q) { return p.first < q.first; });
    for (std::size_t e = 0; e < count; ++e) out.push_back(ranked[e].second);
  };
  append(two);
  if (out.size() == most) return out;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      for (int c = a + 1; c < n; ++c)
        if (c != b && !alike(a, b) && !alike(b, c) && !alike(a, c))
          three.push_back({loss(a, b) + loss(b, c) + loss(c, a), {a, b, c}});
  append(three);
  return out;
}

}  // namespace repshape
