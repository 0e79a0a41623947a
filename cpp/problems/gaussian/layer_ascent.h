// The ascent of wide layers: few trials of hundreds of neurons or more, in single precision.
//
// There the transform has more degrees of freedom than noise and means fix, and plain alternation takes hundreds of
// steps. Four phases, chosen with benchmarks.wide:
//   1. annealing: T = U s/(s + lambda) V' of the gradient U s V', lambda falling. The objective is convex on contractions,
//      so that every gradient there leads to a transform that is no worse. Directions that matter are fixed first;
//   2. alternation with momentum: T = polar(G + b (G - last G));
//   3. L-BFGS in the singular frame of the gradient, in which alternation's model is diagonal: its step in the plane
//      (i, j) is R_ij / (s_i + s_j). Steps are retracted by Newton-Schulz iterations, and accepted by slopes where values
//      are rounding;
//   4. whatever single precision leaves, in double precision (search/solve.h).
// Transforms are transposed, as in stacked.h.
#pragma once
#include "problems/gaussian/blas_objective.h"
#include "problems/gaussian/stacked.h"
#include "search/ascent.h"
#include "search/compact_memory.h"

namespace repshape {

class LayerAscent {
 public:
  // Whether a pair is one of wide layers: factors are thin, and a polar step costs as much as a gradient, or more.
  static bool suits(const Network& x, const Network& y) {
    constexpr int many = 192, thin = 4;  // neurons; of which rank is a share at most
    return x.positions == 1 && !x.diagonal && !y.diagonal && std::min(x.rank, y.rank) > 0 && y.neurons >= many &&
           thin * std::max(x.rank, y.rank) <= y.neurons;
  }

  static constexpr int kWorthAnnealing = 60;  // gradients: with fewer, annealing would take most of them

  // `total` is the objective at distance zero.
  LayerAscent(const Pair& pair, const AscentSettings& settings, double total)
      : f_(pair), settings_(settings), total_(total), n_(f_.n()), k_(f_.k()), kept_(steps_kept(pair)) {}

  // Anneals from the contraction of a gain (n x k) that sums over this number of conditions.
  void anneal(const Matrix& gain, int conditions) {
    g_ = rows_of(gain, k_);
    Spectral of = decompose(g_);
    const int rank = std::min(k_, conditions);
    f_(contraction(of, of.s[k_ - 1 - rank / 2]), g_);
    double lambda = 0;
    for (int step = 0; step < kAnnealing; ++step, lambda *= kCooling) {
      of = decompose(g_);
      if (step == 0) lambda = kHottest * median(of);
      f_(contraction(of, lambda), g_);
    }
    rank_ = significant(of);
  }

  // Starts from the first columns of an orthogonal matrix (n x n).
  void begin(const Matrix& start) {
    f_(rows_of(start, n_), g_);
    rank_ = significant(decompose(g_));
  }

  // Ascends until the distance hardly changes any more, `limit` gradients have been evaluated, or nothing as high as
  // `floor` is to be expected. Returns whether it was the first.
  bool run(int limit, double floor) {
    accelerate(limit);
    floor_ = floor;  // the gains of momentum are too uneven to give up by
    return climb(limit) == End::settled;
  }

  int iterations() const { return f_.evaluations(); }

  // n x k
  Matrix transform() const {
    Floats back(std::size_t(k_) * n_);
    if (frame_.empty())
      std::copy_n(t_.begin(), back.size(), back.begin());
    else
      gemm(true, false, k_, n_, k_, 1, frame_.data(), k_, t_.data(), n_, 0, back.data(), n_);
    return columns_of(back);
  }

 private:
  enum class End { none, settled, given_up };

  // G G' = V' s^2 V
  struct Spectral {
    Floats v, s;  // rows of v; ascending
  };

  // Steps of L-BFGS that take no more memory than the factors do, but enough to be of use.
  static int steps_kept(const Pair& pair) {
    constexpr double fewest = 8, most = 30;
    const double factors = 2.0 * (pair.x->entries() + pair.y->entries()) * pair.x->blocks;  // in units of a float
    return int(std::min(most, std::max(fewest, factors / (double(pair.x->neurons) * pair.y->neurons))));
  }

  Floats rows_of(const Matrix& t, int columns) const {
    Floats out(std::size_t(k_) * n_);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < k_; ++j) out[std::size_t(j) * n_ + i] = float(t[std::size_t(i) * columns + j]);
    return out;
  }

  Matrix columns_of(const Floats& back) const {
    Matrix out(std::size_t(n_) * k_);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < k_; ++j) out[std::size_t(i) * k_ + j] = back[std::size_t(j) * n_ + i];
    return out;
  }

  Spectral decompose(const Floats& g) const {
    Spectral out{Floats(std::size_t(k_) * k_), {}};
    gram(k_, n_, g.data(), out.v.data());
    out.s = symmetric_eigen(k_, out.v);
    for (float& s : out.s) s = std::sqrt(std::max(s, 0.0f));
    return out;
  }

  static int significant(const Spectral& of) {
    int count = 0;
    for (float s : of.s) count += s > kNoise * of.s.back();
    return count;
  }

  static double median(const Spectral& of) { return of.s[of.s.size() - 1 - significant(of) / 2]; }

  // V' (s + lambda)^-1 V G
  Floats contraction(const Spectral& of, double lambda) const {
    Floats scaled(of.v), inverse(of.v.size()), out(g_.size());
    const double least = std::max(lambda, 1e-6 * of.s.back() + 1e-30);
    for (int j = 0; j < k_; ++j)
      for (int i = 0; i < k_; ++i) scaled[std::size_t(j) * k_ + i] *= float(1 / (of.s[j] + least));
    gemm(true, false, k_, k_, k_, 1, scaled.data(), k_, of.v.data(), k_, 0, inverse.data(), k_);
    gemm(false, false, k_, n_, k_, 1, inverse.data(), k_, g_.data(), n_, 0, out.data(), n_);
    return out;
  }

  Floats polar(Floats z) {
    Floats small(std::size_t(k_) * k_), scratch;
    blas_polar(k_, n_, z, small, scratch, 0, rank_);
    return z;
  }

  // What the values so far say, every few gradients.
  End judge(double value) {
    if (++judged_ % kWindow) return End::none;
    const double gain = value - last_, expected = outlook_.after(value);
    last_ = value;
    if (std::isfinite(expected) && expected < floor_) return End::given_up;
    return gain < 2 * kWindowGain * settings_.tolerance * (total_ - value) ? End::settled : End::none;
  }

  // Alternation with momentum.
  void accelerate(int limit) {
    t_ = polar(g_);
    Floats last;
    value_ = f_(t_, g_), last = g_;
    for (int step = 0, since = 1; step < kMomentum && iterations() < limit; ++step, ++since) {
      const float beta = float(since - 1) / (float(since) + 0.5f);
      Floats z(g_), g;
      for (std::size_t e = 0; e < z.size(); ++e) z[e] += beta * (g_[e] - last[e]);
      Floats t = polar(std::move(z));
      double value = f_(t, g);
      if (value < value_) {  // too far: alternation's own step never decreases the objective
        since = 0, t = polar(g_), value = f_(t, g);
        last = g;
      } else {
        last.swap(g_);
      }
      t_.swap(t), g_.swap(g), value_ = value;
      if (judge(value_) == End::settled) break;  // L-BFGS may see further
    }
  }

  // The coordinates of L-BFGS: planes (i, j) of which at least one axis is one of y's, i < j.
  std::size_t planes() const { return std::size_t(k_) * (2 * n_ - k_ - 1) / 2; }

  // Takes the eigenvectors of sym(T'G) as the axes of y, in which the model is diagonal.
  void reframe() {
    Floats product(std::size_t(k_) * k_);
    gemm(false, true, k_, k_, n_, 1, t_.data(), n_, g_.data(), n_, 0, product.data(), k_);
    for (int i = 0; i < k_; ++i)
      for (int j = 0; j < i; ++j) {
        float &a = product[std::size_t(i) * k_ + j], &b = product[std::size_t(j) * k_ + i];
        a = b = 0.5f * (a + b);
      }
    Floats s = symmetric_eigen(k_, product);
    f_.turn(product);
    turn_rows(product, t_), turn_rows(product, g_);
    if (frame_.empty()) {
      frame_ = product;
    } else {
      Floats turned(frame_.size());
      gemm(false, false, k_, k_, k_, 1, product.data(), k_, frame_.data(), k_, 0, turned.data(), k_);
      frame_.swap(turned);
    }
    double mean = 0;
    for (float& v : s) mean += v = std::abs(v);
    s.resize(n_, 0);
    roots_.resize(planes());
    const float floor = float(kWeak * mean / k_ + 1e-30);
    std::size_t e = 0;
    for (int i = 0; i < k_; ++i)
      for (int j = i + 1; j < n_; ++j) roots_[e++] = 1 / std::sqrt(s[i] + s[j] + floor);
  }

  void turn_rows(const Floats& v, Floats& rows) const {
    Floats turned(std::size_t(k_) * n_);
    gemm(false, false, k_, n_, k_, 1, v.data(), k_, rows.data(), n_, 0, turned.data(), n_);
    std::copy(turned.begin(), turned.end(), rows.begin());
  }

  // The Riemannian gradient T'G - G'T, each plane divided by the root of its curvature.
  Floats slope(const Floats& t, const Floats& g) const {
    Floats product(std::size_t(k_) * n_), out(planes());
    gemm(false, true, k_, n_, n_, 1, g.data(), n_, t.data(), n_, 0, product.data(), n_);  // G'T
    std::size_t e = 0;
    for (int i = 0; i < k_; ++i)
      for (int j = i + 1; j < n_; ++j, ++e) {
        const float back = j < k_ ? product[std::size_t(j) * n_ + i] : 0;
        out[e] = (back - product[std::size_t(i) * n_ + j]) * roots_[e];
      }
    return out;
  }

  // A skew matrix (n x n) from its planes.
  Floats skew(const Floats& d) const {
    Floats out(std::size_t(n_) * n_, 0);
    std::size_t e = 0;
    for (int i = 0; i < k_; ++i)
      for (int j = i + 1; j < n_; ++j, ++e) {
        const float w = d[e] * roots_[e];
        out[std::size_t(i) * n_ + j] = w, out[std::size_t(j) * n_ + i] = -w;
      }
    return out;
  }

  double spectral_norm(const Floats& w) const {
    Floats x(n_), y(n_);
    double norm = 0;
    for (int i = 0; i < n_; ++i) x[i] = 1 + float(i) / n_;
    for (int power = 0; power < 4; ++power) {
      apply(n_, n_, w.data(), x.data(), y.data());
      norm = std::sqrt(dot(y, y)) / std::max(std::sqrt(dot(x, x)), 1e-30);
      x.swap(y);
    }
    return norm;
  }

  // The transform nearest to t + size * change (n x n), by Newton-Schulz iterations.
  Floats retract(const Floats& change, double size) const {
    Floats x(t_), s(x.size()), next(x.size());
    for (std::size_t e = 0; e < x.size(); ++e) x[e] += float(size) * change[e];
    for (int step = 0; step < kMostNewtonSchulz; ++step) {
      gram(n_, n_, x.data(), s.data());
      double gap = 0;
      for (int i = 0; i < n_; ++i) {
        for (int j = 0; j <= i; ++j) {
          const float v = s[std::size_t(j) * n_ + i] - (i == j ? 1 : 0);
          gap += (i == j ? 1 : 2) * double(v) * v;
          s[std::size_t(j) * n_ + i] = s[std::size_t(i) * n_ + j] = -0.5f * v;
        }
        s[std::size_t(i) * n_ + i] += 1;
      }
      gemm(false, false, n_, n_, n_, 1, s.data(), n_, x.data(), n_, 0, next.data(), n_);
      x.swap(next);
      if (gap < kNearlyOrthogonal * kNearlyOrthogonal) break;
    }
    return x;
  }

  // L-BFGS from the best transform for the gradient.
  End climb(int limit) {
    const Matrix full = nearest_orthogonal(n_, k_, columns_of(g_).data(), settings_.special);
    t_.resize(std::size_t(n_) * n_);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) t_[std::size_t(j) * n_ + i] = float(full[std::size_t(i) * n_ + j]);
    value_ = f_(t_, g_);
    CompactMemory memory(kept_, planes());
    Floats z;
    for (int step = 0; iterations() < limit; ++step) {
      if (step % kFrameLife == 0) {
        reframe();
        memory.clear();
        z = slope(t_, g_);
      }
      if (std::sqrt(0.5) * norm_of(z) <= settings_.tolerance * settings_.scale) return End::settled;
      if (!advance(memory, z, limit)) {
        if (memory.empty()) return End::settled;  // rounding has been reached
        memory.clear();
      }
      const End end = judge(value_);
      if (end != End::none) return end;
    }
    return End::none;
  }

  // Of the gradient itself: without the roots of curvatures.
  double norm_of(const Floats& z) const {
    double sum = 0;
    for (std::size_t e = 0; e < z.size(); ++e) sum += double(z[e] / roots_[e]) * (z[e] / roots_[e]);
    return std::sqrt(sum);
  }

  bool advance(CompactMemory& memory, Floats& z, int limit) {
    Floats d = memory.direction(z);
    double rise = dot(d, z);
    if (!(rise > 0)) {
      memory.clear();
      d = z, rise = dot(d, z);
    }
    const Floats w = skew(d);
    Floats change(t_.size()), g;
    gemm(false, false, n_, n_, n_, -1, w.data(), n_, t_.data(), n_, 0, change.data(), n_);
    double size = std::min(1.0, kLongestStep / spectral_norm(w));
    for (int tries = 0; tries < kLineSearchTries && iterations() < limit; ++tries) {
      Floats t = retract(change, size);
      const double value = f_(t, g);
      Floats after = slope(t, g);
      const bool rises = value >= value_ + 1e-4 * size * rise || std::abs(value - value_) < kRounding * std::abs(value_);
      if (rises && dot(d, after) > -kOvershoot * rise) {
        memory.remember(d, size, z, after);
        t_.swap(t), g_.swap(g), z.swap(after), value_ = value;
        return true;
      }
      const double curve = 2 * (value_ + size * rise - value) / (size * size);
      size = std::max(0.1 * size, std::min(curve > 0 ? rise / curve : size, 0.6 * size));
    }
    return false;
  }

  static constexpr int kAnnealing = 20, kMomentum = 80;  // steps
  static constexpr double kHottest = 30, kCooling = 0.7;  // lambda: times the median, and from step to step
  static constexpr float kNoise = 1e-3f;                 // singular values of a Gram matrix below are rounding
  static constexpr int kWindow = 10;                     // gradients
  static constexpr double kWindowGain = 2;               // tolerances: the least gain of a window of gradients
  static constexpr double kWeak = 0.02;                  // of the mean curvature, added to all
  static constexpr int kFrameLife = 60, kLineSearchTries = 5, kMostNewtonSchulz = 8;
  static constexpr double kNearlyOrthogonal = 1e-2;  // the next Newton-Schulz step is the last
  static constexpr double kLongestStep = 0.7;        // radians, in any plane
  static constexpr double kRounding = 2e-6;          // of values
  static constexpr double kOvershoot = 0.9;          // of the slope

  StackedObjective f_;
  AscentSettings settings_;
  double total_, value_ = 0, last_ = -INFINITY, floor_ = -INFINITY;
  int n_, k_, kept_, rank_ = 0, judged_ = 0;
  Outlook outlook_;
  Floats t_, g_;          // k x n; t_ is n x n for L-BFGS
  Floats frame_, roots_;  // k x k: rows are the present axes of y; one over the roots of curvatures
};

}  // namespace repshape
