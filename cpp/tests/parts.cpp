// Small routines: assignment, dense algebra, random numbers.
#include <algorithm>
#include <numeric>

#include "common/dense.h"
#include "common/injections.h"
#include "common/roots.h"
#include "tests.h"
#include "twins.h"

namespace repshape::tests {
namespace {

// The greatest total gain of any injection of k columns into n rows, by trying all of them.
double best_gain(int n, int k, const Values& gain) {
  std::vector<int> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  double best = -INFINITY;
  do {
    double total = 0;
    for (int j = 0; j < k; ++j) total += gain[std::size_t(rows[j]) * k + j];
    best = std::max(best, total);
  } while (std::next_permutation(rows.begin(), rows.end()));
  return best;
}

void assignments_are_the_best(Random& random) {
  for (int n = 1; n <= 6; ++n)
    for (int k = 1; k <= n; ++k)
      for (double scale : {1.0, 1e-150, 1e150}) {
        const Values gain = normals(random, std::size_t(n) * k, scale);
        const std::vector<int> chosen = assign(as_matrix(gain, n, k));
        double total = 0;
        std::vector<char> taken(n, 0);
        for (int j = 0; j < k; ++j) {
          CHECK(chosen[j] >= 0 && chosen[j] < n && !taken[chosen[j]]);
          taken[chosen[j]] = 1, total += gain[std::size_t(chosen[j]) * k + j];
        }
        CHECK(near(total, best_gain(n, k, gain), 1e-12, n * scale));
      }
}

// Sizes on both sides of the limits between loops and BLAS or LAPACK.
void dense_algebra_equals_loops(Random& random) {
  for (int n : {1, 2, 3, 5, 9, 12, 13, 17}) {
    const Values a = normals(random, std::size_t(n) * n), b = normals(random, std::size_t(n) * n);
    const Matrix A = as_matrix(a, n, n), B = as_matrix(b, n, n);
    Values expected(a.size(), 0);
    Matrix found(n, n, 7);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int p = 0; p < n; ++p) expected[i * n + j] += a[p * n + i] * b[j * n + p];
    gemm(transpose(A), transpose(B), found);
    CHECK(near(values_of(found), expected, 1e-12));
    const Matrix solved = solve_linear(A, B);
    Values back(a.size(), 0);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int p = 0; p < n; ++p) back[i * n + j] += a[i * n + p] * solved[p * n + j];
    CHECK(near(back, b, 1e-8));
    Values s(a.size(), 0);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int p = 0; p < n; ++p) s[i * n + j] += a[i * n + p] * a[j * n + p];
    const Matrix root = symmetric_root(as_matrix(s, n, n));
    Values squared(a.size(), 0);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int p = 0; p < n; ++p) squared[i * n + j] += root[i * n + p] * root[p * n + j];
    CHECK(near(squared, s, 1e-11));
    CHECK(
        near(dot(a.data(), b.data(), a.size()), std::inner_product(a.begin(), a.end(), b.begin(), 0.0), 1e-12, n * n));
  }
}

void random_numbers_are_those_of_splitmix64() {
  CHECK(Random(0).bits() == 0xE220A8397B1DCDAFULL);
  Random random(1);
  double sum = 0, squares = 0;
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    const double u = random.uniform(), z = random.normal(), g = random.gamma(0.5 + i % 3);
    CHECK(u > 0 && u < 1 && g > 0);
    CHECK(random.below(3) < 3);
    sum += z, squares += z * z;
  }
  CHECK(near(sum / count, 0, 5, 1 / std::sqrt(double(count))));  // five standard errors
  CHECK(near(squares / count, 1, 5, std::sqrt(2.0 / count)));
}

}  // namespace

void test_parts() {
  Random random(11);
  assignments_are_the_best(random);
  dense_algebra_equals_loops(random);
  random_numbers_are_those_of_splitmix64();
}

}  // namespace repshape::tests
