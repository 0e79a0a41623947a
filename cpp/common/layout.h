// How factors of many conditions share memory: one matrix per SIMD lane.
#pragma once

namespace repshape {

// The same on every machine: a Pack of 64 bytes holds the same entry of several matrices. Where registers are
// narrower, a Pack takes more than one of them.
constexpr int kPackBytes = 64;
constexpr int kDoubleLanes = kPackBytes / sizeof(double);

}  // namespace repshape
