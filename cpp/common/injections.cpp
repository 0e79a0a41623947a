#include "common/injections.h"

#include <cmath>

namespace repshape {
namespace {

using RankedCycles = std::vector<std::pair<double, Cycle>>;  // with what they lose

void append_cheapest(RankedCycles& ranked, Index most, std::vector<Cycle>& out) {
  const Index count = std::min<Index>(most - out.size(), ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + count, ranked.end(),
                    [](const auto& p, const auto& q) { return p.first < q.first; });
  for (Index e = 0; e < count; ++e) out.push_back(ranked[e].second);
}

}  // namespace

std::vector<int> assign(const View<const double>& gain) {
  const int n = gain.rows(), k = gain.columns();
  // Rows and columns are counted from one; row 0 stands for the column that is being placed.
  Values column(k + 1, 0), row(n + 1, 0);
  std::vector<int> owner(n + 1, 0), previous(n + 1, 0);
  for (int j = 1; j <= k; ++j) {
    Values reach(n + 1, INFINITY);
    std::vector<char> done(n + 1, 0);
    owner[0] = j;
    int i0 = 0;
    do {
      done[i0] = 1;
      const int j0 = owner[i0];
      double delta = INFINITY;
      int next = 0;
      for (int i = 1; i <= n; ++i) {
        if (done[i]) continue;
        const double cost = -gain(i - 1, j0 - 1) - column[j0] - row[i];
        if (cost < reach[i]) reach[i] = cost, previous[i] = i0;
        if (reach[i] < delta) delta = reach[i], next = i;
      }
      if (next == 0) {  // only gains that are no numbers are left: any row is as good as another
        delta = 0;
        while (done[++next]) {
        }
        previous[next] = i0;
      }
      for (int i = 0; i <= n; ++i) {
        if (done[i])
          column[owner[i]] += delta, row[i] -= delta;
        else
          reach[i] -= delta;
      }
      i0 = next;
    } while (owner[i0] != 0);
    while (i0) {
      owner[i0] = owner[previous[i0]];
      i0 = previous[i0];
    }
  }
  std::vector<int> out(k, 0);
  for (int i = 1; i <= n; ++i)
    if (owner[i]) out[owner[i] - 1] = i - 1;
  return out;
}

Matrix injection(const std::vector<int>& rows, int n) {
  Matrix out(n, int(rows.size()));
  for (int j = 0; j < out.columns(); ++j) out(rows[j], j) = 1;
  return out;
}

Matrix identity_injection(int n, int k) {
  Matrix out(n, k);
  out.add_to_diagonal(1);
  return out;
}

double count_injections(int n, int k, int spare) {
  double total = 0, ways = 1;  // of choosing the columns in rows that are alike
  for (int silent = 0; silent <= std::min(k, spare); ++silent) {
    double matched = ways;
    for (int m = 0; m < k - silent; ++m) matched *= std::max(n - spare - m, 0);
    total += matched;
    ways *= double(k - silent) / (silent + 1);
  }
  return total;
}

void prefer_spare_rows(Matrix& t, int spare) {
  const int n = t.rows() - spare;
  for (int j = 0; j < t.columns(); ++j) {
    bool placed = false;
    for (int i = 0; i < n; ++i) placed = placed || t(i, j) > 0.5;
    for (int i = n; !placed && i < n + spare; ++i) t(i, j) = 0.5;
  }
}

Matrix cycled(const Matrix& t, const Cycle& cycle) {
  Matrix out = t;
  const int k = t.columns();
  std::swap_ranges(out.row(cycle.a), out.row(cycle.a) + k, out.row(cycle.b));
  if (cycle.c >= 0) std::swap_ranges(out.row(cycle.b), out.row(cycle.b) + k, out.row(cycle.c));
  return out;
}

std::vector<Cycle> cycles(const Matrix& t, const Matrix& g, int spare, Index most) {
  const int n = t.rows();
  std::vector<int> column(n, -1);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < t.columns(); ++j)
      if (t(i, j) != 0) column[i] = j;
  auto gain = [&](int row, int col) { return col < 0 ? 0.0 : g(row, col); };
  auto alike = [&](int i, int j) { return (i >= n - spare && j >= n - spare) || (column[i] < 0 && column[j] < 0); };
  // What row i loses if it gets the column of row j.
  auto loss = [&](int i, int j) { return gain(i, column[i]) - gain(i, column[j]); };
  RankedCycles two, three;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j)
      if (!alike(i, j)) two.push_back({loss(i, j) + loss(j, i), {i, j, -1}});
  std::vector<Cycle> out;
  append_cheapest(two, most, out);
  if (Index(out.size()) == most) return out;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      for (int c = a + 1; c < n; ++c)
        if (c != b && !alike(a, b) && !alike(b, c) && !alike(a, c))
          three.push_back({loss(a, b) + loss(b, c) + loss(c, a), {a, b, c}});
  append_cheapest(three, most, out);
  return out;
}

}  // namespace repshape
