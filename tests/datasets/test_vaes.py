"""The trained autoencoders of the package, on a small file that is written here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from report_support import read_data
from repshape.datasets import vaes
from repshape.demo import run_vae_demo, save_vae_demo, vaes_available
from repshape.errors import InputError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Write networks and distances where the package looks for them; return their metadata."""
    for name in ("NETWORKS", "DISTANCES"):
        monkeypatch.setattr(vaes, name, tmp_path / getattr(vaes, name).name)
    rng = np.random.default_rng(0)
    rows = [
        {"objective": o, "strength": s, "seed": k, "trained": True, "failed": False, "A": 0.1 * s}
        for o in ("beta", "dip_i")
        for s in (1.0, 2.0, 4.0)
        for k in range(3)
    ]
    untrained = {"objective": "untrained", "seed": 0, "trained": False, "failed": False}
    frame = pd.DataFrame([*rows, untrained])
    frame.index = pd.Index([f"network {k}" for k in range(len(frame))])
    means, log_variances = rng.normal(size=(2, len(frame), 6, 3))
    vaes.write_vaes(vaes.NETWORKS, means, log_variances, frame, [f"image {m}" for m in range(6)])
    trained = vaes.load_vaes().select(trained=True)
    condensed = {
        alpha: rs.pairwise(trained, rs.GaussianShapeMetric(alpha), progress=False).condensed()
        for alpha in vaes.ALPHAS
    }
    vaes.write_distances(vaes.DISTANCES, condensed, frame[frame["trained"]])
    frame.attrs["latents"] = means, log_variances
    return frame


def test_networks_read_back(package: pd.DataFrame) -> None:
    cohort = rs.datasets.load_vaes()
    means, log_variances = package.attrs["latents"]
    assert cohort.labels == tuple(package.index)
    assert cohort["network 4"].conditions == tuple(f"image {m}" for m in range(6))
    assert cohort["network 4"].means == pytest.approx(means[4], rel=1e-6)
    # Half precision keeps a log-variance below 4 to 0.002, and so its variance to 0.2 %.
    assert cohort["network 4"].variances == pytest.approx(np.exp(log_variances[4]), rel=2e-3)
    assert cohort.metadata["objective"].tolist() == package["objective"].tolist()
    assert cohort.select(trained=False).labels == ("network 18",)
    assert cohort.metadata["A"].isna().tolist() == package["A"].isna().tolist()


def test_distances_are_those_of_the_trained_networks(package: pd.DataFrame) -> None:
    cohort = rs.datasets.load_vaes().select(trained=True)
    for alpha in (0.0, 1.0, 2.0):
        D = rs.datasets.load_vae_distances(alpha)
        assert D.labels == cohort.labels
        expected = rs.GaussianShapeMetric(alpha=alpha).distance(cohort[0], cohort[5])
        assert D["network 0", "network 5"] == pytest.approx(expected, rel=1e-5)
        assert D.metadata["strength"].tolist() == cohort.metadata["strength"].tolist()
    assert rs.datasets.load_vae_distances().description["parameters"]["alpha"] == 1.0


def test_other_alphas_are_refused() -> None:
    with pytest.raises(InputError, match=r"'alpha' parameter must be 0, 1 or 2\. Got 0\.5"):
        rs.datasets.load_vae_distances(0.5)


def test_a_copy_without_the_files_says_how_to_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vaes, "NETWORKS", tmp_path / "vaes.npz")
    assert not vaes_available()
    with pytest.raises(InputError, match=r"not have vaes\.npz.*python -m experiments\.vae\.cohort"):
        rs.datasets.load_vaes()


def test_demo_compares_live_and_stored_distances(package: pd.DataFrame, tmp_path: Path) -> None:
    """Two seeds, the lowest and the highest strength of both objectives: eight networks."""
    assert vaes_available()
    demo = run_vae_demo(workers=1, progress=False)
    assert len(demo.live) == 8
    assert set(demo.live.metadata["strength"]) == {1.0, 4.0}
    assert set(demo.live.metadata["seed"]) == {0, 1}
    assert demo.largest_difference < 1e-5
    assert demo.summary()["networks"] == 18
    assert "8 trained autoencoders" in demo.words()
    page = save_vae_demo(demo, tmp_path, progress=False).read_text(encoding="utf-8")
    assert "with six objectives</h1>" in page
    columns = [one["name"] for one in read_data(page)["columns"]]
    assert f"A: {vaes.SCORES['A']}" in columns  # no letter of the paper is left unexplained
    assert not set(columns) & set(vaes.SCORES)
