// The ascent of wide layers: few trials of hundreds of neurons or more, in single precision.
//
// There the transform has more degrees of freedom than noise and means fix, and plain alternation takes hundreds of
// steps. Four phases, chosen with benchmarks.wide:
//   1. annealing: T = U s/(s + lambda) V' of the gradient U s V', lambda falling. The objective is convex on
//   contractions,
//      so that every gradient there leads to a transform that is no worse. Directions that matter are fixed first;
//   2. alternation with momentum: T = polar(G + b (G - last G));
//   3. L-BFGS in the singular frame of the gradient, in which alternation's model is diagonal: its step in the plane
//      (i, j) is R_ij / (s_i + s_j). Steps are retracted by Newton-Schulz iterations, and accepted by slopes where
//      values are rounding;
//   4. refinement in double precision (search/solve.cpp).
// Transforms are transposed, as in layer_objective.h.
#pragma once
#include "common/orthogonal.h"
#include "problems/gaussian/blas_objective.h"
#include "problems/gaussian/layer_constants.h"
#include "problems/gaussian/layer_objective.h"
#include "problems/gaussian/path_constants.h"
#include "search/ascent_settings.h"
#include "search/compact_lbfgs.h"

namespace repshape {

class LayerAscent {
 public:
  // Whether a pair is one of wide layers: factors are thin, and a polar step costs as much as a gradient, or more.
  static bool suits(const Network& x, const Network& y) {
    return x.positions == 1 && !x.diagonal && !y.diagonal && std::min(x.rank, y.rank) > 0 &&
           y.neurons >= paths::kLayersFrom && paths::kLayersThin * std::max(x.rank, y.rank) <= y.neurons;
  }

  // `total` is the objective at distance zero.
  LayerAscent(const Pair& pair, const AscentSettings& settings, double total)
      : f_(pair), settings_(settings), total_(total), n_(f_.n()), k_(f_.k()), memory_size_(memory_size(pair)) {}

  // Anneals from the contraction of a gain (n x k) that sums over this number of conditions.
  void anneal(const Matrix& gain, int conditions) {
    g_ = transposed_as<float>(gain.view());
    Spectrum of = spectrum(g_);
    const int rank = std::min(k_, conditions);
    f_(contraction(of, of.values[k_ - 1 - rank / 2]), g_);
    double lambda = 0;
    for (int step = 0; step < layers::kAnnealingSteps; ++step, lambda *= layers::kLambdaDecrease) {
      of = spectrum(g_);
      if (step == 0) lambda = layers::kFirstLambda * of.values[k_ - 1 - significant(of) / 2];  // the median
      f_(contraction(of, lambda), g_);
    }
    rank_ = significant(of);
  }

  // Starts from the first columns of an orthogonal matrix (n x n).
  void begin(const Matrix& start) {
    f_(transposed_as<float>(start.column_block(0, k_)), g_);
    rank_ = significant(spectrum(g_));
  }

  // Ascends until the distance hardly changes, `limit` gradients have been evaluated, or no value as high as `floor`
  // can be expected. Returns whether it was the first.
  bool run(int limit, double floor) {
    alternate_with_momentum(limit);
    floor_ = floor;  // the gains of momentum are too uneven to give up by
    return ascend(limit) == End::settled;
  }

  int iterations() const { return f_.evaluations(); }

  // n x k
  Matrix transform() const {
    const View<const float> t = t_.row_block(0, k_);
    return transposed_as<double>((frame_.empty() ? FloatMatrix(t) : product(transpose(frame_), t)).view());
  }

 private:
  enum class End { none, settled, given_up };
  using Spectrum = FloatEigen;  // G G' = V' s^2 V, with s in place of its square

  // Steps of L-BFGS that take no more memory than the factors do, but enough to be of use.
  static int memory_size(const Pair& pair) {
    const double factors = 2.0 * (pair.x->entries() + pair.y->entries()) * pair.x->blocks;  // in units of a float
    const double steps = factors / (double(pair.x->neurons) * pair.y->neurons);
    return int(std::min(layers::kMostMemory, std::max(layers::kFewestMemory, steps)));
  }

  Spectrum spectrum(const FloatMatrix& g) const {
    FloatMatrix gram(k_, k_);
    lower_gram<float>(g, gram);
    Spectrum out = symmetric_eigen_rows(std::move(gram));
    for (float& s : out.values) s = std::sqrt(std::max(s, 0.0f));
    return out;
  }

  static int significant(const Spectrum& of) {
    int count = 0;
    for (float s : of.values) count += s > layers::kNoise * of.values.back();
    return count;
  }

  // V' (s + lambda)^-1 V G
  FloatMatrix contraction(const Spectrum& of, double lambda) const {
    FloatMatrix scaled(of.rows);
    const double least = std::max(lambda, 1e-6 * of.values.back() + 1e-30);
    for (int j = 0; j < k_; ++j)
      for (int i = 0; i < k_; ++i) scaled(j, i) *= float(1 / (of.values[j] + least));
    return product(product(transpose(scaled), of.rows), g_);
  }

  FloatMatrix polar(FloatMatrix z) const {
    blas_polar(z, 0, rank_);
    return z;
  }

  // What the values so far say, every few gradients.
  End judge(double value) {
    if (++judged_ % layers::kWindow) return End::none;
    const double gain = value - last_, expected = forecast_.after(value);
    last_ = value;
    if (std::isfinite(expected) && expected < floor_) return End::given_up;
    return gain < 2 * layers::kWindowGain * settings_.tolerance * (total_ - value) ? End::settled : End::none;
  }

  void alternate_with_momentum(int limit) {
    t_ = polar(g_);
    value_ = f_(t_, g_);
    FloatMatrix last = g_;
    for (int step = 0, since = 1; step < layers::kMomentumSteps && iterations() < limit; ++step, ++since) {
      const float beta = float(since - 1) / (float(since) + 0.5f);
      FloatMatrix z(g_), g;
      for (Index e = 0; e < z.size(); ++e) z[e] += beta * (g_[e] - last[e]);
      FloatMatrix t = polar(std::move(z));
      double value = f_(t, g);
      if (value < value_) {  // too far: alternation's own step never decreases the objective
        since = 0, t = polar(g_), value = f_(t, g);
        last = g;
      } else {
        std::swap(last, g_);
      }
      t_ = std::move(t), g_ = std::move(g), value_ = value;
      if (judge(value_) == End::settled) break;  // L-BFGS may see further
    }
  }

  // The coordinates of L-BFGS: planes (i, j) of which at least one axis is one of y's, i < j.
  int planes() const { return int(Index(k_) * (2 * n_ - k_ - 1) / 2); }

  template <class Visit>
  void for_planes(Visit visit) const {
    Index e = 0;
    for (int i = 0; i < k_; ++i)
      for (int j = i + 1; j < n_; ++j) visit(i, j, e++);
  }

  // Takes the eigenvectors of sym(T'G) as the axes of y, in which the model is diagonal.
  void update_frame() {
    FloatMatrix tg = product(t_.row_block(0, k_), transpose(g_));
    for (int i = 0; i < k_; ++i)
      for (int j = 0; j < i; ++j) tg(i, j) = tg(j, i) = 0.5f * (tg(i, j) + tg(j, i));
    FloatEigen of = symmetric_eigen_rows(std::move(tg));
    f_.rotate_y(of.rows);
    t_.row_block(0, k_).copy_from(product(of.rows, t_.row_block(0, k_)).view());
    g_ = product(of.rows, g_);
    frame_ = frame_.empty() ? of.rows : product(of.rows, frame_);
    std::vector<float>& s = of.values;
    double mean = 0;
    for (float& v : s) mean += v = std::abs(v);
    s.resize(n_, 0);
    roots_.reset(1, planes());
    const float floor = float(layers::kWeakest * mean / k_ + 1e-30);
    for_planes([&](int i, int j, Index e) { roots_[e] = 1 / std::sqrt(s[i] + s[j] + floor); });
  }

  // The Riemannian gradient T'G - G'T, each plane divided by the root of its curvature.
  FloatMatrix slope(const FloatMatrix& t, const FloatMatrix& g) const {
    const FloatMatrix gt = product(g, transpose(t));  // G'T
    FloatMatrix out(1, planes());
    for_planes([&](int i, int j, Index e) { out[e] = ((j < k_ ? gt(j, i) : 0) - gt(i, j)) * roots_[e]; });
    return out;
  }

  // A skew matrix (n x n) from its planes.
  FloatMatrix skew(const FloatMatrix& d) const {
    FloatMatrix out(n_, n_);
    for_planes([&](int i, int j, Index e) {
      const float w = d[e] * roots_[e];
      out(i, j) = w, out(j, i) = -w;
    });
    return out;
  }

  double spectral_norm(const FloatMatrix& w) const {
    FloatMatrix x(1, n_), y(1, n_);
    double largest = 0;
    for (int i = 0; i < n_; ++i) x[i] = 1 + float(i) / n_;
    for (int power = 0; power < 4; ++power) {
      apply(w, x.data(), y.data());
      largest = norm(y) / std::max(norm(x), 1e-30);
      std::swap(x, y);
    }
    return largest;
  }

  // The transform nearest to t + size * change (n x n), by Newton-Schulz iterations.
  FloatMatrix retract(const FloatMatrix& change, double size) const {
    FloatMatrix x(t_), s(n_, n_);
    x.add(float(size), change);
    for (int step = 0; step < layers::kMostNewtonSchulz; ++step) {
      lower_gram<float>(x, s);
      double gap = 0;
      for (int i = 0; i < n_; ++i) {
        for (int j = 0; j <= i; ++j) {
          const float v = s(j, i) - (i == j ? 1 : 0);
          gap += (i == j ? 1 : 2) * double(v) * v;
          s(j, i) = s(i, j) = -0.5f * v;
        }
        s(i, i) += 1;
      }
      x = product(s, x);
      if (gap < layers::kNearlyOrthogonal * layers::kNearlyOrthogonal) break;
    }
    return x;
  }

  // L-BFGS from the best transform for the gradient.
  End ascend(int limit) {
    const Matrix gain = transposed_as<double>(g_.view());
    t_ = transposed_as<float>(nearest_orthogonal(gain, settings_.special).view());
    value_ = f_(t_, g_);
    CompactLbfgsMemory memory(memory_size_, planes());
    FloatMatrix z;
    for (int step = 0; iterations() < limit; ++step) {
      if (step % layers::kFrameLife == 0) {
        update_frame();
        memory.clear();
        z = slope(t_, g_);
      }
      if (std::sqrt(0.5) * gradient_norm(z) <= settings_.tolerance * settings_.scale) return End::settled;
      if (!search_line(memory, z, limit)) {
        if (memory.empty()) return End::settled;  // rounding has been reached
        memory.clear();
      }
      const End end = judge(value_);
      if (end != End::none) return end;
    }
    return End::none;
  }

  // Of the gradient itself: without the roots of curvatures.
  double gradient_norm(const FloatMatrix& z) const {
    double sum = 0;
    for (Index e = 0; e < z.size(); ++e) sum += double(z[e] / roots_[e]) * (z[e] / roots_[e]);
    return std::sqrt(sum);
  }

  // Takes a step, if one increases the objective; z is the slope before and after.
  bool search_line(CompactLbfgsMemory& memory, FloatMatrix& z, int limit) {
    FloatMatrix d = memory.direction(z);
    double rise = dot(d, z);
    if (!(rise > 0)) {
      memory.clear();
      d = z, rise = dot(d, z);
    }
    const FloatMatrix w = skew(d), change = product(w, t_, -1);
    FloatMatrix g;
    double size = std::min(1.0, layers::kLongestStep / spectral_norm(w));
    for (int tries = 0; tries < layers::kLineSearchTries && iterations() < limit; ++tries) {
      FloatMatrix t = retract(change, size);
      const double value = f_(t, g);
      FloatMatrix after = slope(t, g);
      const bool rises = value >= value_ + layers::kSufficientRise * size * rise ||
                         std::abs(value - value_) < layers::kRounding * std::abs(value_);
      if (rises && dot(d, after) > -layers::kOvershoot * rise) {
        memory.remember(d, size, z, after);
        t_ = std::move(t), g_ = std::move(g), z = std::move(after), value_ = value;
        return true;
      }
      const double curve = 2 * (value_ + size * rise - value) / (size * size);
      const double best = curve > 0 ? rise / curve : size;
      size = std::max(layers::kShortestCut * size, std::min(best, layers::kLongestCut * size));
    }
    return false;
  }

  LayerObjective f_;
  AscentSettings settings_;
  double total_, value_ = 0, last_ = -INFINITY, floor_ = -INFINITY;
  int n_, k_, memory_size_, rank_ = 0, judged_ = 0;
  Forecast forecast_;
  FloatMatrix t_, g_;          // k x n; t_ is n x n for L-BFGS
  FloatMatrix frame_, roots_;  // k x k: rows are the present axes of y; one over the roots of curvatures
};

}  // namespace repshape
