// Chooses, at run time, the copy of the kernels that this processor can run.
#include <cstdlib>
#include <cstring>

#include "network.h"

namespace repshape {

namespace generic {
extern const Kernels table;
}
#ifdef REPSHAPE_X86
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
#endif

const Kernels* kernels(const char* name) {
#ifdef REPSHAPE_X86
  __builtin_cpu_init();
  if (!std::strcmp(name, "avx512") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return &avx512::table;
  if (!std::strcmp(name, "avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &avx2::table;
#endif
  return std::strcmp(name, "generic") ? nullptr : &generic::table;
}

const Kernels& kernels() {
  static const Kernels* chosen = [] {
    // REPSHAPE_ISA in the environment forces a narrower set, for tests.
    if (const char* wish = std::getenv("REPSHAPE_ISA"))
      if (const Kernels* found = kernels(wish)) return found;
    for (const char* name : {"avx512", "avx2"})
      if (const Kernels* found = kernels(name)) return found;
    return kernels("generic");
  }();
  return *chosen;
}

int max_lane_size() { return kernels().max_lane_size; }

Lapack& lapack() {
  static Lapack functions;
  return functions;
}

}  // namespace repshape
