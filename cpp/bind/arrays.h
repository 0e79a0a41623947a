// Arrays that cross the border to Python, and many pairs at once.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace repshape {

namespace nb = nanobind;

using Array = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Index = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Starts = std::vector<nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>>;

// A NumPy array that owns the values.
inline nb::object matrix(std::vector<double> values, std::size_t rows, std::size_t cols) {
  auto* held = new std::vector<double>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(held->data(), {rows, cols}, owner));
}

// Solves many pairs without the GIL: a row of `columns` numbers for each and, where `keep` is set, its transform.
// `starts` is empty or holds one array for each pair. Options depend on the larger of the two sizes, because the
// starts do. solve(x, y, options, given, n_given, row) fills the row and returns the transform (n_y x n_x).
template <class Net, class Options, class Check, class Solve>
nb::object solve_pairs(const nb::list& networks, const Index& pairs, const nb::dict& options, const Starts& starts,
                       bool keep, int columns, Check check, Solve solve) {
  std::vector<const Net*> nets;
  for (nb::handle h : networks) nets.push_back(nb::cast<const Net*>(h));
  const std::size_t count = pairs.shape(0);
  const bool given = !starts.empty();
  if (given && starts.size() != count) throw nb::value_error("starts must have one entry for each pair");
  std::vector<const Options*> chosen(count);
  for (std::size_t p = 0; p < count; ++p) {
    const Net &x = *nets.at(pairs(p, 0)), &y = *nets.at(pairs(p, 1));
    chosen[p] = nb::cast<const Options*>(options[nb::int_(std::max(x.neurons, y.neurons))]);
    check(*chosen[p], x, y);
    if (given && (starts[p].shape(1) != std::size_t(y.neurons) || starts[p].shape(2) != std::size_t(x.neurons)))
      throw nb::value_error("a start does not map the neurons of y onto those of x");
  }
  std::vector<double> out(count * columns);
  std::vector<std::vector<double>> transforms(keep ? count : 0);
  {
    nb::gil_scoped_release release;
    for (std::size_t p = 0; p < count; ++p) {
      auto transform = solve(*nets[pairs(p, 0)], *nets[pairs(p, 1)], *chosen[p], given ? starts[p].data() : nullptr,
                             given ? int(starts[p].shape(0)) : 0, out.data() + columns * p);
      if (keep) transforms[p] = std::move(transform);
    }
  }
  nb::list kept;
  for (std::size_t p = 0; p < transforms.size(); ++p)
    kept.append(matrix(std::move(transforms[p]), nets[pairs(p, 1)]->neurons, nets[pairs(p, 0)]->neurons));
  return nb::make_tuple(matrix(std::move(out), count, columns), kept);
}

}  // namespace repshape
