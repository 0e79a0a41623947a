// The energy metric's part of the Python module.
#include <nanobind/stl/string.h>

#include "bind/arrays.h"
#include "bind/bind.h"
#include "problems/energy/problem.h"

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

}  // namespace

void bind_energy(nb::module_& m) {
  nb::class_<Samples>(m, "Samples")
      .def("__init__", &make_samples, "rows"_a, "trials"_a, "space"_a, "q"_a)
      .def_ro("conditions", &Samples::conditions)
      .def_ro("neurons", &Samples::neurons)
      .def_prop_ro("within", [](const Samples& s) { return matrix(s.within, 1, s.conditions); })
      .def("__lt__", [](const Samples& a, const Samples& b) { return a < b; });
  m.def("energy_loss", &loss, "x"_a, "y"_a, "transform"_a, "weights"_a, "q"_a);
  m.def("energy_gradient", &gradient, "x"_a, "y"_a, "transform"_a, "weights"_a, "q"_a, "isa"_a = "",
        "repeats"_a = 1);
}
