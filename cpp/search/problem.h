// What a pair offers to the search. A ground metric derives a class from Problem, made from two networks, x having at
// least as many neurons as y. A network has `neurons`, `reduced` (whether it spans fewer dimensions than its space), a
// total order by content, and with_silent_neurons(count).
#pragma once
#include <cmath>
#include <memory>

#include "common/injections.h"
#include "common/orthogonal.h"
#include "search/ascent_settings.h"
#include "search/correspondence.h"
#include "search/function.h"
#include "search/planes.h"
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
    if (group == Group::permutation) return injection(assign(g), n);
    return first_columns(completed(g), k);
  }

  // The orthogonal n x n matrix whose first columns are the best.
  Matrix completed(const Matrix& g) const { return nearest_orthogonal(g, special); }
};

// The distance at a transform, its parts, and a lower bound over the group.
struct Measurement {
  double distance = 0, lower_bound = 0, mean = NAN, covariance = NAN;
};

// Where an ascent of a problem's own ended.
struct AscentResult {
  Matrix transform;  // n x k
  int iterations = 0;
  bool settled = false;  // whether it converged, or more gradients in the same precision would change little
};

// The function as it is explored: coarser, and in lower precision, if that is faster.
struct ExplorationTarget {
  std::unique_ptr<const Function> f;
  double scale = 1, total = 0, cost = 0;  // as in Problem
  bool approximate = false;               // its maximum need not be reached precisely: another search finishes it
  // Every start climbs this cheaper function first, which resembles f and has the value subset_total at distance zero;
  // null if that does not pay.
  std::unique_ptr<const Function> subset;
  double subset_total = 0;
};

class Problem {
 public:
  virtual ~Problem() = default;

  double scale = 1, total = 0;  // order of magnitude of the function; its value at distance zero
  double cost = 0;              // operations of a gradient
  double power = 0;             // squared responses in units of the function, for more digits of short distances; or 0
  bool same_space = false;      // both networks have as many dimensions as their common space

  // The function on all data, in double precision, and in single precision if that is faster (else null).
  virtual const Function& whole() const = 0;
  virtual std::unique_ptr<Function> in_single_precision() const { return nullptr; }
  // Whether the function is convex on all matrices, and smooth at its maxima. If it is, a matrix outside the group can
  // be replaced by the best transform for its gradient.
  virtual bool convex() const = 0;
  // A gain (n x k) whose best transform is the first start; the same for permutations, of which several are tried; and
  // what further starts are made of.
  virtual Matrix first_gain() const = 0;
  virtual std::vector<Matrix> first_gains() const = 0;
  virtual StartData start_data() const = 0;
  virtual ExplorationTarget exploration_target() const = 0;
  virtual Measurement measure(const Matrix& t, const Oracle& oracle) const = 0;

  // What follows is optional.
  virtual bool linear() const { return false; }  // the first start is the best
  // If only a linear part of the function differs between T and -T: its gain (n x k), else null.
  virtual const Matrix* linear_gain() const { return nullptr; }
  virtual bool solves_planes() const { return false; }
  virtual AscentResult search_plane(const std::vector<Matrix>& /*starts*/, bool /*explore*/, bool /*special*/,
                                    double /*tolerance*/) const {
    return {};
  }
  // Another start (n x n) if it is better than `means`, else nothing; whether it replaces the means where there is
  // only one start.
  virtual Matrix matched(const Matrix& /*means*/, bool /*special*/) const { return {}; }
  virtual bool prefers_matched() const { return false; }
  virtual const Curvature* curvature() const { return nullptr; }
  // An ascent over fewer unknowns than a transform has, from a start (n x n).
  virtual bool wide() const { return false; }
  virtual AscentResult ascend_wide(const AscentSettings&, const Matrix& /*start*/, int /*limit*/) const { return {}; }
  // A gain (n x k) whose best transform is a better start than the given one (n x n).
  virtual bool graduates() const { return false; }
  virtual Matrix graduated_gain(const Matrix& /*start*/, double /*share*/) const { return {}; }
  // An ascent in single precision from a start (n x n), or by annealing from the means, which is given up where nothing
  // as high as `floor` is to be expected.
  virtual bool layered() const { return false; }
  virtual AscentResult ascend_layer(const AscentSettings&, const Matrix& /*start*/, bool /*annealed*/, int /*limit*/,
                                    double /*floor*/) const {
    return {};
  }
  // Replaces an injection and its value by the best of all, if there are few enough, and returns whether it did. The
  // last `spare` rows are silent neurons; `rough` is the function in the precision of the search.
  virtual bool search_exhaustively(const Function& /*rough*/, int /*spare*/, Matrix& /*t*/, double& /*value*/) const {
    return false;
  }
};

}  // namespace repshape
