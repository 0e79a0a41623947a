// The gradient of g(T) = sum_b w_b |sum_p A_bp' T C_bp|_* and the residual form of the Bures distances. A block of
// factors is neurons x positions x rank: sums over positions are products of longer rows or columns.
// This file is compiled once per instruction set (REPSHAPE_ISA names the copy).
#include "problems/gaussian/kernel.h"

#include "problems/gaussian/polar.h"

namespace repshape {
namespace REPSHAPE_ISA {

namespace {

// Slots of doubles and of floats are kept apart.
template <class P>
P* scratch(std::ptrdiff_t packs, int slot) {
  constexpr int first = sizeof(typename P::Scalar) == sizeof(double) ? 0 : kScratchSlots / 2;
  return reinterpret_cast<P*>(lane_scratch(first + slot, packs * (sizeof(P) / sizeof(double))));
}

template <class P>
LaneView<P> scratch_matrix(int n_rows, int columns, int slot) {
  return rows(scratch<P>(area(n_rows, columns), slot), columns);
}

// The blocks that a Pack holds: `width` of a pair's, in the order of its groups, from `first` on.
template <class P>
struct Slice {
  static constexpr int width = P::width;
  static constexpr int run = width < kDoubleLanes ? width : kDoubleLanes;  // lanes that are neighbours in a group
  const int* groups;
  int n_groups, first;

  bool ended() const { return first >= n_groups * kDoubleLanes; }

  // The block of a lane, or -1 if it holds none.
  int block(int lane, int blocks) const {
    const int at = first + lane;
    if (at >= n_groups * kDoubleLanes) return -1;
    const int m = groups[at / kDoubleLanes] * kDoubleLanes + at % kDoubleLanes;
    return m < blocks ? m : -1;
  }
};

// One side of a pair for the blocks of a Pack.
template <class P>
struct Side {
  const LaneNetwork* network;
  const P* factors;
  P smallest, largest, ranks;
};

// Where a Pack holds a whole group, the network's own lanes are read; else they are gathered.
template <class P>
Side<P> side(const LaneNetwork& net, const Slice<P>& slice, int slot) {
  using T = typename P::Scalar;
  Side<P> out{&net, nullptr, P::zero(), P(T(1)), P::zero()};
  constexpr int width = Slice<P>::width, run = Slice<P>::run;
  for (int l = 0; l < width; ++l) {
    const int m = slice.block(l, net.blocks);
    if (m < 0) continue;
    out.smallest.set(l, T(net.smallest[m]));
    if (net.ranks[m] > 0) out.largest.set(l, T(rows(net.spectrum, net.rank).at(m, 0)));
    out.ranks.set(l, T(net.ranks[m]));
  }
  auto group = [&](int at) {
    return net.factors + slice.groups[at / kDoubleLanes] * net.entries * kDoubleLanes + at % kDoubleLanes;
  };
  if constexpr (sizeof(T) == sizeof(double) && width == kDoubleLanes) {
    out.factors = reinterpret_cast<const P*>(group(slice.first));
    return out;
  }
  P* gathered = scratch<P>(net.entries, slot);
  T* to = reinterpret_cast<T*>(gathered);
  for (int from = 0; from < width; from += run, to += run) {
    const int at = slice.first + from;
    const double* values = at < slice.n_groups * kDoubleLanes ? group(at) : nullptr;
    for (std::ptrdiff_t e = 0; e < net.entries; ++e)
      for (int l = 0; l < run; ++l) to[e * width + l] = values ? T(values[e * kDoubleLanes + l]) : T(0);
  }
  out.factors = gathered;
  return out;
}

// Intermediate results for one set of lanes: moved = T C (n_x x positions x r_y), cross = A' T C and its polar
// factor, both stored with the smaller of the two ranks first.
template <class P>
struct Work {
  LaneView<P> moved, cross, polar, small, solved, lifted;
  int nx, ny, rx, ry, positions;
  bool flipped;  // cross and polar are stored transposed: r_y x r_x

  int tall() const { return nx * positions; }
};

template <class P>
Work<P> make_work(const LaneNetwork& x, const LaneNetwork& y) {
  const int nx = x.neurons, rx = x.rank, ry = y.rank;
  const int lo = least(rx, ry), hi = greatest(rx, ry);
  Work<P> w;
  w.nx = nx, w.ny = y.neurons, w.rx = rx, w.ry = ry, w.positions = x.positions;
  w.flipped = ry < rx;
  w.moved = scratch_matrix<P>(w.tall(), ry, 0);
  w.cross = scratch_matrix<P>(lo, hi, 1);
  w.polar = scratch_matrix<P>(lo, hi, 2);
  w.small = scratch_matrix<P>(lo, lo, 3);
  w.solved = scratch_matrix<P>(lo, P::tile, 4);
  w.lifted = scratch_matrix<P>(w.tall(), ry, 5);
  return w;
}

// Least nonzero singular value of A' T C that the factors guarantee; zero where they guarantee none.
// With A of full row rank, X'X = C'T'(AA')TC >= s_min(A)^2 C'C; likewise C where T is square.
template <class P>
P guaranteed(const Side<P>& a, const Side<P>& c) {
  P out = P::zero();
  const int nx = a.network->neurons, ny = c.network->neurons, positions = a.network->positions;
  for (int l = 0; l < P::width; ++l)
    if (a.ranks.get(l) == nx * positions || (nx == ny && c.ranks.get(l) == ny * positions))
      out.set(l, a.smallest.get(l) * c.smallest.get(l));
  return out;
}

template <class P>
void form_polar(Work<P>& w, const Side<P>& a, const Side<P>& c, const typename P::Scalar* transform) {
  const LaneView<const typename P::Scalar> t = rows(transform, w.ny);
  if (c.network->diagonal) {
    for (int i = 0; i < w.nx; ++i)
      for (int j = 0; j < w.ny; ++j) w.moved.at(i, j) = P(t.at(i, j)) * c.factors[j];
  } else {
    const int columns = w.positions * w.ry;
    multiply(rows(w.moved.data, columns), t, rows(c.factors, columns), w.nx, columns, w.ny, false,
             c.network->triangular ? Zeros::before_column : Zeros::none);
  }
  const LaneView<P> cross = w.flipped ? w.cross.transposed() : w.cross;
  if (a.network->diagonal) {
    for (int i = 0; i < w.rx; ++i)
      for (int j = 0; j < w.ry; ++j) cross.at(i, j) = a.factors[i] * w.moved.at(i, j);
  } else {
    multiply(cross, rows(a.factors, w.rx).transposed(), w.moved, w.rx, w.ry, w.tall(), false,
             a.network->triangular ? Zeros::before_row : Zeros::none);
  }
  const int lo = least(w.rx, w.ry), hi = greatest(w.rx, w.ry);
  for (int i = 0; i < lo; ++i)
    for (int j = 0; j < hi; ++j) w.polar.at(i, j) = w.cross.at(i, j);
  polar(w.polar, w.small, w.solved, lo, hi, guaranteed(a, c), a.largest * c.largest, min(a.ranks, c.ranks));
}

// lifted = A P, n_x x positions x r_y
template <class P>
void lift(Work<P>& w, const Side<P>& a) {
  const LaneView<P> p = w.flipped ? w.polar.transposed() : w.polar;
  if (a.network->diagonal) {
    for (int i = 0; i < w.nx; ++i)
      for (int j = 0; j < w.ry; ++j) w.lifted.at(i, j) = a.factors[i] * p.at(i, j);
  } else {
    multiply(w.lifted, rows(a.factors, w.rx), p, w.tall(), w.ry, w.rx, false,
             a.network->triangular ? Zeros::after_row : Zeros::none);
  }
}

template <class P>
P lane_weights(const LanePair& pair, const Slice<P>& slice) {
  using T = typename P::Scalar;
  P out = P::zero();
  for (int l = 0; l < P::width; ++l) {
    const int m = slice.block(l, pair.x.blocks);
    if (m >= 0) out.set(l, T(pair.weights[m] * pair.subset_scale));
  }
  return out;
}

template <class P>
double lane_gradient(const LanePair& pair, const double* transform, double* gradient) {
  using T = typename P::Scalar;
  const LaneNetwork &x = pair.x, &y = pair.y;
  if (x.rank == 0 || y.rank == 0) return 0;
  const int nx = x.neurons, ny = y.neurons;
  const std::ptrdiff_t size = area(nx, ny);
  T* converted = reinterpret_cast<T*>(scratch<P>((size + P::width - 1) / P::width, 9));
  for (std::ptrdiff_t e = 0; e < size; ++e) converted[e] = T(transform[e]);
  Work<P> w = make_work<P>(x, y);
  const LaneView<P> sum = scratch_matrix<P>(nx, ny, 6);
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j) sum.at(i, j) = P::zero();
  double value = 0;
  for (Slice<P> slice{pair.groups, pair.n_groups, 0}; !slice.ended(); slice.first += P::width) {
    const Side<P> a = side<P>(x, slice, 7), c = side<P>(y, slice, 8);
    form_polar(w, a, c, converted);
    const P weight = lane_weights<P>(pair, slice);
    P inner = P::zero();
    const int lo = least(x.rank, y.rank), hi = greatest(x.rank, y.rank);
    for (int i = 0; i < lo; ++i)
      for (int j = 0; j < hi; ++j) {
        inner += w.cross.at(i, j) * w.polar.at(i, j);
        w.polar.at(i, j) *= weight;
      }
    inner *= weight;
    for (int l = 0; l < P::width; ++l) value += inner.get(l);
    lift(w, a);
    if (y.diagonal) {
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ny; ++j) sum.at(i, j) += w.lifted.at(i, j) * c.factors[j];
    } else {
      const int columns = w.positions * y.rank;
      multiply(sum, rows(w.lifted.data, columns), rows(c.factors, columns).transposed(), nx, ny, columns, true,
               y.triangular ? Zeros::after_column : Zeros::none);
    }
  }
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j)
      for (int l = 0; l < P::width; ++l) rows(gradient, ny).at(i, j) += sum.at(i, j).get(l);
  return value;
}

constexpr float kUnbounded = 1e30f;  // singular values of which nothing is known

// Two registers to a Pack, or one from here on, where tiles matter more than latency.
constexpr int kTwoRegisters = kRegisterBytes == 64 ? 1 : 2, kOneFrom = 12;

double gradient(const LanePair& pair, const double* transform, double* out, bool single) {
  const bool two = least(pair.x.rank, pair.y.rank) < kOneFrom;
  if (single)
    return two ? lane_gradient<Pack<float, kTwoRegisters>>(pair, transform, out)
               : lane_gradient<Pack<float, 1>>(pair, transform, out);
  return two ? lane_gradient<Pack<double, kTwoRegisters>>(pair, transform, out)
             : lane_gradient<Pack<double, 1>>(pair, transform, out);
}

// |A P - T C|^2 plus the part of A that no direction of C can match: where C has the smaller rank
// (or the cross product is singular), P P' is a projection and |A P| falls short of |A|.
double residual(const LanePair& pair, const double* transform) {
  using P = Pack<double, 1>;
  const LaneNetwork &x = pair.x, &y = pair.y;
  const double gx2 = pair.gain_x * pair.gain_x, gy2 = pair.gain_y * pair.gain_y;
  double total = 0;
  if (x.rank == 0 || y.rank == 0) {
    for (int k = 0; k < pair.n_groups; ++k)
      for (int m = pair.groups[k] * kDoubleLanes; m < least((pair.groups[k] + 1) * kDoubleLanes, x.blocks); ++m)
        total += pair.weights[m] * pair.subset_scale * (gx2 * x.variance[m] + gy2 * y.variance[m]);
    return total;
  }
  Work<P> w = make_work<P>(x, y);
  for (Slice<P> slice{pair.groups, pair.n_groups, 0}; !slice.ended(); slice.first += P::width) {
    const Side<P> a = side<P>(x, slice, 7), c = side<P>(y, slice, 8);
    form_polar(w, a, c, transform);
    lift(w, a);
    P distance = P::zero(), kept = P::zero();
    const P gain_x(pair.gain_x), gain_y(pair.gain_y);
    for (int i = 0; i < w.tall(); ++i)
      for (int j = 0; j < w.ry; ++j) {
        const P gap = gain_x * w.lifted.at(i, j) - gain_y * w.moved.at(i, j);
        distance += gap * gap;
        kept += w.lifted.at(i, j) * w.lifted.at(i, j);
      }
    const P span = frobenius_squared(w.polar, least(w.rx, w.ry), greatest(w.rx, w.ry));
    const P weight = lane_weights<P>(pair, slice);
    for (int l = 0; l < P::width; ++l) {
      const int m = slice.block(l, x.blocks);
      if (m < 0) continue;
      // The shortfall is rounding where P spans all of A, and must not be added then.
      const bool whole = magnitude(span.get(l) - x.ranks[m]) < 1e-9 * x.rank;
      total += weight.get(l) * (distance.get(l) + (whole ? 0 : gx2 * greatest(0.0, x.variance[m] - kept.get(l))));
    }
  }
  return total;
}

void polar_factors(float* matrices, int count, int lo, int hi, const double* ranks) {
  using P = Pack<float, kTwoRegisters>;
  const std::ptrdiff_t entries = area(lo, hi);
  const LaneView<P> x = scratch_matrix<P>(lo, hi, 2), small = scratch_matrix<P>(lo, lo, 3);
  const LaneView<P> solved = scratch_matrix<P>(lo, P::tile, 4);
  for (int first = 0; first < count; first += P::width) {
    const int filled = least(P::width, count - first);
    float* from = matrices + first * entries;
    P rank = P::zero();
    for (int l = 0; l < filled; ++l) rank.set(l, float(ranks[first + l]));
    for (std::ptrdiff_t e = 0; e < entries; ++e) {
      x.data[e] = P::zero();
      for (int l = 0; l < filled; ++l) x.data[e].set(l, from[l * entries + e]);
    }
    polar(x, small, solved, lo, hi, P::zero(), P(kUnbounded), rank);
    for (std::ptrdiff_t e = 0; e < entries; ++e)
      for (int l = 0; l < filled; ++l) from[l * entries + e] = x.data[e].get(l);
  }
}

}  // namespace

// The largest network that goes through lanes, measured against BLAS.
constexpr int kMaxLaneSize = kRegisterBytes >= 32 ? 128 : 48;

extern const GaussianKernels gaussian_table;
const GaussianKernels gaussian_table = {REPSHAPE_STRING(REPSHAPE_ISA), kMaxLaneSize, gradient, residual, polar_factors};

}  // namespace REPSHAPE_ISA
}  // namespace repshape
