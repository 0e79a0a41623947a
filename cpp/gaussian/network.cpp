#include "gaussian/network.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "common/units.h"

namespace repshape {
namespace {

// Lanes are padded to eight conditions. For fewer conditions than that, larger networks than this would waste memory.
constexpr int kMaxPaddedSize = 32;

// Truncation: from so many neurons on, to this share of the columns at most, without this share of the noise.
constexpr int kWorthTruncating = 48;
constexpr double kMostKept = 0.75, kNoiseLost = 0.01;

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
    const int columns = leading_columns();
    if (columns <= kMostKept * rank) lazy_->truncated = cut_to(columns);
  });
  return lazy_->truncated ? *lazy_->truncated : *this;
}

// The fewest that carry all noise but a share of kNoiseLost, over all conditions together.
int Network::leading_columns() const {
  Matrix power(rank, 0), entries_of(entries());
  for (int m = 0; m < conditions; ++m) {
    copy_condition(m, entries_of.data());
    for (std::size_t e = 0; e < entries_of.size(); ++e) power[e % rank] += entries_of[e] * entries_of[e];
  }
  double total = 0, kept = 0;
  for (double p : power) total += p;
  int columns = 0;
  while (columns < rank && kept < (1 - kNoiseLost) * total) kept += power[columns++];
  return std::max(columns, 1);
}

std::unique_ptr<Network> Network::cut_to(int columns) const {
  Matrix whole(entries()), part(std::size_t(conditions) * neurons * columns), norms(std::size_t(conditions) * columns, 0);
  for (int m = 0; m < conditions; ++m) {
    copy_condition(m, whole.data());
    double *to = part.data() + std::size_t(m) * neurons * columns, *sums = norms.data() + std::size_t(m) * columns;
    for (int i = 0; i < neurons; ++i)
      for (int j = 0; j < columns; ++j) {
        const double value = whole[std::size_t(i) * rank + j] * scale;
        to[std::size_t(i) * columns + j] = value, sums[j] += value * value;
      }
    for (int j = 0; j < columns; ++j) sums[j] = std::sqrt(sums[j]);
    std::sort(sums, sums + columns, std::greater<>());
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
