// The parts of the Python module, one file each.
#pragma once
#include <nanobind/nanobind.h>

void bind_lapack();
void bind_results(nanobind::module_& m);
void bind_gaussian(nanobind::module_& m);
void bind_energy(nanobind::module_& m);
