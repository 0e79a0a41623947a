// The energy kernels of every instruction set against slow loops.
#include "common/instruction_set.h"
#include "problems/energy/problem.h"
#include "tests.h"
#include "twins.h"

namespace repshape::tests {
namespace {

struct Trials {
  std::vector<std::int64_t> counts;
  Values rows;
  int neurons;
};

Trials random_trials(Random& random, int conditions, int neurons) {
  Trials out{{}, {}, neurons};
  std::size_t total = 0;
  for (int m = 0; m < conditions; ++m) out.counts.push_back(1 + random.below(19)), total += out.counts.back();
  out.rows = normals(random, total * neurons);
  return out;
}

// Sum of w mean |x - T y|^q and of q w mean |x - T y|^(q - 2) x y'.
double loss_in_loops(const Trials& x, const Trials& y, const Values& t, const Values& weights, double q,
                     Values& gradient) {
  const int nx = x.neurons, ny = y.neurons;
  gradient.assign(std::size_t(nx) * ny, 0);
  double total = 0;
  const double *first = x.rows.data(), *second = y.rows.data();
  for (std::size_t m = 0; m < x.counts.size(); ++m) {
    const double share = weights[m] / (double(x.counts[m]) * double(y.counts[m]));
    for (int a = 0; a < x.counts[m]; ++a)
      for (int b = 0; b < y.counts[m]; ++b) {
        const double *u = first + a * nx, *v = second + b * ny;
        double square = 0;
        for (int i = 0; i < nx; ++i) {
          double gap = u[i];
          for (int j = 0; j < ny; ++j) gap -= t[i * ny + j] * v[j];
          square += gap * gap;
        }
        total += share * std::pow(square, 0.5 * q);
        const double pull = q * share * std::pow(square, 0.5 * q - 1);
        for (int i = 0; i < nx; ++i)
          for (int j = 0; j < ny; ++j) gradient[i * ny + j] += pull * u[i] * v[j];
      }
    first += x.counts[m] * nx, second += y.counts[m] * ny;
  }
  return total;
}

}  // namespace

void test_energy() {
  Random random(33);
  for (double q : {0.5, 0.7, 1.0, 1.3, 1.5, 2.0})
    for (int repeat = 0; repeat < 8; ++repeat) {
      const int ny = 1 + random.below(5), nx = ny + random.below(3), conditions = 1 + random.below(4);
      const Trials x = random_trials(random, conditions, nx), y = random_trials(random, conditions, ny);
      const Values t = random_transform(random, nx, ny), weights = random_weights(random, conditions);
      Values expected;
      Matrix gradient;
      const View<const double> at(t.data(), nx, ny);
      const double loss = loss_in_loops(x, y, t, weights, q, expected);
      const Samples a(x.rows.data(), x.counts.data(), conditions, nx, nx);
      const Samples c(y.rows.data(), y.counts.data(), conditions, ny, ny);
      for (const char* name : kInstructionSets) {
        const EnergyKernels* table = energy_kernels(name);
        if (!table) continue;
        const double found = energy_loss(a, c, weights.data(), q, at, &gradient, *table);
        CHECK(near(found, loss, 1e-12, loss));
        CHECK(near(values_of(gradient), expected, 1e-9));
        CHECK(near(energy_loss(a, c, weights.data(), q, at, nullptr, *table), loss, 1e-12, loss));
      }
    }
}

}  // namespace repshape::tests
