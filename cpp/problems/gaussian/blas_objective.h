// The objective for factors too large for lanes: one block at a time, by BLAS.
#pragma once
#include "problems/gaussian/pair.h"

namespace repshape {

// x (m x n, m <= n) becomes its polar factor; see halley.h for the iteration. `smallest` bounds its nonzero singular
// values from below (zero: unknown), `rank` says how many there are. For T float and double.
template <class T>
void blas_polar(MatrixOf<T>& x, double smallest, double rank);

// The sum of w |sum_p A_p' T C_p|_* over the pair's groups at a transform (n_x x n_y); its gradient is added.
double blas_objective(const Pair& pair, const Matrix& transform, Matrix& gradient, bool single = false);

// The residual form of the squared Bures distances.
double blas_residual(const Pair& pair, const Matrix& transform);

}  // namespace repshape
