#include "common/roots.h"

#include <cmath>

namespace repshape {

Matrix symmetric_root(Matrix s) {
  const Eigen of = symmetric_eigen(std::move(s));
  Matrix scaled(of.vectors);
  for (int i = 0; i < scaled.rows(); ++i)
    for (int j = 0; j < scaled.columns(); ++j) scaled(i, j) *= std::sqrt(std::max(of.values[j], 0.0));
  return product(scaled, transpose(of.vectors));
}

}  // namespace repshape
