// Takes BLAS and LAPACK from SciPy, which exposes them as capsules, so that the module links to neither.
#include "common/lapack.h"

#include <string>

#include "bind/bind.h"

namespace nb = nanobind;

namespace {

nb::dict functions_of(const char* module) {
  return nb::cast<nb::dict>(nb::module_::import_(module).attr("__pyx_capi__"));
}

template <class F>
void take(F& slot, const nb::dict& functions, const std::string& name) {
  nb::capsule capsule = nb::cast<nb::capsule>(functions[name.c_str()]);
  slot = reinterpret_cast<F>(PyCapsule_GetPointer(capsule.ptr(), capsule.name()));
}

// `prefix`: of the precision, "d" or "s".
template <class T>
void take_all(const nb::dict& blas, const nb::dict& lapack, const std::string& prefix) {
  repshape::Lapack<T>& la = repshape::lapack<T>();
  take(la.gemm, blas, prefix + "gemm");
  take(la.gemv, blas, prefix + "gemv");
  take(la.syrk, blas, prefix + "syrk");
  take(la.trsm, blas, prefix + "trsm");
  take(la.potrf, lapack, prefix + "potrf");
  take(la.syevd, lapack, prefix + "syevd");
  take(la.gesv, lapack, prefix + "gesv");
  take(la.gesdd, lapack, prefix + "gesdd");
}

}  // namespace

void bind_lapack() {
  const nb::dict blas = functions_of("scipy.linalg.cython_blas"), lapack = functions_of("scipy.linalg.cython_lapack");
  take_all<double>(blas, lapack, "d");
  take_all<float>(blas, lapack, "s");
}
