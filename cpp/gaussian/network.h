// A network as the Gaussian solver reads it: means, and factors A with covariance A A' for every condition.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "common/buffer.h"
#include "common/roots.h"
#include "gaussian/kernel.h"

namespace repshape {

struct Network {
  int conditions = 0, neurons = 0, rank = 0;
  bool diagonal = false;    // the factors are diagonal matrices of standard deviations
  bool triangular = false;  // the factors are square, with zeros above the diagonal
  bool lanes = true;        // the factors are stored in lanes
  bool reduced = false;     // the responses span fewer dimensions than there are neurons
  // Powers of two: factors and means are these times what is stored below.
  double scale = 1, mean_scale = 1;
  std::vector<double> means;     // conditions x neurons
  Buffer factors;                // lanes: groups x (neurons x rank) Packs; else conditions x neurons x rank
  std::vector<double> spectrum;  // conditions x rank: singular values of the factors, descending
  std::vector<double> smallest;  // conditions: the least nonzero singular value
  std::vector<double> ranks;     // conditions: how many there are
  std::vector<double> variance;  // conditions: squared norm of the factors

  Network(const double* mean_values, const double* factor_values, const double* singular, int conditions,
          int neurons, int rank, bool diagonal, bool reduced);

  int groups() const { return (conditions + kDoubleLanes - 1) / kDoubleLanes; }
  std::size_t entries() const { return std::size_t(neurons) * (diagonal ? 1 : rank); }
  const double* mean(int m) const { return means.data() + std::size_t(m) * neurons; }

  // The factors of one condition as a plain row-major matrix (or diagonal).
  void copy_condition(int m, double* out) const;

  // Made when they are first asked for, by any thread.
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
    std::once_flag rooted, cut;
    Roots roots;
    std::unique_ptr<Network> truncated;
  };
  std::unique_ptr<Lazy> lazy_ = std::make_unique<Lazy>();

  // With the first columns of other factors of the same covariances.
  std::unique_ptr<Network> cut_to(int columns, const std::vector<std::vector<double>>& leading) const;
  void summarise_spectrum();
  void store_factors(const double* values);
  bool is_triangular(const double* values) const;
};

}  // namespace repshape
