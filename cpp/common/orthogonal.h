// The nearest orthogonal matrix: the linear oracle of the orthogonal and rotation groups.
#pragma once
#include "common/dense.h"

namespace repshape {

bool negative_determinant(Matrix a);

// An orthogonal matrix with its first column reversed if it is to be a rotation and is not.
Matrix oriented(Matrix t, bool special);

// The orthogonal n x n matrix whose first k columns maximise <T, g>, g being n x k, k <= n. With
// `special` (n == k) the determinant is +1: the last singular direction is reversed if necessary.
Matrix nearest_orthogonal(const View<const double>& g, bool special);

// A gain (n x k) that prefers the identity where the means leave an alignment free: in the principal axes of both
// networks, that a network is at distance zero from itself takes no search.
Matrix preferring_identity(Matrix gain);

}  // namespace repshape
