"""Wrong habits with models of PyTorch and with files; see `docs_tools.habits`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from docs_tools.habits import habit, metric, rng

import repshape as rs

PYTORCH = "PyTorch"
FILES = "Files"

inputs = rng.normal(size=(3, 4)).astype(np.float32)


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
def changed_rate() -> None:
    """Change the rate of dropout, and continue a collection of the old one."""
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.2)).eval()
    rs.pytorch.collect(model, ["1"], inputs, n_trials=4, noise="dropout", cohort="nets.zarr")
    model[1].p = 0.5
    rs.pytorch.collect(model, ["1"], inputs, n_trials=4, noise="dropout", cohort="nets.zarr")


@habit(PYTORCH)
def no_dropout() -> None:
    """Ask for dropout in a model that has none."""
    from torch import nn

    model = nn.Linear(4, 2).eval()
    rs.pytorch.collect(model, "", inputs, n_trials=4, noise="dropout")


@habit(FILES)
def pickled_array() -> None:
    """Read a NumPy file that holds Python objects, which could run code."""
    np.save("mouse.npy", np.array([{"trials": 1}], dtype=object))
    rs.io.read_network("mouse.npy")


@habit(FILES)
def complex_numbers() -> None:
    """Save complex numbers, such as the output of a Fourier transform."""
    np.save("mouse.npy", np.fft.fft(np.ones((2, 5, 3))))
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
