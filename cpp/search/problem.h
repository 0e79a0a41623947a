// What a pair offers to the search.
//
// A Problem is made from two networks, x having at least as many neurons as y, and what is measured between them. A
// network has `neurons`, `reduced` (whether it spans fewer dimensions than its space), a total order by content, and
// with_silent_neurons(count). Besides the defaults below, a Problem offers
//   Net, Function        types: a network; a function of transforms, as ascent.h reads it
//   kConvex              whether the function is convex on all matrices, and smooth at its maxima. If it is, a matrix
//                        outside the group can be replaced by the best transform for its gradient
//   whole                the function on all data, in double precision
//   scale, total, cost   upper bound of the function; its value at distance zero; operations of one gradient
//   power                squared responses, in units of the function: shorter distances are worth more digits
//   suggest()            what starts from the correspondence of conditions are made of
//   first_gain()         a gain (n x k) whose best transform is the first start
//   first_gains()        the same for permutations, of which several are tried
//   explored()           the function as it is explored: coarser, and in lower precision, if that is faster
//   measure(t, oracle)   the distance at a transform, its parts, and a lower bound over the group
#pragma once
#include "common/assignment.h"
#include "common/orthogonal.h"
#include "common/transforms.h"
#include "search/ascent.h"
#include "search/correspondence.h"
#include "search/settings.h"

namespace repshape {

// The linear oracle of a group: the transform (n x k) that maximises <T, g>.
struct Oracle {
  Group group;
  bool special;  // rotations of the whole space: determinant +1
  int n, k;

  bool exact() const { return group == Group::identity || n * k == 0; }  // there is only one transform

  Matrix operator()(const Matrix& g) const {
    if (group == Group::identity) return identity_injection(n, k);
    if (group == Group::permutation) return injection(assign(n, k, g.data()), n);
    return first_columns(completed(g), n, k);
  }

  // The orthogonal n x n matrix whose first columns are the best.
  Matrix completed(const Matrix& g) const { return nearest_orthogonal(n, k, g.data(), special); }
};

struct Measured {
  double distance = 0, lower_bound = 0, mean = NAN, covariance = NAN;
};

// The result of a search over all angles of a plane.
struct PlaneResult {
  Matrix best;  // 2 x k
  bool converged = false;
  int evaluations = 0;
};

// What the ascent of wide layers finds.
struct Climbed {
  Matrix transform;  // n x k
  int iterations = 0;
  bool settled = false;  // whether more gradients in the same precision would change little
};

// What most problems do without.
template <class F>
struct ProblemDefaults {
  bool linear() const { return false; }  // the first start is the best
  // Of one neuron, only the linear part depends on the sign: this is its gain (n x k).
  bool sign_suffices() const { return false; }
  Matrix linear_gain() const { return {}; }
  bool solves_planes() const { return false; }
  PlaneResult search_plane(const std::vector<Matrix>&, bool, bool, double) const { return {}; }
  // Another start (n x n) if it is better than `means`, else nothing; whether it replaces the means where there is
  // only one start.
  Matrix matched(const Matrix&, bool) const { return {}; }
  bool prefers_matched() const { return false; }
  const Curvature* curvature() const { return nullptr; }
  // An ascent over fewer unknowns than a transform has, from a start (n x n) to a transform (n x k).
  bool wide() const { return false; }
  Matrix climb_wide(const AscentSettings&, const Matrix&, int, int&) const { return {}; }
  // A better start (n x n) made from another, if the problem has one.
  bool graduates() const { return false; }
  Matrix graduated(const Matrix&, double) const { return {}; }
  // An ascent in single precision from a start (n x n), or by annealing from the means, which is given up where it
  // promises nothing as high as a floor.
  bool layered() const { return false; }
  Climbed climb_layer(const AscentSettings&, const Matrix&, bool, int, double) const { return {}; }
  // Replaces an injection by the best of all, if there are few enough; see PermutationSearch.
  bool prove(const F&, const F&, int, Matrix&, double&) const { return false; }
};

}  // namespace repshape
