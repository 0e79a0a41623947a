// The objective for factors too large for lanes: one block at a time, by BLAS.
#pragma once
#include "common/dense.h"
#include "problems/gaussian/pair.h"

namespace repshape {

// x (m x n row-major, m <= n) becomes its polar factor; see halley.h for the iteration. `smallest` bounds its nonzero
// singular values from below (zero: unknown), `rank` says how many there are. s (m x m) and z are scratch.
void blas_polar(int m, int n, Matrix& x, Matrix& s, Matrix& z, double smallest, double rank);
void blas_polar(int m, int n, std::vector<float>& x, std::vector<float>& s, std::vector<float>& z, double smallest,
                double rank);

// With `gradient` (n_x x n_y): sum of w |sum_p A_p' T C_p|_* over the pair's groups, its gradient added into `gradient`.
// Without: the residual form of the squared Bures distances. Both as the kernels do it.
double blas_objective(const Pair& pair, const double* transform, double* gradient, bool single = false);

}  // namespace repshape
