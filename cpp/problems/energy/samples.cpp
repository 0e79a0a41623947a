#include "problems/energy/samples.h"

#include <algorithm>
#include <cstring>

namespace repshape {

Samples::Samples(const double* rows, const std::int64_t* counts, int conditions_, int neurons_, int space_)
    : conditions(conditions_), neurons(neurons_), space(space_), reduced(neurons_ != space_),
      trials(counts, counts + conditions_) {
  allocate();
  for (int m = 0; m < conditions; ++m) {
    double* to = values.data() + offsets[m];
    for (int l = 0; l < trials[m]; ++l, rows += neurons)
      for (int i = 0; i < neurons; ++i) to[std::size_t(i) * strides[m] + l] = rows[i];
  }
  summarise();
}

void Samples::allocate() {
  std::size_t total = 0;
  for (int count : trials) {
    strides.push_back((count + kTrialPadding - 1) / kTrialPadding * kTrialPadding);
    offsets.push_back(total);
    total += std::size_t(neurons) * strides.back();
  }
  values = Buffer(total);
}

void Samples::summarise() {
  means.assign(std::size_t(conditions) * neurons, 0);
  power.assign(conditions, 0);
  for (int m = 0; m < conditions; ++m)
    for (int i = 0; i < neurons; ++i) {
      const double* row = condition(m) + std::size_t(i) * strides[m];
      double sum = 0, squares = 0;
      for (int l = 0; l < trials[m]; ++l) sum += row[l], squares += row[l] * row[l];
      means[std::size_t(m) * neurons + i] = sum / trials[m];
      power[m] += squares / trials[m];
    }
}

void Samples::measure_within(double q) {
  std::vector<double> same(std::size_t(neurons) * neurons, 0);
  for (int i = 0; i < neurons; ++i) same[std::size_t(i) * neurons + i] = 1;
  Buffer scratch(std::size_t(neurons) * *std::max_element(strides.begin(), strides.end()));
  within.resize(conditions);
  for (int m = 0; m < conditions; ++m) {
    const double floor = std::max(kMeeting * 2 * power[m], kLeastSquare);
    const EnergyTask task{neurons, neurons, same.data(), q, floor, true, nullptr, scratch.data()};
    const double share = 1 / (double(trials[m]) * trials[m]);
    const EnergyCondition c{condition(m), condition(m), trials[m], trials[m], strides[m], strides[m], share};
    within[m] = energy_kernels().condition(c, task);
  }
}

Roots Samples::roots() const {
  Roots out;
  out.n = neurons;
  for (int m : spread_conditions(conditions)) {
    const double* mean = means.data() + std::size_t(m) * neurons;
    const int count = trials[m];
    Matrix centred(std::size_t(neurons) * count), s(std::size_t(neurons) * neurons);
    for (int i = 0; i < neurons; ++i)
      for (int l = 0; l < count; ++l)
        centred[std::size_t(i) * count + l] = condition(m)[std::size_t(i) * strides[m] + l] - mean[i];
    gemm(false, true, neurons, neurons, count, 1.0 / count, centred.data(), count, centred.data(), count, 0, s.data(),
         neurons);
    out.add(m, mean, symmetric_root(neurons, std::move(s)));
  }
  return out;
}

Samples Samples::thinned(const std::vector<int>& kept, int most) const {
  Samples out;
  out.conditions = int(kept.size()), out.neurons = neurons, out.space = space;
  for (int m : kept) out.trials.push_back(std::min(trials[m], most));
  out.allocate();
  for (int c = 0; c < out.conditions; ++c) {
    const int m = kept[c], count = out.trials[c];
    double* to = out.values.data() + out.offsets[c];
    for (int i = 0; i < neurons; ++i)
      for (int l = 0; l < count; ++l)
        to[std::size_t(i) * out.strides[c] + l] =
            condition(m)[std::size_t(i) * strides[m] + (2L * l + 1) * trials[m] / (2L * count)];
  }
  out.summarise();
  return out;
}

Samples Samples::with_silent_neurons(int count) const {
  Samples out;
  out.conditions = conditions, out.neurons = neurons + count, out.space = space;
  out.trials = trials, out.power = power, out.within = within;
  out.allocate();
  for (int m = 0; m < conditions; ++m) {
    const double* from = condition(m);
    std::copy(from, from + std::size_t(neurons) * strides[m], out.values.data() + out.offsets[m]);
    out.means.insert(out.means.end(), means.begin() + std::size_t(m) * neurons,
                     means.begin() + std::size_t(m + 1) * neurons);
    out.means.insert(out.means.end(), count, 0.0);
  }
  return out;
}

bool Samples::operator<(const Samples& other) const {
  if (neurons != other.neurons) return neurons > other.neurons;
  if (trials != other.trials) return trials < other.trials;
  return std::memcmp(values.data(), other.values.data(), values.size() * sizeof(double)) < 0;
}

}  // namespace repshape
