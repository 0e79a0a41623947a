#include "common/assignment.h"

#include <cmath>

namespace repshape {

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

}  // namespace repshape
