// How factors of many conditions share memory: one matrix per SIMD lane.
#pragma once

namespace repshape {

// The same on every machine: a group of eight conditions, of which each entry of the factors fills 64 bytes. The widest
// registers hold all of it; narrower ones take it in parts.
constexpr int kGroupBytes = 64;
constexpr int kDoubleLanes = kGroupBytes / sizeof(double);

}  // namespace repshape
