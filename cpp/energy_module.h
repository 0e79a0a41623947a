#pragma once
#include <nanobind/nanobind.h>

// Adds the energy metric's classes and functions to the module.
void bind_energy(nanobind::module_& m);
