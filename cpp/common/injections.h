// Injections of neurons: the linear oracle of the permutation group, injections as matrices of n x k, k <= n, and
// exchanges of their rows.
#pragma once
#include "common/matrix.h"

namespace repshape {

// Injection of the k columns into the n >= k rows of greatest total gain (n x k): out[j] is column j's row.
// Shortest augmenting paths with potentials (Jonker and Volgenant 1987).
std::vector<int> assign(const View<const double>& gain);

// The n x k matrix of zeros and ones whose column j has its one in rows[j].
Matrix injection(const std::vector<int>& rows, int n);
Matrix identity_injection(int n, int k);

// Number of injections of k columns into n rows of which the last `spare` are alike.
double count_injections(int n, int k, int spare);

// Lets the columns of a partial injection that have no row prefer the last `spare` rows.
void prefer_spare_rows(Matrix& t, int spare);

// Rows of an injection that change places: b takes the place of a, c of b and a of c; two rows where c < 0.
struct Cycle {
  int a, b, c;
};
Matrix cycled(const Matrix& t, const Cycle& cycle);

// Exchanges of two rows of an injection t, then cycles of three, at most `most`, each in order of what they lose to
// first order; g is the gradient at t. The last `spare` rows are alike, so that exchanges among them do nothing.
std::vector<Cycle> cycles(const Matrix& t, const Matrix& g, int spare, Index most);

}  // namespace repshape
