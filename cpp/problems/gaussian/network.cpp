#include "problems/gaussian/network.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "common/order.h"
#include "problems/gaussian/path_constants.h"

namespace repshape {
namespace {

// The power of two just below the largest magnitude; one where all are zero. Numbers that are divided by it are near
// one, and multiplying the result by it is exact.
double unit_of(const Matrix& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  return largest > 0 ? std::ldexp(1.0, std::ilogb(largest)) : 1;
}

// A root of the noise that all blocks of a condition together have at the position of a row.
Matrix root_of(const Network& net, int row) {
  const int n = net.neurons, rows = net.rows / net.conditions, blocks = net.blocks_each();
  const bool shared = net.positions > 1;  // else every row has a block of its own
  const int first = shared ? row / rows * blocks : row, end = shared ? first + blocks : first + 1;
  const int position = shared ? row % rows : 0;
  Matrix out(n, n);
  if (net.diagonal) {
    const Matrix deviations = net.block(row);
    for (int i = 0; i < n; ++i) out(i, i) = deviations[i];
    return out;
  }
  for (int b = first; b < end; ++b) {
    const Matrix block = net.block(b);
    const View<const double> at = block.column_block(position * net.rank, net.rank);
    gemm(at, transpose(at), out, 1, b > first);
  }
  return symmetric_root(std::move(out));
}

// A pivoted Cholesky factor L (n x width) of s: s - L L' has at most `lost` of the trace of s, or L `most` columns.
Matrix pivoted_cholesky(const Matrix& s, int most, double lost) {
  const int n = s.rows();
  Matrix columns(0, n);  // of L, as rows
  Values left(n);        // what is left of the diagonal
  double total = 0;
  for (int i = 0; i < n; ++i) total += left[i] = s(i, i);
  for (int c = 0; c < most; ++c) {
    const int pivot = int(std::max_element(left.begin(), left.end()) - left.begin());
    double rest = 0;
    for (double v : left) rest += std::max(v, 0.0);
    if (!(rest > lost * total)) break;
    const double root = std::sqrt(left[pivot]);
    Values column(s.row(pivot), s.row(pivot) + n);
    for (int k = 0; k < c; ++k) {
      const double* one = columns.row(k);
      const double factor = one[pivot];
      for (int i = 0; i < n; ++i) column[i] -= factor * one[i];
    }
    for (int i = 0; i < n; ++i) column[i] /= root, left[i] -= column[i] * column[i];
    left[pivot] = 0;
    columns.append_row(column.data());
  }
  return transposed(columns);
}

// The factor of a condition along its principal axes, the strongest first, without the weakest.
Matrix leading_factor(const Network& net, int m) {
  const Matrix block = net.block(m);
  const int most = int(paths::kMostPivots * net.rank);
  Matrix factor = pivoted_cholesky(product(block, transpose(block)), most, paths::kPivotsLost);
  if (factor.empty()) return factor;
  const Eigen of = symmetric_eigen(product(transpose(factor), factor, -1));  // ascending, of the negative
  return product(factor, of.vectors);
}

// The fewest columns that carry all noise but a share, given the noise of every column.
int enough_columns(const Network& net, const Values& power) {
  double total = 0, kept = 0;
  for (double v : net.variance) total += v;
  int columns = 0;
  while (columns < net.rank && kept < (1 - paths::kNoiseLost) * total) kept += power[columns++];
  return std::max(columns, 1);
}

// Squared entries of a matrix, summed column by column.
void add_power(const Matrix& entries, Values& power) {
  for (int i = 0; i < entries.rows(); ++i)
    for (int j = 0; j < entries.columns(); ++j) power[j] += entries(i, j) * entries(i, j);
}

}  // namespace

const Roots& Network::roots() const {
  std::call_once(lazy_->rooted, [&] {
    lazy_->roots.n = neurons, lazy_->roots.diagonal = diagonal;
    for (int m : rooted_conditions(rows)) lazy_->roots.add(m, means.row(m), root_of(*this, m));
  });
  return lazy_->roots;
}

const Network& Network::truncated() const {
  if (diagonal || positions > 1 || neurons < paths::kTruncatedFrom) return *this;
  std::call_once(lazy_->cut, [&] {
    Values most(rank, 0), power(rank, 0);
    add_power(spectrum, most);
    if (enough_columns(*this, most) > paths::kMostKept * rank) return;  // the best factors would not be short enough
    std::vector<Matrix> leading;
    for (int b = 0; b < blocks; ++b) leading.push_back(leading_factor(*this, b));
    for (const Matrix& one : leading) add_power(one, power);
    const int columns = enough_columns(*this, power);
    if (columns <= paths::kMostKept * rank) lazy_->truncated = cut_to(columns, leading);
  });
  return lazy_->truncated ? *lazy_->truncated : *this;
}

std::unique_ptr<Network> Network::cut_to(int columns, const std::vector<Matrix>& leading) const {
  Matrix part(blocks * neurons, columns), norms(blocks, columns), scaled(means);
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < neurons; ++i)
      for (int j = 0; j < std::min(leading[b].columns(), columns); ++j) {
        const double value = leading[b](i, j) * scale;
        part(b * neurons + i, j) = value, norms(b, j) += value * value;
      }
    for (int j = 0; j < columns; ++j) norms(b, j) = std::sqrt(norms(b, j));
  }
  scaled.scale(mean_scale);
  const Shape shape{conditions, rows, blocks, neurons, positions, columns};
  return std::make_unique<Network>(scaled.data(), part.data(), norms.data(), shape, false, reduced);
}

Network::Network(const double* mean_values, const double* factor_values, const double* singular, const Shape& shape,
                 bool diagonal_, bool reduced_)
    : conditions(shape.conditions), rows(shape.rows), blocks(shape.blocks), neurons(shape.neurons),
      positions(shape.positions), rank(shape.rank), diagonal(diagonal_), reduced(reduced_),
      means(View<const double>(mean_values, rows, neurons)), spectrum(View<const double>(singular, blocks, rank)) {
  if (rank > neurons * positions) throw std::invalid_argument("factors must not have more columns than rows");
  // Above the kernels' largest size BLAS is faster, one block at a time.
  const int largest = blocks < kDoubleLanes ? paths::kMaxPaddedSize : gaussian_kernels().max_lane_size;
  lanes = std::max(neurons, rank) <= largest;
  // Stored numbers are near one, so that no product of them overflows even in single precision.
  scale = unit_of(spectrum);
  mean_scale = unit_of(means);
  for (double& v : means) v /= mean_scale;
  for (double& v : spectrum) v /= scale;
  summarise_spectrum();
  const View<const double> values(factor_values, blocks * neurons, width());
  triangular = !diagonal && positions == 1 && rank == neurons && is_triangular(values);
  store_factors(values);
}

void Network::add_bound(const double* values, int groups, int count) {
  Spectra out{groups, Matrix(View<const double>(values, conditions * groups, count))};
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
      const double value = spectrum(b, k);
      if (value <= 0) continue;
      smallest[b] = value;
      ranks[b] += 1;
      variance[b] += value * value;
    }
}

double* Network::first_entry(int b) const {
  return factors.data() + (lanes ? b / kDoubleLanes * entries() * kDoubleLanes + b % kDoubleLanes : b * entries());
}

void Network::store_factors(const View<const double>& values) {
  if (entries() == 0) return;  // no noise, and no memory for it
  factors = Buffer((lanes ? groups() * kDoubleLanes : blocks) * entries());
  for (int b = 0; b < blocks; ++b) {
    const double* from = values.row(b * neurons);
    double* to = first_entry(b);
    for (Index e = 0; e < entries(); ++e) to[e * spacing()] = from[e] / scale;
  }
}

bool Network::is_triangular(const View<const double>& values) const {
  for (int r = 0; r < values.rows(); ++r)
    for (int j = r % neurons + 1; j < neurons; ++j)
      if (values(r, j) != 0) return false;
  return true;
}

Matrix Network::block(int b) const {
  Matrix out(neurons, width());
  if (out.empty()) return out;
  const double* from = first_entry(b);
  for (Index e = 0; e < entries(); ++e) out[e] = from[e * spacing()];
  return out;
}

Network Network::with_silent_neurons(int count) const {
  Shape larger = shape();
  larger.neurons = neurons + count;
  if (diagonal) larger.rank = larger.neurons;
  Matrix padded(rows, larger.neurons), values(blocks * larger.neurons, width()), singular(blocks, larger.rank);
  padded.column_block(0, neurons).copy_from(means.view());
  singular.column_block(0, rank).copy_from(spectrum.view());
  for (int b = 0; b < blocks; ++b) values.row_block(b * larger.neurons, neurons).copy_from(block(b).view());
  padded.scale(mean_scale), singular.scale(scale), values.scale(scale);
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
  if (place() != other.place()) return place() < other.place();
  int order = std::memcmp(means.data(), other.means.data(), means.size() * sizeof(double));
  if (!order && factors.size())
    order = std::memcmp(factors.data(), other.factors.data(), factors.size() * sizeof(double));
  return order < 0;
}

double Network::place() const {
  std::call_once(lazy_->placed, [&] {
    const double noise =
        generic_sum(spectrum.data(), spectrum.size(), false) + generic_sum(factors.data(), factors.size(), false);
    lazy_->place = mean_scale * generic_sum(means.data(), means.size(), true) + scale * noise;
  });
  return lazy_->place;
}

}  // namespace repshape
