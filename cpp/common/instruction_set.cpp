#include "common/instruction_set.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#if defined(REPSHAPE_X86) && defined(_MSC_VER)
#include <intrin.h>
#endif

namespace repshape {
namespace {

#ifdef REPSHAPE_X86
#ifdef _MSC_VER
// clang-cl does not link the library behind __builtin_cpu_supports, so that the processor is asked directly: for the
// instructions, and for the registers that the operating system saves (XCR0).
bool processor_has(const char* name) {
  constexpr unsigned kFma = 1u << 12, kSavesRegisters = 1u << 27, kAvx2 = 1u << 5;
  constexpr unsigned kAvx512 = 1u << 16 | 1u << 17 | 1u << 31;  // F, DQ, VL
  constexpr std::uint64_t kYmm = 0x06, kZmm = 0xe6;
  int first[4], seventh[4];
  __cpuid(first, 0);
  if (first[0] < 7) return false;
  __cpuid(first, 1);
  __cpuidex(seventh, 7, 0);
  if (!(first[2] & kSavesRegisters)) return false;
  const std::uint64_t saved = _xgetbv(0);
  const unsigned features = unsigned(seventh[1]);
  if (!(first[2] & kFma) || !(features & kAvx2) || (saved & kYmm) != kYmm) return false;
  return std::strcmp(name, "avx512") || ((features & kAvx512) == kAvx512 && (saved & kZmm) == kZmm);
}
#else
bool processor_has(const char* name) {
  __builtin_cpu_init();
  if (!std::strcmp(name, "avx512"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif
#endif

}  // namespace

bool has_instruction_set(const char* name) {
#ifdef REPSHAPE_X86
  if (!std::strcmp(name, "avx512") || !std::strcmp(name, "avx2")) return processor_has(name);
#endif
  return !std::strcmp(name, "generic");
}

const char* instruction_set() {
  static const char* const chosen = [] {
    const char* wish = std::getenv("REPSHAPE_ISA");
    for (const char* name : kInstructionSets)
      if (wish && !std::strcmp(wish, name) && has_instruction_set(name)) return name;
    for (const char* name : kInstructionSets)
      if (has_instruction_set(name)) return name;
    return "generic";
  }();
  return chosen;
}

}  // namespace repshape
