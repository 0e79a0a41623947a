// One matrix per SIMD lane. A Pack holds the same entry of `width` matrices; every routine below
// is the textbook algorithm on scalars, with Packs in their place, so that eight small matrices
// cost what one would. Entries are addressed by strides: a Pack fills a cache line, so the order
// of rows and columns does not matter for speed.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#ifndef REPSHAPE_ISA
#define REPSHAPE_ISA generic
#endif

namespace repshape {

// The same layout on every machine: 64 bytes a Pack. Where registers are narrower, the compiler
// splits the operations.
constexpr int kPackBytes = 64;
constexpr int kDoubleLanes = kPackBytes / sizeof(double);

namespace REPSHAPE_ISA {

template <class T>
struct Lanes;
template <>
struct Lanes<double> {
  typedef double Pack __attribute__((vector_size(kPackBytes)));
  static constexpr int width = kPackBytes / sizeof(double);
};
template <>
struct Lanes<float> {
  typedef float Pack __attribute__((vector_size(kPackBytes)));
  static constexpr int width = kPackBytes / sizeof(float);
};

template <class T>
using Pack = typename Lanes<T>::Pack;

#if defined(__AVX512F__)
constexpr int kTile = 4;  // 16 accumulators of the 32 registers
#else
constexpr int kTile = 2;  // wider tiles would spill
#endif

// A strided matrix of Packs, or of scalars that all lanes share.
template <class E>
struct View {
  E* data;
  std::ptrdiff_t row, col;
  E& at(std::ptrdiff_t i, std::ptrdiff_t j) const { return data[i * row + j * col]; }
  View block(std::ptrdiff_t i, std::ptrdiff_t j) const { return {data + i * row + j * col, row, col}; }
  View transposed() const { return {data, col, row}; }
};

template <class E>
View<E> rows(E* data, std::ptrdiff_t columns) {
  return {data, columns, 1};
}

template <class P>
inline P splat(double value) {
  typedef std::decay_t<decltype(P{}[0])> T;
  return T(value) - P{};  // GCC and Clang broadcast the scalar
}

// acc(MR x NR) += sign * a(MR x depth) b(depth x NR)
template <int MR, int NR, class P, class EA, class EB>
inline void tile(P (&acc)[MR][NR], View<EA> a, View<EB> b, int depth, bool subtract) {
  for (int k = 0; k < depth; ++k) {
    P right[NR];
    for (int j = 0; j < NR; ++j) right[j] = b.at(k, j) - P{};
    for (int i = 0; i < MR; ++i) {
      P left = a.at(i, k) - P{};
      if (subtract) left = -left;
      for (int j = 0; j < NR; ++j) acc[i][j] += left * right[j];
    }
  }
}

// Calls body(std::integral_constant<int, size>) with size = min(left, kTile).
template <class Body>
inline void with_size(int left, Body body) {
  if constexpr (kTile >= 4) {
    if (left >= 4) return body(std::integral_constant<int, 4>{});
    if (left == 3) return body(std::integral_constant<int, 3>{});
  }
  if (left >= 2) return body(std::integral_constant<int, 2>{});
  return body(std::integral_constant<int, 1>{});
}

template <int MR, int NR, class P>
inline void load(P (&acc)[MR][NR], View<P> c) {
  for (int i = 0; i < MR; ++i)
    for (int j = 0; j < NR; ++j) acc[i][j] = c.at(i, j);
}

template <int MR, int NR, class P>
inline void store(P (&acc)[MR][NR], View<P> c) {
  for (int i = 0; i < MR; ++i)
    for (int j = 0; j < NR; ++j) c.at(i, j) = acc[i][j];
}

// c (m x n) = a (m x depth) b (depth x n), or += where accumulate is set.
template <class P, class EA, class EB>
void multiply(View<P> c, View<EA> a, View<EB> b, int m, int n, int depth, bool accumulate) {
  for (int i = 0; i < m; i += kTile)
    with_size(m - i, [&](auto mr) {
      for (int j = 0; j < n; j += kTile)
        with_size(n - j, [&](auto nr) {
          P acc[mr.value][nr.value] = {};
          if (accumulate) load(acc, c.block(i, j));
          tile(acc, a.block(i, 0), b.block(0, j), depth, false);
          store(acc, c.block(i, j));
        });
    });
}

// Lower triangle of s (m x m) = x x', x being m x n.
template <class P>
void gram(View<P> s, View<P> x, int m, int n) {
  for (int i = 0; i < m; i += kTile)
    with_size(m - i, [&](auto mr) {
      for (int j = 0; j <= i; j += kTile)
        with_size(m - j, [&](auto nr) {
          P acc[mr.value][nr.value] = {};
          tile(acc, x.block(i, 0), x.transposed().block(0, j), n, false);
          store(acc, s.block(i, j));
        });
    });
}

template <class P>
inline P root(P v) {
  P out;
  for (std::size_t l = 0; l < sizeof(P) / sizeof(v[0]); ++l) out[l] = std::sqrt(v[l]);
  return out;
}

// Lower Cholesky factor of s = identity + something positive semidefinite, in place; the diagonal
// holds the INVERSE of the factor's. Every pivot is at least one in exact arithmetic, so rounding
// below one is undone and the factorisation cannot break down.
template <class P>
void cholesky_of_shifted(View<P> s, int m) {
  for (int j = 0; j < m; j += kTile)
    with_size(m - j, [&](auto nr) {
      constexpr int NR = nr.value;
      P diag[NR][NR];
      load(diag, s.block(j, j));
      tile(diag, s.block(j, 0), s.block(j, 0).transposed(), j, true);
      for (int c = 0; c < NR; ++c) {
        for (int k = 0; k < c; ++k) diag[c][c] -= diag[c][k] * diag[c][k];
        const P pivot = diag[c][c] > 1 ? diag[c][c] : splat<P>(1);
        const P inverse = 1 / root(pivot);
        for (int r = c + 1; r < NR; ++r) {
          for (int k = 0; k < c; ++k) diag[r][c] -= diag[r][k] * diag[c][k];
          diag[r][c] *= inverse;
        }
        diag[c][c] = inverse;
      }
      store(diag, s.block(j, j));
      for (int i = j + NR; i < m; i += kTile)
        with_size(m - i, [&](auto mr) {
          P acc[mr.value][NR];
          load(acc, s.block(i, j));
          tile(acc, s.block(i, 0), s.block(j, 0).transposed(), j, true);
          for (int c = 0; c < NR; ++c)
            for (int r = 0; r < mr.value; ++r) {
              for (int k = 0; k < c; ++k) acc[r][c] -= acc[r][k] * diag[c][k];
              acc[r][c] *= diag[c][c];
            }
          store(acc, s.block(i, j));
        });
    });
}

// z (m x n) = (L L')^-1 z for the factor L made by cholesky_of_shifted.
template <class P>
void solve_cholesky(View<P> factor, View<P> z, int m, int n) {
  for (int j = 0; j < n; j += kTile)
    with_size(n - j, [&](auto nr) {
      constexpr int NR = nr.value;
      for (int i = 0; i < m; i += kTile)  // L y = z
        with_size(m - i, [&](auto mr) {
          P acc[mr.value][NR];
          load(acc, z.block(i, j));
          tile(acc, factor.block(i, 0), z.block(0, j), i, true);
          for (int r = 0; r < mr.value; ++r)
            for (int c = 0; c < NR; ++c) {
              for (int k = 0; k < r; ++k) acc[r][c] -= factor.at(i + r, i + k) * acc[k][c];
              acc[r][c] *= factor.at(i + r, i + r);
            }
          store(acc, z.block(i, j));
        });
      const int last = ((m - 1) / kTile) * kTile;
      for (int i = last; i >= 0; i -= kTile)  // L' z = y
        with_size(m - i, [&](auto mr) {
          constexpr int MR = mr.value;
          P acc[MR][NR];
          load(acc, z.block(i, j));
          tile(acc, factor.block(i + MR, i).transposed(), z.block(i + MR, j), m - i - MR, true);
          for (int r = MR - 1; r >= 0; --r)
            for (int c = 0; c < NR; ++c) {
              for (int k = r + 1; k < MR; ++k) acc[r][c] -= factor.at(i + k, i + r) * acc[k][c];
              acc[r][c] *= factor.at(i + r, i + r);
            }
          store(acc, z.block(i, j));
        });
    });
}

}  // namespace REPSHAPE_ISA
}  // namespace repshape
