// Linear assignment: the linear oracle of the permutation group.
#pragma once
#include "common/matrix.h"

namespace repshape {

// Injection of the k columns into the n >= k rows of greatest total gain (n x k): out[j] is column j's row.
// Shortest augmenting paths with potentials (Jonker and Volgenant 1987).
std::vector<int> assign(const View<const double>& gain);

}  // namespace repshape
