// BLAS and LAPACK as SciPy exposes them: pointers that the module fills in when it is imported.
#pragma once

namespace repshape {

struct Lapack {
  void (*dgemm)(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                const int*, const double*, const int*, const double*, double*, const int*) = nullptr;
  void (*dsyrk)(const char*, const char*, const int*, const int*, const double*, const double*, const int*,
                const double*, double*, const int*) = nullptr;
  void (*dtrsm)(const char*, const char*, const char*, const char*, const int*, const int*, const double*,
                const double*, const int*, double*, const int*) = nullptr;
  void (*sgemm)(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
                const float*, const int*, const float*, float*, const int*) = nullptr;
  void (*sgemv)(const char*, const int*, const int*, const float*, const float*, const int*, const float*, const int*,
                const float*, float*, const int*) = nullptr;
  void (*ssyrk)(const char*, const char*, const int*, const int*, const float*, const float*, const int*,
                const float*, float*, const int*) = nullptr;
  void (*strsm)(const char*, const char*, const char*, const char*, const int*, const int*, const float*,
                const float*, const int*, float*, const int*) = nullptr;
  void (*spotrf)(const char*, const int*, float*, const int*, int*) = nullptr;
  void (*dpotrf)(const char*, const int*, double*, const int*, int*) = nullptr;
  void (*dgesv)(const int*, const int*, double*, const int*, int*, double*, const int*, int*) = nullptr;
  void (*dsyevd)(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*,
                 const int*, int*) = nullptr;
  void (*ssyevd)(const char*, const char*, const int*, float*, const int*, float*, float*, const int*, int*,
                 const int*, int*) = nullptr;
  void (*dgesdd)(const char*, const int*, const int*, double*, const int*, double*, double*, const int*,
                 double*, const int*, double*, const int*, int*, int*) = nullptr;
};

inline Lapack& lapack() {
  static Lapack functions;
  return functions;
}

}  // namespace repshape
