// The gradient of g(T) = sum_m w_m |A_m' T C_m|_* and the residual form of the Bures distances.
// This file is compiled once per instruction set (REPSHAPE_ISA names the copy).
#include "gaussian/kernel.h"

#include "gaussian/polar.h"

namespace repshape {
namespace REPSHAPE_ISA {

namespace {

// Slots of doubles and of floats are kept apart.
template <class P>
P* scratch(std::size_t packs, int slot) {
  constexpr int first = P::width == kDoubleLanes ? 0 : kScratchSlots / 2;
  return reinterpret_cast<P*>(lane_scratch(first + slot, packs * kDoubleLanes));
}

inline const double* group(const LaneNetwork& net, int g) { return net.factors + g * net.entries * kDoubleLanes; }

// One side of a pair for the groups at hand, in precision T: Pack<T>::width conditions.
template <class T>
struct Side {
  const LaneNetwork* network;
  Pack<T>* factors;
  Pack<T> smallest, largest, ranks;
};

// Double precision reads the network's own lanes; single precision converts two groups into one.
template <class T>
Side<T> side(const LaneNetwork& net, const int* groups, int count, int slot) {
  Side<T> out{&net, nullptr, Pack<T>::zero(), Pack<T>(T(1)), Pack<T>::zero()};
  constexpr int width = Pack<T>::width;
  for (int l = 0; l < width; ++l) {
    const int part = l / kDoubleLanes;
    const int m = part < count ? groups[part] * kDoubleLanes + l % kDoubleLanes : net.conditions;
    if (m >= net.conditions) break;
    out.smallest.set(l, T(net.smallest[m]));
    if (net.ranks[m] > 0) out.largest.set(l, T(net.spectrum[std::size_t(m) * net.rank]));
    out.ranks.set(l, T(net.ranks[m]));
  }
  if constexpr (sizeof(T) == sizeof(double)) {
    out.factors = const_cast<Pack<T>*>(reinterpret_cast<const Pack<T>*>(group(net, groups[0])));
  } else {
    out.factors = scratch<Pack<T>>(net.entries, slot);
    T* to = reinterpret_cast<T*>(out.factors);
    for (int part = 0; part < width / kDoubleLanes; ++part, to += kDoubleLanes) {
      const double* from = part < count ? group(net, groups[part]) : nullptr;
      for (std::size_t e = 0; e < net.entries; ++e)
        for (int l = 0; l < kDoubleLanes; ++l)
          to[e * width + l] = from ? T(from[e * kDoubleLanes + l]) : T(0);
    }
  }
  return out;
}

// Intermediate results for one set of lanes: moved = T C (n_x x r_y), cross = A' T C and its polar
// factor, both stored with the smaller of the two ranks first.
template <class T>
struct Work {
  View<Pack<T>> moved, cross, polar, small, solved, lifted;
  int nx, ny, rx, ry;
  bool flipped;  // cross and polar are stored transposed: r_y x r_x
};

template <class T>
Work<T> make_work(const LaneNetwork& x, const LaneNetwork& y) {
  using P = Pack<T>;
  const int nx = x.neurons, rx = x.rank, ry = y.rank;
  const int lo = least(rx, ry), hi = greatest(rx, ry);
  Work<T> w;
  w.nx = nx, w.ny = y.neurons, w.rx = rx, w.ry = ry;
  w.flipped = ry < rx;
  w.moved = rows(scratch<P>(std::size_t(nx) * ry, 0), ry);
  w.cross = rows(scratch<P>(std::size_t(lo) * hi, 1), hi);
  w.polar = rows(scratch<P>(std::size_t(lo) * hi, 2), hi);
  w.small = rows(scratch<P>(std::size_t(lo) * lo, 3), lo);
  w.solved = rows(scratch<P>(std::size_t(lo) * kTile, 4), kTile);
  w.lifted = rows(scratch<P>(std::size_t(nx) * ry, 5), ry);
  return w;
}

// Least nonzero singular value of A' T C that the factors guarantee; zero where they guarantee none.
// With A of full row rank, X'X = C'T'(AA')TC >= s_min(A)^2 C'C; likewise C where T is square.
template <class T>
Pack<T> guaranteed(const Side<T>& a, const Side<T>& c) {
  Pack<T> out = Pack<T>::zero();
  const int nx = a.network->neurons, ny = c.network->neurons;
  for (int l = 0; l < Pack<T>::width; ++l)
    if (a.ranks.get(l) == nx || (nx == ny && c.ranks.get(l) == ny))
      out.set(l, a.smallest.get(l) * c.smallest.get(l));
  return out;
}

template <class T>
void form_polar(Work<T>& w, const Side<T>& a, const Side<T>& c, const T* transform) {
  using P = Pack<T>;
  const View<const T> t = rows(transform, w.ny);
  if (c.network->diagonal) {
    for (int i = 0; i < w.nx; ++i)
      for (int j = 0; j < w.ny; ++j) w.moved.at(i, j) = P(t.at(i, j)) * c.factors[j];
  } else {
    multiply(w.moved, t, rows(c.factors, w.ry), w.nx, w.ry, w.ny, false,
             c.network->triangular ? Zeros::before_column : Zeros::none);
  }
  const View<P> cross = w.flipped ? w.cross.transposed() : w.cross;
  if (a.network->diagonal) {
    for (int i = 0; i < w.rx; ++i)
      for (int j = 0; j < w.ry; ++j) cross.at(i, j) = a.factors[i] * w.moved.at(i, j);
  } else {
    multiply(cross, rows(a.factors, w.rx).transposed(), w.moved, w.rx, w.ry, w.nx, false,
             a.network->triangular ? Zeros::before_row : Zeros::none);
  }
  const int lo = least(w.rx, w.ry), hi = greatest(w.rx, w.ry);
  for (int i = 0; i < lo; ++i)
    for (int j = 0; j < hi; ++j) w.polar.at(i, j) = w.cross.at(i, j);
  polar<T>(w.polar, w.small, w.solved, lo, hi, guaranteed(a, c), a.largest * c.largest, min(a.ranks, c.ranks));
}

// lifted = A P, n_x x r_y
template <class T>
void lift(Work<T>& w, const Side<T>& a) {
  const View<Pack<T>> p = w.flipped ? w.polar.transposed() : w.polar;
  if (a.network->diagonal) {
    for (int i = 0; i < w.nx; ++i)
      for (int j = 0; j < w.ry; ++j) w.lifted.at(i, j) = a.factors[i] * p.at(i, j);
  } else {
    multiply(w.lifted, rows(a.factors, w.rx), p, w.nx, w.ry, w.rx, false,
             a.network->triangular ? Zeros::after_row : Zeros::none);
  }
}

template <class T>
Pack<T> lane_weights(const LanePair& pair, const int* groups, int count) {
  Pack<T> out = Pack<T>::zero();
  for (int l = 0; l < Pack<T>::width; ++l) {
    const int part = l / kDoubleLanes;
    if (part >= count) break;
    const int m = groups[part] * kDoubleLanes + l % kDoubleLanes;
    if (m < pair.x.conditions) out.set(l, T(pair.weights[m] * pair.boost));
  }
  return out;
}

template <class T>
double lane_gradient(const LanePair& pair, const double* transform, double* gradient) {
  using P = Pack<T>;
  const LaneNetwork &x = pair.x, &y = pair.y;
  if (x.rank == 0 || y.rank == 0) return 0;
  const int nx = x.neurons, ny = y.neurons;
  T* converted = reinterpret_cast<T*>(scratch<P>((std::size_t(nx) * ny + P::width - 1) / P::width, 9));
  for (std::size_t e = 0; e < std::size_t(nx) * ny; ++e) converted[e] = T(transform[e]);
  Work<T> w = make_work<T>(x, y);
  const View<P> sum = rows(scratch<P>(std::size_t(nx) * ny, 6), ny);
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j) sum.at(i, j) = P::zero();
  double value = 0;
  constexpr int parts = Pack<T>::width / kDoubleLanes;
  const int total = pair.n_groups;
  for (int g = 0; g < total; g += parts) {
    const int count = least(parts, total - g);
    const int* groups = pair.groups + g;
    const Side<T> a = side<T>(x, groups, count, 7), c = side<T>(y, groups, count, 8);
    form_polar<T>(w, a, c, converted);
    const P weight = lane_weights<T>(pair, groups, count);
    P inner = P::zero();
    const int lo = least(x.rank, y.rank), hi = greatest(x.rank, y.rank);
    for (int i = 0; i < lo; ++i)
      for (int j = 0; j < hi; ++j) {
        inner += w.cross.at(i, j) * w.polar.at(i, j);
        w.polar.at(i, j) *= weight;
      }
    inner *= weight;
    for (int l = 0; l < Pack<T>::width; ++l) value += inner.get(l);
    lift(w, a);
    if (y.diagonal) {
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ny; ++j) sum.at(i, j) += w.lifted.at(i, j) * c.factors[j];
    } else {
      multiply(sum, w.lifted, rows(c.factors, y.rank).transposed(), nx, ny, y.rank, true,
               y.triangular ? Zeros::after_column : Zeros::none);
    }
  }
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j)
      for (int l = 0; l < Pack<T>::width; ++l) gradient[std::size_t(i) * ny + j] += sum.at(i, j).get(l);
  return value;
}

double gradient(const LanePair& pair, const double* transform, double* out, bool single) {
  return single ? lane_gradient<float>(pair, transform, out)
                : lane_gradient<double>(pair, transform, out);
}

// |A P - T C|^2 plus the part of A that no direction of C can match: where C has the smaller rank
// (or the cross product is singular), P P' is a projection and |A P| falls short of |A|.
double residual(const LanePair& pair, const double* transform) {
  using P = Pack<double>;
  const LaneNetwork &x = pair.x, &y = pair.y;
  const double gx2 = pair.gain_x * pair.gain_x, gy2 = pair.gain_y * pair.gain_y;
  double total = 0;
  if (x.rank == 0 || y.rank == 0) {
    for (int k = 0; k < pair.n_groups; ++k)
      for (int m = pair.groups[k] * kDoubleLanes; m < least((pair.groups[k] + 1) * kDoubleLanes, x.conditions); ++m)
        total += pair.weights[m] * pair.boost * (gx2 * x.variance[m] + gy2 * y.variance[m]);
    return total;
  }
  Work<double> w = make_work<double>(x, y);
  for (int k = 0; k < pair.n_groups; ++k) {
    const int g = pair.groups[k];
    const Side<double> a = side<double>(x, &g, 1, 7), c = side<double>(y, &g, 1, 8);
    form_polar(w, a, c, transform);
    lift(w, a);
    P distance = P::zero(), kept = P::zero();
    const P gain_x(pair.gain_x), gain_y(pair.gain_y);
    for (int i = 0; i < w.nx; ++i)
      for (int j = 0; j < w.ry; ++j) {
        const P gap = gain_x * w.lifted.at(i, j) - gain_y * w.moved.at(i, j);
        distance += gap * gap;
        kept += w.lifted.at(i, j) * w.lifted.at(i, j);
      }
    const P span = frobenius_squared(w.polar, least(w.rx, w.ry), greatest(w.rx, w.ry));
    const P weight = lane_weights<double>(pair, &g, 1);
    for (int l = 0; l < kDoubleLanes; ++l) {
      const int m = g * kDoubleLanes + l;
      if (m >= x.conditions) break;
      // The shortfall is rounding where P spans all of A, and must not be added then.
      const bool whole = magnitude(span.get(l) - x.ranks[m]) < 1e-9 * x.rank;
      total += weight.get(l) *
               (distance.get(l) + (whole ? 0 : gx2 * greatest(0.0, x.variance[m] - kept.get(l))));
    }
  }
  return total;
}

}  // namespace

// The largest network that goes through lanes, measured against BLAS.
constexpr int kMaxLaneSize = kRegisterBytes == 64 ? 128 : kRegisterBytes == 32 ? 56 : 24;

extern const GaussianKernels gaussian_table;
const GaussianKernels gaussian_table = {REPSHAPE_STRING(REPSHAPE_ISA), kMaxLaneSize, gradient, residual};

}  // namespace REPSHAPE_ISA
}  // namespace repshape
