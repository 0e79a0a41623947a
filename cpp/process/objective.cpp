#include "process/objective.h"

#include <numeric>

#include "gaussian/blas_objective.h"

namespace repshape {
namespace {

// One block at a time: moved = T C, cross = A' T C summed over positions, its polar factor P, lifted = A P.
class BlockProducts {
 public:
  BlockProducts(const ProcessPair& pair, const double* transform)
      : x_(*pair.x), y_(*pair.y), transform_(transform), lo_(std::min(x_.rank, y_.rank)),
        hi_(std::max(x_.rank, y_.rank)), flipped_(y_.rank < x_.rank), small_(std::size_t(lo_) * lo_) {}

  bool empty() const { return lo_ == 0; }

  void form(int block) {
    const int nx = x_.neurons, ny = y_.neurons, rx = x_.rank, ry = y_.rank, length = x_.lengths[block];
    const int columns = length * ry, tall = nx * length;
    moved.resize(std::size_t(nx) * columns);
    lifted.resize(moved.size());
    cross.resize(std::size_t(lo_) * hi_);
    gemm(false, false, nx, columns, ny, 1, transform_, ny, y_.factor(block), columns, 0, moved.data(), columns);
    const double* a = x_.factor(block);
    if (flipped_)  // the smaller rank comes first
      gemm(true, false, ry, rx, tall, 1, moved.data(), ry, a, rx, 0, cross.data(), rx);
    else
      gemm(true, false, rx, ry, tall, 1, a, rx, moved.data(), ry, 0, cross.data(), ry);
    polar = cross;
    blas_polar(lo_, hi_, polar, small_, solved_, 0, std::min(x_.ranks[block], y_.ranks[block]));
    gemm(false, flipped_, tall, ry, rx, 1, a, rx, polar.data(), hi_, 0, lifted.data(), ry);
  }

  Matrix moved, cross, polar, lifted;

 private:
  const ProcessNetwork &x_, &y_;
  const double* transform_;
  int lo_, hi_;
  bool flipped_;
  Matrix small_, solved_;
};

}  // namespace

Matrix mean_term(const ProcessPair& pair) {
  const ProcessNetwork &x = *pair.x, &y = *pair.y;
  Matrix out(std::size_t(x.neurons) * y.neurons, 0), scaled(x.means);
  for (int r = 0; r < x.rows; ++r)
    for (int i = 0; i < x.neurons; ++i) scaled[std::size_t(r) * x.neurons + i] *= pair.weights[x.condition_of_row(r)];
  gemm(true, false, x.neurons, y.neurons, x.rows, 1, scaled.data(), x.neurons, y.means.data(), y.neurons, 0,
       out.data(), y.neurons);
  return out;
}

ProcessObjective::ProcessObjective(const ProcessPair& of) : pair(of), means(mean_term(of)), blocks(of.x->blocks) {
  for (double& v : means) v *= pair.mean_share();
  std::iota(blocks.begin(), blocks.end(), 0);
}

ProcessObjective ProcessObjective::thinned(int count) const {
  ProcessObjective few = *this;
  const int total = int(blocks.size());
  if (count >= total) return few;
  few.blocks.clear();
  few.evaluated = 0;
  double kept = 0, all = 0;
  auto size = [&](int b) { return pair.weights[pair.x->condition_of_block(b)] * pair.x->variance[b]; };
  for (int c = 0; c < count; ++c) {
    few.blocks.push_back(blocks[int((2L * c + 1) * total / (2L * count))]);
    kept += size(few.blocks.back());
  }
  for (int b : blocks) all += size(b);
  if (!(kept > 0)) return *this;
  few.boost = all / kept;
  return few;
}

double ProcessObjective::at(const Matrix& t, Matrix& gradient) const {
  const ProcessNetwork &x = *pair.x, &y = *pair.y;
  ++evaluated;
  gradient = means;
  double total = dot(means, t);
  BlockProducts products(pair, t.data());
  if (products.empty() || pair.alpha == 2) return total;
  for (int b : blocks) {
    const double weight = pair.covariance_share() * boost * pair.weights[x.condition_of_block(b)];
    if (weight == 0) continue;
    products.form(b);
    const int columns = x.lengths[b] * y.rank;
    gemm(false, true, x.neurons, y.neurons, columns, weight, products.lifted.data(), columns, y.factor(b), columns, 1,
         gradient.data(), y.neurons);
    total += weight * dot(products.cross, products.polar);
  }
  return total;
}

double mean_residual(const ProcessPair& pair, const Matrix& t) {
  const ProcessNetwork &x = *pair.x, &y = *pair.y;
  const int nx = x.neurons, ny = y.neurons;
  double total = 0;
  for (int r = 0; r < x.rows; ++r) {
    double sum = 0;
    for (int i = 0; i < nx; ++i) {
      const double moved = dot(t.data() + std::size_t(i) * ny, y.means.data() + std::size_t(r) * ny, ny);
      const double gap = pair.mean_gain_x * x.means[std::size_t(r) * nx + i] - pair.mean_gain_y * moved;
      sum += gap * gap;
    }
    total += pair.weights[x.condition_of_row(r)] * sum;
  }
  return total;
}

// For any P, |A|^2 + |C|^2 - 2 <P, A'TC> = |A P - T C|^2 + |A|^2 - |A P|^2. Where P keeps all of A, only the first
// term is left, which has no cancellation.
double covariance_residual(const ProcessPair& pair, const Matrix& t) {
  const ProcessNetwork &x = *pair.x, &y = *pair.y;
  BlockProducts products(pair, t.data());
  const double gain_x = pair.gain_x, gain_y = pair.gain_y;
  double total = 0;
  for (int b = 0; b < x.blocks; ++b) {
    double sum = gain_x * gain_x * x.variance[b] + gain_y * gain_y * y.variance[b];
    if (!products.empty()) {
      products.form(b);
      double gap = 0;
      for (std::size_t e = 0; e < products.moved.size(); ++e) {
        const double each = gain_x * products.lifted[e] - gain_y * products.moved[e];
        gap += each * each;
      }
      const double lost = std::max(0.0, x.variance[b] - dot(products.lifted, products.lifted));
      const bool whole = std::abs(dot(products.polar, products.polar) - x.ranks[b]) < 1e-9 * x.rank &&
                         lost < 1e-9 * x.variance[b];  // or a direction that counts as rounding belongs to it
      sum = gap + (whole ? 0 : gain_x * gain_x * lost);
    }
    total += pair.weights[x.condition_of_block(b)] * sum;
  }
  return total;
}

double spectral_gap(const ProcessPair& pair) {
  const ProcessNetwork &x = *pair.x, &y = *pair.y;
  double total = 0;
  for (int m = 0; m < x.conditions; ++m) {
    double best = 0;
    for (std::size_t f = 0; f < std::min(x.spectra.size(), y.spectra.size()); ++f) {
      const Spectra &a = x.spectra[f], &b = y.spectra[f];
      double sum = 0;
      for (int g = 0; g < a.groups; ++g)
        for (int v = 0; v < std::max(a.size, b.size); ++v) {
          const double gap = pair.gain_x * (v < a.size ? a.of(m, g)[v] : 0) -
                             pair.gain_y * (v < b.size ? b.of(m, g)[v] : 0);
          sum += gap * gap;
        }
      best = std::max(best, sum);
    }
    total += pair.weights[m] * best;
  }
  return total;
}

double ProcessObjective::squares(const ProcessNetwork& net) const {
  double means = 0, noise = 0;
  for (int r = 0; r < net.rows; ++r) {
    const double* mean = net.means.data() + std::size_t(r) * net.neurons;
    means += pair.weights[net.condition_of_row(r)] * dot(mean, mean, net.neurons);
  }
  for (int b : blocks) noise += pair.weights[net.condition_of_block(b)] * net.variance[b];
  return pair.mean_share() * means + pair.covariance_share() * boost * noise;
}

double ProcessObjective::operations() const {
  const ProcessNetwork &x = *pair.x, &y = *pair.y;
  const double rx = x.rank, ry = y.rank, low = std::min(rx, ry);
  double total = 40.0 * x.neurons * x.neurons * x.neurons;
  for (int b : blocks)
    total += 4.0 * x.lengths[b] * x.neurons * ry * (y.neurons + rx) + 20 * low * low * std::max(rx, ry);
  return total;
}

Roots roots_of(const ProcessNetwork& net) {
  const int n = net.neurons, each = net.blocks / net.conditions, positions = net.rows / net.conditions;
  Roots out;
  out.n = n;
  for (int row : spread_conditions(net.rows)) {
    Matrix s(std::size_t(n) * n, 0);
    const int first = net.condition_of_row(row) * each;
    for (int b = first; b < first + each; ++b) {
      const int length = net.lengths[b], place = row % positions - (net.positions - length);
      if (place < 0 || place >= length || net.rank == 0) continue;
      const double* at = net.factor(b) + std::size_t(place) * net.rank;
      gemm(false, true, n, n, net.rank, 1, at, length * net.rank, at, length * net.rank, 1, s.data(), n);
    }
    out.add(row, net.means.data() + std::size_t(row) * n, symmetric_root(n, std::move(s)));
  }
  return out;
}

}  // namespace repshape
