// The Python module: networks as opaque handles, pairs solved without the GIL, results by name.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/bind.h"
#include "common/instruction_set.h"

namespace nb = nanobind;
using namespace repshape;

NB_MODULE(_core, m) {
  m.doc() = "Native kernels of repshape.";
  bind_lapack();
  m.def("instruction_set", [] { return std::string(instruction_set()); }, "The instruction set of the kernels in use.");
  m.def(
      "instruction_sets",
      [] {
        std::vector<std::string> out;
        for (const char* name : kInstructionSets)
          if (has_instruction_set(name)) out.push_back(name);
        return out;
      },
      "The instruction sets that this build and this processor have, widest first.");
  bind_results(m);
  bind_gaussian(m);
  bind_energy(m);
}
