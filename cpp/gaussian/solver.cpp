#include "gaussian/solver.h"

#include "gaussian/circle.h"
#include "gaussian/curvature.h"
#include "gaussian/effort.h"
#include "gaussian/matching.h"
#include "gaussian/padding.h"
#include "gaussian/wide.h"

namespace repshape {
namespace {

// Solves one pair, given in canonical order.
class PairSolver {
 public:
  // `swapped`: x is the caller's y, and the caller's starts map the other way. The last `spare` neurons of x are silent,
  // and unknown to the caller.
  PairSolver(const Network& x, const Network& y, const Settings& s, bool swapped, int spare = 0)
      : x_(x), y_(y), s_(s), spare_(spare) {
    const int n = x.neurons - spare, k = y.neurons;
    for (int g = 0; g < s.n_given; ++g) {
      const double* from = s.given + std::size_t(g) * n * k;
      Matrix t(std::size_t(n) * k);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < k; ++j)
          t[std::size_t(i) * k + j] = from[swapped ? std::size_t(i) * k + j : std::size_t(j) * n + i];
      t.resize(t.size() + std::size_t(spare) * k, 0);
      given_.push_back(std::move(t));
    }
    whole_ = objective_of(x, y);
    scale_ = scale_of(whole_);
    means_ = mean_term(x, y, 1, s.weights);
    // A dimension that one network does not use can be reversed at no cost, so every alignment is
    // part of a rotation then.
    special_ = s.group == Group::rotation && x.neurons == y.neurons && !x.reduced && !y.reduced;
  }

  Solution run() {
    if (s_.group != Group::identity) best_mean_ = oracle(means_.data());
    if (s_.group == Group::identity || x_.neurons * y_.neurons == 0)
      settle_identity();
    else if (s_.group == Group::permutation)
      search_permutations();
    else if (x_.neurons == 1)
      settle_sign();
    else if (x_.neurons == 2)
      search_circles();
    else
      search_rotations();
    return report();
  }

 private:
  Objective objective_of(const Network& x, const Network& y) const {
    Objective f;
    f.pair.x = &x, f.pair.y = &y;
    f.pair.alpha = s_.alpha, f.pair.weights = s_.weights;
    f.pair.groups = all_groups(x);
    set_units(f.pair);
    f.pair.mean_term = mean_term(x, y, s_.alpha * f.pair.mean_weight, s_.weights);
    return f;
  }

  // The transform (n x k) of the group that maximises <T, g>.
  Matrix oracle(const double* g) const {
    const int n = x_.neurons, k = y_.neurons;
    if (s_.group == Group::identity) return identity_injection(n, k);
    if (s_.group == Group::permutation) return injection(assign(n, k, g), n);
    return first_columns(nearest_orthogonal(n, k, g, special_), n, k);
  }

  void settle_identity() {
    best_ = identity_injection(x_.neurons, y_.neurons);
    converged_ = true;
    starts_ = agreeing_ = 1;
  }

  // One neuron is kept or reversed, whichever suits the means: variances do not change.
  void settle_sign() {
    best_ = special_ ? Matrix{1} : nearest_orthogonal(1, 1, whole_.pair.mean_term.data(), false);
    converged_ = true;
    starts_ = agreeing_ = 1;
  }

  // The matrix whose nearest transform replaces a given start. A composition through a smaller network maps some
  // directions to zero, and any completion will do; one through a larger network shrinks some. The objective is convex,
  // so that the best transform for the gradient G at B is no worse than B: g(T) >= g(B) + <T - B, G> >= g(B).
  Matrix toward(const Matrix& b) const {
    const int n = x_.neurons, k = y_.neurons;
    Matrix gram(std::size_t(k) * k), square(gram.size()), gradient;
    gemm(true, false, k, k, n, 1, b.data(), k, b.data(), k, 0, gram.data(), k);
    gemm(false, false, k, k, k, 1, gram.data(), k, gram.data(), k, 0, square.data(), k);
    double change = 0;
    for (std::size_t e = 0; e < gram.size(); ++e) change = std::max(change, std::abs(square[e] - gram[e]));
    if (change < 1e-6) return b;  // a projection: singular values are one, or zero
    whole_.at(b, gradient);
    return gradient;
  }

  // Independent neurons, matched one by one; nothing if that is no better than aligned means.
  Matrix matched_neurons(const Matrix& means) const {
    if (!x_.diagonal || !y_.diagonal || s_.alpha >= kMeansDecide) return {};
    Matrix match = Matching(whole_.pair, special_).transform(), unused;
    return whole_(match, unused) > whole_(means, unused) + kRounding * scale_ ? match : Matrix();
  }

  Matrix first_start() const {
    Matrix match, means = aligned_means();
    if (s_.alpha == 0 && x_.neurons > 2) match = matched_neurons(means);
    return match.empty() ? means : match;
  }

  // Aligns the means, and the principal axes where the means leave them free.
  Matrix aligned_means() const {
    const Matrix target = s_.alpha < 2 ? tie_broken(means_, y_.neurons) : means_;
    return nearest_orthogonal(x_.neurons, y_.neurons, target.data(), special_);
  }

  std::vector<Matrix> start_matrices() const {
    const int n = x_.neurons, k = y_.neurons;
    std::vector<Matrix> out;
    for (const Matrix& t : given_) out.push_back(nearest_orthogonal(n, k, toward(t).data(), special_));
    if (!out.empty()) return out;
    out.push_back(first_start());
    const std::size_t count = std::size_t(n) * n;
    for (int s = 0; s < s_.n_starts; ++s) {
      out.emplace_back(s_.starts + s * count, s_.starts + (s + 1) * count);
      if (special_ && negative_determinant(n, out.back()))
        for (int i = 0; i < n; ++i) out.back()[std::size_t(i) * n] *= -1;
    }
    return out;
  }

  // In the plane: all angles, or uphill from each start.
  void search_circles() {
    const double flat = std::sqrt(2.0) * s_.tolerance * scale_;  // |skew(T'G)| is |slope| / sqrt 2
    const double share = (2 - s_.alpha) * whole_.pair.covariance_weight;
    const Circle circles[] = {{whole_.pair, share, false}, {whole_.pair, share, true}};
    Circle::Point best{0, -INFINITY};
    auto consider = [&](const Circle& circle, const Circle::Point& found) {
      if (!(found.value > best.value + 1e-15 * scale_)) return;  // prefer the means' own start among equals
      best = found;
      best_ = first_columns(circle.transform(found.angle), 2, y_.neurons);
    };
    const std::vector<Matrix> starts = start_matrices();
    for (const Matrix& start : starts) {
      ++starts_;
      const Circle& circle = circles[start[0] * start[3] < start[1] * start[2]];
      consider(circle, circle.climb(Circle::angle_of(start), flat));
      if (s_.explore) break;
    }
    for (int mirrored = 0; s_.explore && mirrored < (special_ ? 1 : 2); ++mirrored) {
      consider(circles[mirrored], circles[mirrored].highest(flat));
    }
    if (s_.explore) starts_ = 1;
    agreeing_ = given_.empty() ? 1 : 0;
    converged_ = std::abs(best.slope) <= flat;
    iterations_ = int(circles[0].evaluations + circles[1].evaluations);
    evaluations_ += iterations_;
  }

  void search_rotations() {
    settings_ = {scale_, s_.tolerance, s_.memory, special_};
    wide_ = !special_ && s_.alpha < 2 && WideAscent::suits(x_, y_);
    rough_ = whole_;
    rough_.single = true;
    const double total = total_of(whole_);
    std::vector<Ascent> runs;
    if (s_.explore && given_.empty() && !wide_ && s_.alpha < 2) {
      runs = {explore()};
    } else {
      for (Matrix& start : start_matrices()) runs.emplace_back(settings_, std::move(start));
      if (wide_ && s_.explore && given_.empty())
        for (Matrix& start : wide_starts(x_.neurons, cost(), s_.seed)) runs.emplace_back(settings_, std::move(start));
      starts_ = int(runs.size());
      if (!given_.empty() && !wide_) {
        runs = {improve(runs)};
      } else {
        for (Ascent& run : runs) ascend(run);
        count_agreeing(runs);
      }
    }
    converged_ = runs[0].converged();
    // What a gradient leaves of the squared distance is nothing to most pairs, but all that copies have.
    if (converged_ && total - runs[0].value() < kCopies * total && s_.tolerance > kCopyTolerance) {
      runs[0].demand(kCopyTolerance);
      runs[0].run(whole_, 2 * s_.max_iterations);
    }
    best_ = first_columns(runs[0].transform(), x_.neurons, y_.neurons);
    iterations_ = runs[0].iterations();
  }

  static constexpr double kMeansDecide = 1;         // alpha from which neurons are not matched one by one
  static constexpr double kRounding = 1e-12;        // of the objective
  static constexpr int kMany = 48;                  // neurons: from here on, a gradient takes milliseconds
  static constexpr int kMemoryOfMany = 80;          // steps: that many cost little beside such a gradient
  static constexpr double kSinglePrecision = 2e-7;  // of the objective
  static constexpr double kCopies = 1e-6;  // squared distance, as a share of the squared norms
  static constexpr double kCopyTolerance = 1e-10;

  // Sorts runs, the highest first, and counts those that end as high.
  void count_agreeing(std::vector<Ascent>& runs) {
    std::stable_sort(runs.begin(), runs.end(), higher);
    const double margin = margin_of(s_.exploration, total_of(whole_) - runs[0].value(), scale_);
    for (const Ascent& run : runs) agreeing_ += run.value() >= runs[0].value() - margin;
  }

  // Climbs from given starts coarsely, and finishes the best. It must not end lower than any of them begins, which double
  // precision alone ensures.
  Ascent improve(std::vector<Ascent>& runs) {
    const GaussianCurvature curvature(whole_, cost());
    Ascent highest = runs[0];
    for (Ascent& run : runs) {
      Ascent begun = run;
      begun.look(whole_);
      if (&run == &runs[0] || begun.value() > highest.value()) highest = begun;
      run.demand(std::max(s_.tolerance, s_.exploration.tolerance));
      if (curvature.suits()) run.use(&curvature);
      run.run(rough_, s_.max_iterations);
    }
    count_agreeing(runs);
    Ascent best = runs[0];
    best.demand(s_.tolerance);
    best.refresh();
    ascend(best);
    if (x_.neurons >= kMany) measure(best);
    if (best.value() >= highest.value()) return best;
    if (best.converged() && x_.neurons >= kMany && highest.value() - best.value() < least_gain(highest.value())) {
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

  // To a maximum: mostly in single precision, then in double; wide pairs have their own ascent.
  void ascend(Ascent& run) const {
    if (wide_) {
      WideAscent way(whole_.pair, settings_, run.transform());
      way.run(s_.max_iterations);
      const Matrix t = way.transform();
      run = Ascent(settings_, nearest_orthogonal(x_.neurons, y_.neurons, t.data(), false));
      run.count(way.iterations());
      run.run(whole_, std::max(s_.max_iterations, way.iterations() + 1));
      return;
    }
    const GaussianCurvature curvature(whole_, cost());
    if (curvature.suits()) run.use(&curvature);
    if (rough_.single && x_.neurons >= kMany && gain_enough(run)) {
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
      small = expected - value < std::max(least, kSinglePrecision * scale_) ? small + 1 : 0;
      return small == 2;
    };
    const int stride = 1;  // such a gradient is worth a look
    return run.run_until(rough_, s_.max_iterations, twice, stride) && least > kSinglePrecision * scale_;
  }

  // What changes the distance by its tolerance, given the objective.
  double least_gain(double value) const { return 2 * s_.tolerance * (total_of(whole_) - value); }

  // Explores until independent starts agree, and finishes the best.
  Ascent explore() {
    const Network &x = x_.truncated(), &y = y_.truncated();
    const bool whole = &x == &x_ && &y == &y_;
    Objective f = objective_of(x, y);
    f.single = true;
    Objective few = on_some_conditions(f);
    AscentSettings settings = settings_;
    settings.scale = scale_of(f);
    Random random(s_.seed);
    const double mean_share = s_.alpha * whole_.pair.mean_weight;
    const double covariance_share = (2 - s_.alpha) * whole_.pair.covariance_weight;
    Correspondence suggestions(x_.roots(), y_.roots(), s_.weights, mean_share, covariance_share, special_, random);
    Exploration<Objective> search(f, settings, s_.exploration, total_of(f), cost_of(x, y), s_.max_iterations, random);
    if (3 * few.pair.groups.size() <= f.pair.groups.size()) search.travel_on(few, total_of(few));
    if (!whole) search.hand_on();
    const GaussianCurvature curvature(whole_, cost());
    if (curvature.suits()) search.offer(&curvature);
    const Matrix means = aligned_means(), match = matched_neurons(means);
    if (!match.empty()) search.begin_at(match);
    search.run(means, suggestions);
    starts_ = search.starts(), agreeing_ = search.agreeing();
    evaluations_ += few.evaluations + f.evaluations;
    Ascent best = search.best();
    if (whole) {
      best.demand(s_.tolerance);
      best.refresh();
    } else {
      AscentSettings finish = settings_;
      finish.memory = kMemoryOfMany;
      best.transfer(finish);
    }
    ascend(best);
    return best;
  }

  double cost() const { return cost_of(x_, y_); }

  void search_permutations() {
    rough_ = whole_;
    rough_.single = x_.lanes && y_.lanes;
    const Matrix gain = marginal_gain(whole_.pair);
    const GaussianPermutations exact{whole_, rough_, gain, scale_, cost()}, coarse{rough_, rough_, gain, scale_, cost()};
    const double total = 0.5 * (energy(x_, whole_.pair) + energy(y_, whole_.pair));
    const int count = s_.explore ? 0 : 1 + s_.n_starts;
    const PermutationSettings settings{spare_, s_.max_iterations, scale_, total, cost(), count, s_.exploration};
    Random random(s_.seed);
    PermutationSearch<GaussianPermutations> search(exact, coarse, settings, random);
    if (given_.empty()) {
      const double mean_share = s_.alpha * whole_.pair.mean_weight;
      const double covariance_share = (2 - s_.alpha) * whole_.pair.covariance_weight;
      Suggestions suggestions(x_.roots(), y_.roots(), s_.weights, mean_share, covariance_share, random);
      search.explore({tie_broken(means_, y_.neurons), gain}, [&] { return suggestions.next(); });
    } else {
      std::vector<Matrix> starts;
      for (const Matrix& t : given_) {
        starts.push_back(toward(t));
        if (starts.back() == t) invite(starts.back(), y_.neurons, spare_);
      }
      search.improve(starts);
    }
    best_ = search.best();
    converged_ = search.converged();
    starts_ = search.starts(), agreeing_ = search.agreeing();
    iterations_ = int(exact.f.evaluations);
    evaluations_ += exact.f.evaluations + coarse.f.evaluations;
  }

  Solution report() {
    Solution out;
    const double mean = mean_residual(whole_.pair, best_.data());
    const double covariance = covariance_residual(whole_.pair, best_.data());
    const double mean_unit = std::max(x_.mean_scale, y_.mean_scale), unit = std::max(x_.scale, y_.scale);
    auto combine = [&](double of_means, double of_covariances) {
      return std::hypot(std::sqrt(s_.alpha * of_means) * mean_unit,
                        std::sqrt((2 - s_.alpha) * of_covariances) * unit);
    };
    out.mean_distance = mean_unit * std::sqrt(mean);
    out.covariance_distance = unit * std::sqrt(covariance);
    out.distance = out.lower_bound = combine(mean, covariance);
    if (s_.group != Group::identity)
      out.lower_bound = std::min(out.distance, combine(mean_residual(whole_.pair, best_mean_.data()),
                                                       spectral_gap(whole_.pair)));
    out.converged = converged_;
    out.iterations = iterations_;
    out.starts = starts_;
    out.agreeing = agreeing_;
    out.evaluations = evaluations_ + whole_.evaluations + rough_.evaluations;
    out.transform = best_;
    return out;
  }

  const Network &x_, &y_;
  const Settings& s_;
  int spare_;
  Objective whole_, rough_;  // all conditions; the same in single precision if that is faster
  double scale_ = 1;
  bool special_ = false, wide_ = false;
  AscentSettings settings_;
  std::vector<double> means_;
  std::vector<Matrix> given_;  // n x k
  Matrix best_, best_mean_;
  bool converged_ = false;
  int iterations_ = 0, starts_ = 0, agreeing_ = 0;
  long evaluations_ = 0;
};

}  // namespace

Solution solve(const Network& x, const Network& y, const Settings& settings) {
  const bool swapped = y < x;
  const Network &first = swapped ? y : x, &second = swapped ? x : y;
  // More silent neurons than the other network has neurons make no difference.
  const int spare = settings.group != Group::permutation ? 0 : std::min(settings.pad_to - first.neurons, second.neurons);
  Solution out = spare > 0 ? PairSolver(with_silent_neurons(first, spare), second, settings, swapped, spare).run()
                           : PairSolver(first, second, settings, swapped).run();
  out.transform.resize(std::size_t(first.neurons) * second.neurons);
  // The solver's transform maps second onto first (n_first x n_second). The caller's maps rows of
  // y onto x: its transpose, or itself where the two were exchanged.
  if (!swapped) out.transform = transposed(out.transform, first.neurons, second.neurons);
  return out;
}

Parts evaluate(const Network& x, const Network& y, const double* transform, const double* weights) {
  const bool swapped = y < x;
  const Network &first = swapped ? y : x, &second = swapped ? x : y;
  const int n = first.neurons, k = second.neurons;
  Matrix t(transform, transform + std::size_t(n) * k);
  if (!swapped) t = transposed(t, k, n);
  Pair pair;
  pair.x = &first, pair.y = &second, pair.weights = weights, pair.groups = all_groups(first);
  set_units(pair);
  return {mean_residual(pair, t.data()), covariance_residual(pair, t.data()),
          std::max(first.mean_scale, second.mean_scale), std::max(first.scale, second.scale)};
}

}  // namespace repshape
