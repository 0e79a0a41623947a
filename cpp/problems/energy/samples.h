// A network as the energy solver reads it: trials of every condition, neuron by neuron.
#pragma once
#include <cstdint>

#include "common/buffer.h"
#include "common/roots.h"
#include "problems/energy/kernel.h"

namespace repshape {

struct Samples {
  int conditions = 0, neurons = 0;
  int space = 0;         // neurons before the network was reduced to the dimensions it spans
  bool reduced = false;  // there were more of them
  std::vector<int> trials, strides;
  std::vector<Index> offsets;  // of each condition, in doubles
  Buffer values;               // conditions x (neurons x stride)
  Matrix means;                // conditions x neurons
  Values power;                // conditions: mean squared norm of a trial
  Values within;               // conditions: mean of |x - x'|^q over all pairs of trials

  // rows: all trials, condition after condition, one row for each trial.
  Samples(const double* rows, const std::int64_t* counts, int conditions, int neurons, int space);

  // The trials of a condition: neurons x trials.
  View<const double> condition(int m) const { return {values.data() + offsets[m], neurons, trials[m], strides[m]}; }
  bool comparable(const Samples& other) const { return conditions == other.conditions; }
  void measure_within(double q);

  // Means and roots of covariances of a few conditions.
  Roots roots() const;

  // Evenly spaced trials of the given conditions, at most `most_trials` of each, for screening.
  Samples thinned(const std::vector<int>& kept, int most_trials) const;

  // The same trials with `count` neurons that never respond after the others.
  Samples with_silent_neurons(int count) const;

  // A total order by content, larger networks first, so that a pair is solved the same way round
  // whichever network comes first.
  bool operator<(const Samples& other) const;

 private:
  Samples() = default;
  void allocate();
  void summarise();
  View<double> writable(int m) { return {values.data() + offsets[m], neurons, trials[m], strides[m]}; }
};

}  // namespace repshape
