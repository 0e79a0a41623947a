// Which copies of the kernels this processor can run.
#pragma once

namespace repshape {

// Every instruction set that a build may contain, widest first.
constexpr const char* kInstructionSets[] = {"avx512", "avx2", "generic"};

// Whether this build and this processor have the instruction set of that name.
bool has_instruction_set(const char* name);

// The widest that the processor has. The environment variable REPSHAPE_ISA selects a narrower one, for tests.
const char* instruction_set();

}  // namespace repshape
