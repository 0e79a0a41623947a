// Whole searches: the distance is the one at the transform that is returned, which is in the group; hostile inputs;
// and many threads at once, with the same bits.
#include <atomic>
#include <thread>

#include "problems/energy/problem.h"
#include "problems/gaussian/problem.h"
#include "search/solve.h"
#include "tests.h"
#include "twins.h"

namespace repshape::tests {
namespace {

constexpr Group kGroups[] = {Group::orthogonal, Group::rotation, Group::permutation, Group::identity};

// y @ transform lies on x, the transform being n_y x n_x: its shorter side is orthonormal.
void check_in_group(const Matrix& t, int ny, int nx, Group group) {
  CHECK(t.rows() == ny && t.columns() == nx);
  const bool tall = ny >= nx;
  const int low = tall ? nx : ny, high = tall ? ny : nx;
  for (int a = 0; a < low; ++a)
    for (int b = 0; b < low; ++b) {
      double sum = 0;
      for (int i = 0; i < high; ++i) sum += tall ? t(i, a) * t(i, b) : t(a, i) * t(b, i);
      CHECK(near(sum, a == b, 1e-9, 1));
    }
  if (group == Group::permutation)
    for (double v : t) CHECK(v == 0 || v == 1);
}

Settings brief(Group group, int pad_to = 0) {
  Settings s;
  s.group = group, s.pad_to = pad_to;
  s.brief_starts = 4;
  return s;
}

// Both orders of a pair give the same distance.
template <class AnyProblem, class Net>
Solution check_solved(const Net& x, const Net& y, const Ground& ground, const Settings& s) {
  const Solution found = solve<AnyProblem>(x, y, ground, s), turned = solve<AnyProblem>(y, x, ground, s);
  CHECK(found.distance == turned.distance);
  CHECK(std::isfinite(found.distance) && found.lower_bound <= found.distance);
  if (!s.pad_to) check_in_group(found.transform, y.neurons, x.neurons, s.group);
  return found;
}

Solution check_gaussian(const Network& x, const Network& y, Group group, double alpha, const Values& weights,
                        int pad_to) {
  Ground ground;
  ground.alpha = alpha, ground.weights = weights;
  const Solution found = check_solved<GaussianProblem>(x, y, ground, brief(group, pad_to));
  CHECK(found.distance >= 0);
  const Parts parts = evaluate(x, y, found.transform, weights);
  const double mean = std::sqrt(parts.mean) * parts.mean_scale, noise = std::sqrt(parts.covariance) * parts.scale;
  const double large = std::max(std::max(mean, noise), 1e-300);
  const double square = alpha * (mean / large) * (mean / large) + (2 - alpha) * (noise / large) * (noise / large);
  CHECK(near(found.distance, std::sqrt(square) * large, 1e-9, std::max(found.distance, 1e-300)));
  return found;
}

void gaussian_searches(Random& random) {
  for (int repeat = 0; repeat < 24; ++repeat) {
    const int nx = 1 + random.below(5), ny = 1 + random.below(5), conditions = 1 + random.below(10);
    const double scales[] = {1, 1, 1e-150, 1e150, 1e-8, 0};
    const Noise kinds[] = {Noise::full, Noise::thin, Noise::triangular, Noise::diagonal, Noise::none};
    int drawn[4];  // one after the other: compilers differ in the order of arguments
    for (int k = 0; k < 4; ++k) drawn[k] = random.below(k % 2 ? 6 : 5);
    const Dense x = random_dense(random, conditions, nx, kinds[drawn[0]], scales[drawn[1]]);
    const Dense y = random_dense(random, conditions, ny, kinds[drawn[2]], scales[drawn[3]]);
    const Values weights = random_weights(random, conditions);
    const Group group = kGroups[repeat % 4];
    const int pad_to = group == Group::permutation && random.below(2) ? 6 : 0;
    check_gaussian(as_network(x), as_network(y), group, repeat % 3, weights, pad_to);
    const Network same = as_network(x), copy = as_network(x);
    const Solution none = check_gaussian(same, copy, group, 1, weights, 0);
    CHECK(near(none.distance, 0, 1e-7, std::max(same.scale, same.mean_scale) * 10));
  }
}

Samples random_samples(Random& random, int conditions, int neurons, double scale, double q) {
  std::vector<std::int64_t> counts(conditions);
  std::size_t total = 0;
  for (auto& count : counts) total += count = 2 + random.below(9);
  const Values rows = normals(random, total * neurons, scale);
  Samples out(rows.data(), counts.data(), conditions, neurons, neurons);
  out.measure_within(q);
  return out;
}

void energy_searches(Random& random) {
  for (int repeat = 0; repeat < 16; ++repeat) {
    const int nx = 1 + random.below(4), ny = 1 + random.below(4), conditions = 1 + random.below(4);
    Ground ground;
    ground.q = 0.5 * (1 + random.below(4)), ground.unbiased = repeat % 2;
    ground.weights = random_weights(random, conditions);
    const double scale = random.below(3) ? 1 : 0;
    const Samples x = random_samples(random, conditions, nx, 1, ground.q);
    const Samples y = random_samples(random, conditions, ny, scale, ground.q);
    check_solved<EnergyProblem>(x, y, ground, brief(kGroups[repeat % 4]));
  }
}

// One block of factors for each condition, over several positions.
Network random_positions(Random& random, int conditions, int neurons, int positions, int rank, double scale) {
  const Values means = normals(random, std::size_t(conditions) * positions * neurons, scale);
  const Values factors = normals(random, std::size_t(conditions) * positions * neurons * rank, scale);
  Values spectrum;
  const std::size_t each = std::size_t(neurons) * positions * rank;
  for (int b = 0; b < conditions; ++b) {
    const auto first = factors.begin() + b * each;
    for (double s : singular_values(neurons * positions, rank, {first, first + each})) spectrum.push_back(s);
  }
  return Network(means.data(), factors.data(), spectrum.data(),
                 {conditions, conditions * positions, conditions, neurons, positions, rank}, false, false);
}

// The gradient of a convex function along a line is its slope: the objective at T + h G is at least f(T) + h |G|^2.
void position_searches(Random& random) {
  for (int repeat = 0; repeat < 12; ++repeat) {
    const int nx = 1 + random.below(4), ny = 1 + random.below(4), conditions = 1 + random.below(3);
    const int positions = 1 + random.below(3), rank = 1 + random.below(std::min(3, positions * std::min(nx, ny)));
    Ground ground;
    ground.alpha = repeat % 3, ground.weights = random_weights(random, conditions);
    const Network x = random_positions(random, conditions, nx, positions, rank, 1);
    const double scale = random.below(4) ? 1 : 1e120;
    const Network y = random_positions(random, conditions, ny, positions, rank, scale);
    check_gaussian(x, y, kGroups[repeat % 4], ground.alpha, ground.weights, 0);
    if (nx < ny) continue;
    const GaussianProblem problem(x, y, ground);
    const Function& f = problem.whole();
    const Matrix t = as_matrix(random_transform(random, nx, ny), nx, ny);
    Matrix gradient, other;
    const double here = f.at(t, gradient);
    double norm = 0;
    for (double g : gradient) norm += g * g;
    const double step = 1e-3 / (std::sqrt(norm) + 1e-300);
    Matrix moved(t);
    moved.add(step, gradient);
    CHECK(f.at(moved, other) >= here + step * norm - 1e-9 * (std::abs(here) + step * norm));
  }
}

// Networks are shared, and prepare what searches need on first use.
void threads_agree(Random& random) {
  constexpr int count = 4, neurons = 4, conditions = 9;
  std::vector<Dense> dense;
  for (int k = 0; k < count; ++k) dense.push_back(random_dense(random, conditions, neurons, Noise::full));
  Ground ground;
  ground.weights = random_weights(random, conditions);
  const Settings s = brief(Group::orthogonal);
  auto solved = [&](int n_threads) {
    std::vector<Network> networks;
    for (const Dense& one : dense) networks.push_back(as_network(one));
    std::vector<double> distances(count * count);
    std::atomic<int> next{0};
    auto work = [&] {
      for (int p = next++; p < count * count; p = next++)
        distances[p] = solve<GaussianProblem>(networks[p / count], networks[p % count], ground, s).distance;
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < n_threads; ++i) threads.emplace_back(work);
    for (std::thread& one : threads) one.join();
    return distances;
  };
  CHECK(solved(1) == solved(4));
}

}  // namespace

void test_solvers() {
  Random random(44);
  gaussian_searches(random);
  energy_searches(random);
  position_searches(random);
  threads_agree(random);
}

}  // namespace repshape::tests
