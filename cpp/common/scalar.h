// The few scalar functions that kernels need, with internal linkage: see isa.h.
#pragma once

namespace repshape {
namespace {

inline double square_root(double x) { return __builtin_sqrt(x); }
inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double cube_root(double x) { return __builtin_cbrt(x); }
inline double magnitude(double x) { return __builtin_fabs(x); }

// As std::min and std::max: the first argument where one of them is NaN.
template <class T>
inline T least(T a, T b) {
  return b < a ? b : a;
}
template <class T>
inline T greatest(T a, T b) {
  return a < b ? b : a;
}

}  // namespace
}  // namespace repshape
