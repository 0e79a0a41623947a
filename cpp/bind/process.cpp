// The part of the Python module for networks with positions.
#include "bind/arrays.h"
#include "bind/bind.h"
#include "process/solver.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace repshape;

namespace {

using Stack = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Blocks = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

// spectra: arrays of conditions x groups x values. The first of them has the blocks of a condition as its groups.
void make_network(ProcessNetwork* self, Stack means, Blocks factors, Counts first, Counts ranks,
                  const std::vector<Stack>& spectra, bool reduced) {
  const auto conditions = means.shape(0), neurons = means.shape(2), blocks = factors.shape(0);
  if (factors.shape(2) != neurons || first.size() != blocks || ranks.size() != blocks || blocks % conditions)
    throw nb::value_error("means, factors and blocks disagree in shape");
  for (std::size_t b = 0; b < blocks; ++b)
    if (first(b) < 0 || first(b) >= std::int64_t(factors.shape(1)))
      throw nb::value_error("a block begins outside its positions");
  new (self) ProcessNetwork(means.data(), factors.data(), first.data(), int(conditions),
                            int(conditions * means.shape(1)), int(neurons), int(blocks), int(factors.shape(1)),
                            int(factors.shape(3)), reduced);
  for (std::size_t b = 0; b < blocks; ++b) self->ranks[b] = double(ranks(b));
  for (const Stack& one : spectra) {
    if (one.shape(0) != conditions) throw nb::value_error("spectra and means disagree in shape");
    self->add_spectra(one.data(), int(one.shape(1)), int(one.shape(2)));
  }
}

void make_settings(ProcessSettings* self, int group, double alpha, Array weights, double tolerance, int max_iterations,
                   Array starts, int n_starts, bool screen, std::uint64_t seed, int pad_to) {
  new (self) ProcessSettings();
  self->group = Group(group);
  self->alpha = alpha;
  self->weights.assign(weights.data(), weights.data() + weights.size());
  self->tolerance = tolerance;
  self->max_iterations = max_iterations;
  self->starts.assign(starts.data(), starts.data() + starts.size());
  self->n_starts = n_starts;
  self->screen = screen;
  self->seed = seed;
  self->pad_to = pad_to;
}

void check(const ProcessSettings& s, const ProcessNetwork& x, const ProcessNetwork& y) {
  if (!x.comparable(y) || int(s.weights.size()) != x.conditions)
    throw nb::value_error("networks and weights disagree in conditions or positions");
  for (std::size_t f = 0; f < std::min(x.spectra.size(), y.spectra.size()); ++f)
    if (x.spectra[f].groups != y.spectra[f].groups) throw nb::value_error("networks are of different modes");
  const std::size_t n = std::max(x.neurons, y.neurons);
  if (s.starts.size() < std::size_t(s.n_starts) * n * n) throw nb::value_error("too few numbers for the starts");
}

nb::object align(const ProcessNetwork& x, const ProcessNetwork& y, const ProcessSettings& settings) {
  check(settings, x, y);
  ProcessSolution s;
  {
    nb::gil_scoped_release release;
    s = solve_process(x, y, settings);
  }
  return nb::make_tuple(s.distance, s.lower_bound, s.mean_distance, s.covariance_distance, s.converged, s.iterations,
                        s.starts, s.agreeing, s.evaluations,
                        matrix(std::move(s.transform), y.neurons, x.neurons));
}

// Rows: distance, lower bound, mean part, covariance part, starts, agreeing starts, converged.
nb::object align_pairs(nb::list networks, Index pairs, nb::dict options, const Starts& starts, bool keep) {
  return solve_pairs<ProcessNetwork, ProcessSettings>(
      networks, pairs, options, starts, keep, 7, check,
      [](const ProcessNetwork& x, const ProcessNetwork& y, const ProcessSettings& settings, const double* given,
         int n_given, double* row) {
        ProcessSolution s = solve_process(x, y, settings, given, n_given);
        row[0] = s.distance, row[1] = s.lower_bound;
        row[2] = s.mean_distance, row[3] = s.covariance_distance;
        row[4] = s.starts, row[5] = s.agreeing, row[6] = s.converged;
        return std::move(s.transform);
      });
}

// The objective and its gradient (n_x x n_y), for tests and benchmarks: n_x >= n_y.
nb::object gradient(const ProcessNetwork& x, const ProcessNetwork& y, Array transform, Array weights, double alpha) {
  if (x.neurons < y.neurons) throw nb::value_error("x must have at least as many neurons as y");
  if (!x.comparable(y) || transform.size() != std::size_t(x.neurons) * y.neurons ||
      weights.size() != std::size_t(x.conditions))
    throw nb::value_error("networks, transform and weights disagree in shape");
  Matrix out;
  double value = 0;
  {
    nb::gil_scoped_release release;
    const ProcessObjective f({x, y, alpha, weights.data()});
    value = f.at(Matrix(transform.data(), transform.data() + transform.size()), out);
  }
  return nb::make_tuple(value, matrix(std::move(out), x.neurons, y.neurons));
}

}  // namespace

void bind_process(nb::module_& m) {
  nb::class_<ProcessNetwork>(m, "ProcessNetwork")
      .def("__init__", &make_network, "means"_a, "factors"_a, "first"_a, "ranks"_a, "spectra"_a, "reduced"_a = false)
      .def_ro("conditions", &ProcessNetwork::conditions)
      .def_ro("neurons", &ProcessNetwork::neurons)
      .def_ro("rank", &ProcessNetwork::rank)
      .def("__lt__", [](const ProcessNetwork& a, const ProcessNetwork& b) { return a < b; });
  nb::class_<ProcessSettings>(m, "ProcessOptions")
      .def("__init__", &make_settings, "group"_a, "alpha"_a, "weights"_a, "tolerance"_a, "max_iterations"_a,
           "starts"_a, "n_starts"_a, "screen"_a, "seed"_a, "pad_to"_a = 0)
      .def("shorten", [](ProcessSettings& s, int starts) { s.exploration.shorten(starts); }, "starts"_a);
  m.def("process_align", &align, "x"_a, "y"_a, "options"_a);
  m.def("process_align_pairs", &align_pairs, "networks"_a, "pairs"_a, "options"_a, "starts"_a, "keep"_a);
  m.def("process_gradient", &gradient, "x"_a, "y"_a, "transform"_a, "weights"_a, "alpha"_a = 1.0);
}
