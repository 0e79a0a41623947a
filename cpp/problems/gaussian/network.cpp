#include "problems/gaussian/network.h"

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

// Truncation: minimum neuron count, maximum share of columns kept, share of noise that may be dropped.
constexpr int kWorthTruncating = 48;
constexpr double kMostKept = 0.75, kNoiseLost = 0.01;
// Pivots are taken until this share of a condition's noise is left, or of the columns at most.
constexpr double kPivotsLost = 0.002, kMostPivots = 0.9;

// A root of the noise that all blocks of a condition together have at the position of a row.
Matrix root_of(const Network& net, int row) {
  const int n = net.neurons, rows = net.rows / net.conditions, blocks = net.blocks / net.conditions;
  const bool shared = net.positions > 1;  // else every row has a block of its own
  const int first = shared ? row / rows * blocks : row, end = shared ? first + blocks : first + 1;
  const int position = shared ? row % rows : 0, width = net.positions * net.rank;
  Matrix out(std::size_t(n) * n, 0), entries(net.entries());
  if (net.diagonal) {
    net.copy_block(row, entries.data());
    for (int i = 0; i < n; ++i) out[std::size_t(i) * n + i] = entries[i];
    return out;
  }
  for (int b = first; b < end; ++b) {
    net.copy_block(b, entries.data());
    const double* at = entries.data() + std::size_t(position) * net.rank;
    gemm(false, true, n, n, net.rank, 1, at, width, at, width, b > first, out.data(), n);
  }
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
  net.copy_block(m, entries.data());
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

// Squared entries of a matrix, summed column by column.
void add_power(const Matrix& entries, std::size_t columns, Matrix& power) {
  for (std::size_t e = 0; e < entries.size(); ++e) power[e % columns] += entries[e] * entries[e];
}

}  // namespace

const Roots& Network::roots() const {
  std::call_once(lazy_->rooted, [&] {
    lazy_->roots.n = neurons, lazy_->roots.diagonal = diagonal;
    for (int m : spread_conditions(rows)) lazy_->roots.add(m, mean(m), root_of(*this, m));
  });
  return lazy_->roots;
}

const Network& Network::truncated() const {
  if (diagonal || positions > 1 || neurons < kWorthTruncating) return *this;
  std::call_once(lazy_->cut, [&] {
    Matrix most(rank, 0), power(rank, 0);
    add_power(spectrum, rank, most);
    if (enough_columns(*this, most) > kMostKept * rank) return;  // the best factors would not be short enough
    std::vector<Matrix> leading;
    for (int b = 0; b < blocks; ++b) leading.push_back(leading_factor(*this, b));
    for (const Matrix& one : leading) add_power(one, one.size() / neurons, power);
    const int columns = enough_columns(*this, power);
    if (columns <= kMostKept * rank) lazy_->truncated = cut_to(columns, leading);
  });
  return lazy_->truncated ? *lazy_->truncated : *this;
}

std::unique_ptr<Network> Network::cut_to(int columns, const std::vector<Matrix>& leading) const {
  Matrix part(std::size_t(blocks) * neurons * columns, 0), norms(std::size_t(blocks) * columns, 0);
  for (int m = 0; m < blocks; ++m) {
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
  return std::make_unique<Network>(scaled.data(), part.data(), norms.data(), Shape{conditions, rows, blocks, neurons, positions, columns},
                                   false, reduced);
}

Network::Network(const double* mean_values, const double* factor_values, const double* singular, const Shape& shape,
                 bool diagonal_, bool reduced_)
    : conditions(shape.conditions), rows(shape.rows), blocks(shape.blocks), neurons(shape.neurons),
      positions(shape.positions), rank(shape.rank), diagonal(diagonal_), reduced(reduced_) {
  if (rank > neurons * positions) throw std::invalid_argument("factors must not have more columns than rows");
  // Above the kernels' largest size BLAS is faster, one block at a time.
  lanes = std::max(neurons, rank) <= (blocks < kDoubleLanes ? kMaxPaddedSize : gaussian_kernels().max_lane_size);
  const std::size_t cells = std::size_t(rows) * neurons, values = std::size_t(blocks) * rank;
  // Stored numbers are near one, so that no product of them overflows even in single precision.
  scale = unit_of(singular, values);
  mean_scale = unit_of(mean_values, cells);
  means.assign(mean_values, mean_values + cells);
  spectrum.assign(singular, singular + values);
  for (double& v : means) v /= mean_scale;
  for (double& v : spectrum) v /= scale;
  summarise_spectrum();
  triangular = !diagonal && positions == 1 && rank == neurons && is_triangular(factor_values);
  store_factors(factor_values);
}

void Network::add_bound(const double* values, int groups, int size) {
  Spectra out{groups, size, {values, values + std::size_t(conditions) * groups * size}};
  for (double& v : out.values) v /= scale;
  bounds.push_back(std::move(out));
}

bool Network::comparable(const Network& other) const {
  return conditions == other.conditions && rows == other.rows && blocks == other.blocks &&
         positions == other.positions && bounds.size() == other.bounds.size();
}

void Network::summarise_spectrum() {
  smallest.assign(blocks, 0);
  ranks.assign(blocks, 0);
  variance.assign(blocks, 0);
  for (int b = 0; b < blocks; ++b)
    for (int k = 0; k < rank; ++k) {
      const double value = spectrum[std::size_t(b) * rank + k];
      if (value <= 0) continue;
      smallest[b] = value;
      ranks[b] += 1;
      variance[b] += value * value;
    }
}

void Network::store_factors(const double* values) {
  const std::size_t count = entries();
  factors = Buffer(lanes ? groups() * count * kDoubleLanes : blocks * count);
  for (int b = 0; b < blocks; ++b)
    for (std::size_t e = 0; e < count; ++e)
      factors.data()[lanes ? (b / kDoubleLanes * count + e) * kDoubleLanes + b % kDoubleLanes : b * count + e] =
          values[b * count + e] / scale;
}

bool Network::is_triangular(const double* values) const {
  for (int b = 0; b < blocks; ++b, values += entries())
    for (int i = 0; i < neurons; ++i)
      for (int j = i + 1; j < neurons; ++j)
        if (values[std::size_t(i) * neurons + j] != 0) return false;
  return true;
}

void Network::copy_block(int b, double* out) const {
  const std::size_t count = entries();
  if (!count) return;  // no noise, and no memory for it
  if (!lanes) {
    std::memcpy(out, factors.data() + b * count, count * sizeof(double));
    return;
  }
  const double* from = factors.data() + b / kDoubleLanes * count * kDoubleLanes + b % kDoubleLanes;
  for (std::size_t e = 0; e < count; ++e) out[e] = from[e * kDoubleLanes];
}

Network Network::with_silent_neurons(int count) const {
  Shape larger = shape();
  larger.neurons = neurons + count;
  if (diagonal) larger.rank = larger.neurons;
  const std::size_t more = larger.neurons, columns = larger.rank;
  const std::size_t each = diagonal ? more : more * positions * columns;
  std::vector<double> padded(rows * more, 0), values(blocks * each, 0), singular(blocks * columns, 0);
  for (std::size_t r = 0; r < std::size_t(rows); ++r)
    for (int i = 0; i < neurons; ++i) padded[r * more + i] = mean(int(r))[i] * mean_scale;
  for (std::size_t b = 0; b < std::size_t(blocks); ++b) {
    for (int r = 0; r < rank; ++r) singular[b * columns + r] = spectrum[b * rank + r] * scale;
    copy_block(int(b), values.data() + b * each);
    for (std::size_t e = 0; e < entries(); ++e) values[b * each + e] *= scale;
  }
  Network out(padded.data(), values.data(), singular.data(), larger, diagonal, reduced);
  out.bounds = bounds;
  return out;
}

LaneNetwork Network::view() const {
  return {blocks,         neurons,         positions,       rank,         diagonal,       triangular, entries(),
          factors.data(), spectrum.data(), smallest.data(), ranks.data(), variance.data()};
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
