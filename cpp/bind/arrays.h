// Arrays that cross the border to Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace repshape {

namespace nb = nanobind;

using Array = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Stack = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Index = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Starts = std::vector<Stack>;

inline std::vector<double> values(const Array& from) { return {from.data(), from.data() + from.size()}; }

// A NumPy array that owns the values.
inline nb::object matrix(std::vector<double> values, std::size_t rows, std::size_t cols) {
  auto* held = new std::vector<double>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(held->data(), {rows, cols}, owner));
}

template <class Net>
std::vector<const Net*> handles(const nb::list& networks) {
  std::vector<const Net*> out;
  for (nb::handle h : networks) out.push_back(nb::cast<const Net*>(h));
  return out;
}

}  // namespace repshape
