"""Wrong habits on the way in, one function each; `docs_tools.pitfalls` runs them for a page.

To add one, write a function whose docstring says what it does, and whose last statement does it. It
must raise or warn, or return a sentence about what happens instead. It runs in an empty folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import repshape as rs

Run = Callable[[], str | None]

SPIKES = "Spikes and windows"
TABLES = "Labels and tables of trials"
METADATA = "Metadata of networks"
ARRAYS = "Arrays"
PYTORCH = "PyTorch"
FILES = "Files"


@dataclass(frozen=True)
class Habit:
    """Something that people do, as a function, and its topic."""

    topic: str
    run: Run


HABITS: list[Habit] = []


def habit(topic: str) -> Callable[[Run], Run]:
    """List a function as a habit."""

    def add(run: Run) -> Run:
        HABITS.append(Habit(topic, run))
        return run

    return add


rng = np.random.default_rng(0)
onsets = np.arange(200.0)
images = ["cat", "dog"] * 100
spikes = [np.sort(rng.uniform(0, 200, 2000)) for _ in range(3)]
trials = pd.DataFrame({"start": onsets, "end": onsets + 0.5, "image": images})
inputs = rng.normal(size=(3, 4)).astype(np.float32)
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


# PyTorch


def column(cohort: Any, name: str) -> Any:
    """Return a piece of metadata of the only network."""
    return cohort.metadata[name].item()


@habit(PYTORCH)
def noisy_weights() -> str:
    """Collect from a model that draws its weights once in a forward pass, in large batches."""
    from torch import nn, randn_like

    class NoisyWeights(nn.Linear):
        def forward(self, x: Any) -> Any:
            return nn.functional.linear(x, self.weight + randn_like(self.weight))

    model = NoisyWeights(4, 2).eval()
    found = rs.pytorch.collect(model, [""], inputs, n_trials=4)
    return f"A pass holds one trial of each input: metadata `passes` = {column(found, 'passes')}."


@habit(PYTORCH)
def functional_dropout() -> str:
    """Write dropout as a function, `F.dropout(x, training=self.training)`."""
    from torch import nn

    class Drop(nn.Module):
        def forward(self, x: Any) -> Any:
            return nn.functional.dropout(x, training=self.training)

    model = nn.Sequential(nn.Linear(4, 2), Drop()).eval()
    found = rs.pytorch.collect(model, ["1"], inputs, n_trials=4, noise="dropout")
    return f"The function is switched on: metadata `switched_on` = {column(found, 'switched_on')}."


@habit(PYTORCH)
def batch_normalisation() -> None:
    """Leave batch normalisation in train mode, where the rows of a batch change each other."""
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)).train()
    rs.pytorch.collect(model, "1", inputs, n_trials=4, noise=0.1)


@habit(PYTORCH)
def no_dropout() -> None:
    """Ask for dropout in a model that has none."""
    from torch import nn

    model = nn.Linear(4, 2).eval()
    rs.pytorch.collect(model, "", inputs, n_trials=4, noise="dropout")


# Files


@habit(FILES)
def pickled_array() -> None:
    """Read a NumPy file that holds Python objects, which could run code."""
    np.save("mouse.npy", np.array([{"trials": 1}], dtype=object))
    rs.io.read_network("mouse.npy")


@habit(FILES)
def changed_cohort() -> None:
    """Change the files of a cohort by other means."""
    cohort = rs.Cohort.from_networks({"a": np.ones((2, 5, 3))}).save("mice.zarr")
    rs.Cohort.from_networks({"a": np.zeros((2, 5, 3))}).save("other.zarr")
    Path("mice.zarr/a/trials").rename("kept")
    Path("other.zarr/a/trials").rename("mice.zarr/a/trials")
    cohort["a"]


@habit(FILES)
def link_in_a_cohort() -> None:
    """Open a cohort with a link inside, which could lead anywhere."""
    rs.Cohort.from_networks({"a": np.ones((2, 5, 3))}).save("mice.zarr")
    Path("mice.zarr/b").symlink_to(Path.home())
    rs.Cohort.open("mice.zarr")


@habit(FILES)
def codec_that_runs_code() -> None:
    """Open a cohort of somebody else whose arrays name a codec that runs code."""
    cohort = rs.Cohort.from_networks({"a": np.ones((2, 5, 3))}).save("mice.zarr")
    described = Path("mice.zarr/a/trials/zarr.json")
    described.write_text(described.read_text().replace('"zstd"', '"numcodecs.pickle"'))
    cohort["a"]


@habit(FILES)
def other_responses() -> None:
    """Continue a store of distances with other responses."""
    rs.pairwise({"a": np.eye(3), "b": 2 * np.eye(3)}, metric, store="store", progress=False)
    rs.pairwise({"a": np.eye(3), "b": 3 * np.eye(3)}, metric, store="store", progress=False)
