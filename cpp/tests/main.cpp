// Tests of the native code without Python: plain checks against slow loops. `make native-test` builds and runs them
// under sanitizers and for another processor.
#include <cstdio>

#include "check.h"
#include "common/instruction_set.h"
#include "plain_lapack.h"
#include "tests.h"

int main() {
  repshape::tests::use_plain_lapack();
  repshape::tests::test_parts();
  repshape::tests::test_gaussian();
  repshape::tests::test_layers();
  repshape::tests::test_energy();
  repshape::tests::test_solvers();
  repshape::tests::test_new_metric();
  std::printf("%ld numbers compared, instruction set %s\n", repshape::tests::checked, repshape::instruction_set());
  return 0;
}
