// Solves one pair, whatever its problem (problem.h) and group: the order of the two networks, silent neurons,
// determinants, starts, precision, stopping, agreement, and the one result.
#pragma once
#include "search/problem.h"

namespace repshape {

// The best transform (n x k) of a pair in canonical order, from given starts (n x k) or from the search's own. The last
// `spare` neurons of x are silent, and unknown to the caller.
Solution search_pair(const Problem& problem, const Settings& s, std::vector<Matrix> given, int spare);

// The best transform of y onto x. A pair is solved the same way round whichever network comes first.
template <class AnyProblem, class Network, class Ground>
Solution solve(const Network& x, const Network& y, const Ground& ground, const Settings& s,
               const GivenStarts& given = {}) {
  const bool swapped = y < x;
  const Network &first = swapped ? y : x, &second = swapped ? x : y;
  // The search's transform maps second onto first (n x k); the caller's maps rows of y onto x: its transpose, or itself
  // where the two were exchanged.
  const int n = first.neurons, k = second.neurons;
  // More silent neurons than the other network has neurons make no difference.
  const int spare = s.group == Group::permutation ? std::max(0, std::min(s.pad_to - n, k)) : 0;
  std::vector<Matrix> starts;
  for (const View<const double>& one : given) {
    starts.push_back(swapped ? Matrix(one) : transposed(one));
    starts.back().set_rows(n + spare);
  }
  auto run = [&](const Network& larger) {
    return search_pair(AnyProblem(larger, second, ground), s, std::move(starts), spare);
  };
  Solution out = spare ? run(first.with_silent_neurons(spare)) : run(first);
  out.transform.set_rows(n);
  if (!swapped) out.transform = transposed(out.transform);
  return out;
}

}  // namespace repshape
