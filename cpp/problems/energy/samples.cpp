#include "problems/energy/samples.h"

#include <cstring>

#include "common/order.h"

namespace repshape {

Samples::Samples(const double* rows, const std::int64_t* counts, int conditions_, int neurons_, int space_)
    : conditions(conditions_), neurons(neurons_), space(space_), reduced(neurons_ != space_),
      trials(counts, counts + conditions_) {
  allocate();
  for (int m = 0; m < conditions; ++m)
    for (int l = 0; l < trials[m]; ++l, rows += neurons)
      for (int i = 0; i < neurons; ++i) writable(m)(i, l) = rows[i];
  summarise();
}

void Samples::allocate() {
  Index total = 0;
  for (int count : trials) {
    strides.push_back((count + kTrialPadding - 1) / kTrialPadding * kTrialPadding);
    offsets.push_back(total);
    total += Index(neurons) * strides.back();
  }
  values = Buffer(total);
}

void Samples::summarise() {
  means.reset(conditions, neurons);
  power.assign(conditions, 0);
  for (int m = 0; m < conditions; ++m)
    for (int i = 0; i < neurons; ++i) {
      const double* row = condition(m).row(i);
      double sum = 0, squares = 0;
      for (int l = 0; l < trials[m]; ++l) sum += row[l], squares += row[l] * row[l];
      means(m, i) = sum / trials[m];
      power[m] += squares / trials[m];
    }
}

void Samples::measure_within(double q) {
  const Matrix same = identity(neurons);
  Buffer scratch(Index(neurons) * *std::max_element(strides.begin(), strides.end()));
  within.resize(conditions);
  for (int m = 0; m < conditions; ++m) {
    const double floor = std::max(kCoincident * 2 * power[m], kLeastSquare);
    const EnergyTask task{neurons, neurons, same.data(), q, floor, true, nullptr, scratch.data()};
    const double share = 1 / (double(trials[m]) * trials[m]), *x = condition(m).data();
    within[m] = energy_kernels().condition({x, x, trials[m], trials[m], strides[m], strides[m], share}, task);
  }
}

Roots Samples::roots() const {
  Roots out;
  out.n = neurons;
  for (int m : rooted_conditions(conditions)) {
    Matrix centred(condition(m));
    for (int i = 0; i < neurons; ++i)
      for (int l = 0; l < trials[m]; ++l) centred(i, l) -= means(m, i);
    out.add(m, means.row(m), symmetric_root(product(centred, transpose(centred), 1.0 / trials[m])));
  }
  return out;
}

Samples Samples::thinned(const std::vector<int>& kept, int most) const {
  Samples out;
  out.conditions = int(kept.size()), out.neurons = neurons, out.space = space;
  for (int m : kept) out.trials.push_back(std::min(trials[m], most));
  out.allocate();
  for (int c = 0; c < out.conditions; ++c) {
    const std::vector<int> chosen = spread_evenly(trials[kept[c]], most);
    for (int i = 0; i < neurons; ++i)
      for (int l = 0; l < out.trials[c]; ++l) out.writable(c)(i, l) = condition(kept[c])(i, chosen[l]);
  }
  out.summarise();
  return out;
}

Samples Samples::with_silent_neurons(int count) const {
  Samples out;
  out.conditions = conditions, out.neurons = neurons + count, out.space = space;
  out.trials = trials, out.power = power, out.within = within;
  out.allocate();
  out.means.reset(conditions, out.neurons);
  out.means.column_block(0, neurons).copy_from(means.view());
  for (int m = 0; m < conditions; ++m) out.writable(m).row_block(0, neurons).copy_from(condition(m));
  return out;
}

bool Samples::operator<(const Samples& other) const {
  if (neurons != other.neurons) return neurons > other.neurons;
  if (trials != other.trials) return trials < other.trials;
  const double place = generic_sum(values.data(), values.size(), true);
  const double others = generic_sum(other.values.data(), other.values.size(), true);
  if (place != others) return place < others;
  return std::memcmp(values.data(), other.values.data(), values.size() * sizeof(double)) < 0;
}

}  // namespace repshape
