// Riemannian L-BFGS on the orthogonal group.
//
// Coordinates are left-trivialised: near T every transform is T cay(W) with W skew, so tangent
// vectors at different points can be compared directly. With G the gradient of the objective,
// the Riemannian gradient is R = skew(T'G), and the model that alternation optimises exactly,
// <T cay(W), G>, has the Newton step P W + W P = 2 R with P = sym(T'G). It preconditions L-BFGS.
//
// An objective F offers n(), k(), single (whether its gradients are single precision) and operator()(full, gradient):
// value and gradient (n x k) at the first k columns of an n x n orthogonal matrix.
#pragma once

#include "search/lbfgs.h"
#include "common/orthogonal.h"
#include "search/planes.h"
#include "common/transforms.h"

namespace repshape {

// What an ascent is likely to reach, told from its last two gains, because it is about geometric.
class Outlook {
 public:
  // The value that is expected in the end, given the present one; infinite until there is enough to extrapolate from.
  double after(double value) {
    const double gain = value - previous_, last = last_gain_;
    previous_ = value, last_gain_ = gain;
    if (!std::isfinite(gain) || !std::isfinite(last)) return INFINITY;
    const double ratio = std::min(kSlowest, std::max(gain / last, kFastest));
    return value + kDoubt * gain * ratio / (1 - ratio);
  }

  static constexpr int kStride = 3;  // iterations between looks at the progress
  static constexpr double kDoubt = 3;  // times the gain that is expected

 private:
  static constexpr double kFastest = 0.6, kSlowest = 0.96;  // ratios of gains that can be believed
  double previous_ = -INFINITY, last_gain_ = INFINITY;
};

struct AscentSettings {
  double scale = 1;          // of the objective; gradients are compared with it
  double tolerance = 1e-9;   // of the Riemannian gradient, relative to scale
  int memory = 12;
  bool special = false;      // stay among rotations
};

class Ascent {
 public:
  Ascent(const AscentSettings& settings, Matrix start)
      : settings_(settings), t_(std::move(start)), memory_(settings.memory) {}

  double value() const { return value_; }
  const Matrix& transform() const { return t_; }
  bool converged() const { return converged_; }
  int iterations() const { return iterations_; }
  // Uses second derivatives from now on, if the ascent turns out to be slow.
  void use(const Curvature* curvature) {
    curvature_source_ = curvature;
    patience_ = iterations_ + (curvature ? curvature->patience() : 0);
  }
  void settle() { converged_ = true; }  // whatever the gradient: too little would be gained
  void demand(double tolerance) { settings_.tolerance = tolerance, converged_ = stuck_ = false; }
  void count(int more) { iterations_ += more; }  // iterations that produced the start

  // Evaluates the gradient at the current transform, unless it is known.
  template <class F>
  void look(const F& f) {
    n_ = f.n(), k_ = f.k();
    if (!gradient_.empty()) return;
    value_ = f(t_, gradient_);
    ++iterations_;
    riemannian(t_, gradient_, r_);
  }

  // Ascends until convergence, or until `limit` gradients have been evaluated since the last transfer().
  template <class F>
  void run(const F& f, int limit) {
    begin(f);
    climb(f, limit);
  }

  // The same, in strides, until stop(value, expected) says so. Returns whether it did.
  template <class F, class Stop>
  bool run_until(const F& f, int limit, Stop stop, int stride = Outlook::kStride) {
    begin(f);
    Outlook outlook;
    for (;;) {
      const int from = iterations_;
      if (climb(f, std::min(from + stride, limit)) || iterations_ < from + stride) return false;
      const double expected = outlook.after(value_);
      if (std::isfinite(expected) && stop(value_, expected)) return true;
    }
  }

  // Steps near a maximum that cost single precision only. There the gradient is linear in the displacement W, so
  // that its change is measured at a displacement `stretch` times as long, which single precision resolves:
  //   R(T cay(W)) = R(T) + (R(T cay(stretch W)) - R(T)) / stretch.
  // One gradient in double precision checks the outcome. Returns false if the gradient was not halved.
  template <class F>
  bool refine(const F& rough, const F& fine, int limit) {
    if (gradient_.empty() || finished(false) || iterations_ + 3 > limit) return false;
    model();
    const Matrix origin = r_;
    Matrix w(r_.size(), 0), g, base, r;
    rough(t_, g);
    ++iterations_;
    riemannian(t_, g, base);
    const double norm = std::sqrt(dot(origin, origin));
    const double goal = std::max(0.3 * settings_.tolerance * settings_.scale, kLinearRange * norm);
    double least = norm;
    int idle = 0;
    while (std::sqrt(dot(r_, r_)) > goal && iterations_ + 1 < limit) {
      const Matrix step = direction();
      for (std::size_t e = 0; e < w.size(); ++e) w[e] += step[e];
      const double stretch = kProbe / std::sqrt(dot(w, w));
      const Matrix probe = retract(w, stretch);
      rough(probe, g);
      ++iterations_;
      riemannian(probe, g, r);
      for (std::size_t e = 0; e < r.size(); ++e) r[e] = origin[e] + (r[e] - base[e]) / stretch;
      memory_.remember(step, 1, r_, r);
      r_ = r;
      const double left = std::sqrt(dot(r, r));
      idle = left < 0.9 * least ? 0 : idle + 1;
      if (!(left < 2 * least) || idle > kIdleSteps) break;
      least = std::min(least, left);
    }
    Matrix t = retract(w, 1);
    const double value = fine(t, g);
    ++iterations_;
    riemannian(t, g, r);
    if (!(std::sqrt(dot(r, r)) < 0.5 * norm)) {
      r_ = origin;
      return false;
    }
    accept(std::move(t), std::move(g), value);
    r_ = std::move(r);
    return true;
  }

  // Prepares for an objective that resembles the last: keeps the L-BFGS memory, but no values.
  void transfer(const AscentSettings& settings) {
    settings_ = settings;
    memory_.hold(settings.memory);
    iterations_ = 0;
    forget();
  }

  // Prepares for the same objective in another precision: keeps the L-BFGS memory, but no values.
  void refresh() {
    --iterations_;  // the last gradient is evaluated again
    forget();
  }

  // Single precision can do no more once the gradient is too small for it to resolve, or neither decreases nor leads on.
  bool finished(bool single) {
    const double norm = std::sqrt(dot(r_, r_));
    converged_ = norm <= settings_.tolerance * settings_.scale;
    if (!single) return converged_ || stuck_;
    const bool rises = value_ > highest_ + kSingleGain * settings_.scale;
    idle_ = norm < 0.9 * lowest_ || rises ? 0 : idle_ + 1;
    if (norm < 0.9 * lowest_) lowest_ = norm;
    if (rises) highest_ = value_;
    return stuck_ || norm <= std::max(kSingleTolerance, settings_.tolerance) * settings_.scale || idle_ > kIdleSteps;
  }

 private:
  template <class F>
  void begin(const F& f) {
    look(f);
    lowest_ = INFINITY, highest_ = -INFINITY, idle_ = 0;
  }

  // Returns whether the end was reached, rather than the limit.
  template <class F>
  bool climb(const F& f, int limit) {
    while (!finished(f.single)) {
      if (iterations_ >= limit) return false;
      advance(f, limit);
    }
    return true;
  }

  void forget() {
    gradient_.clear();
    converged_ = stuck_ = false;
  }

  // R = skew(T'G), n x n: zero in the block of directions that neither network occupies.
  void riemannian(const Matrix& t, const Matrix& g, Matrix& r) {
    Matrix product(std::size_t(n_) * k_);
    gemm(true, false, n_, k_, n_, 1, t.data(), n_, g.data(), k_, 0, product.data(), k_);
    r.assign(std::size_t(n_) * n_, 0);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < k_; ++j) {
        r[std::size_t(i) * n_ + j] += 0.5 * product[std::size_t(i) * k_ + j];
        r[std::size_t(j) * n_ + i] -= 0.5 * product[std::size_t(i) * k_ + j];
      }
  }

  // Eigenvectors of P = sym(T'G) on the k occupied directions.
  void model() {
    Matrix p(std::size_t(k_) * k_), product(std::size_t(k_) * k_);
    gemm(true, false, k_, k_, n_, 1, t_.data(), n_, gradient_.data(), k_, 0, product.data(), k_);
    for (int i = 0; i < k_; ++i)
      for (int j = 0; j < k_; ++j)
        p[std::size_t(i) * k_ + j] =
            0.5 * (product[std::size_t(i) * k_ + j] + product[std::size_t(j) * k_ + i]);
    Matrix v;
    symmetric_eigen(k_, p, v, curvature_);
    curvature_.resize(n_, 0);
    basis_.assign(std::size_t(n_) * n_, 0);
    for (int i = 0; i < k_; ++i)
      std::copy_n(v.data() + std::size_t(i) * k_, k_, basis_.data() + std::size_t(i) * n_);
    for (int i = k_; i < n_; ++i) basis_[std::size_t(i) * n_ + i] = 1;
  }

  // R in the eigenbasis of P, each entry divided by half its (positive) curvature: W with P W + W P = 2 R there.
  void divide(const Matrix& r, Matrix& turned, Matrix& divided) const {
    double largest = 0;
    for (double c : curvature_) largest = std::max(largest, std::abs(c));
    const double floor = std::max(kWeak * largest, 1e-300);
    divided.resize(r.size()), turned.resize(r.size());
    gemm(true, false, n_, n_, n_, 1, basis_.data(), n_, r.data(), n_, 0, divided.data(), n_);
    gemm(false, false, n_, n_, n_, 1, divided.data(), n_, basis_.data(), n_, 0, turned.data(), n_);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) {
        const double c = std::max(std::abs(curvature_[i] + curvature_[j]), floor);
        const std::size_t e = std::size_t(i) * n_ + j;
        divided[e] = (i >= k_ && j >= k_) ? 0 : 2 * turned[e] / c;
      }
  }

  Matrix precondition(const Matrix& r) const {
    if (!inverse_.empty()) return apply_inverse(r);
    Matrix half, w;
    divide(r, half, w);
    gemm(false, false, n_, n_, n_, 1, basis_.data(), n_, w.data(), n_, 0, half.data(), n_);
    gemm(false, true, n_, n_, n_, 1, half.data(), n_, basis_.data(), n_, 0, w.data(), n_);
    return w;
  }

  // <r, precondition(r)>
  double weighed(const Matrix& r) const {
    if (!inverse_.empty()) return dot(r, apply_inverse(r));
    Matrix turned, divided;
    divide(r, turned, divided);
    return dot(turned, divided);
  }

  // Takes the second derivatives at the current transform. Their inverse, made negative, replaces alternation's model.
  void differentiate() {
    Matrix h = curvature_source_->at(t_), v, values;
    const Planes planes(n_);
    const int size = int(planes.list.size());
    symmetric_eigen(size, h, v, values);
    double largest = 0;
    for (double e : values) largest = std::max(largest, std::abs(e));
    Matrix scaled(v);
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < size; ++j)
        scaled[std::size_t(i) * size + j] /= std::max({std::abs(values[j]), kFlat * largest, 1e-300});
    inverse_.resize(scaled.size());
    gemm(false, true, size, size, size, 1, scaled.data(), size, v.data(), size, 0, inverse_.data(), size);
    memory_.clear();
  }

  Matrix apply_inverse(const Matrix& r) const {
    const Planes planes(n_);
    const int size = int(planes.list.size());
    Matrix g(size), w(size), out(r.size(), 0);
    for (int q = 0; q < size; ++q) g[q] = 2 * r[std::size_t(planes.list[q].first) * n_ + planes.list[q].second];
    gemm(false, false, size, 1, size, 1, inverse_.data(), size, g.data(), 1, 0, w.data(), 1);
    for (int q = 0; q < size; ++q) {
      const auto& [i, j] = planes.list[q];
      if (i >= k_) continue;
      out[std::size_t(i) * n_ + j] = w[q], out[std::size_t(j) * n_ + i] = -w[q];
    }
    return out;
  }

  Matrix direction() const {
    return memory_.direction(
        r_, [&](const Matrix& q) { return precondition(q); }, [&](const Matrix& y) { return weighed(y); });
  }

  // T cay(size W) = T (I - size W / 2)^-1 (I + size W / 2), then a Newton-Schulz step, which keeps it orthogonal.
  Matrix retract(const Matrix& w, double size) const {
    const std::size_t count = w.size();
    Matrix left(count), right(count), next(count), gram(count);
    for (std::size_t e = 0; e < count; ++e) {
      left[e] = -0.5 * size * w[e];
      right[e] = 0.5 * size * w[e];
    }
    for (int i = 0; i < n_; ++i) {
      left[std::size_t(i) * n_ + i] += 1;
      right[std::size_t(i) * n_ + i] += 1;
    }
    solve_linear(n_, left, right);
    gemm(false, false, n_, n_, n_, 1, t_.data(), n_, right.data(), n_, 0, next.data(), n_);
    gemm(true, false, n_, n_, n_, -0.5, next.data(), n_, next.data(), n_, 0, gram.data(), n_);
    for (int i = 0; i < n_; ++i) gram[std::size_t(i) * n_ + i] += 1.5;
    Matrix out(count);
    gemm(false, false, n_, n_, n_, 1, next.data(), n_, gram.data(), n_, 0, out.data(), n_);
    return out;
  }

  void accept(Matrix t, Matrix g, double value) {
    t_ = std::move(t);
    gradient_ = std::move(g);
    value_ = value;
  }

  template <class F>
  void advance(const F& f, int limit) {
    if (curvature_source_ && iterations_ >= patience_) {
      differentiate();
      patience_ = iterations_ + curvature_source_->patience();
    }
    if (inverse_.empty() && (memory_.empty() || steps_ % kModelLife == 0)) model();
    ++steps_;
    Matrix w = direction();
    double slope = dot(r_, w);
    if (!(slope > 0)) {
      memory_.clear();
      w = precondition(r_);
      slope = dot(r_, w);
    }
    const double length = std::sqrt(dot(w, w));
    alternating_ = alternating_ && length > kLongestStep;
    if (alternating_) return alternate(f);
    const double slack = (f.single ? 3e-7 : 1e-14) * settings_.scale;
    double size = std::min(1.0, kLongestStep / length);
    Matrix g, r;
    for (int tries = 0; tries < kLineSearchTries; ++tries) {
      if (iterations_ >= limit) return;
      Matrix t = retract(w, size);
      const double value = f(t, g);
      ++iterations_;
      if (value >= value_ + 1e-4 * size * slope - slack) {
        riemannian(t, g, r);
        memory_.remember(w, size, r_, r);
        accept(std::move(t), std::move(g), value);
        r_ = std::move(r);
        return;
      }
      const double curve = 2 * (value_ + size * slope - value) / (size * size);  // of the parabola through both values
      size = std::min(std::max(slope / curve, 0.1 * size), 0.5 * size);
    }
    if (iterations_ < limit) alternate(f);
  }

  // One step of alternation: never decreases the objective, so that it is the fallback when the line search fails.
  template <class F>
  void alternate(const F& f) {
    memory_.clear();
    Matrix t = nearest_orthogonal(n_, k_, gradient_.data(), settings_.special), g;
    const double value = f(t, g);
    ++iterations_;
    if (!(value > value_)) {
      if (!alternating_) stuck_ = true;  // neither step increases the objective: rounding has been reached
      alternating_ = false;
      return;
    }
    riemannian(t, g, r_);
    accept(std::move(t), std::move(g), value);
  }

  // Directions held more weakly than this share of the strongest share its curvature: they would take steps so long
  // that the limit below leaves nothing for the others.
  static constexpr double kWeak = 1e-5;
  static constexpr double kLongestStep = 2.0;  // radians, over all planes together
  static constexpr int kLineSearchTries = 6;
  static constexpr double kSingleTolerance = 5e-8;  // gradients are accurate to about 1e-8
  static constexpr double kSingleGain = 5e-7;       // of a value: larger than its rounding
  static constexpr int kIdleSteps = 15;
  static constexpr double kProbe = 1e-2;        // radians, over all planes together
  static constexpr double kLinearRange = 1e-2;  // by how much the linear model can reduce a gradient
  static constexpr double kFlat = 1e-7;    // curvatures below this share of the largest are rounding
  static constexpr int kModelLife = 4;  // steps that share an eigenbasis: it changes slowly

  AscentSettings settings_;
  int n_ = 0, k_ = 0, iterations_ = 0, steps_ = 0;
  int idle_ = 0;
  double value_ = 0, lowest_ = INFINITY, highest_ = -INFINITY;
  bool converged_ = false, stuck_ = false, alternating_ = true;
  Matrix t_, gradient_, r_, basis_, curvature_;
  const Curvature* curvature_source_ = nullptr;
  int patience_ = 0;
  Matrix inverse_;  // of the second derivatives, where they are used
  Memory memory_;
};

inline bool higher(const Ascent& a, const Ascent& b) { return a.value() > b.value(); }

}  // namespace repshape
