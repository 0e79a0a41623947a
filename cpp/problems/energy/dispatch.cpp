// Chooses the copy of the energy kernels that this processor can run.
#include <cstring>

#include "common/instruction_set.h"
#include "problems/energy/kernel.h"

namespace repshape {

namespace generic {
extern const EnergyKernels energy_table;
}
#ifdef REPSHAPE_X86
namespace avx2 {
extern const EnergyKernels energy_table;
}
namespace avx512 {
extern const EnergyKernels energy_table;
}
#endif

const EnergyKernels* energy_kernels(const char* name) {
  if (!has_instruction_set(name)) return nullptr;
#ifdef REPSHAPE_X86
  if (!std::strcmp(name, "avx512")) return &avx512::energy_table;
  if (!std::strcmp(name, "avx2")) return &avx2::energy_table;
#endif
  return &generic::energy_table;
}

const EnergyKernels& energy_kernels() {
  static const EnergyKernels* const chosen = energy_kernels(instruction_set());
  return *chosen;
}

}  // namespace repshape
