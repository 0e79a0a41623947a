// The energy loss of all injections of a few neurons at once. A tree assigns the neurons of x one after another, so
// that injections share the sums of squares of their first neurons. This is done in single precision, for some pairs of
// trials at a time; the best injections are ranked in double precision by the caller.
#pragma once
#include <functional>

#include "common/transforms.h"
#include "problems/energy/samples.h"

namespace repshape {

class Enumeration {
 public:
  // The last `spare` neurons of x are silent.
  Enumeration(const Samples& x, const Samples& y, const double* weights, double q, int spare)
      : x_(x), y_(y), weights_(weights), q_(q), n_(x.neurons - spare), k_(y.neurons), spare_(spare), column_(n_, -1) {}

  // Seconds that it takes, roughly.
  double duration() const {
    double pairs = 0;
    for (int m = 0; m < x_.conditions; ++m) pairs += double(x_.trials[m]) * y_.trials[m];
    const bool roots = q_ == 0.5 || q_ == 1 || q_ == 1.5 || q_ == 2;
    return pairs * count_injections(x_.neurons, k_, spare_) * (roots ? 1e-9 : 8e-9);
  }

  // Up to `most` injections (n x k) in order of their losses, as far as these can be those of the best.
  std::vector<Matrix> best(std::size_t most) {
    losses_.assign(std::size_t(count_injections(x_.neurons, k_, spare_)), 0);
    double power = 0;
    for (int m = 0; m < x_.conditions; ++m) power += weights_[m] * (x_.power[m] + y_.power[m]);
    unit_ = power > 0 ? std::ldexp(1.0, -std::ilogb(power) / 2) : 1;  // of responses near one nothing overflows
    for (int m = 0; m < x_.conditions; ++m)
      if (weights_[m] > 0) add_condition(m);
    std::vector<std::pair<double, std::size_t>> ranked;
    const double lowest = *std::min_element(losses_.begin(), losses_.end());
    for (std::size_t e = 0; e < losses_.size(); ++e)
      if (losses_[e] <= lowest * (1 + kSingle)) ranked.push_back({losses_[e], e});
    std::sort(ranked.begin(), ranked.end());
    ranked.resize(std::min(ranked.size(), most));
    std::vector<Matrix> out(ranked.size());
    next_ = 0;
    visit_leaves(0, 0, [&](std::size_t leaf) {
      for (std::size_t r = 0; r < ranked.size(); ++r)
        if (ranked[r].second == leaf) out[r] = present();
    });
    return out;
  }

 private:
  static constexpr int kBlock = 1024;        // pairs of trials at a time
  static constexpr double kSingle = 2e-5;    // relative error of a loss

  // Rows that may stay without a column.
  int idle() const { return n_ - k_ + spare_; }

  // All trials of y with as many trials of x as make a block.
  void add_condition(int m) {
    const int step = std::max(1, kBlock / y_.trials[m]);
    for (int l = 0; l < x_.trials[m]; l += step)
      for (int p = 0; p < y_.trials[m]; p += kBlock)
        add_block(m, l, std::min(step, x_.trials[m] - l), p, std::min(kBlock, y_.trials[m] - p));
  }

  void add_block(int m, int l, int rows, int p, int columns) {
    size_ = rows * columns;
    share_ = weights_[m] / (double(x_.trials[m]) * y_.trials[m]);
    squares_.resize(std::size_t(n_ + 1) * (k_ + 1) * size_);
    sums_.assign(std::size_t(n_ + 1) * size_, 0);
    for (int i = 0; i <= n_; ++i)
      for (int j = 0; j <= k_; ++j) {  // the last are silent
        const double* a = i < n_ ? x_.condition(m) + std::size_t(i) * x_.strides[m] + l : nullptr;
        const double* b = j < k_ ? y_.condition(m) + std::size_t(j) * y_.strides[m] + p : nullptr;
        float* to = squares(i, j);
        for (int r = 0; r < rows; ++r)
          for (int c = 0; c < columns; ++c) {
            const float gap = float(unit_ * ((a ? a[r] : 0) - (b ? b[c] : 0)));
            *to++ = gap * gap;
          }
      }
    next_ = 0;
    visit_sums(0, 0);
  }

  float* squares(int i, int j) { return squares_.data() + (std::size_t(i) * (k_ + 1) + j) * size_; }
  float* sums(int level) { return sums_.data() + std::size_t(level) * size_; }

  // The tree, with sums of squares of the rows above `level`; `without` of them have no column.
  void visit_sums(int level, int without) {
    if (level == n_) {
      losses_[next_++] += share_ * leaf();
      return;
    }
    for (int j = 0; j <= k_; ++j) {
      if (j < k_ ? used(level, j) : without == idle()) continue;
      column_[level] = j;
      const float *from = sums(level), *more = squares(level, j);
      float* to = sums(level + 1);
      for (int e = 0; e < size_; ++e) to[e] = from[e] + more[e];
      visit_sums(level + 1, without + (j == k_));
    }
  }

  template <class Visit>
  void visit_leaves(int level, int without, const Visit& visit) {
    if (level == n_) {
      visit(next_++);
      return;
    }
    for (int j = 0; j <= k_; ++j) {
      if (j < k_ ? used(level, j) : without == idle()) continue;
      column_[level] = j;
      visit_leaves(level + 1, without + (j == k_), visit);
    }
  }

  bool used(int level, int j) const {
    return std::find(column_.begin(), column_.begin() + level, j) != column_.begin() + level;
  }

  Matrix present() const {
    std::vector<int> rows(k_, -1);
    for (int i = 0; i < n_; ++i)
      if (column_[i] < k_) rows[column_[i]] = i;
    int silent = n_;
    for (int& row : rows)
      if (row < 0) row = silent++;
    return injection(rows, x_.neurons);
  }

  // Sum of the powers at a leaf; columns without a row are compared with silent neurons.
  double leaf() {
    float* s = sums(n_);
    for (int j = 0; spare_ && j < k_; ++j)
      if (!used(n_, j)) {
        const float* more = squares(n_, j);
        for (int e = 0; e < size_; ++e) s[e] += more[e];
      }
    if (q_ == 1) return total(s, [](float v) { return std::sqrt(v); });
    if (q_ == 2) return total(s, [](float v) { return v; });
    if (q_ == 1.5) return total(s, [](float v) { return std::sqrt(v * std::sqrt(v)); });
    if (q_ == 0.5) return total(s, [](float v) { return std::sqrt(std::sqrt(v)); });
    const float half = float(0.5 * q_);
    return total(s, [half](float v) { return std::pow(v, half); });
  }

  template <class Power>
  double total(const float* s, Power power) const {
    float part[8] = {0, 0, 0, 0, 0, 0, 0, 0};  // independent sums, which the compiler may vectorise
    int e = 0;
    for (; e + 8 <= size_; e += 8)
      for (int l = 0; l < 8; ++l) part[l] += power(s[e + l]);
    double sum = 0;
    for (; e < size_; ++e) sum += power(s[e]);
    for (float p : part) sum += p;
    return sum;
  }

  const Samples &x_, &y_;
  const double* weights_;
  double q_, unit_ = 1, share_ = 0;
  int n_, k_, spare_, size_ = 0;
  std::size_t next_ = 0;
  std::vector<int> column_;
  std::vector<double> losses_;
  std::vector<float> squares_, sums_;
};

}  // namespace repshape
