// The Python module: networks as opaque handles, pairs solved without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ascent.h"
#include "energy_module.h"
#include "solver.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace repshape;

using Array = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

namespace {

template <class F>
void take(F& slot, const nb::dict& api, const char* name) {
  nb::capsule capsule = nb::cast<nb::capsule>(api[name]);
  slot = reinterpret_cast<F>(PyCapsule_GetPointer(capsule.ptr(), capsule.name()));
}

void load_lapack() {
  Lapack& la = lapack();
  nb::dict blas = nb::cast<nb::dict>(nb::module_::import_("scipy.linalg.cython_blas").attr("__pyx_capi__"));
  nb::dict pack = nb::cast<nb::dict>(nb::module_::import_("scipy.linalg.cython_lapack").attr("__pyx_capi__"));
  take(la.dgemm, blas, "dgemm");
  take(la.dsyrk, blas, "dsyrk");
  take(la.dtrsm, blas, "dtrsm");
  take(la.dpotrf, pack, "dpotrf");
  take(la.dgesv, pack, "dgesv");
  take(la.dsyevd, pack, "dsyevd");
  take(la.dgesdd, pack, "dgesdd");
}

nb::object matrix(std::vector<double> values, std::size_t rows, std::size_t cols) {
  auto* held = new std::vector<double>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(held->data(), {rows, cols}, owner));
}

Network* make_network(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> means,
                      Array factors, nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> spectrum,
                      bool diagonal, bool reduced) {
  const auto conditions = means.shape(0), neurons = means.shape(1), rank = spectrum.shape(1);
  if (spectrum.shape(0) != conditions || factors.size() != conditions * neurons * (diagonal ? 1 : rank))
    throw nb::value_error("means, factors and spectrum disagree in shape");
  nb::gil_scoped_release release;
  return new Network(means.data(), factors.data(), spectrum.data(), int(conditions), int(neurons), int(rank),
                     diagonal, reduced);
}

struct Options {
  Settings settings;
  std::vector<double> weights, starts;
};

void check(const Options& o, const Network& x, const Network& y) {
  if (x.conditions != y.conditions || int(o.weights.size()) != x.conditions)
    throw nb::value_error("networks and weights disagree in the number of conditions");
  const std::size_t n = std::max(x.neurons, y.neurons);
  if (o.starts.size() < std::size_t(o.settings.n_starts) * n * n)
    throw nb::value_error("too few numbers for the starts");
}

using Starts = std::vector<nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>>;

Solution run(const Network& x, const Network& y, const Options& o, const double* given = nullptr,
             int n_given = 0) {
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
    s = run(x, y, o);
  }
  return nb::make_tuple(s.distance, s.lower_bound, s.mean_distance, s.covariance_distance, s.converged,
                        s.iterations, s.starts, s.evaluations,
                        matrix(std::move(s.transform), y.neurons, x.neurons));
}

// Many pairs: rows of five numbers (distance, lower bound, mean part, covariance part, converged)
// and, where `keep` is set, their transforms. `starts` is empty or holds one array a pair.
nb::object align_pairs(nb::list networks, nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig> pairs,
                       nb::dict options, const Starts& starts, bool keep) {
  std::vector<const Network*> nets;
  for (nb::handle h : networks) nets.push_back(nb::cast<const Network*>(h));
  const std::size_t count = pairs.shape(0);
  if (!starts.empty() && starts.size() != count) throw nb::value_error("starts must have one entry a pair");
  // Options depend on the larger of the two sizes, because the starts do.
  std::vector<const Options*> chosen(count);
  for (std::size_t p = 0; p < count; ++p) {
    const Network &x = *nets.at(pairs(p, 0)), &y = *nets.at(pairs(p, 1));
    chosen[p] = nb::cast<const Options*>(options[nb::int_(std::max(x.neurons, y.neurons))]);
    check(*chosen[p], x, y);
    if (!starts.empty() &&
        (starts[p].shape(1) != std::size_t(y.neurons) || starts[p].shape(2) != std::size_t(x.neurons)))
      throw nb::value_error("a start does not map the neurons of y onto those of x");
  }
  std::vector<double> out(count * 5);
  std::vector<std::vector<double>> transforms(keep ? count : 0);
  {
    nb::gil_scoped_release release;
    for (std::size_t p = 0; p < count; ++p) {
      const bool given = !starts.empty();
      Solution s = run(*nets[pairs(p, 0)], *nets[pairs(p, 1)], *chosen[p], given ? starts[p].data() : nullptr,
                       given ? int(starts[p].shape(0)) : 0);
      const double row[5] = {s.distance, s.lower_bound, s.mean_distance, s.covariance_distance,
                             double(s.converged)};
      std::copy_n(row, 5, out.data() + 5 * p);
      if (keep) transforms[p] = std::move(s.transform);
    }
  }
  nb::list kept;
  for (std::size_t p = 0; p < transforms.size(); ++p)
    kept.append(matrix(std::move(transforms[p]), nets[pairs(p, 1)]->neurons, nets[pairs(p, 0)]->neurons));
  return nb::make_tuple(matrix(std::move(out), count, 5), kept);
}

nb::object fixed(const Network& x, const Network& y, Array transform, Array weights) {
  if (transform.size() != std::size_t(x.neurons) * y.neurons || weights.size() != std::size_t(x.conditions) ||
      x.conditions != y.conditions)
    throw nb::value_error("networks, transform and weights disagree in shape");
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
  if (transform.size() != std::size_t(x.neurons) * y.neurons || weights.size() != std::size_t(x.conditions))
    throw nb::value_error("networks, transform and weights disagree in shape");
  const bool blas = isa == "blas" || !x.lanes || !y.lanes;
  const Kernels* table = isa.empty() || blas ? &kernels() : kernels(isa.c_str());
  if (!table) throw nb::value_error("this processor or build does not have that instruction set");
  if (x.conditions != y.conditions) throw nb::value_error("networks disagree in the number of conditions");
  Pair pair;
  pair.x = &x, pair.y = &y, pair.alpha = alpha, pair.weights = weights.data();
  for (int g = 0; g < x.groups(); ++g) pair.groups.push_back(g);
  std::vector<double> out;
  double value = 0;
  {
    nb::gil_scoped_release release;
    for (int r = 0; r < repeats; ++r) {
      out.assign(std::size_t(x.neurons) * y.neurons, 0);
      value = blas ? blas_objective(pair, transform.data(), out.data())
                   : table->gradient(pair, transform.data(), out.data(), single);
    }
  }
  for (double& g : out) g = g * x.scale * y.scale;
  return nb::make_tuple(value * x.scale * y.scale, matrix(std::move(out), x.neurons, y.neurons));
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Native kernels of repshape.";
  load_lapack();
  nb::class_<Network>(m, "Network")
      .def("__init__",
           [](Network* self, nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> means,
              Array factors, nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> spectrum,
              bool diagonal, bool reduced) {
             std::unique_ptr<Network> made(make_network(means, factors, spectrum, diagonal, reduced));
             new (self) Network(std::move(*made));
           },
           "means"_a, "factors"_a, "spectrum"_a, "diagonal"_a, "reduced"_a = false)
      .def_ro("conditions", &Network::conditions)
      .def_ro("neurons", &Network::neurons)
      .def_ro("rank", &Network::rank)
      .def_ro("diagonal", &Network::diagonal)
      .def("__lt__", [](const Network& a, const Network& b) { return a < b; });
  nb::class_<Options>(m, "Options")
      .def("__init__",
           [](Options* self, int group, double alpha, Array weights, double tolerance, int max_iterations,
              Array starts, int n_starts, bool use_means, bool screen) {
             new (self) Options();
             Settings& s = self->settings;
             s.group = Group(group);
             s.alpha = alpha;
             s.tolerance = tolerance;
             s.max_iterations = max_iterations;
             s.n_starts = n_starts;
             s.use_means = use_means;
             s.screen = screen;
             self->weights.assign(weights.data(), weights.data() + weights.size());
             self->starts.assign(starts.data(), starts.data() + starts.size());
           },
           "group"_a, "alpha"_a, "weights"_a, "tolerance"_a, "max_iterations"_a, "starts"_a, "n_starts"_a,
           "use_means"_a, "screen"_a);
  m.def("align", &align, "x"_a, "y"_a, "options"_a);
  m.def("align_pairs", &align_pairs, "networks"_a, "pairs"_a, "options"_a, "starts"_a, "keep"_a);
  m.def("evaluate", &fixed, "x"_a, "y"_a, "transform"_a, "weights"_a);
  m.def("gradient", &gradient, "x"_a, "y"_a, "transform"_a, "weights"_a, "alpha"_a = 1.0, "isa"_a = "",
        "single"_a = false, "repeats"_a = 1);
  m.def("instruction_set", [] { return std::string(kernels().name); });
  m.def("instruction_sets", [] {
    std::vector<std::string> out;
    for (const char* name : {"avx512", "avx2", "generic"})
      if (kernels(name)) out.push_back(name);
    return out;
  });
  bind_energy(m);
}
