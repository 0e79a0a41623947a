// Where searches over rotations start: every kind of start is made here.
//
//   pairs                                       starts
//   few trials of 192 neurons or more           annealed means (problems/gaussian/layer_ascent.h); signs of axes, and
//   random few trials of fewer neurons                 aligned means; then seven correspondences of conditions for each
//   random
//                                               start, two of three graduated (problems/gaussian/graduation.h)
//   all others                                  aligned means, or matched neurons if those are independent; then seven
//                                               correspondences for each random one
//
// Correspondences succeed two to ten times as often as random starts for the same time (benchmarks.optimum,
// benchmarks.planted). Left out, because correspondences did better in the same time on few conditions, noiseless
// conditions and unequal weights: the best of eight correspondences by one evaluation, the maximum of
// sum w tr(S_x T S_y T') from random starts, and half of the starts random.
#pragma once
#include <numeric>

#include "search/problem.h"
#include "search/stopping.h"

namespace repshape {

inline Matrix random_orthogonal(int n, bool special, Random& random) {
  Matrix g(n, n);
  for (double& e : g) e = random.normal();
  return nearest_orthogonal(g, special);
}

// The caller's own starts (n x n), made rotations if need be.
inline std::vector<Matrix> listed_starts(const Settings& s, int n, bool special) {
  const View<const double> all(s.starts.data(), s.n_starts * n, n);
  std::vector<Matrix> out;
  for (int c = 0; c < s.n_starts; ++c) out.push_back(oriented(Matrix(all.row_block(c * n, n)), special));
  return out;
}

// Starts (n x n) for wide layers besides the first; `cost` are the operations of one gradient.
inline std::vector<Matrix> layer_starts(int n, double cost, std::uint64_t seed) {
  const int count = Stopping::of_layers(cost);
  Random random(seed);
  std::vector<Matrix> out;
  for (int s = 1; s < count; ++s) {
    Matrix start(n, n);
    for (int i = 0; i < n; ++i) start(i, i) = random.uniform() < 0.5 ? -1 : 1;
    out.push_back(s % 2 == 0 && n <= starts::kRandomUpTo ? random_orthogonal(n, false, random) : std::move(start));
  }
  return out;
}

// Starts without end: from the correspondence of conditions, which the problem may improve, and at random.
class RotationStarts {
 public:
  RotationStarts(const Problem& problem, const Oracle& oracle, std::uint64_t seed)
      : problem_(problem), oracle_(oracle), graduates_(problem.graduates()), random_(seed),
        correspondences_(problem.start_data(), oracle.special, random_) {}
  RotationStarts(const RotationStarts&) = delete;

  Matrix next() {
    if (random_.uniform() >= starts::kCorrespondences) return random_orthogonal(oracle_.n, oracle_.special, random_);
    Matrix start = correspondences_.next();
    const double share = starts::kGraduatedShares[drawn_++ % 3];
    return graduates_ && share > 0 ? oracle_.completed(problem_.graduated_gain(start, share)) : start;
  }

  // A move: a transform (n x n), turned at random within a few random directions, or within a few axes.
  Matrix move(const Matrix& t, bool anywhere) {
    const int d = std::min(oracle_.n, anywhere ? starts::kMovedDirections : starts::kMovedAxes);
    const Matrix basis = anywhere ? random_directions(d) : random_axes(d);
    Matrix turn(d, d);
    for (double& e : turn) e = random_.normal();
    turn = nearest_orthogonal(turn, false);
    turn.add_to_diagonal(-1);
    Matrix out = t;
    gemm(product(product(t, basis), turn), transpose(basis), out, 1, 1);
    return oriented(std::move(out), oracle_.special);
  }

 private:
  Matrix random_directions(int d) {
    Matrix basis(oracle_.n, d);
    for (double& e : basis) e = random_.normal();
    return first_columns(nearest_orthogonal(basis, false), d);
  }

  Matrix random_axes(int d) {
    const int n = oracle_.n;
    Matrix basis(n, d);
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (int j = 0; j < d; ++j) {
      std::swap(order[j], order[j + random_.below(n - j)]);
      basis(order[j], j) = 1;
    }
    return basis;
  }

  const Problem& problem_;
  const Oracle& oracle_;
  bool graduates_;
  Random random_;
  CorrespondenceStarts correspondences_;
  int drawn_ = 0;
};

}  // namespace repshape
