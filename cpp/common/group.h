// The groups of transforms, numbered as in repshape/groups.py.
#pragma once

namespace repshape {

enum class Group { orthogonal, rotation, permutation, identity };

}  // namespace repshape
