"""Wrong habits on the way in, one function each; `docs_tools.pitfalls` runs them for a page.

To add one, write a function whose docstring says what it does, and whose last statement does it. It
must raise or warn, or return a sentence about what happens instead. It runs in an empty folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import xarray as xr

import repshape as rs

Run = Callable[[], str | None]

SPIKES = "Spikes and windows"
TABLES = "Labels and tables of trials"
METADATA = "Metadata of networks"
ARRAYS = "Arrays"


@dataclass(frozen=True)
class Habit:
    """Something that people do, as a function, and its topic."""

    topic: str
    run: Run


HABITS: list[Habit] = []


def habit(topic: str) -> Callable[[Run], Run]:
    """List a function as a habit."""

    def add(run: Run) -> Run:
        # pytest may import a module twice, by two names.
        if all(one.run.__code__ != run.__code__ for one in HABITS):
            HABITS.append(Habit(topic, run))
        return run

    return add


rng = np.random.default_rng(0)
onsets = np.arange(200.0)
images = ["cat", "dog"] * 100
spikes = [np.sort(rng.uniform(0, 200, 2000)) for _ in range(3)]
trials = pd.DataFrame({"start": onsets, "end": onsets + 0.5, "image": images})
metric = rs.GaussianShapeMetric()


def write_session(path: str, duration: float = 0.5) -> None:
    """Write an NWB file with trials of this duration, one every second."""
    import pynwb

    file = pynwb.NWBFile("simulated", "mouse", datetime(2024, 1, 1, tzinfo=UTC))
    file.add_trial_column(name="image", description="what was shown")
    for onset, image in zip(onsets, images, strict=True):
        file.add_trial(start_time=onset, stop_time=onset + duration, image=image)
    for one in spikes:
        file.add_unit(spike_times=one)
    with pynwb.NWBHDF5IO(path, "w") as io:
        io.write(file)


# Spikes and windows


@habit(SPIKES)
def spikes_without_window() -> None:
    """Leave out the window, although trials last 0.5 s."""
    rs.Trials.from_spikes(spikes, trials, "image")


@habit(SPIKES)
def nwb_without_window() -> None:
    """Leave out the window of an NWB file."""
    write_session("mouse.nwb")
    rs.io.read_nwb("mouse.nwb", "trials", "image")


@habit(SPIKES)
def window_after_the_trial() -> None:
    """Choose a window that ends after the trial."""
    rs.Trials.from_spikes(spikes, trials, "image", window=(0, 0.8))


@habit(SPIKES)
def window_into_the_next_trial() -> None:
    """Choose a window that runs into the next trial."""
    rs.Trials.from_spikes(spikes, onsets, images, window=(0.25, 1.25))


@habit(SPIKES)
def window_in_milliseconds() -> None:
    """Give the window in milliseconds."""
    rs.Trials.from_spikes(spikes, onsets, images, window=(0, 250))


@habit(SPIKES)
def spikes_in_milliseconds() -> None:
    """Give spike times in milliseconds, and onsets in seconds."""
    rs.Trials.from_spikes([1000 * one for one in spikes], onsets, images, window=(0, 0.5))


@habit(SPIKES)
def onsets_in_milliseconds() -> None:
    """Give onsets in milliseconds, and spike times in seconds."""
    rs.Trials.from_spikes(spikes, 1000 * onsets, images, window=(0, 0.5))


@habit(SPIKES)
def another_clock() -> None:
    """Take spike times and onsets from different clocks."""
    rs.Trials.from_spikes([one + 1e6 for one in spikes], onsets, images, window=(0, 0.5))


@habit(SPIKES)
def tensor_with_labels() -> None:
    """Pass an event-triggered tensor of pynapple (neurons, trials, time) as trials."""
    tensor = np.zeros((3, 200, 5))
    rs.Trials.from_labels(tensor, images)


# Labels and tables


@habit(TABLES)
def label_among_neurons() -> None:
    """Leave a column of labels in a table of neurons."""
    rs.as_network(pd.DataFrame({"u1": [1.0, 2.0], "u2": [0.0, 3.0], "stimulus": [0, 1]}))


@habit(TABLES)
def index_among_neurons() -> None:
    """Save a table with its index, and read the index as a neuron."""
    pd.DataFrame({"u1": [1.0, 2.0], "u2": [0.0, 3.0]}).to_csv("means.csv")
    rs.as_network(pd.read_csv("means.csv"))


@habit(TABLES)
def rows_that_are_trials() -> None:
    """Pass a table with a row per trial where a row per condition is expected."""
    frame = pd.DataFrame({"u1": [1.0, 2.0, 4.0]}, index=["cat", "dog", "cat"])
    rs.as_network(frame)


@habit(TABLES)
def table_as_trials() -> None:
    """Pass a table without saying what its columns are."""
    frame = pd.DataFrame({"image": images, "u1": 0.0})
    rs.Trials(frame)


@habit(TABLES)
def single_precision() -> str:
    """Label conditions in single precision here, and in double precision there."""
    contrasts = np.array([0.1, 0.3], dtype=np.float32)
    x = rs.Trials.from_labels(np.eye(2), contrasts)
    return f"They are the same: the conditions of `x` are {', '.join(x.conditions or ())}."


@habit(TABLES)
def unused_category() -> None:
    """Label trials with categories of which some have no trial."""
    sizes = pd.Categorical(["S", "L"], categories=["S", "M", "L"], ordered=True)
    rs.Trials.from_labels(np.eye(2), sizes)


@habit(TABLES)
def trial_without_label() -> None:
    """Leave a trial without a label."""
    rs.Trials.from_labels(np.eye(3), ["cat", None, "dog"])


@habit(TABLES)
def conditions_in_another_order() -> None:
    """Compare networks whose conditions are in different orders."""
    x = rs.Trials(np.zeros((2, 5, 3)), conditions=["cat", "dog"])
    y = rs.Trials(np.ones((2, 5, 3)), conditions=["dog", "cat"])
    metric.distance(x, y)


@habit(TABLES)
def names_on_one_side() -> None:
    """Add a network without names of conditions to a cohort that has them."""
    cohort = rs.Cohort.from_networks({"a": rs.Trials(np.ones((2, 5, 3)), conditions=["x", "y"])})
    cohort.add("b", rng.normal(size=(2, 5, 3)))


@habit(TABLES)
def one_trial() -> None:
    """Keep a condition with a single trial."""
    x = rs.Trials.from_labels(rng.normal(size=(5, 2)), ["cat", "cat", "dog", "dog", "owl"])
    rs.estimate_moments(x)


# Metadata of networks


@habit(METADATA)
def sorted_metadata() -> str:
    """Sort the table of metadata, which has the names of the networks as its index."""
    table = pd.DataFrame({"area": ["V1", "IT"]}, index=["b", "a"])
    D = rs.pairwise({"a": np.eye(3), "b": 2 * np.eye(3)}, metric, metadata=table, progress=False)
    return f"Rows are joined by name: the areas of {D.labels} are {tuple(D.metadata['area'])}."


@habit(METADATA)
def sorted_numbers() -> None:
    """Sort a table whose index is numbers, not names."""
    table = pd.DataFrame({"area": ["V1", "IT"]}).sort_values("area")
    rs.Cohort.from_networks({"a": np.eye(3), "b": np.eye(3)}, metadata=table)


@habit(METADATA)
def too_few_rows() -> None:
    """Forget a network in the table."""
    table = pd.DataFrame({"area": ["V1"]}, index=["a"])
    rs.Cohort.from_networks({"a": np.eye(3), "b": np.eye(3)}, metadata=table)


@habit(METADATA)
def unknown_name() -> None:
    """Misspell a network in the groups of a test."""
    D = rs.DistanceMatrix(1 - np.eye(4), labels=["m1", "m2", "m3", "m4"])
    rs.inference.groups(D, {"m1": "V1", "m2": "V1", "m3": "IT", "m5": "IT"})


# Arrays


@habit(ARRAYS)
def other_dimensions() -> None:
    """Pass a DataArray whose dimensions have other names."""
    da = xr.DataArray(np.zeros((4, 5, 3)), dims=("image", "repeat", "unit"))
    rs.as_network(da)


@habit(ARRAYS)
def neurons_first() -> None:
    """Pass a DataArray whose neurons come before its trials."""
    da = xr.DataArray(np.zeros((3, 4)), dims=("unit", "presentation"))
    rs.Trials.from_labels(da, ["cat", "dog", "dog", "cat"])


@habit(ARRAYS)
def time_axis() -> None:
    """Keep a time axis."""
    da = xr.DataArray(np.zeros((4, 5, 10, 3)), dims=("condition", "trial", "time", "neuron"))
    rs.as_network(da)


@habit(ARRAYS)
def numbers_of_conditions() -> None:
    """Compare networks with different numbers of conditions."""
    metric.distance(np.zeros((4, 10, 3)), np.zeros((5, 10, 3)))


@habit(ARRAYS)
def exchanged_axes() -> None:
    """Exchange the trials and the neurons of one network."""
    x, y = rng.normal(size=(2, 4, 30, 6))
    metric.distance(x, y.swapaxes(1, 2))


@habit(ARRAYS)
def wrapped_integers() -> None:
    """Subtract a baseline from counts without a sign: 1 - 3 becomes 254."""
    counts, baseline = np.arange(24, dtype=np.uint8).reshape(4, 6, 1), np.uint8(4)
    rs.Cohort.from_networks({"mouse": counts - baseline})


@habit(ARRAYS)
def copy_of_a_network() -> None:
    """Read the same file twice under different names."""
    x = rng.normal(size=(4, 30, 6))
    rs.Cohort.from_networks({"mouse 1": x, "mouse 2": x})


@habit(ARRAYS)
def silent_network() -> None:
    """Keep a network that never responds."""
    rs.Cohort.from_networks({"mouse 1": np.zeros((4, 30, 6)), "mouse 2": np.ones((4, 30, 6))})


@habit(ARRAYS)
def some_nan() -> None:
    """Keep trials in which some neurons are NaN."""
    x = np.zeros((4, 10, 3))
    x[1, 2, 0] = np.nan
    rs.Trials(x)


@habit(ARRAYS)
def not_symmetric() -> None:
    """Pass a covariance that is not symmetric."""
    rs.Gaussians(np.zeros((1, 2)), [[[1.0, 0.5], [0.0, 1.0]]])


@habit(ARRAYS)
def misspelt_group() -> None:
    """Misspell a group."""
    rs.GaussianShapeMetric(group="orthoganal").distance(np.eye(3), np.eye(3))
