#include "common/orthogonal.h"

#include <cmath>

namespace repshape {
namespace {

// In closed form: the best rotation gains |(a + d, c - b)|, the best reflection |(a - d, b + c)|, for g = (a b; c d).
Matrix nearest_orthogonal_2x2(const View<const double>& g, bool special) {
  double along = g(0, 0) + g(1, 1), across = g(1, 0) - g(0, 1), twice = g(0, 0) - g(1, 1), both = g(0, 1) + g(1, 0);
  if (std::max({std::abs(along), std::abs(across), std::abs(twice), std::abs(both)}) < 1e-290)
    for (double* e : {&along, &across, &twice, &both}) *e *= 0x1p500;  // denormal numbers have too few digits to divide
  const double turn = std::hypot(along, across), mirror = std::hypot(twice, both);
  if (special || turn >= mirror) {
    const double c = turn > 0 ? along / turn : 1, s = turn > 0 ? across / turn : 0;
    return Matrix(2, 2, {c, -s, s, c});
  }
  return Matrix(2, 2, {twice / mirror, both / mirror, both / mirror, -twice / mirror});
}

}  // namespace

bool negative_determinant(Matrix a) {
  const int n = a.columns();
  bool negative = false;
  for (int c = 0; c < n; ++c) {
    int pivot = c;
    for (int i = c + 1; i < n; ++i)
      if (std::abs(a(i, c)) > std::abs(a(pivot, c))) pivot = i;
    if (pivot != c) {
      negative = !negative;
      std::swap_ranges(a.row(c), a.row(c) + n, a.row(pivot));
    }
    if (a(c, c) < 0) negative = !negative;
    for (int i = c + 1; i < n; ++i) {
      const double f = a(i, c) / a(c, c);
      for (int j = c; j < n; ++j) a(i, j) -= f * a(c, j);
    }
  }
  return negative;
}

Matrix oriented(Matrix t, bool special) {
  if (special && negative_determinant(t))
    for (int i = 0; i < t.rows(); ++i) t(i, 0) *= -1;
  return t;
}

Matrix nearest_orthogonal(const View<const double>& g, bool special) {
  const int n = g.rows(), k = g.columns();
  if (n == 2 && k == 2) return nearest_orthogonal_2x2(g, special);
  Svd of = full_svd(g);
  Matrix out = of.u;  // beyond the first k columns, any that complete the basis
  auto set_first_columns = [&] { gemm(of.u.column_block(0, k), of.v_transposed, out.column_block(0, k)); };
  set_first_columns();
  if (special && negative_determinant(out)) {
    for (int j = 0; j < k; ++j) of.v_transposed(k - 1, j) *= -1;
    set_first_columns();
  }
  return out;
}

Matrix preferring_identity(Matrix gain) {
  constexpr double share = 1e-8;  // of the largest gain: too little to matter where the means decide
  double largest = 0;
  for (double e : gain) largest = std::max(largest, std::abs(e));
  gain.add_to_diagonal(largest > 0 ? share * largest : 1);
  return gain;
}

}  // namespace repshape
