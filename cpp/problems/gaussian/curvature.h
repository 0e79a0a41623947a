// Second derivatives of the Gaussian objective: where alternation's model says nothing about flat directions, such as
// those of latents that a network does not use, they take the ascent to its end in a few steps.
#pragma once
#include "problems/gaussian/objective.h"
#include "problems/gaussian/path_constants.h"
#include "search/planes.h"

namespace repshape {

class GaussianCurvature : public Curvature {
 public:
  // `cost` are the operations of one gradient.
  GaussianCurvature(const Pair& pair, double cost) : pair_(pair) {
    const double n = pair.x->neurons, rank = std::max(pair.x->rank, pair.y->rank), planes = n * (n - 1) / 2;
    const double each = 9 * planes * planes * rank * (rank - 1) / 2 + paths::kCurvatureOverhead;
    const double ratio = std::min(pair.x->blocks, paths::kCurvatureBlocks) * each / cost;
    cost_ = int(std::min(std::max(ratio, paths::kLeastCurvatureCost), paths::kMostCurvatureCost));
  }

  int cost() const override { return cost_; }

  static bool suits(const Pair& pair) {
    return pair.x->neurons <= paths::kCurvatureUpTo && pair.alpha < 2 && pair.x->positions == 1;
  }

  // With T(W) = T (I + W + W^2 / 2), W skew, and a singular value decomposition A' T C = U s V' of each condition, the
  // second derivative is  <B, W^2> + sum w sum_{k<l} (F_kl - F_lk)^2 / (s_k + s_l),  F = a' W b,  a = T' A U, b = C V,
  // B = sym(T' G). Both terms are taken from the same conditions, evenly spread, because they nearly cancel.
  Matrix at(const Matrix& t) const override {
    const int n = t.rows(), rank = std::max(pair_.x->rank, pair_.y->rank);
    const Planes planes(n);
    std::vector<int> kept = spread_evenly(pair_.x->blocks, paths::kCurvatureBlocks);
    double weight = 0;
    for (int m : kept) weight += pair_.weights[m];
    const double share = pair_.covariance_share() * pair_.x->blocks_each() / (weight > 0 ? weight : 1);
    Matrix b(n, n), h(planes.count(), planes.count()), terms(planes.count(), rank * (rank - 1) / 2);
    gemm(transpose(t), pair_.mean_term, b.column_block(0, pair_.mean_term.columns()), 1, 1);
    if (pair_.x->rank == 0 || pair_.y->rank == 0) kept.clear();  // only means to align
    for (int m : kept) {
      const double w = share * pair_.weights[m];
      if (!(w > 0)) continue;
      const Frames frames = decompose(t, m, rank);
      gemm(frames.a, transpose(frames.b), b, w, 1);
      set_terms(planes, frames, w, terms);
      gemm(terms, transpose(terms), h, 1, 1);
    }
    add_model(b, planes, h);
    return h;
  }

 private:
  struct Frames {
    Matrix a, b;  // n x rank
    Values s;     // rank
  };

  // The factors of one condition as a matrix, where they are diagonal too.
  static Matrix dense(const Network& net, int m) {
    Matrix block = net.block(m);
    if (!net.diagonal) return block;
    Matrix out(net.neurons, net.neurons);
    for (int i = 0; i < net.neurons; ++i) out(i, i) = block[i];
    return out;
  }

  Frames decompose(const Matrix& t, int m, int rank) const {
    const int n = t.rows(), k = pair_.y->neurons, rx = pair_.x->rank, ry = pair_.y->rank;
    const Matrix A = dense(*pair_.x, m), C = dense(*pair_.y, m);
    const Matrix turned = product(transpose(t), A);  // T' A
    const Svd of = full_svd(product(transpose(turned.row_block(0, k)), C));
    Frames out{Matrix(n, rank), Matrix(n, rank), of.s};
    out.s.resize(rank, 0);
    gemm(turned, of.u, out.a.column_block(0, rx));
    gemm(C, transpose(of.v_transposed), out.b.row_block(0, k).column_block(0, ry));
    return out;
  }

  // Row q = (i, j), column (k, l): sqrt(w / (s_k + s_l)) (F_kl - F_lk) for W = e_i e_j' - e_j e_i'.
  static void set_terms(const Planes& planes, const Frames& f, double w, Matrix& out) {
    const int rank = f.a.columns();
    const double floor = 1e-9 * f.s[0] + 1e-300;  // singular values below are rounding
    Values scale;
    for (int k = 0; k < rank; ++k)
      for (int l = k + 1; l < rank; ++l) scale.push_back(std::sqrt(w / std::max(f.s[k] + f.s[l], floor)));
    for (int q = 0; q < planes.count(); ++q) {
      const auto& [i, j] = planes.list[q];
      const double *ai = f.a.row(i), *aj = f.a.row(j), *bi = f.b.row(i), *bj = f.b.row(j);
      double* to = out.row(q);
      int column = 0;
      for (int k = 0; k < rank; ++k)
        for (int l = k + 1; l < rank; ++l, ++column)
          to[column] = scale[column] * (ai[k] * bj[l] - aj[k] * bi[l] - ai[l] * bj[k] + aj[l] * bi[k]);
    }
  }

  // <B, W^2> = - sum_c sum_ij B_ij W_ic W_jc
  static void add_model(const Matrix& b, const Planes& planes, Matrix& h) {
    const int n = planes.n;
    for (int c = 0; c < n; ++c)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          if (i == c || j == c) continue;
          const double value = 0.5 * (b(i, j) + b(j, i)), sign = ((i < c) == (j < c)) ? 1 : -1;
          h(planes.at(i, c), planes.at(j, c)) -= sign * value;
        }
  }

  const Pair& pair_;
  int cost_ = 0;
};

}  // namespace repshape
