// Chooses the copy of the Gaussian kernels that this processor can run, and lends them memory.
#include <cstring>

#include "common/buffer.h"
#include "common/instruction_set.h"
#include "problems/gaussian/kernel.h"

namespace repshape {

namespace generic {
extern const GaussianKernels gaussian_table;
}
#ifdef REPSHAPE_X86
namespace avx2 {
extern const GaussianKernels gaussian_table;
}
namespace avx512 {
extern const GaussianKernels gaussian_table;
}
#endif

const GaussianKernels* gaussian_kernels(const char* name) {
  if (!has_instruction_set(name)) return nullptr;
#ifdef REPSHAPE_X86
  if (!std::strcmp(name, "avx512")) return &avx512::gaussian_table;
  if (!std::strcmp(name, "avx2")) return &avx2::gaussian_table;
#endif
  return &generic::gaussian_table;
}

const GaussianKernels& gaussian_kernels() {
  static const GaussianKernels* const chosen = gaussian_kernels(instruction_set());
  return *chosen;
}

double* lane_scratch(int slot, std::size_t doubles) {
  static thread_local Buffer buffers[kScratchSlots];
  if (buffers[slot].size() < doubles) buffers[slot] = Buffer(doubles);
  return buffers[slot].data();
}

}  // namespace repshape
