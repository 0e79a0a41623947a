// The energy loss of all injections of a few neurons at once. A tree assigns the neurons of x one after another, so
// that injections share the sums of squares of their first neurons. This is done in single precision, for some pairs of
// trials at a time; the best injections are ranked in double precision by the caller.
#pragma once
#include "common/injections.h"
#include "problems/energy/constants.h"
#include "problems/energy/samples.h"

namespace repshape {

class Enumeration {
 public:
  // The last `spare` neurons of x are silent.
  Enumeration(const Samples& x, const Samples& y, const Values& weights, double q, int spare)
      : x_(x), y_(y), weights_(weights), q_(q), n_(x.neurons - spare), k_(y.neurons), spare_(spare), column_(n_, -1) {}

  // Seconds that it takes, roughly.
  double duration() const {
    double pairs = 0;
    for (int m = 0; m < x_.conditions; ++m) pairs += double(x_.trials[m]) * y_.trials[m];
    const bool roots = q_ == 0.5 || q_ == 1 || q_ == 1.5 || q_ == 2;
    return pairs * count_injections(x_.neurons, k_, spare_) *
           (roots ? energy::kSecondsByRoots : energy::kSecondsByPower);
  }

  // Up to `most` injections (n x k) in order of their losses, as far as these can be those of the best.
  std::vector<Matrix> best(int most) {
    losses_.assign(Index(count_injections(x_.neurons, k_, spare_)), 0);
    double power = 0;
    for (int m = 0; m < x_.conditions; ++m) power += weights_[m] * (x_.power[m] + y_.power[m]);
    unit_ = power > 0 ? std::ldexp(1.0, -std::ilogb(power) / 2) : 1;  // of responses near one nothing overflows
    for (int m = 0; m < x_.conditions; ++m)
      if (weights_[m] > 0) add_condition(m);
    std::vector<std::pair<double, Index>> ranked;
    const double lowest = *std::min_element(losses_.begin(), losses_.end());
    for (Index e = 0; e < Index(losses_.size()); ++e)
      if (losses_[e] <= lowest * (1 + energy::kSingleError)) ranked.push_back({losses_[e], e});
    std::sort(ranked.begin(), ranked.end());
    ranked.resize(std::min<Index>(ranked.size(), most));
    std::vector<Matrix> out(ranked.size());
    visit(
        0, 0, [](int) {},
        [&](Index leaf) {
          for (Index r = 0; r < Index(ranked.size()); ++r)
            if (ranked[r].second == leaf) out[r] = present();
        });
    return out;
  }

 private:
  // Rows that may stay without a column.
  int idle() const { return n_ - k_ + spare_; }

  // All trials of y with as many trials of x as make a block.
  void add_condition(int m) {
    const int step = std::max(1, energy::kPairsAtATime / y_.trials[m]);
    for (int l = 0; l < x_.trials[m]; l += step)
      for (int p = 0; p < y_.trials[m]; p += energy::kPairsAtATime)
        add_block(m, l, std::min(step, x_.trials[m] - l), p, std::min(energy::kPairsAtATime, y_.trials[m] - p));
  }

  void add_block(int m, int l, int rows, int p, int columns) {
    size_ = rows * columns;
    const double share = weights_[m] / (double(x_.trials[m]) * y_.trials[m]);
    squares_.reset((n_ + 1) * (k_ + 1), size_);
    sums_.reset(n_ + 1, size_);
    for (int i = 0; i <= n_; ++i)
      for (int j = 0; j <= k_; ++j) {  // the last are silent
        const double* a = i < n_ ? x_.condition(m).row(i) + l : nullptr;
        const double* b = j < k_ ? y_.condition(m).row(j) + p : nullptr;
        float* to = squares(i, j);
        for (int r = 0; r < rows; ++r)
          for (int c = 0; c < columns; ++c) {
            const float gap = float(unit_ * ((a ? a[r] : 0) - (b ? b[c] : 0)));
            *to++ = gap * gap;
          }
      }
    auto add_row = [&](int level) {
      const float *from = sums_.row(level), *more = squares(level, column_[level]);
      float* to = sums_.row(level + 1);
      for (int e = 0; e < size_; ++e) to[e] = from[e] + more[e];
    };
    visit(0, 0, add_row, [&](Index leaf) { losses_[leaf] += share * sum_of_powers(); });
  }

  float* squares(int i, int j) { return squares_.row(i * (k_ + 1) + j); }

  // Visits the tree: enter(level) where the row `level` has got its column, leaf(number) where all have. Of the rows
  // above `level`, `without` have no column. Returns the number of the next leaf.
  template <class Enter, class Leaf>
  Index visit(int level, int without, const Enter& enter, const Leaf& leaf, Index next = 0) {
    if (level == n_) {
      leaf(next);
      return next + 1;
    }
    for (int j = 0; j <= k_; ++j) {
      if (j < k_ ? used(level, j) : without == idle()) continue;
      column_[level] = j;
      enter(level);
      next = visit(level + 1, without + (j == k_), enter, leaf, next);
    }
    return next;
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

  // At a leaf; columns without a row are compared with silent neurons.
  double sum_of_powers() {
    float* s = sums_.row(n_);
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
  const Values& weights_;
  double q_, unit_ = 1;
  int n_, k_, spare_, size_ = 0;
  std::vector<int> column_;
  Values losses_;
  FloatMatrix squares_;  // of differences of neuron i of x and j of y, for all pairs of trials at a time
  FloatMatrix sums_;     // of the squares of the rows above a level
};

}  // namespace repshape
