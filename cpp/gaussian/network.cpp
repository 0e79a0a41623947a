#include "gaussian/network.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "common/transforms.h"
#include "common/units.h"

namespace repshape {
namespace {

// Lanes are padded to eight conditions. For fewer conditions than that, larger networks than this would waste memory.
constexpr int kMaxPaddedSize = 32;

// Truncation: from so many neurons on, to this share of the columns at most, without this share of the noise.
constexpr int kWorthTruncating = 48;
constexpr double kMostKept = 0.75, kNoiseLost = 0.01;
// Pivots are taken until this share of a condition's noise is left, or of the columns at most.
constexpr double kPivotsLost = 0.002, kMostPivots = 0.9;

Matrix root_of(const Network& net, int m) {
  const int n = net.neurons;
  Matrix out(std::size_t(n) * n, 0), entries(net.entries());
  net.copy_condition(m, entries.data());
  if (net.diagonal) {
    for (int i = 0; i < n; ++i) out[std::size_t(i) * n + i] = entries[i];
    return out;
  }
  gemm(false, true, n, n, net.rank, 1, entries.data(), net.rank, entries.data(), net.rank, 0, out.data(), n);
  return symmetric_root(n, std::move(out));
}

// A pivoted Cholesky factor L (n x width) of s: s - L L' has at most `lost` of the trace of s, or L `most` columns.
Matrix pivoted_cholesky(int n, const Matrix& s, int most, double lost) {
  Matrix rows, left(n);  // columns of L one after the other; what is left of the diagonal
  double total = 0;
  for (int i = 0; i < n; ++i) total += left[i] = s[std::size_t(i) * n + i];
  for (int c = 0; c < most; ++c) {
    const int pivot = int(std::max_element(left.begin(), left.end()) - left.begin());
    double rest = 0;
    for (double v : left) rest += std::max(v, 0.0);
    if (!(rest > lost * total)) break;
    const double root = std::sqrt(left[pivot]);
    Matrix column(s.begin() + std::size_t(pivot) * n, s.begin() + std::size_t(pivot + 1) * n);
    for (int k = 0; k < c; ++k) {
      const double* one = rows.data() + std::size_t(k) * n;
      const double factor = one[pivot];
      for (int i = 0; i < n; ++i) column[i] -= factor * one[i];
    }
    for (int i = 0; i < n; ++i) column[i] /= root, left[i] -= column[i] * column[i];
    left[pivot] = 0;
    rows.insert(rows.end(), column.begin(), column.end());
  }
  return transposed(rows, int(rows.size()) / n, n);
}

// The factor of a condition along its principal axes, the strongest first, without the weakest.
Matrix leading_factor(const Network& net, int m) {
  const int n = net.neurons;
  Matrix entries(net.entries()), s(std::size_t(n) * n);
  net.copy_condition(m, entries.data());
  gemm(false, true, n, n, net.rank, 1, entries.data(), net.rank, entries.data(), net.rank, 0, s.data(), n);
  const Matrix factor = pivoted_cholesky(n, s, int(kMostPivots * net.rank), kPivotsLost);
  const int width = int(factor.size()) / n;
  if (width == 0) return factor;
  Matrix gram(std::size_t(width) * width), v, values, out(factor.size());
  gemm(true, false, width, width, n, -1, factor.data(), width, factor.data(), width, 0, gram.data(), width);
  symmetric_eigen(width, gram, v, values);  // ascending, of the negative
  gemm(false, false, n, width, width, 1, factor.data(), width, v.data(), width, 0, out.data(), width);
  return out;
}

// The fewest columns that carry all noise but a share of kNoiseLost, given the noise of every column.
int enough_columns(const Network& net, const Matrix& power) {
  double total = 0, kept = 0;
  for (double v : net.variance) total += v;
  int columns = 0;
  while (columns < net.rank && kept < (1 - kNoiseLost) * total) kept += power[columns++];
  return std::max(columns, 1);
}

// Squared entries of matrices with so many columns, summed column by column.
void add_power(const Matrix& entries, std::size_t columns, Matrix& power) {
  for (std::size_t e = 0; e < entries.size(); ++e) power[e % columns] += entries[e] * entries[e];
}

}  // namespace

const Roots& Network::roots() const {
  std::call_once(lazy_->rooted, [&] {
    lazy_->roots.n = neurons, lazy_->roots.diagonal = diagonal;
    for (int m : spread_conditions(conditions)) lazy_->roots.add(m, mean(m), root_of(*this, m));
  });
  return lazy_->roots;
}

const Network& Network::truncated() const {
  if (diagonal || neurons < kWorthTruncating) return *this;
  std::call_once(lazy_->cut, [&] {
    Matrix most(rank, 0), power(rank, 0);
    add_power(spectrum, rank, most);
    if (enough_columns(*this, most) > kMostKept * rank) return;  // the best factors would not be short enough
    std::vector<Matrix> leading;
    for (int m = 0; m < conditions; ++m) leading.push_back(leading_factor(*this, m));
    for (const Matrix& one : leading) add_power(one, one.size() / neurons, power);
    const int columns = enough_columns(*this, power);
    if (columns <= kMostKept * rank) lazy_->truncated = cut_to(columns, leading);
  });
  return lazy_->truncated ? *lazy_->truncated : *this;
}

std::unique_ptr<Network> Network::cut_to(int columns, const std::vector<Matrix>& leading) const {
  Matrix part(std::size_t(conditions) * neurons * columns, 0), norms(std::size_t(conditions) * columns, 0);
  for (int m = 0; m < conditions; ++m) {
    const int width = int(leading[m].size() / neurons);
    double *to = part.data() + std::size_t(m) * neurons * columns, *sums = norms.data() + std::size_t(m) * columns;
    for (int i = 0; i < neurons; ++i)
      for (int j = 0; j < std::min(width, columns); ++j) {
        const double value = leading[m][std::size_t(i) * width + j] * scale;
        to[std::size_t(i) * columns + j] = value, sums[j] += value * value;
      }
    for (int j = 0; j < columns; ++j) sums[j] = std::sqrt(sums[j]);
  }
  Matrix scaled(means);
  for (double& v : scaled) v *= mean_scale;
  return std::make_unique<Network>(scaled.data(), part.data(), norms.data(), conditions, neurons, columns, false,
                                   reduced);
}

Network::Network(const double* mean_values, const double* factor_values, const double* singular, int conditions_,
                 int neurons_, int rank_, bool diagonal_, bool reduced_)
    : conditions(conditions_), neurons(neurons_), rank(rank_), diagonal(diagonal_), reduced(reduced_) {
  if (rank > neurons) throw std::invalid_argument("factors must not have more columns than rows");
  // Above the kernels' largest size BLAS is faster, one condition at a time.
  lanes = neurons <= (conditions < kDoubleLanes ? kMaxPaddedSize : gaussian_kernels().max_lane_size);
  const std::size_t cells = std::size_t(conditions) * neurons, values = std::size_t(conditions) * rank;
  // Stored numbers are near one, so that no product of them overflows even in single precision.
  scale = unit_of(singular, values);
  mean_scale = unit_of(mean_values, cells);
  means.assign(mean_values, mean_values + cells);
  spectrum.assign(singular, singular + values);
  for (double& v : means) v /= mean_scale;
  for (double& v : spectrum) v /= scale;
  summarise_spectrum();
  triangular = !diagonal && rank == neurons && is_triangular(factor_values);
  store_factors(factor_values);
}

void Network::summarise_spectrum() {
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
}

void Network::store_factors(const double* values) {
  const std::size_t count = entries();
  factors = Buffer(lanes ? groups() * count * kDoubleLanes : conditions * count);
  for (int m = 0; m < conditions; ++m)
    for (std::size_t e = 0; e < count; ++e)
      factors.data()[lanes ? (m / kDoubleLanes * count + e) * kDoubleLanes + m % kDoubleLanes : m * count + e] =
          values[m * count + e] / scale;
}

bool Network::is_triangular(const double* values) const {
  for (int m = 0; m < conditions; ++m, values += entries())
    for (int i = 0; i < neurons; ++i)
      for (int j = i + 1; j < neurons; ++j)
        if (values[std::size_t(i) * neurons + j] != 0) return false;
  return true;
}

void Network::copy_condition(int m, double* out) const {
  const std::size_t count = entries();
  if (!count) return;  // no noise, and no memory for it
  if (!lanes) {
    std::memcpy(out, factors.data() + m * count, count * sizeof(double));
    return;
  }
  const double* from = factors.data() + m / kDoubleLanes * count * kDoubleLanes + m % kDoubleLanes;
  for (std::size_t e = 0; e < count; ++e) out[e] = from[e * kDoubleLanes];
}

LaneNetwork Network::view() const {
  return {conditions,      neurons,         rank,         diagonal,       triangular, entries(), factors.data(),
          spectrum.data(), smallest.data(), ranks.data(), variance.data()};
}

bool Network::operator<(const Network& other) const {
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

}  // namespace repshape
