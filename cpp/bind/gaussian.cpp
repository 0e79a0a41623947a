// The Gaussian metric's part of the Python module.
#include <nanobind/stl/string.h>

#include "bind/arrays.h"
#include "bind/bind.h"
#include "gaussian/blas_objective.h"
#include "gaussian/parts.h"
#include "gaussian/solver.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace repshape;

namespace {

void make_network(Network* self, Table means, Array factors, Table spectrum, bool diagonal, bool reduced) {
  const auto conditions = means.shape(0), neurons = means.shape(1), rank = spectrum.shape(1);
  if (spectrum.shape(0) != conditions || factors.size() != conditions * neurons * (diagonal ? 1 : rank))
    throw nb::value_error("means, factors and spectrum disagree in shape");
  nb::gil_scoped_release release;
  new (self) Network(means.data(), factors.data(), spectrum.data(), int(conditions), int(neurons), int(rank),
                     diagonal, reduced);
}

// Settings that own their arrays.
struct Options {
  Settings settings;
  std::vector<double> weights, starts;
};

void make_options(Options* self, int group, double alpha, Array weights, double tolerance, int max_iterations,
                  Array starts, int n_starts, bool screen, std::uint64_t seed, int pad_to) {
  new (self) Options();
  Settings& s = self->settings;
  s.group = Group(group);
  s.alpha = alpha;
  s.tolerance = tolerance;
  s.max_iterations = max_iterations;
  s.n_starts = n_starts;
  s.explore = screen;
  s.seed = seed;
  s.pad_to = pad_to;
  self->weights.assign(weights.data(), weights.data() + weights.size());
  self->starts.assign(starts.data(), starts.data() + starts.size());
}

void check(const Options& o, const Network& x, const Network& y) {
  if (x.conditions != y.conditions || int(o.weights.size()) != x.conditions)
    throw nb::value_error("networks and weights disagree in the number of conditions");
  const std::size_t n = std::max(x.neurons, y.neurons);
  if (o.starts.size() < std::size_t(o.settings.n_starts) * n * n)
    throw nb::value_error("too few numbers for the starts");
}

Solution run(const Network& x, const Network& y, const Options& o, const double* given, int n_given) {
  Settings s = o.settings;
  s.weights = o.weights.data();
  s.starts = o.starts.data();
  s.given = given;
  s.n_given = n_given;
  return solve(x, y, s);
}

nb::object align(const Network& x, const Network& y, const Options& o) {
  check(o, x, y);
  Solution s;
  {
    nb::gil_scoped_release release;
    s = run(x, y, o, nullptr, 0);
  }
  return nb::make_tuple(s.distance, s.lower_bound, s.mean_distance, s.covariance_distance, s.converged,
                        s.iterations, s.starts, s.agreeing, s.evaluations,
                        matrix(std::move(s.transform), y.neurons, x.neurons));
}

// Rows: distance, lower bound, mean part, covariance part, starts, agreeing starts, converged.
nb::object align_pairs(nb::list networks, Index pairs, nb::dict options, const Starts& starts, bool keep) {
  return solve_pairs<Network, Options>(
      networks, pairs, options, starts, keep, 7, check,
      [](const Network& x, const Network& y, const Options& o, const double* given, int n_given, double* row) {
        Solution s = run(x, y, o, given, n_given);
        row[0] = s.distance, row[1] = s.lower_bound;
        row[2] = s.mean_distance, row[3] = s.covariance_distance;
        row[4] = s.starts, row[5] = s.agreeing, row[6] = s.converged;
        return std::move(s.transform);
      });
}

void check_fixed(const Network& x, const Network& y, const Array& transform, const Array& weights) {
  if (transform.size() != std::size_t(x.neurons) * y.neurons || weights.size() != std::size_t(x.conditions) ||
      x.conditions != y.conditions)
    throw nb::value_error("networks, transform and weights disagree in shape");
}

nb::object fixed(const Network& x, const Network& y, Array transform, Array weights) {
  check_fixed(x, y, transform, weights);
  Parts parts;
  {
    nb::gil_scoped_release release;
    parts = evaluate(x, y, transform.data(), weights.data());
  }
  return nb::make_tuple(parts.mean * parts.mean_scale * parts.mean_scale,
                        parts.covariance * parts.scale * parts.scale);
}

// The objective and its gradient (n_x x n_y), for tests and benchmarks: n_x >= n_y.
nb::object gradient(const Network& x, const Network& y, Array transform, Array weights, double alpha,
                    const std::string& isa, bool single, int repeats) {
  if (x.neurons < y.neurons) throw nb::value_error("x must have at least as many neurons as y");
  check_fixed(x, y, transform, weights);
  Pair pair;
  pair.x = &x, pair.y = &y, pair.alpha = alpha, pair.weights = weights.data(), pair.groups = all_groups(x);
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
  nb::class_<Options>(m, "Options")
      .def("__init__", &make_options, "group"_a, "alpha"_a, "weights"_a, "tolerance"_a, "max_iterations"_a,
           "starts"_a, "n_starts"_a, "screen"_a, "seed"_a, "pad_to"_a = 0)
      .def("shorten", [](Options& o, int starts) { o.settings.exploration.shorten(starts); }, "starts"_a);
  m.def("align", &align, "x"_a, "y"_a, "options"_a);
  m.def("align_pairs", &align_pairs, "networks"_a, "pairs"_a, "options"_a, "starts"_a, "keep"_a);
  m.def("evaluate", &fixed, "x"_a, "y"_a, "transform"_a, "weights"_a);
  m.def("gradient", &gradient, "x"_a, "y"_a, "transform"_a, "weights"_a, "alpha"_a = 1.0, "isa"_a = "",
        "single"_a = false, "repeats"_a = 1);
}
