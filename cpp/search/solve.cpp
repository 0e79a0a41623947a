#include "search/solve.h"

#include "search/exploration.h"
#include "search/permutations.h"

namespace repshape {
namespace {

// Limits of precision, and of the sizes that decide which phases are worth their time. Where no measurement is named, a
// number was chosen by hand and not measured.
constexpr int kMany = 48;          // neurons: from here on, a gradient takes milliseconds
constexpr int kMemoryOfMany = 80;  // steps of L-BFGS from kMany neurons on: a third fewer gradients than with 30
constexpr double kSinglePrecision = 2e-7;  // of the objective: what single precision resolves
constexpr double kLayerTolerance = 1e-5;   // of the distance: what single precision must resolve
constexpr double kRounding = 1e-14;        // of the objective, in double precision
constexpr double kProjection = 1e-6;       // change of a projection when it is squared
constexpr double kCopies = 1e-6;           // squared distance, as a share of the squared norms: near copies
constexpr double kCopyTolerance = 1e-10;   // gradient tolerance of near copies

class PairSearch {
 public:
  PairSearch(const Problem& problem, const Settings& s, std::vector<Matrix> given, int spare)
      : p_(problem), s_(s), given_(std::move(given)), spare_(spare), whole_(p_.whole()),
        in_single_(p_.in_single_precision()), rough_(in_single_ ? *in_single_ : whole_),
        oracle_{s.group, is_special(problem, s.group), whole_.n(), whole_.k()},
        ascent_{p_.scale, s.tolerance, s.memory, oracle_.special} {}

  Solution run() {
    if (oracle_.exact())
      set_only(identity_injection(n(), k()));
    else if (s_.group == Group::permutation)
      search_permutations();
    else if (n() == 1 && p_.linear_gain())
      set_only(special() ? Matrix(1, 1, 1) : oracle_.completed(*p_.linear_gain()));
    else if (n() == 2 && p_.solves_planes())
      search_plane();
    else
      search_rotations();
    if (s_.group == Group::rotation && p_.same_space && !special() && negative_determinant(out_.transform))
      for (double& e : out_.transform) e = -e;
    const Measurement found = p_.measure(out_.transform, oracle_);
    out_.distance = found.distance, out_.lower_bound = found.lower_bound;
    out_.mean_distance = found.mean, out_.covariance_distance = found.covariance;
    if (!given_.empty()) out_.gap = NAN;  // given starts are not independent
    return std::move(out_);
  }

 private:
  // Whether determinants matter. A dimension that one network does not use can be reversed at no cost, so that every
  // alignment is part of a rotation then. If the objective is the same at T and -T, and the number of dimensions is
  // odd, one of the two is a rotation.
  static bool is_special(const Problem& p, Group group) {
    return group == Group::rotation && p.same_space && !(p.whole().n() % 2 == 1 && is_even(p));
  }

  static bool is_even(const Problem& p) {
    const Matrix* gain = p.linear_gain();
    return gain && std::all_of(gain->begin(), gain->end(), [](double e) { return e == 0; });
  }

  int n() const { return oracle_.n; }
  int k() const { return oracle_.k; }
  bool special() const { return oracle_.special; }

  // The only transform there is, or the best by a formula.
  void set_only(Matrix t) {
    out_.transform = std::move(t);
    out_.converged = true;
    out_.starts = out_.agreeing = 1;
  }

  // The matrix whose nearest transform replaces a given start. A composition through a smaller network maps some
  // directions to zero, and any completion will do; one through a larger network shrinks some. If the objective is
  // convex, the best transform for the gradient G at B is no worse than B: g(T) >= g(B) + <T - B, G> >= g(B).
  Matrix gain_of_start(const Matrix& b) const {
    if (!p_.convex()) return b;
    const Matrix gram = product(transpose(b), b), square = product(gram, gram);
    double change = 0;
    for (Index e = 0; e < gram.size(); ++e) change = std::max(change, std::abs(square[e] - gram[e]));
    if (change < kProjection) return b;  // singular values are one, or zero
    Matrix gradient;
    whole_.at(b, gradient);
    return gradient;
  }

  // Aligns the means, and the principal axes where the means leave them free.
  Matrix aligned_means() const { return oracle_.completed(p_.first_gain()); }

  std::vector<Matrix> start_matrices() const {
    std::vector<Matrix> out;
    for (const Matrix& t : given_) out.push_back(oracle_.completed(gain_of_start(t)));
    if (!out.empty()) return out;
    const Matrix means = aligned_means(), match = p_.prefers_matched() ? p_.matched(means, special()) : Matrix();
    out.push_back(match.empty() ? means : match);
    for (Matrix& start : listed_starts(s_, n(), special())) out.push_back(std::move(start));
    return out;
  }

  // In the plane: all angles, or uphill from each start.
  void search_plane() {
    const std::vector<Matrix> starts = start_matrices();
    AscentResult found = p_.search_plane(starts, s_.explore, special(), s_.tolerance);
    out_.transform = std::move(found.transform);
    out_.converged = found.settled;
    out_.iterations = found.iterations;
    out_.starts = s_.explore ? 1 : int(starts.size());
    out_.agreeing = given_.empty() ? 1 : 0;
  }

  void search_rotations() {
    layered_ = p_.layered();
    wide_ = layered_ || p_.wide();
    const bool explored = s_.explore && given_.empty() && !p_.linear();
    std::vector<Ascent> runs;
    if (explored && !wide_)
      runs = {explore()};
    else if (explored && !layered_ && n() < starts::kRootsBelow)
      runs = {explore_wide()};
    else
      runs = finish_starts();
    Ascent& best = runs[0];
    out_.converged = best.converged();
    // The residual left by the gradient tolerance is negligible for most pairs, but is the whole distance of
    // near-copies.
    const bool copies = p_.power > 0 && p_.total - best.value() < kCopies * p_.power;
    if (out_.converged && copies && s_.tolerance > kCopyTolerance) {
      best.set_tolerance(kCopyTolerance);
      best.run(whole_, 2 * s_.max_iterations);
    }
    out_.transform = first_columns(best.transform(), k());
    out_.iterations = best.iterations();
    if (!p_.convex()) out_.converged = out_.converged || nothing_to_gain();
  }

  // Climbs from every start, the highest end first.
  std::vector<Ascent> finish_starts() {
    std::vector<Ascent> runs;
    for (Matrix& start : start_matrices()) runs.emplace_back(ascent_, std::move(start));
    if (wide_ && s_.explore && given_.empty())
      for (Matrix& start : layer_starts(n(), p_.cost, s_.seed)) runs.emplace_back(ascent_, std::move(start));
    out_.starts = int(runs.size());
    if (!given_.empty() && !wide_ && p_.convex()) return {improve(runs)};
    double best = -INFINITY;
    for (Ascent& run : runs) {
      if (layered_)
        ascend_layer(run, given_.empty() && &run == &runs[0], best);
      else
        ascend(run);
      best = std::max(best, run.value());
    }
    count_agreeing(runs);
    if (!given_.empty() && !p_.convex()) out_.agreeing = 0;
    return runs;
  }

  // Climbs wide pairs coarsely until independent starts agree, tries moves where few do, and finishes the best.
  Ascent explore_wide() {
    RotationStarts others(p_, oracle_, s_.seed);
    const Stopping stopping = Stopping::of_wide_pairs(s_.brief_starts, p_.cost);
    Agreement agreement(p_.total, p_.scale);
    AscentSettings coarse = ascent_;
    coarse.tolerance = std::max(s_.tolerance, stopping::kExplorationTolerance);
    Matrix best;
    auto try_start = [&](const Matrix& start) {
      Ascent run(ascent_, oracle_.completed(p_.ascend_wide(coarse, start, s_.max_iterations).transform));
      run.evaluate(whole_);
      if (agreement.empty() || run.value() > agreement.best()) best = run.transform();
      return agreement.rank(run.value());
    };
    try_start(aligned_means());
    for (out_.starts = 1; !stopping.enough(out_.starts, agreement.hits()); ++out_.starts) try_start(others.next());
    out_.agreeing = agreement.hits();
    const int moves = stopping.moves_after(out_.starts, out_.agreeing);
    for (int m = 0; m < moves; ++m)
      if (try_start(others.move(best, m % 2 == 0)) == Agreement::Rank::higher) out_.agreeing = 1;
    out_.gap = agreement.gap();
    Ascent finished(ascent_, best);
    ascend(finished);
    return finished;
  }

  // Sorts runs, the highest first, and counts those that end as high.
  void count_agreeing(std::vector<Ascent>& runs) {
    std::stable_sort(runs.begin(), runs.end(), higher);
    Agreement agreement(p_.total, p_.scale);
    for (const Ascent& run : runs) agreement.rank(run.value());
    out_.agreeing = agreement.hits(), out_.gap = agreement.gap();
  }

  // Climbs from given starts coarsely, and finishes the best. The result must be at least as good as every given start,
  // so values are compared in double precision.
  Ascent improve(std::vector<Ascent>& runs) {
    Ascent highest = runs[0];
    for (Ascent& run : runs) {
      Ascent begun = run;
      begun.evaluate(whole_);
      if (&run == &runs[0] || begun.value() > highest.value()) highest = begun;
      run.set_tolerance(std::max(s_.tolerance, stopping::kExplorationTolerance));
      if (p_.curvature()) run.use_curvature(p_.curvature());
      run.run(rough_, s_.max_iterations);
    }
    count_agreeing(runs);
    Ascent best = runs[0];
    best.set_tolerance(s_.tolerance);
    best.change_precision();
    ascend(best);
    if (n() >= kMany) evaluate_in_double(best);
    if (best.value() >= highest.value()) return best;
    if (best.converged() && n() >= kMany && highest.value() - best.value() < least_gain(highest.value())) {
      highest.mark_converged();  // there already
      return highest;
    }
    highest.run(whole_, s_.max_iterations);
    return highest.value() > best.value() ? highest : best;
  }

  // An ascent of many neurons may end in single precision.
  void evaluate_in_double(Ascent& run) const {
    const bool converged = run.converged();
    run.change_precision();
    run.evaluate(whole_);
    if (converged) run.mark_converged();
  }

  // Wide layers: to a maximum in single precision, and on in double precision only if the distance is too short for it.
  // Given up where it cannot reach `best`. Never ends lower than it begins.
  void ascend_layer(Ascent& run, bool annealed, double best) const {
    const double floor = best - margin_of(p_.total - best, p_.scale);
    const AscentResult found = p_.ascend_layer(ascent_, run.transform(), annealed, s_.max_iterations, floor);
    Ascent begun = run;
    run = Ascent(ascent_, oracle_.completed(found.transform));
    run.add_iterations(found.iterations - 1);  // the last gradient is evaluated again
    run.evaluate(whole_);
    const bool reversed = found.settled && run.reverse(whole_, false);
    const double resolved = 2 * kLayerTolerance * (p_.total - run.value());
    if (found.settled && !reversed && resolved > kSinglePrecision * p_.scale)
      run.mark_converged();
    else if (found.settled)
      run.run(whole_, s_.max_iterations);
    if (annealed) return;
    begun.evaluate(whole_);
    if (begun.value() <= run.value()) return;
    if (run.converged()) begun.mark_converged();
    run = begun;
  }

  // To a maximum: mostly in single precision, then in double; wide pairs have their own ascent.
  void ascend(Ascent& run) const {
    if (wide_) {
      const AscentResult found = p_.ascend_wide(ascent_, run.transform(), s_.max_iterations);
      run = Ascent(ascent_, oracle_.completed(found.transform));
      run.add_iterations(found.iterations);
      run.run(whole_, std::max(s_.max_iterations, found.iterations + 1));
      return;
    }
    if (p_.curvature()) run.use_curvature(p_.curvature());
    if (rough_.single && n() >= kMany && ascend_until_little_gain(run)) {
      run.mark_converged();
      return run.use_curvature(nullptr);
    }
    if (rough_.single) {
      run.run(rough_, s_.max_iterations);
      run.change_precision();
      run.evaluate(whole_);
      while (run.refine(rough_, whole_, s_.max_iterations)) {
      }
    }
    run.run(whole_, s_.max_iterations);
    run.use_curvature(nullptr);
  }

  // Ascends in single precision until the distance would change by less than its tolerance. Returns false if this
  // precision cannot resolve that change, or if the gradient becomes small first.
  bool ascend_until_little_gain(Ascent& run) const {
    double least = 0;
    int small = 0;  // gains one after the other
    auto twice = [&](double value, double expected) {
      least = least_gain(value);
      small = expected - value < std::max(least, kSinglePrecision * p_.scale) ? small + 1 : 0;
      return small == 2;
    };
    constexpr int stride = 1;  // so expensive a gradient is worth a check
    return run.run_until(rough_, s_.max_iterations, twice, stride) && least > kSinglePrecision * p_.scale;
  }

  // What changes the distance by its tolerance, given the objective.
  double least_gain(double value) const { return 2 * s_.tolerance * (p_.total - value); }

  // Explores until independent starts agree, and finishes the best.
  Ascent explore() {
    const ExplorationTarget of = p_.exploration_target();
    RotationStarts others(p_, oracle_, s_.seed);
    Exploration search(of, ascent_, s_, p_.curvature());
    const Matrix means = aligned_means(), match = p_.matched(means, special());
    if (!match.empty()) search.begin_at(match);
    search.run(means, others);
    out_.starts = search.starts(), out_.agreeing = search.agreeing(), out_.gap = search.gap();
    Ascent best = search.best();
    if (of.approximate) {
      AscentSettings finish = ascent_;
      finish.memory = kMemoryOfMany;
      best.restart(finish);
    } else {
      best.set_tolerance(s_.tolerance);
      if (of.f->single) best.change_precision();
    }
    ascend(best);
    return best;
  }

  void search_permutations() {
    if (in_single_) in_single_->single = whole_.lanes();
    std::vector<Matrix> starts;
    for (const Matrix& t : given_) {
      starts.push_back(gain_of_start(t));
      if (starts.back() == t) prefer_spare_rows(starts.back(), spare_);
    }
    const long before = whole_.evaluations;
    PermutationSearch search(p_, rough_, s_, spare_);
    if (given_.empty())
      search.explore();
    else
      search.improve(starts);
    out_.transform = search.best();
    out_.converged = search.converged();
    out_.starts = search.starts(), out_.agreeing = search.agreeing(), out_.gap = search.gap();
    out_.iterations = int(whole_.evaluations - before);
  }

  // At a kink (trials that coincide exactly) the gradient jumps and never gets small. Such a point is stationary if the
  // oracle's own model promises nothing more than rounding.
  bool nothing_to_gain() const {
    Matrix g;
    const Matrix& t = out_.transform;
    whole_.at(t, g);
    return dot(oracle_(g), g) - dot(t, g) <= kRounding * std::max(p_.scale, dot(t, g));
  }

  const Problem& p_;
  const Settings& s_;
  std::vector<Matrix> given_;  // n x k
  int spare_;
  const Function& whole_;                // in double precision
  std::unique_ptr<Function> in_single_;  // in single precision, if that is faster
  const Function& rough_;                // the faster of the two
  Oracle oracle_;
  AscentSettings ascent_;
  bool wide_ = false, layered_ = false;
  Solution out_;
};

}  // namespace

Solution search_pair(const Problem& problem, const Settings& s, std::vector<Matrix> given, int spare) {
  return PairSearch(problem, s, std::move(given), spare).run();
}

}  // namespace repshape
