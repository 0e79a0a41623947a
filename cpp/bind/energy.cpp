// The energy metric's part of the Python module.
#include "bind/bind.h"
#include "bind/results.h"
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
  if (Index(transform.size()) != Index(x.neurons) * y.neurons || !x.comparable(y) ||
      int(weights.size()) != x.conditions)
    throw nb::value_error("networks, transform and weights disagree in shape");
}

double loss(const Samples& x, const Samples& y, Array transform, Array weights, double q) {
  check_fixed(x, y, transform, weights);
  nb::gil_scoped_release release;
  return energy_loss(x, y, weights.data(), q, view(transform, x.neurons, y.neurons), nullptr, energy_kernels());
}

Slope gradient(const Samples& x, const Samples& y, Array transform, Array weights, double q, const std::string& isa,
               int repeats) {
  check_fixed(x, y, transform, weights);
  const EnergyKernels& table = kernels_named(isa, energy_kernels(), &energy_kernels);
  nb::gil_scoped_release release;
  Slope out{};
  for (int r = 0; r < repeats; ++r)
    out.value = -energy_loss(x, y, weights.data(), q, view(transform, x.neurons, y.neurons), &out.gradient, table);
  return out;
}

nb::object rate_energy(const std::vector<const Samples*>& networks, PairIndex pairs, const Stacks& transforms,
                       Array weights, double q) {
  return rate(networks, pairs, transforms, weights.size(),
              [&](const Samples& x, const Samples& y, const std::vector<Matrix>& ts) {
                Values out;
                for (const Matrix& t : ts)
                  out.push_back(-energy_loss(x, y, weights.data(), q, t, nullptr, energy_kernels()));
                return out;
              });
}

}  // namespace

void bind_energy(nb::module_& m) {
  nb::class_<Samples>(m, "Samples", "A network as its trials.")
      .def("__init__", &make_samples, "rows"_a, "trials"_a, "space"_a, "q"_a,
           "Rows are of shape (sum of trials, n), condition after condition; the numbers of trials are (M,), and space "
           "is\n"
           "the number of neurons before any reduction.")
      .def_ro("conditions", &Samples::conditions)
      .def_ro("neurons", &Samples::neurons)
      .def_prop_ro(
          "within", [](const Samples& s) { return to_numpy(s.within, {1, s.within.size()}); },
          "Mean of |x - x'|^q over all pairs of trials, of shape (1, M).")
      .def("__lt__", [](const Samples& a, const Samples& b) { return a < b; });
  m.def("energy_loss", &loss, "x"_a, "y"_a, "transform"_a, "weights"_a, "q"_a,
        "Sum of w E |X - T Y|^q at T of shape (n_x, n_y), n_x >= n_y.");
  m.def("energy_gradient", &gradient, "x"_a, "y"_a, "transform"_a, "weights"_a, "q"_a, "isa"_a = "", "repeats"_a = 1,
        "Minus the loss and its gradient along the group at T of shape (n_x, n_y), n_x >= n_y.");
  m.def("energy_rate", &rate_energy, "networks"_a, "pairs"_a, "transforms"_a, "weights"_a, "q"_a,
        "Minus the loss at transforms of shape (S, n_y, n_x) of each pair (P, 2): all values, (total of S,).");
  m.def("align", &align<EnergyProblem, Samples>, "x"_a, "y"_a, "options"_a, "starts"_a, kAlignDoc);
  m.def("align_pairs", &align_pairs<EnergyProblem, Samples>, "networks"_a, "pairs"_a, "options"_a, "starts"_a, "keep"_a,
        kAlignPairsDoc);
}
