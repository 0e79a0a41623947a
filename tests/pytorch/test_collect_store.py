"""`rs.pytorch.collect` into a cohort: streamed, complete or absent, and resumed by network."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_support import dense, some_inputs

import repshape as rs
from repshape.pytorch import sinks

INPUTS = some_inputs()


def collect(model: nn.Module, layer: Any = "second", n_trials: int = 6, **options: Any) -> Any:
    settings = {"noise": "dropout", "moments": False} | options
    return rs.pytorch.collect(model, layer, INPUTS, n_trials, **settings)


@pytest.mark.parametrize("n_trials", [1, 5, 13])
@pytest.mark.parametrize("chunk", [8 * 4, 7 * 8 * 4, 40 * 8 * 4, 2**26])
def test_trials_on_disk_are_those_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, n_trials: int
) -> None:
    """Chunks of 1, 7 and 40 trials of 4 neurons, and one for all."""
    monkeypatch.setattr(sinks, "CHUNK_BYTES", chunk)
    names = ["a", "b", "c", "d", "e"]
    options = {"n_trials": n_trials, "batch_size": 3, "conditions": names}
    collect(dense(), cohort=tmp_path / "c.zarr", name="net", **options)
    expected = collect(dense(), **options)
    cohort = rs.Cohort.open(tmp_path / "c.zarr")
    np.testing.assert_array_equal(cohort["net"].stacked, expected.stacked)
    assert cohort["net"].conditions == tuple(names)
    assert cohort.verify() == (expected.fingerprint,)
    assert cohort.records[0].n_bytes == expected.pooled.nbytes
    assert cohort.records[0].n_neurons == 4


def test_settings_become_metadata(tmp_path: Path) -> None:
    cohort = rs.Cohort.create(tmp_path / "c.zarr")
    found = collect(
        dense(), ["first", "second"], cohort=cohort, name="a", noise=0.5, metadata={"lr": 0.1}
    )
    assert found.labels == cohort.labels == ("a/first", "a/second")
    row = rs.Cohort.open(tmp_path / "c.zarr").metadata.loc["a/second"].to_dict()
    hashes = ("weights", "inputs", "modules", "check")
    fixed = {key: value for key, value in row.items() if key not in hashes}
    assert all(isinstance(row[key], str) for key in hashes)
    assert fixed == {
        "lr": 0.1,
        "model": "Sequential",
        "layer": "second",
        "readout": None,
        "n_trials": 6,
        "noise": 0.5,
        "seed": 0,
        "covariance": None,
        "passes": "per-example",
        "switched_on": None,
        "batch_size": None,
        "noise_code": None,
        "readout_code": None,
    }


class Counting(nn.Module):
    """Counts its forward passes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = dense()
        self.passes = 0

    def forward(self, x: Tensor) -> Any:
        self.passes += 1
        return self.inner(x)


class TestResuming:
    @pytest.mark.parametrize("moments", [False, True])
    def test_what_is_there_is_not_collected_again(self, tmp_path: Path, moments: bool) -> None:
        options = {"cohort": tmp_path / "c.zarr", "name": "net", "moments": moments}
        options["batch_size"] = 2
        model = Counting()
        first = collect(model, "inner.second", **options)[0]
        passes = model.passes
        again = collect(model, "inner.second", **options)[0]
        assert model.passes - passes <= 10 < 15 <= passes  # to see that nothing has changed
        assert first.fingerprint == again.fingerprint

    def test_only_missing_layers_are_collected(self, tmp_path: Path) -> None:
        options = {"cohort": tmp_path / "c.zarr", "name": "net"}
        whole = collect(dense(), ["drop", "second"])
        collect(dense(), ["second"], **options)
        found = collect(dense(), ["drop", "second"], **options)
        assert set(found.labels) == {"net/drop", "net/second"}
        for layer in ("drop", "second"):
            np.testing.assert_array_equal(found[f"net/{layer}"].stacked, whole[layer].stacked)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"random_state": 1}, "with seed=0, and not 1"),
            ({"n_trials": 7}, "with n_trials=6, and not 7"),
            ({"noise": 0.5}, "with noise='dropout', and not 0.5"),
            ({"moments": True}, "with covariance=None, and not 'mle'"),
            ({"readout": "flatten"}, "with readout=None, and not 'flatten'"),
            ({"model": dense(seed=1)}, "with weights="),
            ({"layer": "drop"}, "with layer='second', and not 'drop'"),
        ],
    )
    def test_other_settings_are_refused(
        self, tmp_path: Path, change: dict[str, Any], words: str
    ) -> None:
        options = {"cohort": tmp_path / "c.zarr", "name": "net"}
        collect(dense(), **options)
        with pytest.raises(rs.errors.InputError, match=words):
            collect(**({"model": dense()} | options | change))

    def test_other_inputs_are_refused(self, tmp_path: Path) -> None:
        options = {"cohort": tmp_path / "c.zarr", "name": "net", "noise": 0.1}
        collect(dense(), **options)
        with pytest.raises(rs.errors.InputError, match="with inputs="):
            rs.pytorch.collect(dense(), "second", INPUTS + 1, 6, moments=False, **options)

    def test_a_killed_collection_leaves_nothing_and_resumes(self, tmp_path: Path) -> None:
        """The process kills itself in the middle of the second network."""
        store = tmp_path / "c.zarr"
        code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import torch
import repshape as rs
from torch_support import dense, some_inputs
def noise(x, rng):
    noise.calls += 1
    if noise.calls == 70:
        os.kill(os.getpid(), signal.SIGKILL)
    return x + 0.1 * torch.from_numpy(rng.standard_normal(x.shape))
noise.calls = 0
for seed in (0, 1):
    rs.pytorch.collect(dense(seed), "second", some_inputs(), 6, noise=noise, moments=False,
                       batch_size=4, cohort={str(store)!r}, name=f"net {{seed}}", random_state=seed,
                       noise_name="gaussian")
"""
        ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
        assert ended.returncode == -9, ended.stderr
        assert rs.Cohort.open(store).labels == ("net 0",)
        assert any(name.endswith(".tmp") for name in os.listdir(store))  # what was under way

        def noise(x: Tensor, rng: np.random.Generator) -> Tensor:
            return x + 0.1 * torch.from_numpy(rng.standard_normal(x.shape))

        for seed in (0, 1):
            settings = {"noise": noise, "random_state": seed, "batch_size": 4}
            resumed = {"cohort": store, "name": f"net {seed}", "noise_name": "gaussian"}
            collect(dense(seed), **resumed, **settings)
            expected = collect(dense(seed), **settings)
            found = rs.Cohort.open(store)[f"net {seed}"]
            np.testing.assert_array_equal(found.stacked, expected.stacked)

    def test_an_interrupted_collection_leaves_no_folder(self, tmp_path: Path) -> None:
        store = rs.Cohort.create(tmp_path / "c.zarr")

        def interrupt(x: Tensor, rng: np.random.Generator) -> Tensor:
            interrupt.calls += 1  # type: ignore[attr-defined]
            if interrupt.calls == 20:  # type: ignore[attr-defined]
                raise KeyboardInterrupt
            return x

        interrupt.calls = 0  # type: ignore[attr-defined]
        with pytest.raises(KeyboardInterrupt):
            collect(dense(), cohort=store, noise=interrupt, batch_size=4)
        assert os.listdir(tmp_path / "c.zarr") == ["zarr.json"]
        assert len(store) == 0


def test_a_cohort_in_memory_grows() -> None:
    cohort = rs.Cohort()
    for seed in (0, 1):
        collect(dense(seed), cohort=cohort, name=f"net {seed}", moments=True, random_state=seed)
    assert cohort.labels == ("net 0", "net 1")
    assert rs.pairwise(cohort, rs.GaussianShapeMetric(), progress=False).values[0, 1] > 0


class TestRefusedBeforeAnyPass:
    def test_other_conditions(self, tmp_path: Path) -> None:
        cohort = rs.Cohort()
        cohort.add("first", np.zeros((4, 2)))
        model = Counting()
        with pytest.raises(rs.errors.InputError, match="the same conditions"):
            collect(model, "inner.second", cohort=cohort)
        assert model.passes == 0

    def test_a_selection(self, tmp_path: Path) -> None:
        cohort = collect(dense(), cohort=tmp_path / "c.zarr", name="net")
        with pytest.raises(rs.errors.InputError, match="a selection of a cohort"):
            collect(dense(), cohort=cohort, name="other")

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"cohort": 3}, "must be a Cohort or a path"),
            ({"cohort": rs.Cohort(), "name": 3}, "'name' parameter must be text"),
            ({"cohort": rs.Cohort(), "metadata": {"seed": 1}}, "'seed' is set by collect"),
            ({"cohort": rs.Cohort(), "metadata": {"x": [1]}}, "'x' must be a number"),
        ],
    )
    def test_bad_parameters(self, options: dict[str, Any], words: str) -> None:
        with pytest.raises(rs.errors.RepshapeError, match=words):
            collect(dense(), **options)


def test_memory_on_disk_does_not_grow_with_the_number_of_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 more trials of 60 neurons and 5 conditions are 720 kB; a chunk is 12 kB."""
    monkeypatch.setattr(sinks, "CHUNK_BYTES", 25 * 60 * 8)
    model = nn.Linear(6, 60).double()
    peaks = []
    for n_trials in (50, 50, 350):
        options = {"noise": 0.1, "moments": False, "batch_size": 25}
        path = tmp_path / f"{len(peaks)}.zarr"
        tracemalloc.start()
        rs.pytorch.collect(model, "", INPUTS, n_trials, cohort=path, name="net", **options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] - peaks[1] < 300 * 60 * 5 * 8 / 4
