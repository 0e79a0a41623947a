// A network as the solver reads it: means, and factors A with covariance A A' for every condition.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "lanes.h"

namespace repshape {

// Zeroed memory aligned to a Pack.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t doubles) : size_(doubles) {
    if (!doubles) return;
    data_.reset(static_cast<double*>(
        ::operator new(doubles * sizeof(double), std::align_val_t(kPackBytes))));
    std::memset(data_.get(), 0, doubles * sizeof(double));
  }
  double* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(double* p) const { ::operator delete(p, std::align_val_t(kPackBytes)); }
  };
  std::unique_ptr<double, Free> data_;
  std::size_t size_ = 0;
};

// The largest network that goes through lanes, measured against BLAS; above, one condition at a
// time goes through BLAS. Padding a few large conditions to eight would waste memory.
int max_lane_size();
constexpr int kMaxPaddedSize = 32;

// The power of two just below the largest magnitude; one where all are zero.
inline double unit_of(const double* values, std::size_t count) {
  double largest = 0;
  for (std::size_t e = 0; e < count; ++e) largest = std::max(largest, std::abs(values[e]));
  return largest > 0 ? std::ldexp(1.0, std::ilogb(largest)) : 1;
}

struct Network {
  int conditions = 0, neurons = 0, rank = 0;
  bool diagonal = false;  // the factors are diagonal matrices of standard deviations
  bool triangular = false;  // the factors are square, with zeros above the diagonal
  bool lanes = true;
  // Powers of two: factors and means are these times what is stored below.
  double scale = 1, mean_scale = 1;
  bool reduced = false;  // the responses span fewer dimensions than there are neurons
  std::vector<double> means;     // conditions x neurons
  Buffer factors;                // lanes: groups x (neurons x rank) Packs; else conditions x neurons x rank
  std::vector<double> spectrum;  // conditions x rank: singular values of the factors, descending
  std::vector<double> smallest;  // conditions: the least nonzero singular value
  std::vector<double> ranks;     // conditions: how many there are
  std::vector<double> variance;  // conditions: squared norm of the factors

  int groups() const { return (conditions + kDoubleLanes - 1) / kDoubleLanes; }
  std::size_t entries() const { return std::size_t(neurons) * (diagonal ? 1 : rank); }
  const double* mean(int m) const { return means.data() + std::size_t(m) * neurons; }
  const double* group(int g) const { return factors.data() + g * entries() * kDoubleLanes; }

  // The factors of one condition as a plain row-major matrix (or diagonal).
  void copy_condition(int m, double* out) const {
    const std::size_t count = entries();
    if (!lanes) {
      std::memcpy(out, factors.data() + m * count, count * sizeof(double));
      return;
    }
    const double* from = group(m / kDoubleLanes) + m % kDoubleLanes;
    for (std::size_t e = 0; e < count; ++e) out[e] = from[e * kDoubleLanes];
  }

  Network(const double* mean_values, const double* factor_values, const double* singular,
          int conditions_, int neurons_, int rank_, bool diagonal_, bool reduced_)
      : conditions(conditions_), neurons(neurons_), rank(rank_), diagonal(diagonal_), reduced(reduced_) {
    lanes = neurons <= (conditions < kDoubleLanes ? kMaxPaddedSize : max_lane_size());
    const std::size_t cells = std::size_t(conditions) * neurons, values = std::size_t(conditions) * rank;
    // Stored numbers are near one, so that no product of them overflows even in single precision.
    scale = unit_of(singular, values);
    mean_scale = unit_of(mean_values, cells);
    means.assign(mean_values, mean_values + cells);
    spectrum.assign(singular, singular + values);
    for (double& v : means) v /= mean_scale;
    for (double& v : spectrum) v /= scale;
    smallest.assign(conditions, 0);
    ranks.assign(conditions, 0);
    variance.assign(conditions, 0);
    for (int m = 0; m < conditions; ++m)
      for (int k = 0; k < rank; ++k) {
        const double value = spectrum[std::size_t(m) * rank + k];
        if (value <= 0) continue;
        smallest[m] = value;
        ranks[m] += 1;
        variance[m] += value * value;
      }
    triangular = !diagonal && rank == neurons && is_triangular(factor_values);
    const std::size_t count = entries();
    factors = Buffer(lanes ? groups() * count * kDoubleLanes : conditions * count);
    for (int m = 0; m < conditions; ++m)
      for (std::size_t e = 0; e < count; ++e)
        factors.data()[lanes ? (m / kDoubleLanes * count + e) * kDoubleLanes + m % kDoubleLanes
                             : m * count + e] = factor_values[m * count + e] / scale;
  }

  bool is_triangular(const double* values) const {
    for (int m = 0; m < conditions; ++m, values += entries())
      for (int i = 0; i < neurons; ++i)
        for (int j = i + 1; j < neurons; ++j)
          if (values[std::size_t(i) * neurons + j] != 0) return false;
    return true;
  }

  // A total order by content, so that a pair is solved the same way round whoever comes first.
  bool operator<(const Network& other) const {
    if (neurons != other.neurons) return neurons > other.neurons;
    if (rank != other.rank) return rank < other.rank;
    if (diagonal != other.diagonal) return diagonal < other.diagonal;
    if (scale != other.scale) return scale < other.scale;
    if (mean_scale != other.mean_scale) return mean_scale < other.mean_scale;
    int order = std::memcmp(means.data(), other.means.data(), means.size() * sizeof(double));
    if (!order && factors.size())
      order = std::memcmp(factors.data(), other.factors.data(), factors.size() * sizeof(double));
    return order < 0;
  }
};

// What the objective of one pair needs besides the networks: x has at least as many neurons as y.
// The objective is bilinear in the two networks, so that only the ratio of covariances to means
// matters to it: their weights. Distances are those of gain_x x and gain_y y, the larger being one.
struct Pair {
  const Network* x = nullptr;
  const Network* y = nullptr;
  double alpha = 1;
  const double* weights = nullptr;  // conditions
  std::vector<int> groups;        // groups of conditions that take part
  double boost = 1;               // makes a subset's weights sum to one
  double gain_x = 1, gain_y = 1, mean_gain_x = 1, mean_gain_y = 1;
  double covariance_weight = 1, mean_weight = 1;
  std::vector<double> mean_term;  // x.neurons x y.neurons: alpha sum w mu_x mu_y'
};

// Parts of the squared distance at a fixed transform.
struct Parts {
  double mean = 0, covariance = 0;
  double mean_scale = 1, scale = 1;  // the parts are in units of their squares
};

// The routines that are compiled once for every instruction set.
struct Kernels {
  const char* name;
  int max_lane_size;
  // The objective sum of w |A' T C|_* over the pair's groups, its gradient added into `gradient`
  // (x.neurons x y.neurons); both without alpha and the mean term.
  double (*gradient)(const Pair&, const double* transform, double* gradient, bool single);
  // Sum of w |A P - T C|_F^2, the squared Bures distances from residuals.
  double (*residual)(const Pair&, const double* transform);
};

const Kernels& kernels();            // the best that this processor runs
const Kernels* kernels(const char*);  // by name, or null

// BLAS and LAPACK, as SciPy exposes them.
struct Lapack {
  void (*dgemm)(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                const int*, const double*, const int*, const double*, double*, const int*) = nullptr;
  void (*dsyrk)(const char*, const char*, const int*, const int*, const double*, const double*, const int*,
                const double*, double*, const int*) = nullptr;
  void (*dtrsm)(const char*, const char*, const char*, const char*, const int*, const int*, const double*,
                const double*, const int*, double*, const int*) = nullptr;
  void (*dpotrf)(const char*, const int*, double*, const int*, int*) = nullptr;
  void (*dgesv)(const int*, const int*, double*, const int*, int*, double*, const int*, int*) = nullptr;
  void (*dsyevd)(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*,
                 const int*, int*) = nullptr;
  void (*dgesdd)(const char*, const int*, const int*, double*, const int*, double*, double*, const int*,
                 double*, const int*, double*, const int*, int*, int*) = nullptr;
};
Lapack& lapack();

}  // namespace repshape
