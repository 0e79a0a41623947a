// What the searches maximise, at fixed transforms: chooses the best of many starts by one evaluation each.
#include "bind/arrays.h"
#include "bind/bind.h"
#include "common/spread.h"
#include "problems/energy/problem.h"
#include "problems/gaussian/problem.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace repshape;

namespace {

// Starts are ranked on at most this many groups of eight conditions, spread over all: fewer than 64 conditions rank
// them badly.
constexpr int kRankedGroups = 16;

void choose_groups(Pair& pair) {
  const std::vector<int> chosen = spread_evenly(int(pair.groups.size()), kRankedGroups);
  double weight = 0;
  for (int group : chosen) {
    const int first = group * kDoubleLanes;
    for (int b = first; b < std::min(first + kDoubleLanes, pair.x->blocks); ++b) weight += pair.weights[b];
  }
  if (chosen.size() == pair.groups.size() || !(weight > 0)) return;
  pair.groups = chosen, pair.boost = (pair.x->blocks / pair.x->conditions) / weight;
}

// One value for each transform of n_second x n_first (or n_first x n_second where `swapped`); x has at least as many
// neurons as y, and the transforms may be contractions.
void gaussian_values(const Network& x, const Network& y, bool swapped, const Ground& ground, const double* transforms,
                     int count, double* out) {
  const GaussianProblem problem(x, y, ground);
  Objective f = problem.whole;
  choose_groups(f.pair);
  f.single = f.pair.lanes();
  const std::size_t size = std::size_t(x.neurons) * y.neurons;
  Matrix gradient;
  for (int c = 0; c < count; ++c) {
    Matrix t(transforms + c * size, transforms + (c + 1) * size);
    out[c] = f.at(swapped ? t : transposed(t, y.neurons, x.neurons), gradient);
  }
}

void energy_values(const Samples& x, const Samples& y, bool swapped, double q, const double* weights,
                   const double* transforms, int count, double* out) {
  const std::size_t size = std::size_t(x.neurons) * y.neurons;
  for (int c = 0; c < count; ++c) {
    Matrix t(transforms + c * size, transforms + (c + 1) * size);
    if (!swapped) t = transposed(t, y.neurons, x.neurons);
    out[c] = -energy_loss(x, y, weights, q, t.data(), nullptr, energy_kernels());
  }
}

// The values of all pairs one after the other, without the GIL. values(x, y, swapped, transforms, count, out) gets
// the two networks in canonical order.
template <class Net, class Values>
nb::object rate(const nb::list& networks, const Index& pairs, const Starts& transforms, const Array& weights,
                Values values) {
  const auto nets = handles<Net>(networks);
  const std::size_t count = pairs.shape(0);
  if (transforms.size() != count) throw nb::value_error("there must be transforms for each pair");
  std::size_t total = 0;
  for (std::size_t p = 0; p < count; ++p) {
    const Net &x = *nets.at(pairs(p, 0)), &y = *nets.at(pairs(p, 1));
    if (x.conditions != y.conditions || weights.size() != std::size_t(x.conditions))
      throw nb::value_error("networks and weights disagree in the number of conditions");
    if (transforms[p].shape(1) != std::size_t(y.neurons) || transforms[p].shape(2) != std::size_t(x.neurons))
      throw nb::value_error("a transform does not map the neurons of y onto those of x");
    total += transforms[p].shape(0);
  }
  std::vector<double> out(total);
  {
    nb::gil_scoped_release release;
    double* next = out.data();
    for (std::size_t p = 0; p < count; ++p) {
      const Net &x = *nets[pairs(p, 0)], &y = *nets[pairs(p, 1)];
      const bool swapped = y < x;
      const int of_pair = int(transforms[p].shape(0));
      values(swapped ? y : x, swapped ? x : y, swapped, transforms[p].data(), of_pair, next);
      next += of_pair;
    }
  }
  return matrix(std::move(out), 1, total);
}

nb::object rate_gaussian(nb::list networks, Index pairs, const Starts& transforms, Array weights, double alpha) {
  Ground ground;
  ground.weights = values(weights), ground.alpha = alpha;
  return rate<Network>(networks, pairs, transforms, weights,
                       [&](const Network& x, const Network& y, bool swapped, const double* t, int count, double* out) {
                         gaussian_values(x, y, swapped, ground, t, count, out);
                       });
}

nb::object rate_energy(nb::list networks, Index pairs, const Starts& transforms, Array weights, double q) {
  return rate<Samples>(networks, pairs, transforms, weights,
                       [&](const Samples& x, const Samples& y, bool swapped, const double* t, int count, double* out) {
                         energy_values(x, y, swapped, q, weights.data(), t, count, out);
                       });
}

}  // namespace

void bind_objectives(nb::module_& m) {
  m.def("rate", &rate_gaussian, "networks"_a, "pairs"_a, "transforms"_a, "weights"_a, "alpha"_a);
  m.def("energy_rate", &rate_energy, "networks"_a, "pairs"_a, "transforms"_a, "weights"_a, "q"_a);
}
