// The ascent of wide layers: its objective and its memory against slow loops, and where it ends.
#include "common/instruction_set.h"
#include "common/orthogonal.h"
#include "problems/gaussian/layer_ascent.h"
#include "problems/gaussian/problem.h"
#include "problems/gaussian/wide_ascent.h"
#include "search/lbfgs.h"
#include "tests.h"
#include "twins.h"

namespace repshape::tests {
namespace {

// A network of thin noise with the given number of columns.
Dense thin_dense(Random& random, int conditions, int neurons, int columns) {
  const std::size_t count = std::size_t(conditions) * neurons;
  return {conditions, neurons, columns, Noise::thin, normals(random, count), normals(random, count * columns)};
}

void polar_factors_are_those_of_singular_vectors(Random& random) {
  for (const char* name : kInstructionSets) {
    const GaussianKernels* table = gaussian_kernels(name);
    if (!table) continue;
    for (int count : {1, 7, 40})
      for (int lo : {1, 3, 9}) {
        const int hi = lo + 2;
        const std::size_t each = std::size_t(lo) * hi;
        const Values x = normals(random, count * each), ranks(count, lo);
        std::vector<float> found(x.begin(), x.end());
        table->polar_factors(found.data(), count, lo, hi, ranks.data());
        for (int m = 0; m < count; ++m) {
          Values expected;
          singular_values(lo, hi, {x.begin() + m * each, x.begin() + (m + 1) * each}, &expected);
          CHECK(near(Values(found.begin() + m * each, found.begin() + (m + 1) * each), expected, 1e-3));
        }
      }
  }
}

// At contractions, which no bound on singular values knows of, and in turned axes.
void layer_objective_equals_loops(Random& random, int nx, int ny, int rx, int ry) {
  constexpr int conditions = 11;
  const Dense x = thin_dense(random, conditions, nx, rx), y = thin_dense(random, conditions, ny, ry);
  const Network a = as_network(x), c = as_network(y);
  const Values weights = random_weights(random, conditions), gain = normals(random, std::size_t(nx) * ny, 0.1);
  Values t = random_transform(random, nx, ny);
  for (std::size_t e = 0; e < t.size(); ++e) t[e] *= e % ny < std::size_t(ny) / 2 ? 0.02 : 0.6;
  Pair pair(a, c, weights.data());
  pair.alpha = 0.5, pair.mean_term = as_matrix(gain, nx, ny);
  const Expected expected = expect(x, y, t, weights);
  const double share = pair.covariance_share() / (a.scale * c.scale);
  double value = share * expected.value;
  Values gradient(t.size());
  for (std::size_t e = 0; e < t.size(); ++e)
    value += gain[e] * t[e], gradient[e] = gain[e] + share * expected.gradient[e];
  LayerObjective f(pair);
  Values axes = random_transform(random, ny, ny);
  for (bool turned : {false, true}) {
    if (turned) f.rotate_y(FloatMatrix(as_matrix(axes, ny, ny)));
    FloatMatrix back(ny, nx), found;
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i)
        for (int l = 0; l < ny; ++l) {
          const double axis = turned ? axes[j * ny + l] : j == l;
          back(j, i) += float(axis * t[std::size_t(i) * ny + l]);
        }
    CHECK(near(f(back, found), value, 1e-5, value));
    Values forward(t.size(), 0);
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i)
        for (int l = 0; l < ny; ++l)
          forward[std::size_t(i) * ny + l] += (turned ? axes[j * ny + l] : j == l) * found(j, i);
    CHECK(near(forward, gradient, 1e-2));
  }
}

// The recursion of lbfgs.h, in flat coordinates with the identity as the model.
void compact_memory_equals_the_recursion(Random& random) {
  constexpr int size = 40, most = 5;
  CompactLbfgsMemory compact(most, size);
  LbfgsMemory plain(most);
  const Values curvatures = [&] {
    Values out(size);
    for (double& v : out) v = 0.5 + random.uniform();
    return out;
  }();
  auto same = [](const Matrix& q) { return q; };
  auto squared = [](const Matrix& q) { return dot(q, q); };
  for (int step = 0; step < 12; ++step) {
    const Values d = normals(random, size), before = normals(random, size);
    Values after(before);
    for (int e = 0; e < size; ++e) after[e] -= 0.3 * curvatures[e] * d[e];
    auto row = [](const Values& v) { return as_matrix(v, 1, size); };
    plain.remember(row(d), 0.3, row(before), row(after));
    compact.remember(FloatMatrix(row(d)), 0.3, FloatMatrix(row(before)), FloatMatrix(row(after)));
    const Matrix r = row(normals(random, size)), expected = plain.direction(r, same, squared);
    CHECK(near(values_of(Matrix(compact.direction(FloatMatrix(r)))), values_of(expected), 1e-4));
  }
}

// Orthonormal columns, no lower than the start nor than fifty steps of alternation from there, less rounding.
void ascents_end_no_lower_than_alternation(Random& random, int nx, int ny, bool special) {
  constexpr int conditions = 24;
  const Dense x = thin_dense(random, conditions, nx, 3), y = thin_dense(random, conditions, ny, 3);
  const Network a = as_network(x), c = as_network(y);
  Ground ground;
  ground.weights.assign(conditions, 1.0 / conditions), ground.alpha = 1;
  const GaussianProblem problem(a, c, ground);
  const AscentSettings settings{problem.scale, 1e-6, 10, special};
  const Function& f = problem.whole();
  Matrix t = nearest_orthogonal(as_matrix(random_transform(random, nx, ny), nx, ny), special), g;
  LayerAscent ascent(problem.pair(), settings, problem.total);
  ascent.begin(t);
  ascent.run(400, -INFINITY);
  const Matrix found = ascent.transform();
  CHECK(near(values_of(product(transpose(found), found)), values_of(identity(ny)), 1e-4));
  if (special) CHECK(!negative_determinant(found));
  const double end = f.at(found, g), begin = f(t, g);
  double plain = begin;
  for (int step = 0; step < 50; ++step) {
    t = nearest_orthogonal(g, special);
    plain = f(t, g);
  }
  CHECK(end > begin);
  CHECK(end > plain - 0.05 * problem.scale);  // another maximum, perhaps
  LayerAscent annealed(problem.pair(), settings, problem.total);
  annealed.anneal(problem.first_gain(), conditions);
  annealed.run(400, -INFINITY);
  CHECK(f.at(annealed.transform(), g) > begin);
}

// Where ten conditions span all dimensions, the transform is a rotation. No step of alternation gains more than
// rounding.
void wide_ascents_end_among_rotations(Random& random, int conditions, double alpha) {
  constexpr int n = 15;
  const Dense x = thin_dense(random, conditions, n, 2), y = thin_dense(random, conditions, n, 2);
  const Network a = as_network(x), c = as_network(y);
  Ground ground;
  ground.weights.assign(conditions, 1.0 / conditions), ground.alpha = alpha;
  const GaussianProblem problem(a, c, ground);
  const AscentSettings settings{problem.scale, 1e-9, 10, true};
  const Function& f = problem.whole();
  const Matrix start = nearest_orthogonal(as_matrix(random_transform(random, n, n), n, n), true);
  WideAscent<double> ascent(problem.pair(), settings, start);
  CHECK(ascent.run(2000));
  const Matrix found = ascent.transform();
  CHECK(near(values_of(product(transpose(found), found)), values_of(identity(n)), 1e-9));
  CHECK(!negative_determinant(found));
  Matrix g;
  const double end = f.at(found, g);
  CHECK(f.at(nearest_orthogonal(g, true), g) < end + 1e-6 * problem.scale);
}

}  // namespace

void test_layers() {
  Random random(44);
  polar_factors_are_those_of_singular_vectors(random);
  layer_objective_equals_loops(random, 9, 9, 3, 3);
  layer_objective_equals_loops(random, 12, 8, 4, 2);
  layer_objective_equals_loops(random, 12, 8, 2, 4);
  compact_memory_equals_the_recursion(random);
  for (bool special : {false, true}) ascents_end_no_lower_than_alternation(random, 14, 14, special);
  ascents_end_no_lower_than_alternation(random, 16, 11, false);
  for (double alpha : {0.0, 0.5, 1.5})
    for (int pair = 0; pair < 8; ++pair) wide_ascents_end_among_rotations(random, pair % 2 ? 3 : 10, alpha);
}

}  // namespace repshape::tests
