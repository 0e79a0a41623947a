// The Gaussian metric's part of the Python module.
#include <memory>

#include "bind/bind.h"
#include "bind/results.h"
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
  new (self) Network(means.data(), factors.data(), spectrum.data(), {count, count, count, int(neurons), 1, int(rank)},
                     diagonal, reduced);
}

Network* make_positions(Stack means, Blocks factors, Table spectrum, const Stacks& bounds, bool reduced) {
  const auto conditions = means.shape(0), neurons = means.shape(2), blocks = factors.shape(0);
  const bool one_each = blocks == conditions * means.shape(1);  // position, where it is not part of a longer block
  if (factors.shape(1) != neurons || (factors.shape(2) != means.shape(1) && !one_each) || blocks % conditions ||
      spectrum.shape(0) != blocks || spectrum.shape(1) != factors.shape(3))
    throw nb::value_error("means, factors and spectrum disagree in shape");
  const Network::Shape shape{int(conditions),       int(conditions * means.shape(1)),
                             int(blocks),           int(neurons),
                             int(factors.shape(2)), int(factors.shape(3))};
  auto out = std::make_unique<Network>(means.data(), factors.data(), spectrum.data(), shape, false, reduced);
  for (const Stack& one : bounds) {
    if (one.shape(0) != conditions) throw nb::value_error("bounds and means disagree in shape");
    out->add_bound(one.data(), int(one.shape(1)), int(one.shape(2)));
  }
  return out.release();
}

void check_fixed(const Network& x, const Network& y, const Array& transform, const Array& weights) {
  if (Index(transform.size()) != Index(x.neurons) * y.neurons || int(weights.size()) != x.conditions ||
      !x.comparable(y))
    throw nb::value_error("networks, transform and weights disagree in shape");
}

// In the units of the caller.
Parts parts(const Network& x, const Network& y, Array transform, Array weights) {
  check_fixed(x, y, transform, weights);
  nb::gil_scoped_release release;
  Parts out = evaluate(x, y, view(transform, y.neurons, x.neurons), values(weights));
  out.mean = out.mean * out.mean_scale * out.mean_scale;
  out.covariance = out.covariance * out.scale * out.scale;
  return out;
}

Slope gradient(const Network& x, const Network& y, Array transform, Array weights, double alpha, const std::string& isa,
               bool single, int repeats) {
  if (x.neurons < y.neurons) throw nb::value_error("x must have at least as many neurons as y");
  check_fixed(x, y, transform, weights);
  const Values of_blocks = repeated(values(weights), x.blocks);
  Pair pair(x, y, of_blocks.data());
  pair.alpha = alpha;
  const bool blas = isa == "blas" || !pair.lanes();
  const GaussianKernels& table = kernels_named(blas ? "" : isa, gaussian_kernels(), &gaussian_kernels);
  nb::gil_scoped_release release;
  const Matrix t(view(transform, x.neurons, y.neurons));
  Slope out{};
  for (int r = 0; r < repeats; ++r) {
    out.gradient.reset(x.neurons, y.neurons);
    out.value = blas ? blas_objective(pair, t, out.gradient, single)
                     : table.gradient(pair.view(), t.data(), out.gradient.data(), single);
  }
  for (double& g : out.gradient) g = g * x.scale * y.scale;
  out.value = out.value * x.scale * y.scale;
  return out;
}

nb::object rate_gaussian(const std::vector<const Network*>& networks, PairIndex pairs, const Stacks& transforms,
                         Array weights, double alpha) {
  Ground ground;
  ground.weights = values(weights), ground.alpha = alpha;
  return rate(networks, pairs, transforms, weights.size(),
              [&](const Network& x, const Network& y, const std::vector<Matrix>& ts) {
                const GaussianProblem problem(x, y, ground);
                return problem.rated(ts);
              });
}

}  // namespace

void bind_gaussian(nb::module_& m) {
  nb::class_<Network>(m, "Network", "A network with Gaussian responses.")
      .def("__init__", &make_network, "means"_a, "factors"_a, "spectrum"_a, "diagonal"_a, "reduced"_a = false,
           "Means are of shape (M, n), factors (M, n, r), or (M, n) if they are diagonal, and their singular values\n"
           "(M, r), in descending order.")
      .def_ro("conditions", &Network::conditions)
      .def_ro("neurons", &Network::neurons)
      .def_ro("rank", &Network::rank)
      .def_ro("diagonal", &Network::diagonal)
      .def("__lt__", [](const Network& a, const Network& b) { return a < b; });
  nb::class_<Parts>(m, "Parts", "Squared distances of means and of covariances at a fixed transform.")
      .def_ro("means", &Parts::mean)
      .def_ro("covariances", &Parts::covariance);
  m.def("make_positions", &make_positions, "means"_a, "factors"_a, "spectrum"_a, "bounds"_a, "reduced"_a = false,
        nb::rv_policy::take_ownership,
        "A network with Gaussian responses at P positions. Means are of shape (M, P, n), factors (K, n, P, r), or\n"
        "(M P, n, 1, r) if every position of every condition has a block; their singular values (K, r), and bounds\n"
        "(M, groups, values).");
  m.def("evaluate", &parts, "x"_a, "y"_a, "transform"_a, "weights"_a,
        "The parts of the squared distance at a transform of shape (n_y, n_x), with weights (M,).");
  m.def("gradient", &gradient, "x"_a, "y"_a, "transform"_a, "weights"_a, "alpha"_a = 1.0, "isa"_a = "",
        "single"_a = false, "repeats"_a = 1,
        "The objective of the covariances and its gradient at a transform of shape (n_x, n_y), n_x >= n_y.");
  m.def(
      "rate", &rate_gaussian, "networks"_a, "pairs"_a, "transforms"_a, "weights"_a, "alpha"_a,
      "What the search maximises at transforms of shape (S, n_y, n_x) of each pair (P, 2): all values, (total of S,).");
  m.def("align", &align<GaussianProblem, Network>, "x"_a, "y"_a, "options"_a, "starts"_a, kAlignDoc);
  m.def("align_pairs", &align_pairs<GaussianProblem, Network>, "networks"_a, "pairs"_a, "options"_a, "starts"_a,
        "keep"_a, kAlignPairsDoc);
}
