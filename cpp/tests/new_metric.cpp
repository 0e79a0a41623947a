// A new ground metric, from scratch: the mean of |x_m - T y_m| over conditions, between points without noise. The page
// "The core in ten minutes" explains it step by step.
#include "search/solve.h"
#include "tests.h"
#include "twins.h"

namespace repshape::tests {
namespace {

// Step 1: a network.
struct Points {
  int neurons;
  bool reduced;
  Matrix rows;  // conditions x neurons

  Points with_silent_neurons(int count) const {
    Points out{neurons + count, reduced, Matrix(rows.rows(), neurons + count)};
    out.rows.column_block(0, neurons).copy_from(rows.view());
    return out;
  }
  bool operator<(const Points& other) const {
    if (neurons != other.neurons) return neurons > other.neurons;  // the larger first
    return std::lexicographical_compare(rows.begin(), rows.end(), other.rows.begin(), other.rows.end());
  }
};

// Step 2: what is maximised, with its gradient. Along the group, the part T y y' of the gradient vanishes.
class PointsObjective : public Function {
 public:
  PointsObjective(const Points& x, const Points& y) : x_(x), y_(y) {}
  int n() const override { return x_.neurons; }
  int k() const override { return y_.neurons; }

 private:
  double evaluate(const Matrix& t, Matrix& gradient) const override {
    const Matrix moved = product(y_.rows, transpose(t));
    gradient.reset(n(), k());
    double sum = 0;
    for (int m = 0; m < moved.rows(); ++m) {
      double square = 1e-300;  // where points meet, the gradient is long, but finite
      for (int i = 0; i < n(); ++i) square += std::pow(x_.rows(m, i) - moved(m, i), 2);
      const double length = std::sqrt(square) / moved.rows();
      sum += length;
      for (int i = 0; i < n(); ++i)
        for (int j = 0; j < k(); ++j) gradient(i, j) += x_.rows(m, i) * y_.rows(m, j) * length / square;
    }
    return -sum;
  }

  const Points &x_, &y_;
};

// Step 3: the problem of a pair.
class PointsProblem : public Problem {
 public:
  PointsProblem(const Points& x, const Points& y, int /*parameters*/) : x_(x), y_(y), whole_(x, y) {
    scale = norm(x.rows) + norm(y.rows), total = 0;
    cost = 6.0 * x.rows.rows() * x.neurons * y.neurons;
    same_space = x.neurons == y.neurons && !x.reduced && !y.reduced;
    weights_.assign(x.rows.rows(), 1.0 / x.rows.rows());
    roots_x_ = without_noise(x), roots_y_ = without_noise(y);
  }

  const Function& whole() const override { return whole_; }
  bool convex() const override { return false; }
  Matrix first_gain() const override { return preferring_identity(product(transpose(x_.rows), y_.rows)); }
  std::vector<Matrix> first_gains() const override { return {first_gain()}; }
  StartData start_data() const override { return {roots_x_, roots_y_, weights_.data(), 1, 0}; }
  ExplorationTarget exploration_target() const override {
    ExplorationTarget out;
    out.f = std::make_unique<PointsObjective>(whole_);
    out.scale = scale, out.total = total, out.cost = cost;
    return out;
  }
  Measurement measure(const Matrix& t, const Oracle&) const override {
    Matrix unused;
    Measurement out;
    out.distance = -whole_.at(t, unused);
    return out;  // its lower bound is zero, and it has no parts
  }

 private:
  static Roots without_noise(const Points& of) {
    Roots out;
    out.n = of.neurons;
    for (int m : rooted_conditions(of.rows.rows())) out.add(m, of.rows.row(m), Matrix(of.neurons, of.neurons));
    return out;
  }

  const Points &x_, &y_;
  PointsObjective whole_;
  Values weights_;
  Roots roots_x_, roots_y_;
};

}  // namespace

// Step 4: a test. Turned points are found again, in either order, and no rotation brings a mirror image as close.
void test_new_metric() {
  Random random(55);
  for (int n : {2, 4}) {
    const Matrix rows = as_matrix(normals(random, 9 * n), 9, n);
    Matrix turn = oriented(as_matrix(random_transform(random, n, n), n, n), true);
    Settings s;
    for (Group group : {Group::orthogonal, Group::rotation, Group::permutation}) {
      if (group == Group::permutation) turn = n == 4 ? injection({1, 0, 2, 3}, 4) : turn;
      if (group == Group::permutation && n != 4) continue;
      s.group = group;
      const Points x{n, false, rows}, y{n, false, product(rows, turn)};
      const Solution found = solve<PointsProblem>(x, y, 0, s), back = solve<PointsProblem>(y, x, 0, s);
      CHECK(near(found.distance, 0, 1e-5, 1) && found.distance == back.distance);
      CHECK(near(values_of(product(y.rows, found.transform)), values_of(rows), 1e-5));
      Points mirrored = y;
      for (int m = 0; m < 9; ++m) mirrored.rows(m, 0) *= -1;
      if (group == Group::orthogonal) CHECK(near(solve<PointsProblem>(x, mirrored, 0, s).distance, 0, 1e-5, 1));
      if (group == Group::rotation) CHECK(solve<PointsProblem>(x, mirrored, 0, s).distance > 0.05);
    }
  }
}

}  // namespace repshape::tests
