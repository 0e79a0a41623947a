// Arrays that cross the border to Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

#include "common/matrix.h"

namespace repshape {

namespace nb = nanobind;

using Array = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Stack = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PairIndex = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Stacks = std::vector<Stack>;

inline Values values(const Array& from) { return {from.data(), from.data() + from.size()}; }

// An array as a matrix of the given shape, which must have as many entries.
inline View<const double> view(const Array& from, int rows, int columns) { return {from.data(), rows, columns}; }

// The matrices of a stack.
inline std::vector<View<const double>> views(const Stack& from) {
  const int rows = int(from.shape(1)), columns = int(from.shape(2));
  std::vector<View<const double>> out;
  for (std::size_t s = 0; s < from.shape(0); ++s) out.emplace_back(&from(s, 0, 0), rows, columns);
  return out;
}

// NumPy arrays that own their values.
template <class T>
nb::object to_numpy(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* held = new std::vector<T>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(held->data(), shape, owner));
}
template <class T>
nb::object to_numpy(std::vector<T> values) {
  const std::size_t count = values.size();
  return to_numpy(std::move(values), {count});
}
inline nb::object to_numpy(const Matrix& from) {
  return to_numpy(Values(from.begin(), from.end()), {std::size_t(from.rows()), std::size_t(from.columns())});
}

}  // namespace repshape
