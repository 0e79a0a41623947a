// What every problem takes and returns: options of a search, and results by name. Transforms that map rows of y onto x
// are of shape (n_y, n_x); those of objectives and gradients are (n_x, n_y).
#pragma once
#include <algorithm>

#include "bind/arrays.h"
#include "problems/ground.h"
#include "search/solve.h"

namespace repshape {

struct Options {
  Settings search;
  Ground ground;
};

// An objective and its gradient (n_x x n_y).
struct Slope {
  double value;
  Matrix gradient;
};

// The solutions of many pairs, an entry for each.
struct PairSolutions {
  Values distance, lower_bound, gap;
  std::vector<std::int64_t> starts, agreeing;
  std::vector<std::uint8_t> converged;
  std::vector<Matrix> transforms;  // none unless they are kept

  void add(Solution s, bool keep) {
    distance.push_back(s.distance), lower_bound.push_back(s.lower_bound), gap.push_back(s.gap);
    starts.push_back(s.starts), agreeing.push_back(s.agreeing), converged.push_back(s.converged);
    if (keep) transforms.push_back(std::move(s.transform));
  }
};

// The starts of one pair, each n_y x n_x.
template <class Net>
GivenStarts given_starts(const Stack& starts, const Net& x, const Net& y) {
  if (int(starts.shape(1)) != y.neurons || int(starts.shape(2)) != x.neurons)
    throw nb::value_error("a transform does not map the neurons of y onto those of x");
  return views(starts);
}

template <class Net>
void check_options(const Options& o, const Net& x, const Net& y) {
  if (!x.comparable(y) || int(o.ground.weights.size()) != x.conditions)
    throw nb::value_error("networks and weights disagree in the number of conditions or positions");
  const int n = std::max(x.neurons, y.neurons);
  if (Index(o.search.starts.size()) < Index(o.search.n_starts) * n * n)
    throw nb::value_error("too few numbers for the starts");
}

template <class AnyProblem, class Net>
Solution align(const Net& x, const Net& y, const Options& o, const Stacks& starts) {
  check_options(o, x, y);
  const GivenStarts given = starts.empty() ? GivenStarts{} : given_starts(starts[0], x, y);
  nb::gil_scoped_release release;
  return solve<AnyProblem>(x, y, o.ground, o.search, given);
}

// `starts` is empty or holds an array for each pair. Options depend on the larger of the two sizes, because the starts
// do.
template <class AnyProblem, class Net>
PairSolutions align_pairs(const std::vector<const Net*>& nets, const PairIndex& pairs, const nb::dict& options,
                          const Stacks& starts, bool keep) {
  const std::size_t count = pairs.shape(0);
  if (!starts.empty() && starts.size() != count) throw nb::value_error("starts must have one entry for each pair");
  std::vector<const Options*> chosen(count);
  std::vector<GivenStarts> given(count);
  for (std::size_t p = 0; p < count; ++p) {
    const Net &x = *nets.at(pairs(p, 0)), &y = *nets.at(pairs(p, 1));
    chosen[p] = nb::cast<const Options*>(options[nb::int_(std::max(x.neurons, y.neurons))]);
    check_options(*chosen[p], x, y);
    if (!starts.empty()) given[p] = given_starts(starts[p], x, y);
  }
  PairSolutions out;
  nb::gil_scoped_release release;
  for (std::size_t p = 0; p < count; ++p) {
    const Options& o = *chosen[p];
    out.add(solve<AnyProblem>(*nets[pairs(p, 0)], *nets[pairs(p, 1)], o.ground, o.search, given[p]), keep);
  }
  return out;
}

// What the search maximises at fixed transforms of every pair: values(x, y, transforms) gets the two networks in
// canonical order, and each transform as n_x x n_y, which may be a contraction.
template <class Net, class ValuesOf>
nb::object rate(const std::vector<const Net*>& nets, const PairIndex& pairs, const Stacks& transforms,
                std::size_t conditions, ValuesOf values_of) {
  const std::size_t count = pairs.shape(0);
  if (transforms.size() != count) throw nb::value_error("there must be transforms for each pair");
  std::vector<GivenStarts> given(count);
  for (std::size_t p = 0; p < count; ++p) {
    const Net &x = *nets.at(pairs(p, 0)), &y = *nets.at(pairs(p, 1));
    if (x.conditions != y.conditions || int(conditions) != x.conditions)
      throw nb::value_error("networks and weights disagree in the number of conditions");
    given[p] = given_starts(transforms[p], x, y);
  }
  Values out;
  {
    nb::gil_scoped_release release;
    for (std::size_t p = 0; p < count; ++p) {
      const Net &x = *nets[pairs(p, 0)], &y = *nets[pairs(p, 1)];
      const bool swapped = y < x;
      std::vector<Matrix> turned;
      for (const View<const double>& t : given[p]) turned.push_back(swapped ? Matrix(t) : transposed(t));
      for (double value : values_of(swapped ? y : x, swapped ? x : y, turned)) out.push_back(value);
    }
  }
  return to_numpy(std::move(out));
}

// A copy of the kernels by name; the widest for an empty one.
template <class Kernels>
const Kernels& kernels_named(const std::string& isa, const Kernels& widest, const Kernels* (*find)(const char*)) {
  const Kernels* table = isa.empty() ? &widest : find(isa.c_str());
  if (!table) throw nb::value_error("this processor or build does not have that instruction set");
  return *table;
}

constexpr const char* kAlignDoc =
    "Align y to x, from starts of shape (S, n_y, n_x) if the list holds an array; the transform is (n_y, n_x).";
constexpr const char* kAlignPairsDoc =
    "Align P pairs, indices of shape (P, 2), with options by the size of the larger network, from starts of shape\n"
    "(S, n_y, n_x) for each pair unless the list is empty.";

}  // namespace repshape
