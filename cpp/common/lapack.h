// BLAS and LAPACK as SciPy exposes them: pointers that the module fills in when it is imported. Names and arguments are
// those of the Fortran routines, for one precision T.
#pragma once

namespace repshape {

template <class T>
struct Lapack {
  void (*gemm)(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*, const T*,
               const int*, const T*, T*, const int*) = nullptr;
  void (*gemv)(const char*, const int*, const int*, const T*, const T*, const int*, const T*, const int*, const T*, T*,
               const int*) = nullptr;
  void (*syrk)(const char*, const char*, const int*, const int*, const T*, const T*, const int*, const T*, T*,
               const int*) = nullptr;
  void (*trsm)(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*,
               const int*, T*, const int*) = nullptr;
  void (*potrf)(const char*, const int*, T*, const int*, int*) = nullptr;
  void (*syevd)(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*,
                int*) = nullptr;
  void (*gesv)(const int*, const int*, T*, const int*, int*, T*, const int*, int*) = nullptr;
  void (*gesdd)(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*, const int*,
                int*, int*) = nullptr;
};

template <class T>
Lapack<T>& lapack() {
  static Lapack<T> functions;
  return functions;
}

}  // namespace repshape
