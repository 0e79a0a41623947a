// Searches: their options, one pair, and many pairs without the GIL.
#include <algorithm>

#include "bind/arrays.h"
#include "bind/bind.h"
#include "problems/energy/problem.h"
#include "problems/gaussian/problem.h"
#include "search/solve.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace repshape;

namespace {

struct Options {
  Settings search;
  Ground ground;
};

void make_options(Options* self, int group, Array weights, double tolerance, int max_iterations, Array starts,
                  int n_starts, bool screen, std::uint64_t seed, int pad_to, double alpha, double q, bool unbiased) {
  new (self) Options();
  Settings& s = self->search;
  s.group = Group(group);
  s.tolerance = tolerance;
  s.max_iterations = max_iterations;
  s.starts = values(starts);
  s.n_starts = n_starts;
  s.explore = screen;
  s.seed = seed;
  s.pad_to = pad_to;
  self->ground.weights = values(weights);
  self->ground.alpha = alpha, self->ground.q = q, self->ground.unbiased = unbiased;
}

bool comparable(const Network& x, const Network& y) { return x.comparable(y); }
bool comparable(const Samples& x, const Samples& y) { return x.conditions == y.conditions; }

template <class Net>
void check(const Options& o, const Net& x, const Net& y) {
  if (!comparable(x, y) || int(o.ground.weights.size()) != x.conditions)
    throw nb::value_error("networks and weights disagree in the number of conditions or positions");
  const std::size_t n = std::max(x.neurons, y.neurons);
  if (o.search.starts.size() < std::size_t(o.search.n_starts) * n * n)
    throw nb::value_error("too few numbers for the starts");
}

template <class Net>
Given given_starts(const Stack& starts, const Net& x, const Net& y) {
  if (starts.shape(1) != std::size_t(y.neurons) || starts.shape(2) != std::size_t(x.neurons))
    throw nb::value_error("a start does not map the neurons of y onto those of x");
  return {starts.data(), int(starts.shape(0))};
}

template <class Problem>
nb::object align(const typename Problem::Net& x, const typename Problem::Net& y, const Options& o,
                 const Starts& starts) {
  check(o, x, y);
  const Given given = starts.empty() ? Given{} : given_starts(starts[0], x, y);
  Solution s;
  {
    nb::gil_scoped_release release;
    s = solve<Problem>(x, y, o.ground, o.search, given);
  }
  return nb::make_tuple(s.distance, s.lower_bound, s.mean_distance, s.covariance_distance, s.converged, s.iterations,
                        s.starts, s.agreeing, matrix(std::move(s.transform), y.neurons, x.neurons), s.gap);
}

// A row for each pair: distance, lower bound, starts, agreeing starts, converged, gap; and where `keep` is set, its transform.
// `starts` is empty or holds an array for each pair. Options depend on the larger of the two sizes, because the starts
// do.
template <class Problem>
nb::object align_all(const nb::list& networks, const Index& pairs, const nb::dict& options, const Starts& starts,
                     bool keep) {
  constexpr int columns = 6;
  const auto nets = handles<typename Problem::Net>(networks);
  const std::size_t count = pairs.shape(0);
  const bool given = !starts.empty();
  if (given && starts.size() != count) throw nb::value_error("starts must have one entry for each pair");
  std::vector<const Options*> chosen(count);
  std::vector<Given> from(count);
  for (std::size_t p = 0; p < count; ++p) {
    const auto &x = *nets.at(pairs(p, 0)), &y = *nets.at(pairs(p, 1));
    chosen[p] = nb::cast<const Options*>(options[nb::int_(std::max(x.neurons, y.neurons))]);
    check(*chosen[p], x, y);
    from[p] = given ? given_starts(starts[p], x, y) : Given{};
  }
  std::vector<double> out(count * columns);
  std::vector<std::vector<double>> transforms(keep ? count : 0);
  {
    nb::gil_scoped_release release;
    for (std::size_t p = 0; p < count; ++p) {
      const Options& o = *chosen[p];
      Solution s = solve<Problem>(*nets[pairs(p, 0)], *nets[pairs(p, 1)], o.ground, o.search, from[p]);
      double* row = out.data() + columns * p;
      row[0] = s.distance, row[1] = s.lower_bound;
      row[2] = s.starts, row[3] = s.agreeing, row[4] = s.converged, row[5] = s.gap;
      if (keep) transforms[p] = std::move(s.transform);
    }
  }
  nb::list kept;
  for (std::size_t p = 0; p < transforms.size(); ++p)
    kept.append(matrix(std::move(transforms[p]), nets[pairs(p, 1)]->neurons, nets[pairs(p, 0)]->neurons));
  return nb::make_tuple(matrix(std::move(out), count, columns), kept);
}

nb::object align_pairs(nb::list networks, Index pairs, nb::dict options, const Starts& starts, bool keep) {
  const bool samples = networks.size() > 0 && nb::isinstance<Samples>(networks[0]);
  return samples ? align_all<EnergyProblem>(networks, pairs, options, starts, keep)
                 : align_all<GaussianProblem>(networks, pairs, options, starts, keep);
}

}  // namespace

void bind_pairs(nb::module_& m) {
  nb::class_<Options>(m, "Options")
      .def("__init__", &make_options, "group"_a, "weights"_a, "tolerance"_a, "max_iterations"_a, "starts"_a,
           "n_starts"_a, "screen"_a, "seed"_a, "pad_to"_a = 0, "alpha"_a = 1.0, "q"_a = 1.0, "unbiased"_a = true)
      .def("shorten", [](Options& o, int starts) { o.search.exploration.brief = starts; }, "starts"_a);
  m.def("align", &align<GaussianProblem>, "x"_a, "y"_a, "options"_a, "starts"_a);
  m.def("align", &align<EnergyProblem>, "x"_a, "y"_a, "options"_a, "starts"_a);
  m.def("align_pairs", &align_pairs, "networks"_a, "pairs"_a, "options"_a, "starts"_a, "keep"_a);
}
