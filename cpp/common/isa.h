// Included first by every file that is compiled once per instruction set; REPSHAPE_ISA names the copy.
//
// A kernel object must define its table of entry points and nothing else that the linker can see. Of an inline
// function or a template that several objects define, the linker keeps one copy for the whole module, and that copy
// might use instructions that the processor at hand does not have. Hence everything that a kernel file includes has
// internal linkage (an anonymous namespace), and the containers and algorithms of the standard library are not used.
// tests/test_build.py checks this.
#pragma once
#include "common/scalar.h"

#ifndef REPSHAPE_ISA
#error "REPSHAPE_ISA must name the instruction set"
#endif
#define REPSHAPE_STRING_(x) #x
#define REPSHAPE_STRING(x) REPSHAPE_STRING_(x)

namespace repshape {
namespace REPSHAPE_ISA {
namespace {

// Bytes of the widest register that this copy of the kernels may use.
#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;  // SSE2, NEON
#endif

}  // namespace
}  // namespace REPSHAPE_ISA
}  // namespace repshape
