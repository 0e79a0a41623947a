// A network with positions as the solver reads it: means at positions, and blocks of factors of the noise. The cross
// product of a block is the sum of A_p' T C_p over its positions p.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace repshape {

// Singular values by condition, in groups: no transform brings covariances closer than these are.
struct Spectra {
  int groups = 0, size = 0;
  std::vector<double> values;  // conditions x groups x size

  const double* of(int condition, int group) const {
    return values.data() + (std::size_t(condition) * groups + group) * size;
  }
};

struct ProcessNetwork {
  int conditions = 0, rows = 0, neurons = 0, blocks = 0, positions = 0, rank = 0;
  bool reduced = false;  // the responses span fewer dimensions than there are neurons
  // Means are stored in units of mean_scale, and all that concerns the noise in units of scale: powers of two, and one
  // unless the numbers are extreme.
  double scale = 1, mean_scale = 1;
  std::vector<double> means;    // rows x neurons; as many rows for each condition
  std::vector<int> lengths;     // blocks: positions at which the factors are not zero
  std::vector<std::size_t> offsets;  // blocks: where the factors begin
  // Per block neurons x length x rank: the same numbers are a matrix of (neurons x length) rows and rank columns, and
  // one of neurons rows and (length x rank) columns, so that every product over positions is one matrix product.
  std::vector<double> factors;
  std::vector<double> variance;  // blocks: squared norm of the factors
  std::vector<double> ranks;     // blocks: number of nonzero singular values
  std::vector<Spectra> spectra;

  // factors: blocks x positions x neurons x rank; first: blocks, the factors are zero before that position.
  ProcessNetwork(const double* mean_values, const double* factor_values, const std::int64_t* first, int conditions,
                 int rows, int neurons, int blocks, int positions, int rank, bool reduced);
  // values: conditions x groups x size.
  void add_spectra(const double* values, int groups, int size);
  // The network with `count` neurons that never respond after its own.
  ProcessNetwork with_silent_neurons(int count) const;

  const double* factor(int block) const { return factors.data() + offsets[block]; }
  // The condition that a row of the means, or a block, belongs to.
  int condition_of_row(int row) const { return row / (rows / conditions); }
  int condition_of_block(int block) const { return block / (blocks / conditions); }
  bool comparable(const ProcessNetwork& other) const;

  // A total order by content: a pair is solved the same way round whichever network comes first.
  bool operator<(const ProcessNetwork& other) const;
};

}  // namespace repshape
