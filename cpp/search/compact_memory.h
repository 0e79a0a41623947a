// The memory of L-BFGS in single precision, by inner products: a direction takes two passes over the steps, whatever
// their number, and the recursion itself runs on small matrices.
#pragma once
#include <algorithm>

#include "common/single.h"

namespace repshape {

class CompactMemory {
 public:
  CompactMemory(int most, std::size_t size)
      : most_(most), size_(size), steps_(most * size), changes_(most * size), mixed_(std::size_t(most) * most),
        changed_(std::size_t(most) * most) {}

  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }

  // The ascent direction for a gradient.
  Floats direction(const Floats& gradient) const {
    if (empty()) return gradient;
    const int held = std::min(count_, most_);
    Floats along(held), across(held), minus(held), plus(held), out(gradient);
    apply(held, int(size_), steps_.data(), gradient.data(), along.data());
    apply(held, int(size_), changes_.data(), gradient.data(), across.data());
    std::vector<double> first(held, 0), second(held, 0);
    for (int age = 0; age < held; ++age) {  // the latest first
      const int i = slot(count_ - 1 - age);
      double sum = along[i];
      for (int j = 0; j < held; ++j) sum -= mixed(i, j) * first[j];
      first[i] = sum / mixed(i, i);
    }
    const int last = slot(count_ - 1);
    const double unit = mixed(last, last) / changed(last, last);
    for (int age = held - 1; age >= 0; --age) {
      const int i = slot(count_ - 1 - age);
      double sum = across[i];
      for (int j = 0; j < held; ++j) sum -= changed(i, j) * first[j];
      sum *= unit;
      for (int j = 0; j < held; ++j) sum += mixed(j, i) * second[j];
      second[i] = first[i] - sum / mixed(i, i);
    }
    for (int i = 0; i < held; ++i) minus[i] = float(-unit * first[i]), plus[i] = float(second[i]);
    apply_transposed(held, int(size_), changes_.data(), minus.data(), unit, out.data());
    apply_transposed(held, int(size_), steps_.data(), plus.data(), 1, out.data());
    return out;
  }

  // The step size * direction took the gradient from `before` to `after`. Ignored where the objective is convex.
  void remember(const Floats& direction, double size, const Floats& before, const Floats& after) {
    Floats change(size_);
    for (std::size_t e = 0; e < size_; ++e) change[e] = before[e] - after[e];
    if (!(size * dot(direction, change) > kConcave * dot(change, change))) return;
    const int i = slot(count_), held = std::min(count_ + 1, most_);
    float *s = steps_.data() + i * size_, *y = changes_.data() + i * size_;
    for (std::size_t e = 0; e < size_; ++e) s[e] = float(size) * direction[e];
    std::copy(change.begin(), change.end(), y);
    Floats row(held), column(held), own(held);
    apply(held, int(size_), changes_.data(), s, row.data());
    apply(held, int(size_), steps_.data(), y, column.data());
    apply(held, int(size_), changes_.data(), y, own.data());
    for (int j = 0; j < held; ++j) {
      mixed_[std::size_t(i) * most_ + j] = row[j], mixed_[std::size_t(j) * most_ + i] = column[j];
      changed_[std::size_t(i) * most_ + j] = changed_[std::size_t(j) * most_ + i] = own[j];
    }
    ++count_;
  }

 private:
  int slot(int step) const { return step % most_; }
  double mixed(int i, int j) const { return mixed_[std::size_t(i) * most_ + j]; }    // step i, change j
  double changed(int i, int j) const { return changed_[std::size_t(i) * most_ + j]; }  // changes i and j

  static constexpr double kConcave = 1e-8;

  int most_, count_ = 0;
  std::size_t size_;
  Floats steps_, changes_;  // most x size
  std::vector<double> mixed_, changed_;
};

}  // namespace repshape
