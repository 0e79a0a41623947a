// Takes BLAS and LAPACK from SciPy, which exposes them as capsules, so that the module links to neither.
#include "common/lapack.h"

#include "bind/bind.h"

namespace nb = nanobind;

namespace {

nb::dict functions_of(const char* module) {
  return nb::cast<nb::dict>(nb::module_::import_(module).attr("__pyx_capi__"));
}

template <class F>
void take(F& slot, const nb::dict& functions, const char* name) {
  nb::capsule capsule = nb::cast<nb::capsule>(functions[name]);
  slot = reinterpret_cast<F>(PyCapsule_GetPointer(capsule.ptr(), capsule.name()));
}

}  // namespace

void bind_lapack() {
  repshape::Lapack& la = repshape::lapack();
  const nb::dict blas = functions_of("scipy.linalg.cython_blas"), lapack = functions_of("scipy.linalg.cython_lapack");
  take(la.dgemm, blas, "dgemm");
  take(la.dsyrk, blas, "dsyrk");
  take(la.dtrsm, blas, "dtrsm");
  take(la.dpotrf, lapack, "dpotrf");
  take(la.sgemm, blas, "sgemm");
  take(la.sgemv, blas, "sgemv");
  take(la.ssyrk, blas, "ssyrk");
  take(la.strsm, blas, "strsm");
  take(la.spotrf, lapack, "spotrf");
  take(la.dgesv, lapack, "dgesv");
  take(la.dsyevd, lapack, "dsyevd");
  take(la.ssyevd, lapack, "ssyevd");
  take(la.dgesdd, lapack, "dgesdd");
}
