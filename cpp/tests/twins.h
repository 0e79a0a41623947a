// What the kernels compute, in slow loops: the expected values of the tests.
#pragma once
#include "check.h"
#include "plain_lapack.h"
#include "problems/gaussian/network.h"

namespace repshape::tests {

enum class Noise { full, thin, triangular, diagonal, none };

// A Gaussian network in dense form: factors are conditions x neurons x columns.
struct Dense {
  int conditions, neurons, columns;
  Noise noise;
  Values means, factors;

  double factor(int m, int i, int r) const { return factors[(std::size_t(m) * neurons + i) * columns + r]; }
};

inline Dense random_dense(Random& random, int conditions, int neurons, Noise noise, double scale = 1) {
  const int columns = noise == Noise::none ? 0 : noise == Noise::thin ? (neurons + 1) / 2 : neurons;
  const std::size_t count = std::size_t(conditions) * neurons;
  Dense out{conditions, neurons, columns, noise, normals(random, count, scale), {}};
  out.factors = normals(random, count * columns, scale);
  for (std::size_t e = 0; e < out.factors.size(); ++e) {
    const int r = int(e % columns), i = int(e / columns % neurons);
    if ((noise == Noise::triangular && r > i) || (noise == Noise::diagonal && r != i)) out.factors[e] = 0;
    if (noise == Noise::diagonal) out.factors[e] = std::abs(out.factors[e]);
  }
  return out;
}

// The singular values of a matrix (rows x columns, row-major), and optionally its polar factor U V'.
inline Values singular_values(int rows, int columns, const Values& x, Values* polar = nullptr) {
  const int high = std::max(rows, columns), low = std::min(rows, columns);
  Values tall(std::size_t(high) * low), s(low), u, v;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const double value = x[std::size_t(i) * columns + j];
      (rows >= columns ? tall[i + std::size_t(j) * high] : tall[j + std::size_t(i) * high]) = value;
    }
  double unit = 0;  // so that no square underflows
  for (double value : tall) unit = std::max(unit, std::abs(value));
  for (double& value : tall) value /= unit > 0 ? unit : 1;
  if (low) tall_svd(high, low, tall, s.data(), u, v);
  for (double& value : s) value *= unit;
  if (!polar) return s;
  polar->assign(std::size_t(rows) * columns, 0);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      for (int k = 0; k < low; ++k) {
        if (!(s[k] > 1e-13 * s[0])) continue;
        const int a = rows >= columns ? i : j, b = rows >= columns ? j : i;
        (*polar)[std::size_t(i) * columns + j] += u[a + std::size_t(k) * high] * v[b + std::size_t(k) * low];
      }
  return s;
}

inline Network as_network(const Dense& x) {
  Values spectrum, stored;
  for (int m = 0; m < x.conditions; ++m) {
    const auto first = x.factors.begin() + std::size_t(m) * x.neurons * x.columns;
    const Values s = singular_values(x.neurons, x.columns, {first, first + x.neurons * x.columns});
    spectrum.insert(spectrum.end(), s.begin(), s.end());
    for (int i = 0; x.noise == Noise::diagonal && i < x.neurons; ++i) stored.push_back(x.factor(m, i, i));
  }
  const bool diagonal = x.noise == Noise::diagonal;
  return Network(x.means.data(), diagonal ? stored.data() : x.factors.data(), spectrum.data(),
                 {x.conditions, x.conditions, x.conditions, x.neurons, 1, x.columns}, diagonal, false);
}

// What a transform (n_x x n_y) makes of a pair: sum of w |A' T C|_*, its gradient, and the squared Bures distances.
struct Expected {
  double value = 0, residual = 0, power = 0;
  Values gradient;
};

inline Expected expect(const Dense& x, const Dense& y, const Values& t, const Values& weights) {
  Expected out;
  const int nx = x.neurons, ny = y.neurons, rx = x.columns, ry = y.columns;
  out.gradient.assign(std::size_t(nx) * ny, 0);
  for (int m = 0; m < x.conditions; ++m) {
    Values moved(std::size_t(nx) * ry, 0), cross(std::size_t(rx) * ry, 0), polar;
    double traces = 0, nuclear = 0;
    for (int i = 0; i < nx; ++i)
      for (int r = 0; r < ry; ++r)
        for (int j = 0; j < ny; ++j) moved[i * ry + r] += t[i * ny + j] * y.factor(m, j, r);
    for (int p = 0; p < rx; ++p)
      for (int r = 0; r < ry; ++r)
        for (int i = 0; i < nx; ++i) cross[p * ry + r] += x.factor(m, i, p) * moved[i * ry + r];
    for (double s : singular_values(rx, ry, cross, &polar)) nuclear += s;
    for (int i = 0; i < nx; ++i)
      for (int p = 0; p < rx; ++p) traces += x.factor(m, i, p) * x.factor(m, i, p);
    for (double v : moved) traces += v * v;
    for (int i = 0; i < nx; ++i)
      for (int j = 0; j < ny; ++j)
        for (int p = 0; p < rx; ++p)
          for (int r = 0; r < ry; ++r)
            out.gradient[i * ny + j] += weights[m] * x.factor(m, i, p) * polar[p * ry + r] * y.factor(m, j, r);
    out.value += weights[m] * nuclear, out.power += weights[m] * traces;
    out.residual += weights[m] * (traces - 2 * nuclear);
  }
  return out;
}

inline Values values_of(const Matrix& a) { return {a.begin(), a.end()}; }
inline Matrix as_matrix(const Values& a, int rows, int columns) { return Matrix(rows, columns, a); }

// Orthonormal columns, n x k row-major.
inline Values random_transform(Random& random, int n, int k) {
  Values drawn = normals(random, std::size_t(n) * k), polar;
  singular_values(n, k, drawn, &polar);
  return polar;
}

inline Values random_weights(Random& random, int count) {
  Values out(count);
  double total = 0;
  for (double& w : out) total += w = random.uniform();
  for (double& w : out) w /= total;
  return out;
}

}  // namespace repshape::tests
