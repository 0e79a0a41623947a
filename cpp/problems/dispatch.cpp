// Chooses the copies of the kernels that this processor can run, and lends them memory.
#include <cstring>

#include "common/buffer.h"
#include "common/instruction_set.h"
#include "problems/energy/kernel.h"
#include "problems/gaussian/kernel.h"

namespace repshape {

namespace generic {
extern const GaussianKernels gaussian_table;
extern const EnergyKernels energy_table;
}  // namespace generic
#ifdef REPSHAPE_X86
namespace avx2 {
extern const GaussianKernels gaussian_table;
extern const EnergyKernels energy_table;
}  // namespace avx2
namespace avx512 {
extern const GaussianKernels gaussian_table;
extern const EnergyKernels energy_table;
}  // namespace avx512
#else  // never chosen
namespace avx2 = generic;
namespace avx512 = generic;
#endif

namespace {

template <class Kernels>
const Kernels* choose(const char* name, const Kernels& widest, const Kernels& wide, const Kernels& generic) {
  if (!has_instruction_set(name)) return nullptr;
  return !std::strcmp(name, "avx512") ? &widest : !std::strcmp(name, "avx2") ? &wide : &generic;
}

}  // namespace

const GaussianKernels* gaussian_kernels(const char* name) {
  return choose(name, avx512::gaussian_table, avx2::gaussian_table, generic::gaussian_table);
}

const EnergyKernels* energy_kernels(const char* name) {
  return choose(name, avx512::energy_table, avx2::energy_table, generic::energy_table);
}

const GaussianKernels& gaussian_kernels() {
  static const GaussianKernels* const chosen = gaussian_kernels(instruction_set());
  return *chosen;
}

const EnergyKernels& energy_kernels() {
  static const EnergyKernels* const chosen = energy_kernels(instruction_set());
  return *chosen;
}

double* lane_scratch(int slot, std::ptrdiff_t doubles) {
  static thread_local Buffer buffers[kScratchSlots];
  if (buffers[slot].size() < doubles) buffers[slot] = Buffer(doubles);
  return buffers[slot].data();
}

}  // namespace repshape
