// The Gaussian kernels of every instruction set, and those on BLAS, against slow loops.
#include "common/instruction_set.h"
#include "gaussian/blas_objective.h"
#include "gaussian/parts.h"
#include "gaussian/solver.h"
#include "tests.h"
#include "twins.h"

namespace repshape::tests {
namespace {

Pair make_pair(const Network& x, const Network& y, const Values& weights) {
  Pair pair;
  pair.x = &x, pair.y = &y, pair.weights = weights.data(), pair.groups = all_groups(x);
  return pair;
}

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
  const Pair pair = make_pair(a, c, weights);
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
  Values gradient(t.size(), 1);
  const double value = blas_objective(pair, t.data(), gradient.data(), false) * unit;
  CHECK(near(value, expected.value, 1e-11, expected.power));
  const Parts parts = evaluate(a, c, [&] {
    Values turned(t.size());
    for (int i = 0; i < nx; ++i)
      for (int j = 0; j < ny; ++j) turned[j * nx + i] = t[i * ny + j];
    return turned;
  }().data(), weights.data());
  CHECK(near(parts.covariance * parts.scale * parts.scale, expected.residual, 1e-10, expected.power));
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
  compare(random, 9, 26, 20, Noise::full, Noise::full, 1);      // beyond the narrowest lanes
  compare(random, 3, 34, 33, Noise::triangular, Noise::full, 1);  // beyond all of them: BLAS
}

}  // namespace repshape::tests
