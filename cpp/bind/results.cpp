// Options of a search, and the results that all problems share.
#include "bind/results.h"

#include "bind/bind.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace repshape;

namespace {

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

nb::list transforms(const PairSolutions& s) {
  nb::list out;
  for (const Matrix& one : s.transforms) out.append(to_numpy(one));
  return out;
}

}  // namespace

void bind_results(nb::module_& m) {
  nb::class_<Options>(m, "Options", "Everything about a search that does not depend on the pair.")
      .def("__init__", &make_options, "group"_a, "weights"_a, "tolerance"_a, "max_iterations"_a, "starts"_a,
           "n_starts"_a, "screen"_a, "seed"_a, "pad_to"_a = 0, "alpha"_a = 1.0, "q"_a = 1.0, "unbiased"_a = true,
           "Weights are of shape (M,), and starts (n_starts, n, n), n the larger size of a pair.")
      .def(
          "shorten", [](Options& o, int starts) { o.search.brief_starts = starts; }, "starts"_a,
          "Make a brief search of this many starts, without moves.");
  nb::class_<Solution>(m, "Solution", "The best transform of one pair, of shape (n_y, n_x).")
      .def_ro("distance", &Solution::distance)
      .def_ro("lower_bound", &Solution::lower_bound)
      .def_ro("mean_distance", &Solution::mean_distance)
      .def_ro("covariance_distance", &Solution::covariance_distance)
      .def_ro("converged", &Solution::converged)
      .def_ro("n_iterations", &Solution::iterations)
      .def_ro("n_starts", &Solution::starts)
      .def_ro("n_agreeing", &Solution::agreeing)
      .def_ro("gap", &Solution::gap)
      .def_prop_ro("transform", [](const Solution& s) { return to_numpy(s.transform); });
  nb::class_<PairSolutions>(m, "PairSolutions",
                            "The solutions of P pairs: arrays of shape (P,), and transforms if they are kept.")
      .def_prop_ro("distance", [](const PairSolutions& s) { return to_numpy(s.distance); })
      .def_prop_ro("lower_bound", [](const PairSolutions& s) { return to_numpy(s.lower_bound); })
      .def_prop_ro("converged", [](const PairSolutions& s) { return to_numpy(s.converged).attr("astype")("bool"); })
      .def_prop_ro("n_starts", [](const PairSolutions& s) { return to_numpy(s.starts); })
      .def_prop_ro("n_agreeing", [](const PairSolutions& s) { return to_numpy(s.agreeing); })
      .def_prop_ro("gap", [](const PairSolutions& s) { return to_numpy(s.gap); })
      .def_prop_ro("transforms", &transforms);
  nb::class_<Slope>(m, "Slope", "An objective and its gradient, of shape (n_x, n_y).")
      .def_ro("value", &Slope::value)
      .def_prop_ro("gradient", [](const Slope& s) { return to_numpy(s.gradient); });
}
