// The Gaussian kernels of every instruction set, and those on BLAS, against slow loops.
#include "common/instruction_set.h"
#include "problems/gaussian/problem.h"
#include "tests.h"
#include "twins.h"

namespace repshape::tests {
namespace {

// Gradients are added to what is there, which is one here.
Values without_ones(Values gradient, double unit) {
  for (double& g : gradient) g = (g - 1) * unit;
  return gradient;
}

void compare(Random& random, int conditions, int nx, int ny, Noise noise_x, Noise noise_y, double scale) {
  const Dense x = random_dense(random, conditions, nx, noise_x, scale);
  const Dense y = random_dense(random, conditions, ny, noise_y, scale);
  const Values t = random_transform(random, nx, ny), weights = random_weights(random, conditions);
  const Network a = as_network(x), c = as_network(y);
  const Pair pair(a, c, weights.data());
  const Expected expected = expect(x, y, t, weights);
  const double unit = a.scale * c.scale;
  for (const char* name : kInstructionSets) {
    const GaussianKernels* table = gaussian_kernels(name);
    if (!table || !pair.lanes()) continue;
    for (bool single : {false, true}) {
      Values gradient(t.size(), 1);
      const double value = table->gradient(pair.view(), t.data(), gradient.data(), single) * unit;
      CHECK(near(value, expected.value, single ? 1e-5 : 1e-11, expected.power));
      CHECK(near(without_ones(gradient, unit), expected.gradient, single ? 1e-2 : 1e-7));
    }
    // In units of each network's scale; kernels see one gain of one.
    if (a.scale == c.scale)
      CHECK(near(table->residual(pair.view(), t.data()) * unit, expected.residual, 1e-10, expected.power));
  }
  const Matrix at = as_matrix(t, nx, ny);
  Matrix gradient(nx, ny, 1);
  const double value = blas_objective(pair, at, gradient, false) * unit;
  CHECK(near(value, expected.value, 1e-11, expected.power));
  CHECK(near(without_ones(values_of(gradient), unit), expected.gradient, 1e-7));
  const Parts parts = evaluate(a, c, transposed(at), weights);
  CHECK(near(parts.covariance * parts.scale * parts.scale, expected.residual, 1e-10, expected.power));
}

// The factors of one condition in the units of the caller.
Values factors_of(const Network& net, int m) {
  Values out = values_of(net.block(m));
  for (double& v : out) v *= net.scale;
  return out;
}

// |A'v|^2 = v'Sv
double variance_along(const Values& factors, int columns, const Values& v) {
  double total = 0;
  for (int r = 0; r < columns; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < v.size(); ++i) sum += factors[i * columns + r] * v[i];
    total += sum * sum;
  }
  return total;
}

// Truncated covariances lack a hundredth of the noise at the most, and are nowhere larger than the whole ones.
void compare_truncated(Random& random, int conditions, int neurons) {
  Dense x = random_dense(random, conditions, neurons, Noise::triangular);
  for (std::size_t e = 0; e < x.factors.size(); ++e) x.factors[e] *= std::exp(-double(e / x.columns % neurons) / 8);
  const Network whole = as_network(x), &part = whole.truncated();
  CHECK(part.rank < 0.75 * whole.rank && part.neurons == neurons);
  double kept = 0, total = 0;
  for (int m = 0; m < conditions; ++m) {
    const Values all = factors_of(whole, m), leading = factors_of(part, m);
    for (double v : all) total += v * v;
    for (double v : leading) kept += v * v;
    for (int k = 0; k < 20; ++k) {
      const Values v = normals(random, neurons);
      const double variance = variance_along(all, whole.rank, v);
      CHECK(variance_along(leading, part.rank, v) <= variance * (1 + 1e-9));
    }
  }
  CHECK(kept >= 0.99 * total && kept <= total);
}

}  // namespace

void test_gaussian() {
  Random random(22);
  const Noise kinds[] = {Noise::full, Noise::thin, Noise::triangular, Noise::diagonal, Noise::none};
  for (int conditions : {1, 7, 8, 9, 17})
    for (Noise x : kinds)
      for (Noise y : kinds) {
        const int ny = 1 + random.below(6), nx = ny + random.below(4);
        compare(random, conditions, nx, ny, x, y, 1);
      }
  for (double scale : {1e-140, 1e-20, 1e20, 1e140}) compare(random, 9, 4, 3, Noise::full, Noise::full, scale);
  for (int n : {12, 13, 14, 15})  // all remainders of tiles
    for (Noise x : kinds) compare(random, 9, n + 1, n, x, Noise::triangular, 1);
  compare(random, 9, 50, 49, Noise::full, Noise::thin, 1);        // beyond the narrowest lanes
  compare(random, 3, 34, 33, Noise::triangular, Noise::full, 1);  // beyond all of them: BLAS
  compare_truncated(random, 5, 60);
  compare_truncated(random, 3, 130);
}

}  // namespace repshape::tests
