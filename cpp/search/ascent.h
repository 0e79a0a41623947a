// Riemannian L-BFGS on the orthogonal group.
//
// Coordinates are left-trivialised: near T every transform is T cay(W) with W skew, so tangent
// vectors at different points can be compared directly. With G the gradient of the objective,
// the Riemannian gradient is R = skew(T'G), and the model that alternation optimises exactly,
// <T cay(W), G>, has the Newton step P W + W P = 2 R with P = sym(T'G). It preconditions L-BFGS.
#pragma once
#include "common/orthogonal.h"
#include "search/ascent_settings.h"
#include "search/function.h"
#include "search/lbfgs.h"
#include "search/planes.h"

namespace repshape {

class Ascent {
 public:
  Ascent(const AscentSettings& settings, Matrix start)
      : settings_(settings), t_(std::move(start)), memory_(settings.memory) {}

  double value() const { return value_; }
  const Matrix& transform() const { return t_; }
  bool converged() const { return converged_; }
  int iterations() const { return iterations_; }
  // Uses second derivatives from now on (or no longer), if the ascent turns out to be slow.
  void use_curvature(const Curvature* curvature) {
    curvature_ = curvature;
    next_curvature_ = iterations_ + (curvature ? curvature->cost() : 0);
  }
  void mark_converged() { converged_ = true; }  // regardless of the gradient: further steps would gain too little
  void set_tolerance(double tolerance) { settings_.tolerance = tolerance, converged_ = stuck_ = false; }
  void add_iterations(int more) { iterations_ += more; }  // those that produced the start

  // Evaluates the gradient at the current transform, unless it is known.
  void evaluate(const Function& f) {
    n_ = f.n(), k_ = f.k();
    if (!gradient_.empty()) return;
    value_ = f(t_, gradient_);
    ++iterations_;
    r_ = riemannian(t_, gradient_);
  }

  // Ascends until convergence, or until `limit` gradients have been evaluated since the last restart().
  void run(const Function& f, int limit) {
    begin(f);
    ascend(f, limit);
  }

  // The same, until stop(value, expected) says so every `stride` gradients, and no reversal leads on from there.
  // Returns whether it did.
  template <class Stop>
  bool run_until(const Function& f, int limit, Stop stop, int stride = ascent::kStride) {
    begin(f);
    Forecast forecast;
    for (;;) {
      const int from = iterations_;
      if (ascend(f, std::min(from + stride, limit)) || iterations_ < from + stride) return false;
      const double expected = forecast.after(value_);
      if (!std::isfinite(expected) || !stop(value_, expected)) continue;
      if (iterations_ >= limit || !reverse(f, !f.single)) return true;
      forecast = Forecast();
    }
  }

  // Steps near a maximum that cost single precision only. There the gradient is linear in the displacement W, so
  // that its change is measured at a displacement `stretch` times as long, which single precision resolves:
  //   R(T cay(W)) = R(T) + (R(T cay(stretch W)) - R(T)) / stretch.
  // One gradient in double precision checks the outcome. Returns false if the gradient was not halved.
  bool refine(const Function& rough, const Function& fine, int limit) {
    if (gradient_.empty() || finished(false) || iterations_ + 3 > limit) return false;
    update_model();
    const Matrix origin = r_, w = predicted_displacement(rough, limit);
    Matrix t = cayley_step(t_, w, 1), g;
    const double value = fine(t, g);
    ++iterations_;
    Matrix r = riemannian(t, g);
    if (!(norm(r) < ascent::kEnough * norm(origin))) {
      r_ = origin;
      return false;
    }
    accept(std::move(t), std::move(g), std::move(r), value);
    return true;
  }

  // Steps along a curve keep the determinant, so that an ascent may end at a maximum among the transforms of one
  // determinant only. Alternation leaves such a point. Returns whether it did. `precise`: gradients are precise enough
  // to tell small gains from rounding.
  bool reverse(const Function& f, bool precise) {
    update_model();
    const double least = (precise ? ascent::kDoubleReversal : ascent::kSingleReversal) * settings_.scale;
    if (gain_of_reversal() <= least || !alternation_rises(f)) return false;
    inverse_.clear();
    stuck_ = false;
    lowest_ = INFINITY, idle_ = 0;
    return true;
  }

  // Prepares for an objective that resembles the last: keeps the L-BFGS memory, but no values.
  void restart(const AscentSettings& settings) {
    settings_ = settings;
    memory_.set_limit(settings.memory);
    iterations_ = 0;
    forget_values();
  }

  // Prepares for the same objective in another precision: keeps the L-BFGS memory, but no values.
  void change_precision() {
    --iterations_;  // the last gradient is evaluated again
    forget_values();
  }

 private:
  void begin(const Function& f) {
    evaluate(f);
    lowest_ = INFINITY, highest_ = -INFINITY, idle_ = 0;
  }

  // Returns whether the end was reached, rather than the limit.
  bool ascend(const Function& f, int limit) {
    do {
      while (!finished(f.single)) {
        if (iterations_ >= limit) return false;
        step(f, limit);
      }
    } while (iterations_ < limit && reverse(f, !f.single));
    return true;
  }

  // What alternation's model promises where R vanishes: it reverses the directions in which P is negative, an even
  // number of them among rotations.
  double gain_of_reversal() const {
    double gain = 0, least = INFINITY;
    bool odd = false;
    for (int i = 0; i < k_; ++i) {
      least = std::min(least, std::abs(eigenvalues_[i]));
      if (!(eigenvalues_[i] < 0)) continue;
      gain -= 2 * eigenvalues_[i];
      odd = !odd;
    }
    return settings_.special && odd ? gain - 2 * least : gain;
  }

  // Single precision has reached its limit once it cannot resolve the gradient, or the gradient stops decreasing
  // without progress.
  bool finished(bool single) {
    const double length = norm(r_);
    converged_ = length <= settings_.tolerance * settings_.scale;
    if (!single) return converged_ || stuck_;
    const bool rises = value_ > highest_ + ascent::kSingleGain * settings_.scale;
    const bool shrinks = length < ascent::kProgress * lowest_;
    idle_ = shrinks || rises ? 0 : idle_ + 1;
    if (shrinks) lowest_ = length;
    if (rises) highest_ = value_;
    return stuck_ || length <= std::max(ascent::kSingleTolerance, settings_.tolerance) * settings_.scale ||
           idle_ > ascent::kIdleSteps;
  }

  void forget_values() {
    gradient_.clear();
    converged_ = stuck_ = false;
  }

  // R = skew(T'G), n x n: zero in the block of directions that neither network occupies.
  Matrix riemannian(const Matrix& t, const Matrix& g) const {
    const Matrix tg = product(transpose(t), g);
    Matrix r(n_, n_);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < k_; ++j) {
        r(i, j) += 0.5 * tg(i, j);
        r(j, i) -= 0.5 * tg(i, j);
      }
    return r;
  }

  // Eigenvectors of P = sym(T'G) on the k occupied directions.
  void update_model() {
    const Matrix tg = product(transpose(t_.column_block(0, k_)), gradient_);
    Matrix p(k_, k_);
    for (int i = 0; i < k_; ++i)
      for (int j = 0; j < k_; ++j) p(i, j) = 0.5 * (tg(i, j) + tg(j, i));
    Eigen of = symmetric_eigen(std::move(p));
    eigenvalues_ = std::move(of.values);
    eigenvalues_.resize(n_, 0);
    basis_.reset(n_, n_);
    basis_.row_block(0, k_).column_block(0, k_).copy_from(of.vectors.view());
    for (int i = k_; i < n_; ++i) basis_(i, i) = 1;
  }

  // R in the eigenbasis of P, and the same divided by half the (positive) curvatures: W with P W + W P = 2 R there.
  std::pair<Matrix, Matrix> scaled_by_curvature(const Matrix& r) const {
    double largest = 0;
    for (double c : eigenvalues_) largest = std::max(largest, std::abs(c));
    const double floor = std::max(ascent::kWeakest * largest, ascent::kTiny);
    Matrix turned = product(product(transpose(basis_), r), basis_), scaled(n_, n_);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) {
        const double c = std::max(std::abs(eigenvalues_[i] + eigenvalues_[j]), floor);
        scaled(i, j) = (i >= k_ && j >= k_) ? 0 : 2 * turned(i, j) / c;
      }
    return {std::move(turned), std::move(scaled)};
  }

  Matrix precondition(const Matrix& r) const {
    if (!inverse_.empty()) return apply_inverse(r);
    return product(product(basis_, scaled_by_curvature(r).second), transpose(basis_));
  }

  // <r, precondition(r)>
  double quadratic_form(const Matrix& r) const {
    if (!inverse_.empty()) return dot(r, apply_inverse(r));
    const auto [turned, scaled] = scaled_by_curvature(r);
    return dot(turned, scaled);
  }

  // Takes the second derivatives at the current transform. Their inverse, made negative, replaces alternation's model.
  void update_inverse() {
    const Eigen of = symmetric_eigen(curvature_->at(t_));
    double largest = 0;
    for (double e : of.values) largest = std::max(largest, std::abs(e));
    Matrix scaled(of.vectors);
    for (int i = 0; i < scaled.rows(); ++i)
      for (int j = 0; j < scaled.columns(); ++j)
        scaled(i, j) /= std::max({std::abs(of.values[j]), ascent::kFlat * largest, ascent::kTiny});
    inverse_ = product(scaled, transpose(of.vectors));
    memory_.clear();
  }

  Matrix apply_inverse(const Matrix& r) const {
    const Planes planes(n_);
    Matrix g(planes.count(), 1), out(n_, n_);
    for (int q = 0; q < planes.count(); ++q) g[q] = 2 * r(planes.list[q].first, planes.list[q].second);
    const Matrix w = product(inverse_, g);
    for (int q = 0; q < planes.count(); ++q) {
      const auto& [i, j] = planes.list[q];
      if (i < k_) out(i, j) = w[q], out(j, i) = -w[q];
    }
    return out;
  }

  Matrix direction() const {
    return memory_.direction(
        r_, [&](const Matrix& q) { return precondition(q); }, [&](const Matrix& y) { return quadratic_form(y); });
  }

  // The displacement at which the linear model of refine() expects the gradient to vanish. Changes r_.
  Matrix predicted_displacement(const Function& rough, int limit) {
    const Matrix origin = r_;
    Matrix w(n_, n_), g;
    rough(t_, g);
    ++iterations_;
    const Matrix base = riemannian(t_, g);
    const double length = norm(origin);
    const double goal =
        std::max(ascent::kRefinedTolerance * settings_.tolerance * settings_.scale, ascent::kLinearRange * length);
    double least = length;
    int idle = 0;
    while (norm(r_) > goal && iterations_ + 1 < limit) {
      const Matrix step = direction();
      w.add(1, step);
      const double stretch = ascent::kProbe / norm(w);
      const Matrix probe = cayley_step(t_, w, stretch);
      rough(probe, g);
      ++iterations_;
      Matrix r = riemannian(probe, g);
      for (Index e = 0; e < r.size(); ++e) r[e] = origin[e] + (r[e] - base[e]) / stretch;
      memory_.remember(step, 1, r_, r);
      r_ = std::move(r);
      const double left = norm(r_);
      idle = left < ascent::kProgress * least ? 0 : idle + 1;
      if (!(left < ascent::kDiverges * least) || idle > ascent::kIdleSteps) break;
      least = std::min(least, left);
    }
    return w;
  }

  void accept(Matrix t, Matrix g, Matrix r, double value) {
    t_ = std::move(t), gradient_ = std::move(g), r_ = std::move(r);
    value_ = value;
  }

  void step(const Function& f, int limit) {
    if (curvature_ && iterations_ >= next_curvature_) {
      update_inverse();
      next_curvature_ = iterations_ + curvature_->cost();
    }
    if (inverse_.empty() && (memory_.empty() || steps_ % ascent::kModelLife == 0)) update_model();
    ++steps_;
    const auto [w, slope] = memory_.ascent_direction(
        r_, [&](const Matrix& q) { return precondition(q); }, [&](const Matrix& y) { return quadratic_form(y); });
    const double length = norm(w);
    alternating_ = alternating_ && length > ascent::kLongestStep;
    if (alternating_ || (!search_line(f, w, slope, length, limit) && iterations_ < limit)) alternate(f);
  }

  // Takes a step along w, if one increases the objective enough before the limit.
  bool search_line(const Function& f, const Matrix& w, double slope, double length, int limit) {
    const double slack = (f.single ? ascent::kSingleSlack : ascent::kDoubleSlack) * settings_.scale;
    double size = std::min(1.0, ascent::kLongestStep / length);
    for (int tries = 0; tries < ascent::kLineSearchTries && iterations_ < limit; ++tries) {
      Matrix t = cayley_step(t_, w, size), g;
      const double value = f(t, g);
      ++iterations_;
      if (value >= value_ + ascent::kSufficientRise * size * slope - slack) {
        Matrix r = riemannian(t, g);
        memory_.remember(w, size, r_, r);
        accept(std::move(t), std::move(g), std::move(r), value);
        return true;
      }
      const double curve = 2 * (value_ + size * slope - value) / (size * size);  // of the parabola through both values
      size = std::min(std::max(slope / curve, ascent::kShortestCut * size), ascent::kLongestCut * size);
    }
    return false;
  }

  // One step of alternation: never decreases the objective, so that it is the fallback when the line search fails.
  void alternate(const Function& f) {
    if (alternation_rises(f)) return;
    if (!alternating_) stuck_ = true;  // neither step increases the objective: rounding has been reached
    alternating_ = false;
  }

  bool alternation_rises(const Function& f) {
    memory_.clear();
    Matrix t = nearest_orthogonal(gradient_, settings_.special), g;
    const double value = f(t, g);
    ++iterations_;
    if (!(value > value_)) return false;
    Matrix r = riemannian(t, g);
    accept(std::move(t), std::move(g), std::move(r), value);
    return true;
  }

  AscentSettings settings_;
  int n_ = 0, k_ = 0, iterations_ = 0, steps_ = 0;
  int idle_ = 0;
  double value_ = 0, lowest_ = INFINITY, highest_ = -INFINITY;
  bool converged_ = false, stuck_ = false;
  bool alternating_ = true;  // steps are still so long that alternation takes them
  Matrix t_, gradient_, r_;
  Matrix basis_;  // eigenvectors of P
  Values eigenvalues_;
  const Curvature* curvature_ = nullptr;
  int next_curvature_ = 0;  // the number of gradients from which second derivatives are used
  Matrix inverse_;          // of the second derivatives, where they are used
  LbfgsMemory memory_;
};

inline bool higher(const Ascent& a, const Ascent& b) { return a.value() > b.value(); }

}  // namespace repshape
