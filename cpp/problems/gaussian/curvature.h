// Second derivatives of the Gaussian objective: where alternation's model says nothing about flat directions, such as
// those of latents that a network does not use, they take the ascent to its end in a few steps.
#pragma once
#include "problems/gaussian/objective.h"
#include "search/planes.h"

namespace repshape {

class GaussianCurvature : public Curvature {
 public:
  // `cost` are the operations of one gradient.
  GaussianCurvature(const Objective& f, double cost) : f_(f) {
    const double n = f.n(), rank = std::max(f.pair.x->rank, f.pair.y->rank), planes = n * (n - 1) / 2;
    const double each = 9 * planes * planes * rank * (rank - 1) / 2 + 3e6;  // cost in gradient-equivalent operations
    const double ratio = std::min(f.pair.x->blocks, kBlocks) * each / cost;
    patience_ = int(std::min(std::max(ratio, kLeastPatience), kMostPatience));
  }

  int patience() const override { return patience_; }

  static bool suits(const Objective& f) { return f.n() <= kMostNeurons && f.pair.alpha < 2 && f.pair.x->positions == 1; }

  // With T(W) = T (I + W + W^2 / 2), W skew, and a singular value decomposition A' T C = U s V' of each condition, the
  // second derivative is  <B, W^2> + sum w sum_{k<l} (F_kl - F_lk)^2 / (s_k + s_l),  F = a' W b,  a = T' A U, b = C V,
  // B = sym(T' G). Both terms are taken from the same conditions, evenly spread, because they nearly cancel.
  Matrix at(const Matrix& t) const override {
    const Pair& pair = f_.pair;
    const int n = f_.n();
    const Planes planes(n);
    const int size = int(planes.list.size());
    std::vector<int> kept = spread_evenly(pair.x->blocks, kBlocks);
    double weight = 0;
    for (int m : kept) weight += pair.weights[m];
    const double share = pair.covariance_share() * (pair.x->blocks / pair.x->conditions) / (weight > 0 ? weight : 1);
    Matrix b(std::size_t(n) * n, 0), h(std::size_t(size) * size, 0);
    add_gradient(t, pair.mean_term, f_.k(), b);
    const int rank = std::max(pair.x->rank, pair.y->rank), wide = rank * (rank - 1) / 2;
    Matrix stacked(std::size_t(size) * wide);
    if (pair.x->rank == 0 || pair.y->rank == 0) kept.clear();  // only means to align
    for (int m : kept) {
      const double w = share * pair.weights[m];
      if (!(w > 0)) continue;
      const Frames frames = decompose(t, m, rank);
      gemm(false, true, n, n, rank, w, frames.a.data(), rank, frames.b.data(), rank, 1, b.data(), n);
      spread(planes, frames, rank, w, stacked);
      gemm(false, true, size, size, wide, 1, stacked.data(), wide, stacked.data(), wide, 1, h.data(), size);
    }
    add_model(b, planes, h);
    return h;
  }

 private:
  static constexpr int kMostNeurons = 16, kBlocks = 64;
  static constexpr double kLeastPatience = 10, kMostPatience = 60;

  struct Frames {
    Matrix a, b, s;  // n x rank, n x rank, rank
  };

  // The factors of one condition as n x columns, n the size of x.
  static Matrix dense(const Network& net, int m) {
    Matrix entries(net.entries());
    net.copy_block(m, entries.data());
    if (!net.diagonal) return entries;
    Matrix out(std::size_t(net.neurons) * net.neurons, 0);
    for (int i = 0; i < net.neurons; ++i) out[std::size_t(i) * net.neurons + i] = entries[i];
    return out;
  }

  Frames decompose(const Matrix& t, int m, int rank) const {
    const Network &x = *f_.pair.x, &y = *f_.pair.y;
    const int n = x.neurons, k = y.neurons, rx = x.rank, ry = y.rank;
    const Matrix A = dense(x, m), C = dense(y, m);
    Matrix turned(std::size_t(n) * rx), cross(std::size_t(rx) * ry);
    gemm(true, false, n, rx, n, 1, t.data(), n, A.data(), rx, 0, turned.data(), rx);  // T' A
    gemm(true, false, rx, ry, k, 1, turned.data(), rx, C.data(), ry, 0, cross.data(), ry);
    // Row-major `cross` is the column-major ry x rx matrix X' = V s U'.
    Matrix v(std::size_t(ry) * ry), u(std::size_t(rx) * rx), s(std::min(rx, ry));
    std::vector<int> iwork(8 * s.size());
    int info = 0, lwork = 8 * (rx + ry) * (rx + ry) + 64;
    Matrix work(lwork);
    lapack().dgesdd("A", &ry, &rx, cross.data(), &ry, s.data(), v.data(), &ry, u.data(), &rx, work.data(), &lwork,
                    iwork.data(), &info);
    if (info != 0) throw std::runtime_error("the singular value iteration did not converge");
    Frames out{Matrix(std::size_t(n) * rank, 0), Matrix(std::size_t(n) * rank, 0), Matrix(rank, 0)};
    // `u` holds U' column-major, that is U row-major; `v` holds V column-major, that is V' row-major.
    gemm(false, false, n, rx, rx, 1, turned.data(), rx, u.data(), rx, 0, out.a.data(), rank);
    gemm(false, true, k, ry, ry, 1, C.data(), ry, v.data(), ry, 0, out.b.data(), rank);
    std::copy(s.begin(), s.end(), out.s.begin());
    return out;
  }

  // Row q = (i, j), column (k, l): sqrt(w / (s_k + s_l)) (F_kl - F_lk) for W = e_i e_j' - e_j e_i'.
  static void spread(const Planes& planes, const Frames& f, int rank, double w, Matrix& out) {
    const double floor = 1e-9 * f.s[0] + 1e-300;
    Matrix scale;
    for (int k = 0; k < rank; ++k)
      for (int l = k + 1; l < rank; ++l) scale.push_back(std::sqrt(w / std::max(f.s[k] + f.s[l], floor)));
    std::size_t e = 0;
    for (const auto& [i, j] : planes.list) {
      const double *ai = f.a.data() + std::size_t(i) * rank, *aj = f.a.data() + std::size_t(j) * rank;
      const double *bi = f.b.data() + std::size_t(i) * rank, *bj = f.b.data() + std::size_t(j) * rank;
      std::size_t pair = 0;
      for (int k = 0; k < rank; ++k)
        for (int l = k + 1; l < rank; ++l, ++e, ++pair)
          out[e] = scale[pair] * (ai[k] * bj[l] - aj[k] * bi[l] - ai[l] * bj[k] + aj[l] * bi[k]);
    }
  }

  // b += T' g, g being n x k
  static void add_gradient(const Matrix& t, const Matrix& g, int k, Matrix& b) {
    const int n = int(std::lround(std::sqrt(double(t.size()))));
    gemm(true, false, n, k, n, 1, t.data(), n, g.data(), k, 1, b.data(), n);
  }

  // <B, W^2> = - sum_c sum_ij B_ij W_ic W_jc
  static void add_model(const Matrix& b, const Planes& planes, Matrix& h) {
    const int n = planes.n, size = int(planes.list.size());
    for (int c = 0; c < n; ++c)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          if (i == c || j == c) continue;
          const double value = 0.5 * (b[std::size_t(i) * n + j] + b[std::size_t(j) * n + i]);
          const double sign = ((i < c) == (j < c)) ? 1 : -1;
          h[std::size_t(planes.at(i, c)) * size + planes.at(j, c)] -= sign * value;
        }
  }

  const Objective& f_;
  int patience_ = 0;
};

}  // namespace repshape
