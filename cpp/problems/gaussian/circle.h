// Pairs in the plane: the alignment is one angle, of a rotation or of a reflection, and the objective a sum of
// closed forms, so that the best angle is found by evaluating it all the way round.
//
// A symmetric 2 x 2 matrix is p I + u Z + v X, Z = diag(1, -1), X = (0 1; 1 0); rotation by t turns (u, v) by 2t,
// and the reflection Z first makes it (u, -v). With S = A A', R = C C' and any factors,
//   |A' T C|_*^2 = |A' T C|_F^2 + 2 |det A det C| = tr(S T R T') + 2 |det A det C| = a + b cos 2t + c sin 2t.
#pragma once
#include <cmath>

#include "problems/gaussian/pair.h"

namespace repshape {

class Circle {
 public:
  struct Point {
    double angle = 0, value = 0, slope = 0, bend = 0;
  };

  // One of the two circles: rotations, or reflections. `share` weighs the covariances.
  Circle(const Pair& pair, double share, bool mirrored) : mirrored_(mirrored) {
    const Network &x = *pair.x, &y = *pair.y;
    const int k = y.neurons;
    const Matrix& mean = pair.mean_term;  // 2 x k
    const double flip = mirrored ? -1 : 1;
    along_ = mean(0, 0) + (k == 2 ? flip * mean(1, 1) : 0);
    across_ = mean(1, 0) - (k == 2 ? flip * mean(0, 1) : 0);
    if (!(share > 0) || x.rank == 0 || y.rank == 0) return;
    for (int m = 0; m < x.blocks; ++m) {
      const double weight = share * pair.weights[m];
      if (!(weight > 0)) continue;
      const Plane s = plane(x.block(m), x.diagonal), r = plane(y.block(m), y.diagonal);
      const double v = flip * r.v, w2 = weight * weight;
      constant_.push_back(w2 * 2 * (s.p * r.p + s.area * r.area));
      cosine_.push_back(w2 * 2 * (s.u * r.u + s.v * v));
      sine_.push_back(w2 * 2 * (s.v * r.u - s.u * v));
      // |X|_* has a minimum of this share of its maximum, and is sharply curved within as small an angle of it.
      const double reach = std::hypot(cosine_.back(), sine_.back()), middle = constant_.back();
      if (middle - reach < kSharp * kSharp * (middle + reach)) grid_ = kFineGrid;
    }
  }

  int grid() const { return grid_; }

  // The objective alone.
  double value(double angle) const {
    const double c = std::cos(angle), s = std::sin(angle), c2 = c * c - s * s, s2 = 2 * c * s;
    double sum = 0;
    for (int m = 0; m < terms(); ++m) sum += std::sqrt(std::max(constant_[m] + cosine_[m] * c2 + sine_[m] * s2, 0.0));
    return sum + along_ * c + across_ * s;
  }

  Point at(double angle) const {
    ++evaluations;
    const double c = std::cos(angle), s = std::sin(angle), c2 = c * c - s * s, s2 = 2 * c * s;
    Point out{angle, along_ * c + across_ * s, across_ * c - along_ * s, -along_ * c - across_ * s};
    for (int m = 0; m < terms(); ++m) {
      const double wave = cosine_[m] * c2 + sine_[m] * s2, turned = sine_[m] * c2 - cosine_[m] * s2;
      const double root = std::sqrt(std::max(constant_[m] + wave, 0.0));
      out.value += root;
      if (!(root > 0)) continue;  // the objective increases on both sides: never a maximum
      out.slope += turned / root;
      out.bend += (-2 * wave - turned * turned / (root * root)) / root;
    }
    return out;
  }

  // The maximum uphill of an angle, never lower than the start: strides that pass over one are shortened.
  Point climb(double angle, double flat) const {
    const Point from = at(angle);
    const double way = from.slope < 0 ? -1 : 1;
    // The slope vanishes at a minimum too, where the objective is convex.
    if (std::abs(from.slope) <= flat && from.bend <= flat) return from;
    for (double by = way * stride(); std::abs(by) > 1e-12; by *= 0.125) {
      Point here = from, there = at(angle + by);
      for (int step = 0; there.slope * way > 0 && step < 2 * grid_; ++step) {
        here = there;
        there = at(here.angle + by);
      }
      const Point found = between(here, there, way, flat);
      if (found.value >= from.value) return found;
    }
    return from;
  }

  // The maximum between two angles where the slope changes sign: Newton's method, kept inside.
  Point between(Point low, Point high, double way, double flat) const {
    Point here = at(0.5 * (low.angle + high.angle));  // low may be a minimum, as flat as a maximum
    for (int step = 0; step < kMostSteps && !(std::abs(here.slope) <= flat && here.bend <= 0); ++step) {
      (here.slope * way > 0 ? low : high) = here;
      double next = here.bend < 0 ? here.angle - here.slope / here.bend : NAN;
      const bool inside = (next - low.angle) * way > 0 && (high.angle - next) * way > 0;
      if (!inside || step % 8 == 7) next = 0.5 * (low.angle + high.angle);
      if (next == low.angle || next == high.angle) break;
      here = at(next);
    }
    return here;
  }

  // The highest maximum: refines every local maximum on a grid of angles.
  Point highest(double flat) const {
    double values[kFineGrid];
    for (int i = 0; i < grid_; ++i) values[i] = value(i * stride());
    Point best{0, -INFINITY};
    for (int i = 0; i < grid_; ++i) {
      if (values[i] < values[(i + grid_ - 1) % grid_] || values[i] < values[(i + 1) % grid_]) continue;
      const Point found = climb(i * stride(), flat);
      if (found.value > best.value) best = found;
    }
    return best;
  }

  Matrix transform(double angle) const {
    const double c = std::cos(angle), s = std::sin(angle);
    return mirrored_ ? Matrix(2, 2, {c, s, s, -c}) : Matrix(2, 2, {c, -s, s, c});
  }

  // The angle of a transform that lies on this circle.
  static double angle_of(const Matrix& t) { return std::atan2(t(1, 0), t(0, 0)); }

  mutable long evaluations = 0;

 private:
  struct Plane {
    double p, u, v, area;
  };

  static Plane plane(const Matrix& block, bool diagonal) {
    double f[4] = {0, 0, 0, 0};  // padded to 2 x 2
    for (int i = 0; i < block.rows(); ++i)
      for (int j = 0; j < block.columns(); ++j) f[2 * i + (diagonal ? i : j)] = block(i, j);
    const double first = f[0] * f[0] + f[1] * f[1], second = f[2] * f[2] + f[3] * f[3];
    return {0.5 * (first + second), 0.5 * (first - second), f[0] * f[2] + f[1] * f[3],
            std::abs(f[0] * f[3] - f[1] * f[2])};
  }

  double stride() const { return 6.283185307179586 / grid_; }
  int terms() const { return int(constant_.size()); }

  // Angles of a grid. Chosen by hand, not measured, as are the others.
  static constexpr int kCoarseGrid = 32, kFineGrid = 256;
  static constexpr double kSharp = 0.2;  // radians; about the distance of neighbours on the coarse grid
  static constexpr int kMostSteps = 64;

  bool mirrored_;
  int grid_ = kCoarseGrid;
  double along_ = 0, across_ = 0;    // of the means
  Values constant_, cosine_, sine_;  // a, b and c, by condition
};

}  // namespace repshape
