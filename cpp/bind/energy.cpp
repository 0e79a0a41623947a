// The energy metric's part of the Python module.
#include <nanobind/stl/string.h>

#include "bind/arrays.h"
#include "bind/bind.h"
#include "energy/solver.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace repshape;

namespace {

void make_samples(Samples* self, Table rows, Counts trials, int space, double q) {
  std::int64_t total = 0;
  for (std::size_t m = 0; m < trials.size(); ++m) {
    if (trials(m) < 1) throw nb::value_error("every condition needs a trial");
    total += trials(m);
  }
  if (total != std::int64_t(rows.shape(0)) || trials.size() == 0)
    throw nb::value_error("rows and numbers of trials disagree");
  nb::gil_scoped_release release;
  new (self) Samples(rows.data(), trials.data(), int(trials.size()), int(rows.shape(1)), space);
  self->measure_within(q);
}

void check(const EnergySettings& s, const Samples& x, const Samples& y) {
  if (x.conditions != y.conditions || int(s.weights.size()) != x.conditions)
    throw nb::value_error("networks and weights disagree in the number of conditions");
  const std::size_t n = std::max(x.neurons, y.neurons);
  if (s.starts.size() < std::size_t(s.n_starts) * n * n) throw nb::value_error("too few numbers for the starts");
}

nb::object align(const Samples& x, const Samples& y, const EnergySettings& settings) {
  check(settings, x, y);
  EnergySolution s;
  {
    nb::gil_scoped_release release;
    s = solve_energy(x, y, settings);
  }
  return nb::make_tuple(s.distance, s.lower_bound, s.loss, s.converged, s.iterations, s.starts, s.agreeing, s.evaluations,
                        matrix(std::move(s.transform), y.neurons, x.neurons));
}

// Rows: distance, lower bound, starts, agreeing starts, converged.
nb::object align_pairs(nb::list networks, Index pairs, nb::dict options, const Starts& starts, bool keep) {
  return solve_pairs<Samples, EnergySettings>(
      networks, pairs, options, starts, keep, 5, check,
      [](const Samples& x, const Samples& y, const EnergySettings& s, const double* given, int n_given, double* row) {
        EnergySolution found = solve_energy(x, y, s, given, n_given);
        row[0] = found.distance, row[1] = found.lower_bound;
        row[2] = found.starts, row[3] = found.agreeing, row[4] = found.converged;
        return std::move(found.transform);
      });
}

void check_fixed(const Samples& x, const Samples& y, const Array& transform, const Array& weights) {
  if (x.neurons < y.neurons) throw nb::value_error("x must have at least as many neurons as y");
  if (transform.size() != std::size_t(x.neurons) * y.neurons || x.conditions != y.conditions ||
      weights.size() != std::size_t(x.conditions))
    throw nb::value_error("networks, transform and weights disagree in shape");
}

// The loss at a fixed transform (n_x x n_y).
double loss(const Samples& x, const Samples& y, Array transform, Array weights, double q) {
  check_fixed(x, y, transform, weights);
  nb::gil_scoped_release release;
  return energy_loss(x, y, weights.data(), q, transform.data(), nullptr, energy_kernels());
}

// Minus the loss and its gradient, for tests and benchmarks.
nb::object gradient(const Samples& x, const Samples& y, Array transform, Array weights, double q,
                    const std::string& isa, int repeats) {
  check_fixed(x, y, transform, weights);
  const EnergyKernels* table = isa.empty() ? &energy_kernels() : energy_kernels(isa.c_str());
  if (!table) throw nb::value_error("this processor or build does not have that instruction set");
  std::vector<double> out(std::size_t(x.neurons) * y.neurons);
  double value = 0;
  {
    nb::gil_scoped_release release;
    for (int r = 0; r < repeats; ++r)
      value = -energy_loss(x, y, weights.data(), q, transform.data(), out.data(), *table);
  }
  return nb::make_tuple(value, matrix(std::move(out), x.neurons, y.neurons));
}

void make_settings(EnergySettings* self, int group, double q, bool unbiased, Array weights, double tolerance,
                   int max_iterations, Array starts, int n_starts, bool screen, std::uint64_t seed,
                   int pad_to) {
  new (self) EnergySettings();
  self->group = Group(group);
  self->q = q;
  self->unbiased = unbiased;
  self->weights.assign(weights.data(), weights.data() + weights.size());
  self->tolerance = tolerance;
  self->max_iterations = max_iterations;
  self->starts.assign(starts.data(), starts.data() + starts.size());
  self->n_starts = n_starts;
  self->screen = screen;
  self->seed = seed;
  self->pad_to = pad_to;
}

}  // namespace

void bind_energy(nb::module_& m) {
  nb::class_<Samples>(m, "Samples")
      .def("__init__", &make_samples, "rows"_a, "trials"_a, "space"_a, "q"_a)
      .def_ro("conditions", &Samples::conditions)
      .def_ro("neurons", &Samples::neurons)
      .def_prop_ro("within", [](const Samples& s) { return matrix(s.within, 1, s.conditions); })
      .def("__lt__", [](const Samples& a, const Samples& b) { return a < b; });
  nb::class_<EnergySettings>(m, "EnergyOptions")
      .def("__init__", &make_settings, "group"_a, "q"_a, "unbiased"_a, "weights"_a, "tolerance"_a,
           "max_iterations"_a, "starts"_a, "n_starts"_a, "screen"_a, "seed"_a, "pad_to"_a = 0)
      .def_rw("screen_conditions", &EnergySettings::screen_conditions)
      .def_rw("screen_trials", &EnergySettings::screen_trials)
      .def_rw("memory", &EnergySettings::memory)
      .def("shorten", [](EnergySettings& s, int starts) { s.exploration.shorten(starts); }, "starts"_a);
  m.def("energy_align", &align, "x"_a, "y"_a, "options"_a);
  m.def("energy_align_pairs", &align_pairs, "networks"_a, "pairs"_a, "options"_a, "starts"_a, "keep"_a);
  m.def("energy_loss", &loss, "x"_a, "y"_a, "transform"_a, "weights"_a, "q"_a);
  m.def("energy_gradient", &gradient, "x"_a, "y"_a, "transform"_a, "weights"_a, "q"_a, "isa"_a = "",
        "repeats"_a = 1);
}
