// One matrix per SIMD lane. A Pack holds the same entry of `width` matrices; every routine below
// is the textbook algorithm on scalars, with Packs in their place, so that as many small matrices
// cost as much as one. Entries are addressed by strides, so that a transposed matrix is only another view.
#pragma once
#include <cstddef>

#include "common/isa.h"
#include "common/layout.h"

// Loops over a tile: it stays in registers only if every one of them is unrolled.
#define UNROLL _Pragma("GCC unroll 8")
#define UNROLLED(i, from, to) UNROLL for (int i = from; i < to; ++i)

namespace repshape {
namespace REPSHAPE_ISA {
namespace {

// One entry of several matrices: a register, or two of them, which hide the latency of small matrices.
template <class T, int registers>
struct Pack {
  using Scalar = T;
  typedef T Register __attribute__((vector_size(kRegisterBytes)));
  static constexpr int per = kRegisterBytes / sizeof(T), width = registers * per;
  // Tiles are as large as registers allow: 16 accumulators of 32 registers with AVX-512, 9 or 8 of 16 elsewhere.
  static constexpr int tile = registers > 1 ? 2 : kRegisterBytes == 64 ? 4 : 3;
  Register part[registers];

  Pack() = default;
  // Copied by register: the compilers' own copies go by 16 bytes and stall the loads that follow.
  Pack(const Pack& other) { *this = other; }
  Pack& operator=(const Pack& other) {
    UNROLLED(r, 0, registers) part[r] = other.part[r];
    return *this;
  }
  explicit Pack(T value) {
    UNROLLED(r, 0, registers) part[r] = value - Register{};  // GCC and Clang broadcast the scalar
  }
  static Pack zero() { return Pack(T(0)); }
  T get(int lane) const { return part[lane / per][lane % per]; }
  void set(int lane, T value) { part[lane / per][lane % per] = value; }

  // clang-format off
#define REPSHAPE_OPERATOR(op)                                                          \
  Pack& operator op##=(const Pack & other) {                                           \
    UNROLLED(r, 0, registers) part[r] op## = other.part[r];  \
    return *this;                                                                      \
  }                                                                                    \
  friend Pack operator op(Pack a, const Pack& b) { return a op## = b; }
  REPSHAPE_OPERATOR(+)
  REPSHAPE_OPERATOR(-)
  REPSHAPE_OPERATOR(*)
  REPSHAPE_OPERATOR(/)
#undef REPSHAPE_OPERATOR
  // clang-format on

  friend Pack max(const Pack& a, const Pack& b) {
    Pack out;
    UNROLLED(r, 0, registers) out.part[r] = a.part[r] > b.part[r] ? a.part[r] : b.part[r];
    return out;
  }
  friend Pack min(const Pack& a, const Pack& b) {
    Pack out;
    UNROLLED(r, 0, registers) out.part[r] = a.part[r] < b.part[r] ? a.part[r] : b.part[r];
    return out;
  }
  friend Pack abs(const Pack& a) { return max(a, zero() - a); }
  friend Pack sqrt(const Pack& a) {
    Pack out;
    UNROLLED(r, 0, registers)
      for (int l = 0; l < per; ++l) out.part[r][l] = square_root(a.part[r][l]);
    return out;
  }
};

// A strided matrix of Packs, or of scalars that all lanes share.
template <class E>
struct LaneView {
  E* data;
  std::ptrdiff_t row, col;
  E& at(std::ptrdiff_t i, std::ptrdiff_t j) const { return data[i * row + j * col]; }
  LaneView block(std::ptrdiff_t i, std::ptrdiff_t j) const { return {data + i * row + j * col, row, col}; }
  LaneView transposed() const { return {data, col, row}; }
};

// Entries of a matrix.
inline std::ptrdiff_t area(std::ptrdiff_t n_rows, int columns) { return n_rows * columns; }

template <class E>
LaneView<E> rows(E* data, std::ptrdiff_t columns) {
  return {data, columns, 1};
}

// An entry as all lanes see it: a Pack as it is, a shared scalar broadcast.
template <class P, class E>
inline P lanes_of(const E& value) {
  return P(value);
}

// acc(MR x NR) += sign * a(MR x depth) b(depth x NR)
template <bool subtract, int MR, int NR, class P, class EA, class EB>
inline void tile(P (&acc)[MR][NR], LaneView<EA> a, LaneView<EB> b, int depth) {
  for (int k = 0; k < depth; ++k) {
    P right[NR];
    UNROLLED(j, 0, NR) right[j] = lanes_of<P>(b.at(k, j));
    UNROLLED(i, 0, MR) {
      const P left = lanes_of<P>(a.at(i, k));
      UNROLLED(j, 0, NR) {
        if constexpr (subtract)
          acc[i][j] -= left * right[j];
        else
          acc[i][j] += left * right[j];
      }
    }
  }
}

template <int size>
struct Size {
  static constexpr int value = size;
};

// Calls body(Size<size>) with size = min(left, P::tile).
template <class P, class Body>
inline void with_size(int left, Body body) {
  if constexpr (P::tile >= 4)
    if (left >= 4) return body(Size<4>{});
  if constexpr (P::tile >= 3)
    if (left >= 3) return body(Size<3>{});
  if (left >= 2) return body(Size<2>{});
  return body(Size<1>{});
}

template <int MR, int NR, class P>
inline void clear(P (&acc)[MR][NR]) {
  UNROLLED(i, 0, MR)
    UNROLLED(j, 0, NR) acc[i][j] = P::zero();
}

template <int MR, int NR, class P>
inline void load(P (&acc)[MR][NR], LaneView<P> c) {
  UNROLLED(i, 0, MR)
    UNROLLED(j, 0, NR) acc[i][j] = c.at(i, j);
}

template <int MR, int NR, class P>
inline void store(P (&acc)[MR][NR], LaneView<P> c) {
  UNROLLED(i, 0, MR)
    UNROLLED(j, 0, NR) c.at(i, j) = acc[i][j];
}

// Terms of a product that are zero because a factor is triangular: those before or after the entry's own
// row or column.
enum class Zeros { none, before_row, before_column, after_row, after_column };

// c (m x n) = a (m x depth) b (depth x n), or += where accumulate is set.
template <class P, class EA, class EB>
void multiply(LaneView<P> c, LaneView<EA> a, LaneView<EB> b, int m, int n, int depth, bool accumulate,
              Zeros zeros = Zeros::none) {
  for (int i = 0; i < m; i += P::tile)
    with_size<P>(m - i, [&](auto mr) {
      for (int j = 0; j < n; j += P::tile)
        with_size<P>(n - j, [&](auto nr) {
          P acc[mr.value][nr.value];
          if (accumulate)
            load(acc, c.block(i, j));
          else
            clear(acc);
          const int from = zeros == Zeros::before_row ? i : zeros == Zeros::before_column ? j : 0;
          const int to = zeros == Zeros::after_row ? i + mr.value : zeros == Zeros::after_column ? j + nr.value : depth;
          tile<false>(acc, a.block(i, from), b.block(from, j), to - from);
          store(acc, c.block(i, j));
        });
    });
}

// Lower triangle of s (m x m) = identity + c x x', x being m x n.
template <class P>
void shifted_gram(LaneView<P> s, LaneView<P> x, const P& c, int m, int n) {
  for (int i = 0; i < m; i += P::tile)
    with_size<P>(m - i, [&](auto mr) {
      for (int j = 0; j <= i; j += P::tile)
        with_size<P>(m - j, [&](auto nr) {
          P acc[mr.value][nr.value];
          clear(acc);
          tile<false>(acc, x.block(i, 0), x.transposed().block(0, j), n);
          UNROLLED(r, 0, mr.value)
            UNROLLED(k, 0, nr.value) {
              acc[r][k] *= c;
              if (i + r == j + k) acc[r][k] += P(1);
            }
          store(acc, s.block(i, j));
        });
    });
}

// Lower Cholesky factor of s = identity + something positive semidefinite, in place; the diagonal
// holds the INVERSE of the factor's. Every pivot is at least one in exact arithmetic, so rounding
// below one is undone and the factorisation cannot break down.
template <class P>
void cholesky_of_shifted(LaneView<P> s, int m) {
  for (int j = 0; j < m; j += P::tile)
    with_size<P>(m - j, [&](auto nr) {
      constexpr int NR = nr.value;
      P diag[NR][NR];
      load(diag, s.block(j, j));
      tile<true>(diag, s.block(j, 0), s.block(j, 0).transposed(), j);
      UNROLLED(c, 0, NR) {
        UNROLLED(k, 0, c) diag[c][c] -= diag[c][k] * diag[c][k];
        const P one(1), inverse = one / sqrt(max(diag[c][c], one));
        UNROLLED(r, c + 1, NR) {
          UNROLLED(k, 0, c) diag[r][c] -= diag[r][k] * diag[c][k];
          diag[r][c] *= inverse;
        }
        diag[c][c] = inverse;
      }
      store(diag, s.block(j, j));
      for (int i = j + NR; i < m; i += P::tile)
        with_size<P>(m - i, [&](auto mr) {
          P acc[mr.value][NR];
          load(acc, s.block(i, j));
          tile<true>(acc, s.block(i, 0), s.block(j, 0).transposed(), j);
          UNROLLED(c, 0, NR)
            UNROLLED(r, 0, mr.value) {
              UNROLLED(k, 0, c) acc[r][c] -= acc[r][k] * diag[c][k];
              acc[r][c] *= diag[c][c];
            }
          store(acc, s.block(i, j));
        });
    });
}

// x (m x n) = keep x + add (L L')^-1 x for the factor L made by cholesky_of_shifted, a few columns at a time,
// which stay in the cache: z is m x P::tile scratch.
template <class P>
void add_solution(LaneView<P> x, LaneView<P> factor, LaneView<P> z, const P& keep, const P& add, int m, int n) {
  for (int j = 0; j < n; j += P::tile)
    with_size<P>(n - j, [&](auto nr) {
      constexpr int NR = nr.value;
      for (int i = 0; i < m; i += P::tile)  // L y = x
        with_size<P>(m - i, [&](auto mr) {
          P acc[mr.value][NR];
          load(acc, x.block(i, j));
          tile<true>(acc, factor.block(i, 0), z, i);
          UNROLLED(r, 0, mr.value)
            UNROLLED(c, 0, NR) {
              UNROLLED(k, 0, r) acc[r][c] -= factor.at(i + r, i + k) * acc[k][c];
              acc[r][c] *= factor.at(i + r, i + r);
            }
          store(acc, z.block(i, 0));
        });
      const int last = ((m - 1) / P::tile) * P::tile;
      for (int i = last; i >= 0; i -= P::tile)  // L' z = y
        with_size<P>(m - i, [&](auto mr) {
          constexpr int MR = mr.value;
          P acc[MR][NR];
          load(acc, z.block(i, 0));
          tile<true>(acc, factor.block(i + MR, i).transposed(), z.block(i + MR, 0), m - i - MR);
          UNROLL for (int r = MR - 1; r >= 0; --r) UNROLLED(c, 0, NR) {
            UNROLLED(k, r + 1, MR) acc[r][c] -= factor.at(i + k, i + r) * acc[k][c];
            acc[r][c] *= factor.at(i + r, i + r);
          }
          store(acc, z.block(i, 0));
          UNROLLED(r, 0, MR)
            UNROLLED(c, 0, NR) x.at(i + r, j + c) = keep * x.at(i + r, j + c) + add * acc[r][c];
        });
    });
}

}  // namespace
}  // namespace REPSHAPE_ISA
}  // namespace repshape
