// Linear assignment: the linear oracle of the permutation group.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

namespace repshape {

// Injection of the k columns into the n >= k rows of greatest total gain: out[j] is column j's row.
// Shortest augmenting paths with potentials (Jonker and Volgenant 1987).
inline std::vector<int> assign(int n, int k, const double* gain) {
  std::vector<double> column(k + 1, 0), row(n + 1, 0);
  std::vector<int> owner(n + 1, 0), previous(n + 1, 0);
  for (int j = 1; j <= k; ++j) {
    std::vector<double> reach(n + 1, INFINITY);
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
        const double cost = -gain[std::size_t(i - 1) * k + (j0 - 1)] - column[j0] - row[i];
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

}  // namespace repshape
