// Where searches over rotations start: every kind of start is made here.
//
//   pairs                                       starts
//   few trials of 192 neurons or more           annealed means (problems/gaussian/layer_ascent.h); signs of axes, and random
//   few trials of fewer neurons                 aligned means; then seven correspondences of conditions for each random
//                                               start, every second one graduated (problems/gaussian/graduation.h)
//   all others                                  aligned means, or matched neurons if those are independent; then seven
//                                               correspondences for each random one
//
// Correspondences succeed two to ten times as often as random starts for the same time (benchmarks.optimum,
// benchmarks.planted). Left out, because correspondences did better in the same time on few conditions, noiseless
// conditions and unequal weights: the best of eight correspondences by one evaluation, the maximum of
// sum w tr(S_x T S_y T') from random starts, and half of the starts random.
#pragma once
#include <functional>

#include "common/transforms.h"
#include "search/correspondence.h"
#include "search/stopping.h"

namespace repshape {

inline Matrix random_orthogonal(int n, bool special, Random& random) {
  Matrix g(std::size_t(n) * n);
  for (double& e : g) e = random.normal();
  return nearest_orthogonal(n, n, g.data(), special);
}

// The caller's own starts (n x n), made rotations if need be.
inline std::vector<Matrix> listed_starts(const Settings& s, int n, bool special) {
  const std::size_t count = std::size_t(n) * n;
  std::vector<Matrix> out;
  for (int c = 0; c < s.n_starts; ++c)
    out.push_back(oriented(n, {s.starts.data() + c * count, s.starts.data() + (c + 1) * count}, special));
  return out;
}

// From this many neurons on, the roots of the covariances, some n^3 operations each, would take longer than an ascent,
// so that there are no starts from the correspondence of conditions.
constexpr int kRootsBelow = 256;

// Starts (n x n) for wide layers besides the first; `cost` are the operations of one gradient.
inline std::vector<Matrix> layer_starts(int n, double cost, std::uint64_t seed) {
  constexpr int random_below = 1000;  // above, a random orthogonal matrix costs more than an ascent
  const int count = Stopping::of_layers(cost);
  Random random(seed);
  std::vector<Matrix> out;
  for (int s = 1; s < count; ++s) {
    Matrix start(std::size_t(n) * n, 0);
    for (std::size_t e = 0; e < start.size(); e += n + 1) start[e] = random.uniform() < 0.5 ? -1 : 1;
    out.push_back(s % 2 == 0 && n <= random_below ? random_orthogonal(n, false, random) : std::move(start));
  }
  return out;
}

// Starts without end: from the correspondence of conditions, and at random.
class EndlessStarts {
 public:
  // Makes a better start (n x n) of another; may be empty.
  using Graduated = std::function<Matrix(const Matrix&, double)>;

  EndlessStarts(const Suggested& from, double suggested, int n, bool special, std::uint64_t seed, Graduated graduated)
      : random_(seed), suggestions_(from, special, random_), suggested_(suggested), n_(n), special_(special),
        graduated_(std::move(graduated)) {}
  EndlessStarts(const EndlessStarts&) = delete;

  Matrix next() {
    if (random_.uniform() >= suggested_) return random_orthogonal(n_, special_, random_);
    Matrix start = suggestions_.next();
    const double share = kShares[drawn_++ % 3];
    return graduated_ && share > 0 ? graduated_(start, share) : start;
  }

  // A transform (n x n), turned at random within four random directions or within three axes.
  Matrix near(const Matrix& t, bool anywhere) {
    const int n = n_, d = std::min(n, anywhere ? 4 : 3);
    Matrix basis(std::size_t(n) * d, 0), turn(std::size_t(d) * d);
    if (anywhere) {
      for (double& e : basis) e = random_.normal();
      basis = first_columns(nearest_orthogonal(n, d, basis.data(), false), n, d);
    } else {
      std::vector<int> order(n);
      std::iota(order.begin(), order.end(), 0);
      for (int j = 0; j < d; ++j) {
        std::swap(order[j], order[j + random_.below(n - j)]);
        basis[std::size_t(order[j]) * d + j] = 1;
      }
    }
    for (double& e : turn) e = random_.normal();
    turn = nearest_orthogonal(d, d, turn.data(), false);
    for (int i = 0; i < d; ++i) turn[std::size_t(i) * d + i] -= 1;
    Matrix out = t, image(std::size_t(n) * d), turned(std::size_t(n) * d);
    gemm(false, false, n, d, n, 1, out.data(), n, basis.data(), d, 0, image.data(), d);
    gemm(false, false, n, d, d, 1, image.data(), d, turn.data(), d, 0, turned.data(), d);
    gemm(false, true, n, n, d, 1, turned.data(), d, basis.data(), d, 1, out.data(), n);
    return oriented(n, std::move(out), special_);
  }

 private:
  static constexpr double kShares[] = {1, 0.2, 0};  // of graduated starts, in turn

  Random random_;
  Correspondence suggestions_;
  double suggested_;
  int n_;
  bool special_;
  int drawn_ = 0;
  Graduated graduated_;
};

}  // namespace repshape
