// The Gaussian metric's part of the Python module.
#include <nanobind/stl/string.h>

#include <memory>

#include "bind/arrays.h"
#include "bind/bind.h"
#include "problems/gaussian/problem.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace repshape;

namespace {

using Blocks = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

void make_network(Network* self, Table means, Array factors, Table spectrum, bool diagonal, bool reduced) {
  const auto conditions = means.shape(0), neurons = means.shape(1), rank = spectrum.shape(1);
  if (spectrum.shape(0) != conditions || factors.size() != conditions * neurons * (diagonal ? 1 : rank))
    throw nb::value_error("means, factors and spectrum disagree in shape");
  nb::gil_scoped_release release;
  const int count = int(conditions);
  new (self) Network(means.data(), factors.data(), spectrum.data(),
                     {count, count, count, int(neurons), 1, int(rank)}, diagonal, reduced);
}

// Responses at several positions. means: conditions x positions x neurons; factors: blocks x neurons x positions x rank,
// or of one position each if every position of every condition has a block; bounds: conditions x groups x values.
Network* make_positions(Stack means, Blocks factors, Table spectrum, const std::vector<Stack>& bounds, bool reduced) {
  const auto conditions = means.shape(0), neurons = means.shape(2), blocks = factors.shape(0);
  if (factors.shape(1) != neurons || (factors.shape(2) != means.shape(1) && blocks != conditions * means.shape(1)) || blocks % conditions ||
      spectrum.shape(0) != blocks || spectrum.shape(1) != factors.shape(3))
    throw nb::value_error("means, factors and spectrum disagree in shape");
  const Network::Shape shape{int(conditions),        int(conditions * means.shape(1)), int(blocks), int(neurons),
                             int(factors.shape(2)), int(factors.shape(3))};
  auto out = std::make_unique<Network>(means.data(), factors.data(), spectrum.data(), shape, false, reduced);
  for (const Stack& one : bounds) {
    if (one.shape(0) != conditions) throw nb::value_error("bounds and means disagree in shape");
    out->add_bound(one.data(), int(one.shape(1)), int(one.shape(2)));
  }
  return out.release();
}

void check_fixed(const Network& x, const Network& y, const Array& transform, const Array& weights) {
  if (transform.size() != std::size_t(x.neurons) * y.neurons || weights.size() != std::size_t(x.conditions) ||
      !x.comparable(y))
    throw nb::value_error("networks, transform and weights disagree in shape");
}

nb::object fixed(const Network& x, const Network& y, Array transform, Array weights) {
  check_fixed(x, y, transform, weights);
  Parts parts;
  {
    nb::gil_scoped_release release;
    parts = evaluate(x, y, transform.data(), values(weights));
  }
  return nb::make_tuple(parts.mean * parts.mean_scale * parts.mean_scale,
                        parts.covariance * parts.scale * parts.scale);
}

// The objective and its gradient (n_x x n_y), for tests and benchmarks: n_x >= n_y.
nb::object gradient(const Network& x, const Network& y, Array transform, Array weights, double alpha,
                    const std::string& isa, bool single, int repeats) {
  if (x.neurons < y.neurons) throw nb::value_error("x must have at least as many neurons as y");
  check_fixed(x, y, transform, weights);
  const std::vector<double> of_blocks = repeated(values(weights), x.blocks);
  Pair pair;
  pair.x = &x, pair.y = &y, pair.alpha = alpha, pair.weights = of_blocks.data(), pair.groups = all_groups(x);
  const bool blas = isa == "blas" || !pair.lanes();
  const GaussianKernels* table = isa.empty() || blas ? &gaussian_kernels() : gaussian_kernels(isa.c_str());
  if (!table) throw nb::value_error("this processor or build does not have that instruction set");
  std::vector<double> out;
  double value = 0;
  {
    nb::gil_scoped_release release;
    for (int r = 0; r < repeats; ++r) {
      out.assign(std::size_t(x.neurons) * y.neurons, 0);
      value = blas ? blas_objective(pair, transform.data(), out.data(), single)
                   : table->gradient(pair.view(), transform.data(), out.data(), single);
    }
  }
  for (double& g : out) g = g * x.scale * y.scale;
  return nb::make_tuple(value * x.scale * y.scale, matrix(std::move(out), x.neurons, y.neurons));
}

}  // namespace

void bind_gaussian(nb::module_& m) {
  nb::class_<Network>(m, "Network")
      .def("__init__", &make_network, "means"_a, "factors"_a, "spectrum"_a, "diagonal"_a, "reduced"_a = false)
      .def_ro("conditions", &Network::conditions)
      .def_ro("neurons", &Network::neurons)
      .def_ro("rank", &Network::rank)
      .def_ro("diagonal", &Network::diagonal)
      .def("__lt__", [](const Network& a, const Network& b) { return a < b; });
  m.def("make_positions", &make_positions, "means"_a, "factors"_a, "spectrum"_a, "bounds"_a, "reduced"_a = false,
        nb::rv_policy::take_ownership);
  m.def("evaluate", &fixed, "x"_a, "y"_a, "transform"_a, "weights"_a);
  m.def("gradient", &gradient, "x"_a, "y"_a, "transform"_a, "weights"_a, "alpha"_a = 1.0, "isa"_a = "",
        "single"_a = false, "repeats"_a = 1);
}
