// A network as the Gaussian problem reads it: rows of means, and blocks of factors of the noise.
//
// Responses of one position have a row and a block for every condition, with covariance A A'. Responses at several
// positions (time steps, pixels) have as many rows for every condition, and blocks whose factors extend over positions:
// the cross product of a block is the sum of A_p' T C_p over its positions p.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "common/buffer.h"
#include "common/roots.h"
#include "problems/gaussian/kernel.h"

namespace repshape {

// Singular values by condition, in groups: no transform brings covariances closer than these are.
struct Spectra {
  int groups = 0;
  Matrix values;  // (conditions x groups) x values

  int size() const { return values.columns(); }
  const double* of(int condition, int group) const { return values.row(condition * groups + group); }
};

struct Network {
  int conditions = 0, rows = 0, blocks = 0;  // as many rows, and as many blocks, for each condition
  int neurons = 0, positions = 1, rank = 0;  // of the factors of a block
  bool diagonal = false;                     // the factors are diagonal matrices of standard deviations
  bool triangular = false;                   // the factors are square, with zeros above the diagonal
  bool lanes = true;                         // the factors are stored in lanes
  bool reduced = false;                      // the responses span fewer dimensions than there are neurons
  // Powers of two: factors and means are these times what is stored below.
  double scale = 1, mean_scale = 1;
  Matrix means;  // rows x neurons
  // Of a block neurons x positions x rank: the same numbers are a matrix of (neurons x positions) rows and rank
  // columns, and one of neurons rows and (positions x rank) columns, so that every product over positions is one matrix
  // product.
  Buffer factors;               // lanes: groups x entries Packs; else blocks x entries
  Matrix spectrum;              // blocks x rank: singular values of the factors, descending
  Values smallest;              // blocks: the least nonzero singular value
  Values ranks;                 // blocks: how many there are
  Values variance;              // blocks: squared norm of the factors
  std::vector<Spectra> bounds;  // where there are several positions

  struct Shape {
    int conditions, rows, blocks, neurons, positions, rank;
  };
  Network(const double* mean_values, const double* factor_values, const double* singular, const Shape& shape,
          bool diagonal, bool reduced);

  // values: conditions x groups x count.
  void add_bound(const double* values, int groups, int count);

  Shape shape() const { return {conditions, rows, blocks, neurons, positions, rank}; }
  bool comparable(const Network& other) const;
  int blocks_each() const { return blocks / conditions; }  // of a condition
  int groups() const { return (blocks + kDoubleLanes - 1) / kDoubleLanes; }
  int width() const { return diagonal ? 1 : positions * rank; }  // numbers for each neuron of a block
  Index entries() const { return Index(neurons) * width(); }     // of a block

  // The factors of one block: neurons x (positions x rank), or neurons x 1 standard deviations where they are diagonal.
  Matrix block(int b) const;

  // Factors of all blocks side by side: neurons x (blocks of `columns` each, zero beyond the rank), times weight(b).
  template <class T, class Weight>
  MatrixOf<T> stacked(int columns, Weight weight) const {
    MatrixOf<T> out(neurons, blocks * columns);
    for (int b = 0; b < blocks; ++b) {
      const Matrix one = block(b);
      for (int i = 0; i < neurons; ++i)
        for (int j = 0; j < rank; ++j) out(i, b * columns + j) = T(weight(b) * one(i, j));
    }
    return out;
  }

  // The network with `count` neurons that never respond after its own.
  Network with_silent_neurons(int count) const;

  // Made on first use, by any thread.
  const Roots& roots() const;
  // With the leading columns of the factors only, which carry almost all of the noise: for searches that another one
  // finishes. The network itself if that saves little.
  const Network& truncated() const;

  // Plain data for the kernels, valid as long as the network.
  LaneNetwork view() const;

  // A total order by content: a pair is solved the same way round whichever network comes first.
  bool operator<(const Network& other) const;

 private:
  struct Lazy {
    std::once_flag rooted, cut, placed;
    Roots roots;
    double place = 0;
    std::unique_ptr<Network> truncated;
  };
  std::unique_ptr<Lazy> lazy_ = std::make_unique<Lazy>();

  // What orders networks of one shape.
  double place() const;
  // With the first columns of other factors of the same covariances.
  std::unique_ptr<Network> cut_to(int columns, const std::vector<Matrix>& leading) const;
  void summarise_spectrum();
  void store_factors(const View<const double>& values);
  bool is_triangular(const View<const double>& values) const;
  // Where block b begins in `factors`, and how far apart its entries are.
  double* first_entry(int b) const;
  int spacing() const { return lanes ? kDoubleLanes : 1; }
};

}  // namespace repshape
