#include "process/network.h"

#include <cstring>

#include "common/units.h"

namespace repshape {

ProcessNetwork::ProcessNetwork(const double* mean_values, const double* factor_values, const std::int64_t* first,
                               int conditions_, int rows_, int neurons_, int blocks_, int positions_, int rank_,
                               bool reduced_)
    : conditions(conditions_), rows(rows_), neurons(neurons_), blocks(blocks_), positions(positions_), rank(rank_),
      reduced(reduced_), means(mean_values, mean_values + std::size_t(rows_) * neurons_) {
  const std::size_t whole = std::size_t(positions) * neurons * rank;
  scale = unit_of_extremes(factor_values, blocks * whole);
  mean_scale = unit_of_extremes(means.data(), means.size());
  for (double& v : means) v /= mean_scale;
  std::size_t total = 0;
  for (int b = 0; b < blocks; ++b) {
    lengths.push_back(positions - int(first[b]));
    offsets.push_back(total);
    total += std::size_t(neurons) * lengths[b] * rank;
  }
  factors.resize(total);
  variance.assign(blocks, 0);
  ranks.assign(blocks, rank);
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < neurons; ++i)
      for (int p = 0; p < lengths[b]; ++p) {
        const double* from = factor_values + b * whole + ((p + first[b]) * neurons + i) * rank;
        double* to = factors.data() + offsets[b] + (std::size_t(i) * lengths[b] + p) * rank;
        for (int r = 0; r < rank; ++r) to[r] = from[r] / scale, variance[b] += to[r] * to[r];
      }
}

void ProcessNetwork::add_spectra(const double* values, int groups, int size) {
  Spectra out{groups, size, {values, values + std::size_t(conditions) * groups * size}};
  for (double& v : out.values) v /= scale;
  spectra.push_back(std::move(out));
}

ProcessNetwork ProcessNetwork::with_silent_neurons(int count) const {
  ProcessNetwork out = *this;
  out.neurons = neurons + count;
  out.means.assign(std::size_t(rows) * out.neurons, 0);
  for (int r = 0; r < rows; ++r)
    std::copy_n(means.data() + std::size_t(r) * neurons, neurons, out.means.data() + std::size_t(r) * out.neurons);
  out.factors.clear();
  for (int b = 0; b < blocks; ++b) {
    const std::size_t each = std::size_t(lengths[b]) * rank;
    out.offsets[b] = out.factors.size();
    out.factors.insert(out.factors.end(), factor(b), factor(b) + neurons * each);
    out.factors.insert(out.factors.end(), count * each, 0.0);
  }
  return out;
}

bool ProcessNetwork::comparable(const ProcessNetwork& other) const {
  return conditions == other.conditions && rows == other.rows && blocks == other.blocks &&
         positions == other.positions && lengths == other.lengths;
}

bool ProcessNetwork::operator<(const ProcessNetwork& other) const {
  if (neurons != other.neurons) return neurons > other.neurons;
  if (rank != other.rank) return rank < other.rank;
  if (scale != other.scale) return scale < other.scale;
  if (mean_scale != other.mean_scale) return mean_scale < other.mean_scale;
  int order = std::memcmp(means.data(), other.means.data(), means.size() * sizeof(double));
  if (!order && !factors.empty())
    order = std::memcmp(factors.data(), other.factors.data(), factors.size() * sizeof(double));
  return order < 0;
}

}  // namespace repshape
