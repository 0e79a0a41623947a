// The memory of L-BFGS in single precision, by inner products: a direction takes two passes over the steps, whatever
// their number, and the recursion itself runs on small matrices.
#pragma once
#include "common/dense.h"

namespace repshape {

class CompactLbfgsMemory {
 public:
  // For vectors of `size` numbers: matrices of one row.
  CompactLbfgsMemory(int most, int size)
      : most_(most), size_(size), steps_(most, size), changes_(most, size), mixed_(most, most), changed_(most, most) {}

  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }

  // The ascent direction for a gradient.
  FloatMatrix direction(const FloatMatrix& gradient) const {
    if (empty()) return gradient;
    const int held = std::min(count_, most_);
    std::vector<float> along(held), across(held), minus(held), plus(held);
    apply(held_rows(steps_), gradient.data(), along.data());
    apply(held_rows(changes_), gradient.data(), across.data());
    Values first(held, 0), second(held, 0);
    for (int age = 0; age < held; ++age) {  // the latest first
      const int i = slot(count_ - 1 - age);
      double sum = along[i];
      for (int j = 0; j < held; ++j) sum -= mixed_(i, j) * first[j];
      first[i] = sum / mixed_(i, i);
    }
    const int last = slot(count_ - 1);
    const double unit = mixed_(last, last) / changed_(last, last);
    for (int age = held - 1; age >= 0; --age) {
      const int i = slot(count_ - 1 - age);
      double sum = across[i];
      for (int j = 0; j < held; ++j) sum -= changed_(i, j) * first[j];
      sum *= unit;
      for (int j = 0; j < held; ++j) sum += mixed_(j, i) * second[j];
      second[i] = first[i] - sum / mixed_(i, i);
    }
    for (int i = 0; i < held; ++i) minus[i] = float(-unit * first[i]), plus[i] = float(second[i]);
    FloatMatrix out(gradient);
    apply_transposed(held_rows(changes_), minus.data(), unit, out.data());
    apply_transposed(held_rows(steps_), plus.data(), 1, out.data());
    return out;
  }

  // The step size * direction took the gradient from `before` to `after`. Ignored where the objective is convex.
  void remember(const FloatMatrix& direction, double size, const FloatMatrix& before, const FloatMatrix& after) {
    constexpr double concave = 1e-8;  // change of the gradient, as a share of the step; chosen by hand, not measured
    FloatMatrix change(before);
    change.add(-1, after);
    if (!(size * dot(direction, change) > concave * dot(change, change))) return;
    const int i = slot(count_);
    float *s = steps_.row(i), *y = changes_.row(i);
    for (int e = 0; e < size_; ++e) s[e] = float(size) * direction[e];
    std::copy(change.begin(), change.end(), y);
    ++count_;
    const int held = std::min(count_, most_);
    std::vector<float> row(held), column(held), own(held);
    apply(held_rows(changes_), s, row.data());
    apply(held_rows(steps_), y, column.data());
    apply(held_rows(changes_), y, own.data());
    for (int j = 0; j < held; ++j) {
      mixed_(i, j) = row[j], mixed_(j, i) = column[j];
      changed_(i, j) = changed_(j, i) = own[j];
    }
  }

 private:
  int slot(int step) const { return step % most_; }
  View<const float> held_rows(const FloatMatrix& of) const { return of.row_block(0, std::min(count_, most_)); }

  int most_, size_, count_ = 0;
  FloatMatrix steps_, changes_;  // most x size
  Matrix mixed_, changed_;       // inner products: of step i with change j; of changes i and j
};

}  // namespace repshape
