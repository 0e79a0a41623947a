// Second derivatives on the orthogonal group, in planes of rotation.
#pragma once
#include <utility>

#include "common/matrix.h"

namespace repshape {

// Planes of rotation: pairs i < j of n axes, row after row.
struct Planes {
  explicit Planes(int n_) : n(n_) {
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j) list.emplace_back(i, j);
  }
  int count() const { return int(list.size()); }
  int at(int i, int j) const { return i < j ? i * n - i * (i + 1) / 2 + j - i - 1 : at(j, i); }
  int n;
  std::vector<std::pair<int, int>> list;
};

// Second derivatives of an objective along T cay(W), in the planes of W: exact, or from some of the data.
class Curvature {
 public:
  virtual ~Curvature() = default;
  virtual Matrix at(const Matrix& t) const = 0;
  virtual int cost() const = 0;  // in gradients
};

}  // namespace repshape
