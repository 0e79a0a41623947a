// Solves one pair, whatever its problem (problem.h) and group: the order of the two networks, silent neurons,
// determinants, starts, precision, stopping, agreement, and the one result.
#pragma once
#include "search/exploration.h"
#include "search/permutations.h"
#include "search/problem.h"

namespace repshape {

// One pair in canonical order. The last `spare` neurons of x are silent, and unknown to the caller.
template <class Problem>
class PairSearch {
 public:
  using F = typename Problem::Function;

  PairSearch(const Problem& problem, const Settings& s, std::vector<Matrix> given, int spare)
      : p_(problem), s_(s), given_(std::move(given)), spare_(spare), whole_(p_.whole), rough_(p_.whole),
        oracle_{s.group, is_special(problem, s.group), whole_.n(), whole_.k()},
        ascent_{p_.scale, s.tolerance, s.memory, oracle_.special} {}

  Solution run() {
    if (oracle_.exact())
      settle(identity_injection(n(), k()));
    else if (s_.group == Group::permutation)
      search_permutations();
    else if (n() == 1 && p_.sign_suffices())
      settle(special() ? Matrix{1} : oracle_.completed(p_.linear_gain()));
    else if (n() == 2 && p_.solves_planes())
      search_plane();
    else
      search_rotations();
    const Measured found = p_.measure(out_.transform, oracle_);
    out_.distance = found.distance, out_.lower_bound = found.lower_bound;
    out_.mean_distance = found.mean, out_.covariance_distance = found.covariance;
    if (!given_.empty()) out_.gap = NAN;  // given starts are not independent
    return std::move(out_);
  }

 private:
  // A dimension that one network does not use can be reversed at no cost, so that every alignment is part of a rotation
  // then.
  static bool is_special(const Problem& p, Group group) {
    return group == Group::rotation && p.x.neurons == p.y.neurons && !p.x.reduced && !p.y.reduced;
  }

  int n() const { return oracle_.n; }
  int k() const { return oracle_.k; }
  bool special() const { return oracle_.special; }

  // The only transform there is, or the best by a formula.
  void settle(Matrix t) {
    out_.transform = std::move(t);
    out_.converged = true;
    out_.starts = out_.agreeing = 1;
  }

  // The matrix whose nearest transform replaces a given start. A composition through a smaller network maps some
  // directions to zero, and any completion will do; one through a larger network shrinks some. If the objective is
  // convex, the best transform for the gradient G at B is no worse than B: g(T) >= g(B) + <T - B, G> >= g(B).
  Matrix toward(const Matrix& b) const {
    if (!Problem::kConvex) return b;
    Matrix gram(std::size_t(k()) * k()), square(gram.size()), gradient;
    gemm(true, false, k(), k(), n(), 1, b.data(), k(), b.data(), k(), 0, gram.data(), k());
    gemm(false, false, k(), k(), k(), 1, gram.data(), k(), gram.data(), k(), 0, square.data(), k());
    double change = 0;
    for (std::size_t e = 0; e < gram.size(); ++e) change = std::max(change, std::abs(square[e] - gram[e]));
    if (change < kProjection) return b;  // singular values are one, or zero
    whole_.at(b, gradient);
    return gradient;
  }

  // Aligns the means, and the principal axes where the means leave them free.
  Matrix aligned_means() const { return oracle_.completed(p_.first_gain()); }

  std::vector<Matrix> start_matrices() const {
    std::vector<Matrix> out;
    for (const Matrix& t : given_) out.push_back(oracle_.completed(toward(t)));
    if (!out.empty()) return out;
    const Matrix means = aligned_means(), match = p_.prefers_matched() ? p_.matched(means, special()) : Matrix();
    out.push_back(match.empty() ? means : match);
    for (Matrix& start : listed_starts(s_, n(), special())) out.push_back(std::move(start));
    return out;
  }

  // In the plane: all angles, or uphill from each start.
  void search_plane() {
    const std::vector<Matrix> starts = start_matrices();
    PlaneResult found = p_.search_plane(starts, s_.explore, special(), s_.tolerance);
    out_.transform = std::move(found.best);
    out_.converged = found.converged;
    out_.iterations = found.evaluations;
    out_.starts = s_.explore ? 1 : int(starts.size());
    out_.agreeing = given_.empty() ? 1 : 0;
  }

  void search_rotations() {
    layered_ = p_.layered();
    wide_ = layered_ || (!special() && p_.wide());
    rough_.single = F::kSingle;
    const bool explored = s_.explore && given_.empty() && !p_.linear();
    std::vector<Ascent> runs;
    if (explored && !wide_)
      runs = {explore()};
    else if (explored && !layered_ && n() < kRootsBelow)
      runs = {explore_wide()};
    else
      runs = finish_starts();
    Ascent& best = runs[0];
    out_.converged = best.converged();
    // The residual left by the gradient tolerance is negligible for most pairs, but is the whole distance of near-copies.
    if (out_.converged && p_.power > 0 && p_.total - best.value() < kCopies * p_.power && s_.tolerance > kCopyTolerance) {
      best.demand(kCopyTolerance);
      best.run(whole_, 2 * s_.max_iterations);
    }
    out_.transform = first_columns(best.transform(), n(), k());
    out_.iterations = best.iterations();
    if (!Problem::kConvex) out_.converged = out_.converged || nothing_to_gain();
  }

  // Climbs from every start, the highest end first.
  std::vector<Ascent> finish_starts() {
    std::vector<Ascent> runs;
    for (Matrix& start : start_matrices()) runs.emplace_back(ascent_, std::move(start));
    if (wide_ && s_.explore && given_.empty())
      for (Matrix& start : layer_starts(n(), p_.cost, s_.seed)) runs.emplace_back(ascent_, std::move(start));
    out_.starts = int(runs.size());
    if (!given_.empty() && !wide_ && Problem::kConvex) return {improve(runs)};
    double best = -INFINITY;
    for (Ascent& run : runs) {
      if (layered_)
        climb_layer(run, given_.empty() && &run == &runs[0], best);
      else
        ascend(run);
      best = std::max(best, run.value());
    }
    count_agreeing(runs);
    if (!given_.empty() && !Problem::kConvex) out_.agreeing = 0;
    return runs;
  }

  EndlessStarts endless_starts() const {
    auto graduated = [this](const Matrix& start, double share) {
      return oracle_.completed(p_.graduated(start, share));
    };
    return {p_.suggest(), s_.exploration.suggested, n(), special(), s_.seed,
            p_.graduates() ? graduated : EndlessStarts::Graduated()};
  }

  // Climbs wide pairs coarsely until independent starts agree, tries moves where few do, and finishes the best.
  Ascent explore_wide() {
    EndlessStarts others = endless_starts();
    const Stopping stopping = Stopping::of_wide_pairs(s_.exploration, p_.cost);
    Agreement agreement(s_.exploration, p_.total, p_.scale);
    AscentSettings coarse = ascent_;
    coarse.tolerance = std::max(s_.tolerance, s_.exploration.tolerance);
    Matrix best;
    auto consider = [&](const Matrix& start) {
      int iterations = 0;
      Ascent run(ascent_, oracle_.completed(p_.climb_wide(coarse, start, s_.max_iterations, iterations)));
      run.look(whole_);
      if (agreement.empty() || run.value() > agreement.best()) best = run.transform();
      return agreement.rank(run.value());
    };
    consider(aligned_means());
    for (out_.starts = 1; !stopping.enough(out_.starts, agreement.hits()); ++out_.starts) consider(others.next());
    out_.agreeing = agreement.hits();
    const int moves = stopping.moves_after(out_.starts, out_.agreeing);
    for (int m = 0; m < moves; ++m)
      if (consider(others.near(best, m % 2 == 0)) == Agreement::Rank::higher) out_.agreeing = 1;
    out_.gap = agreement.gap();
    Ascent finished(ascent_, best);
    ascend(finished);
    return finished;
  }

  // Sorts runs, the highest first, and counts those that end as high.
  void count_agreeing(std::vector<Ascent>& runs) {
    std::stable_sort(runs.begin(), runs.end(), higher);
    Agreement agreement(s_.exploration, p_.total, p_.scale);
    for (const Ascent& run : runs) agreement.rank(run.value());
    out_.agreeing = agreement.hits(), out_.gap = agreement.gap();
  }

  // Climbs from given starts coarsely, and finishes the best. The result must be at least as good as every given start,
  // so values are compared in double precision.
  Ascent improve(std::vector<Ascent>& runs) {
    Ascent highest = runs[0];
    for (Ascent& run : runs) {
      Ascent begun = run;
      begun.look(whole_);
      if (&run == &runs[0] || begun.value() > highest.value()) highest = begun;
      run.demand(std::max(s_.tolerance, s_.exploration.tolerance));
      if (p_.curvature()) run.use(p_.curvature());
      run.run(rough_, s_.max_iterations);
    }
    count_agreeing(runs);
    Ascent best = runs[0];
    best.demand(s_.tolerance);
    best.refresh();
    ascend(best);
    if (n() >= kMany) measure(best);
    if (best.value() >= highest.value()) return best;
    if (best.converged() && n() >= kMany && highest.value() - best.value() < least_gain(highest.value())) {
      highest.settle();  // there already
      return highest;
    }
    highest.run(whole_, s_.max_iterations);
    return highest.value() > best.value() ? highest : best;
  }

  // Takes the value in double precision: an ascent of many neurons may end in single.
  void measure(Ascent& run) const {
    const bool converged = run.converged();
    run.refresh();
    run.look(whole_);
    if (converged) run.settle();
  }

  // Wide layers: to a maximum in single precision, and on in double precision only if the distance is too short for it.
  // Given up where it cannot reach `best`. Never ends lower than it begins.
  void climb_layer(Ascent& run, bool annealed, double best) const {
    const double floor = best - margin_of(s_.exploration, p_.total - best, p_.scale);
    const Climbed found = p_.climb_layer(ascent_, run.transform(), annealed, s_.max_iterations, floor);
    Ascent begun = run;
    run = Ascent(ascent_, oracle_.completed(found.transform));
    run.count(found.iterations - 1);  // the last gradient is evaluated again
    run.look(whole_);
    if (found.settled && 2 * kLayerTolerance * (p_.total - run.value()) > kSinglePrecision * p_.scale)
      run.settle();
    else if (found.settled)
      run.run(whole_, s_.max_iterations);
    if (annealed) return;
    begun.look(whole_);
    if (begun.value() <= run.value()) return;
    if (run.converged()) begun.settle();
    run = begun;
  }

  // To a maximum: mostly in single precision, then in double; wide pairs have their own ascent.
  void ascend(Ascent& run) const {
    if (wide_) {
      int iterations = 0;
      const Matrix t = p_.climb_wide(ascent_, run.transform(), s_.max_iterations, iterations);
      run = Ascent(ascent_, oracle_.completed(t));
      run.count(iterations);
      run.run(whole_, std::max(s_.max_iterations, iterations + 1));
      return;
    }
    if (p_.curvature()) run.use(p_.curvature());
    if (rough_.single && n() >= kMany && gain_enough(run)) {
      run.settle();
      return run.use(nullptr);
    }
    if (rough_.single) {
      run.run(rough_, s_.max_iterations);
      run.refresh();
      run.look(whole_);
      while (run.refine(rough_, whole_, s_.max_iterations)) {
      }
    }
    run.run(whole_, s_.max_iterations);
    run.use(nullptr);
  }

  // Ascends in single precision until the distance would change by less than its tolerance. Returns false where that
  // cannot be told in this precision, or where the gradient gets small first.
  bool gain_enough(Ascent& run) const {
    double least = 0;
    int small = 0;  // gains one after the other
    auto twice = [&](double value, double expected) {
      least = least_gain(value);
      small = expected - value < std::max(least, kSinglePrecision * p_.scale) ? small + 1 : 0;
      return small == 2;
    };
    const int stride = 1;  // such a gradient is worth a look
    return run.run_until(rough_, s_.max_iterations, twice, stride) && least > kSinglePrecision * p_.scale;
  }

  // What changes the distance by its tolerance, given the objective.
  double least_gain(double value) const { return 2 * s_.tolerance * (p_.total - value); }

  // Explores until independent starts agree, and finishes the best.
  Ascent explore() {
    const Explored<F> of = p_.explored();
    EndlessStarts others = endless_starts();
    Exploration<F> search(of, ascent_, s_.exploration, s_.max_iterations);
    if (p_.curvature()) search.offer(p_.curvature());
    const Matrix means = aligned_means(), match = p_.matched(means, special());
    if (!match.empty()) search.begin_at(match);
    search.run(means, others);
    out_.starts = search.starts(), out_.agreeing = search.agreeing(), out_.gap = search.gap();
    Ascent best = search.best();
    if (of.partial) {
      AscentSettings finish = ascent_;
      finish.memory = kMemoryOfMany;
      best.transfer(finish);
    } else {
      best.demand(s_.tolerance);
      if (of.f.single) best.refresh();
    }
    ascend(best);
    return best;
  }

  void search_permutations() {
    const F exact = whole_;
    F coarse = whole_;
    coarse.single = F::kSingle && whole_.lanes();
    const F& rough = F::kSingle ? coarse : exact;
    const int fixed = s_.explore ? 0 : 1 + s_.n_starts;
    Random random(s_.seed);
    PermutationSearch<F> search(
        exact, rough, {spare_, s_.max_iterations, p_.scale, p_.total, p_.cost, fixed, s_.exploration}, random);
    if (given_.empty()) {
      Suggestions suggestions(p_.suggest(), random);
      search.explore(p_.first_gains(), [&] { return suggestions.next(); },
                     [&](Matrix& t, double& value) { return p_.prove(exact, rough, spare_, t, value); });
    } else {
      std::vector<Matrix> starts;
      for (const Matrix& t : given_) {
        starts.push_back(toward(t));
        if (starts.back() == t) invite(starts.back(), k(), spare_);
      }
      search.improve(starts);
    }
    out_.transform = search.best();
    out_.converged = search.converged();
    out_.starts = search.starts(), out_.agreeing = search.agreeing(), out_.gap = search.gap();
    out_.iterations = int(exact.evaluations);
  }

  // At a kink (trials that coincide exactly) the gradient jumps and never gets small. Such a point is stationary if the
  // oracle's own model promises nothing more than rounding.
  bool nothing_to_gain() const {
    Matrix g;
    const Matrix& t = out_.transform;
    whole_.at(t, g);
    return dot(oracle_(g), g) - dot(t, g) <= kRounding * std::max(p_.scale, dot(t, g));
  }

  static constexpr int kMany = 48;                  // neurons: from here on, a gradient takes milliseconds
  static constexpr int kMemoryOfMany = 80;          // steps: that many cost little beside such a gradient
  static constexpr double kSinglePrecision = 2e-7;  // of the objective
  static constexpr double kLayerTolerance = 1e-5;   // of the distance: what single precision must resolve
  static constexpr double kRounding = 1e-14;        // of the objective
  static constexpr double kProjection = 1e-6;       // change of a projection when it is squared
  static constexpr double kCopies = 1e-6;           // squared distance, as a share of the squared norms
  static constexpr double kCopyTolerance = 1e-10;

  const Problem& p_;
  const Settings& s_;
  std::vector<Matrix> given_;  // n x k
  int spare_;
  F whole_, rough_;  // in double precision; the same in single precision if that is faster
  Oracle oracle_;
  AscentSettings ascent_;
  bool wide_ = false, layered_ = false;
  Solution out_;
};

// The best transform of y onto x. A pair is solved the same way round whichever network comes first.
template <class Problem, class Ground>
Solution solve(const typename Problem::Net& x, const typename Problem::Net& y, const Ground& ground,
               const Settings& s, Given given = {}) {
  const bool swapped = y < x;
  const auto &first = swapped ? y : x, &second = swapped ? x : y;
  // The search's transform maps second onto first (n x k); the caller's maps rows of y onto x: its transpose, or itself
  // where the two were exchanged.
  const int n = first.neurons, k = second.neurons;
  const std::size_t count = std::size_t(n) * k;
  // More silent neurons than the other network has neurons make no difference.
  const int spare = s.group == Group::permutation ? std::max(0, std::min(s.pad_to - n, k)) : 0;
  std::vector<Matrix> starts;
  for (int g = 0; g < given.count; ++g) {
    Matrix t(given.values + g * count, given.values + (g + 1) * count);
    if (!swapped) t = transposed(t, k, n);
    t.resize(count + std::size_t(spare) * k, 0);
    starts.push_back(std::move(t));
  }
  auto run = [&](const auto& larger) {
    return PairSearch<Problem>(Problem(larger, second, ground), s, std::move(starts), spare).run();
  };
  Solution out = spare ? run(first.with_silent_neurons(spare)) : run(first);
  out.transform.resize(count);
  if (!swapped) out.transform = transposed(out.transform, n, k);
  return out;
}

}  // namespace repshape
