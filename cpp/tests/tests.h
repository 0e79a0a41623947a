// The parts of the test program.
#pragma once

namespace repshape::tests {

void test_parts();       // small routines: assignment, dense algebra, random numbers
void test_gaussian();    // the Gaussian kernels of every instruction set, and those on BLAS
void test_layers();      // the ascent of wide layers
void test_energy();      // the energy kernels of every instruction set
void test_solvers();     // whole searches, hostile inputs, and many threads at once
void test_new_metric();  // the worked example of a new ground metric

}  // namespace repshape::tests
