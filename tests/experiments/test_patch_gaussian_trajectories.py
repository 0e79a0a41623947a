"""Paths of Patch-Gaussian networks along W and log sigma, on networks that are made up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from experiments.patch_gaussian.page import RESULTS_FOLDER
from experiments.patch_gaussian.trajectories import (
    PICTURE,
    RESULTS,
    follow_patches,
    main,
    read_patches,
)
from typer.testing import CliRunner

import repshape as rs
from repshape.errors import InputError

WIDTHS, SIGMAS, SEEDS = (4, 8, 16), (0.1, 0.3, 1.0), 3


def made_up(width_matters: bool) -> rs.Cohort:
    """Networks whose noise grows with log sigma, and whose means may stretch with W."""
    rng = np.random.default_rng(0)
    base = 3 * rng.normal(size=(6, 3))
    cohort = rs.Cohort()
    for seed in range(SEEDS):
        still = rs.Gaussians((1 + 0.01 * seed) * base, np.ones((6, 3)))
        cohort.add(f"none-seed{seed}", still)
        for width in WIDTHS:
            for sigma in SIGMAS:
                stretch = 1 + width / 16 if width_matters else 1.5
                means = stretch * base + 0.3 * rng.normal(size=base.shape)
                sd = 2 + np.log10(sigma)
                Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
                network = rs.Gaussians(means @ Q, np.full((6, 3), sd**2))
                cohort.add(f"W{width}-sigma{sigma:g}-seed{seed}", network)
    return cohort


def test_both_numbers_are_found_where_both_matter():
    patches, paths = follow_patches(made_up(True), n_permutations=199)
    assert patches.shape == (27, 3)
    by_name = {one.along: one.found for one in paths}
    assert by_name["W"].p_value == by_name["log10 sigma"].p_value == 1 / 200
    # Three neurons change their standard deviation by one for each tenfold sigma.
    assert by_name["log10 sigma"].speed == pytest.approx(np.sqrt(3), rel=0.05)
    low, high = (by_name["log10 sigma"].network_at(value) for value in (-1, 0))
    assert np.sqrt(low.total_variance.mean() / 3) == pytest.approx(1, abs=0.1)
    assert np.sqrt(high.total_variance.mean() / 3) == pytest.approx(2, abs=0.1)
    # The means stretch by W / 16: the speed is the norm of one stretch over 16.
    base = 3 * np.random.default_rng(0).normal(size=(6, 3))
    expected = np.sqrt((base**2).sum(axis=1).mean()) / 16
    assert by_name["W"].speed == pytest.approx(expected, rel=0.05)


def test_a_number_without_effect_is_not_found():
    _, paths = follow_patches(made_up(False), n_permutations=199)
    by_name = {one.along: one.found for one in paths}
    assert by_name["W"].p_value > 0.05
    assert by_name["W"].r_squared < 0.2
    assert by_name["log10 sigma"].p_value == 1 / 200


def test_the_command_writes_results_and_a_picture(tmp_path: Path):
    made_up(True).save(tmp_path / "responses")
    app = typer.Typer()
    app.command()(main)
    done = CliRunner().invoke(app, [str(tmp_path / "responses"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert "along W: R² = 0." in done.stdout
    found = json.loads((tmp_path / "out" / RESULTS).read_text())
    assert found["networks"] == 27
    assert len(found["paths"]["W"]["scores"]) == 27
    assert (tmp_path / "out" / PICTURE).read_bytes()[:4] == b"\x89PNG"
    few = [str(tmp_path / "responses"), "--out", str(tmp_path / "few"), "--components", "1"]
    assert CliRunner().invoke(app, few).exit_code == 0
    less = json.loads((tmp_path / "few" / RESULTS).read_text())["paths"]["W"]
    assert less["speed"] < found["paths"]["W"]["speed"]
    failed = CliRunner().invoke(app, [str(tmp_path / "none"), "--out", str(tmp_path / "out")])
    assert failed.exit_code == 1


def test_other_networks_are_refused():
    cohort = rs.Cohort()
    for k in range(3):
        cohort.add(f"W4-sigma0.1-seed{k}", np.full((2, 3), 1.0 + k))
    with pytest.raises(InputError, match=r"at least two W and two sigma.*Got 3 such networks of 3"):
        follow_patches(cohort)
    assert read_patches(["none-seed0"]).empty


def test_the_documentation_has_the_stored_numbers():
    stored = json.loads((RESULTS_FOLDER / RESULTS).read_text())
    text = (Path(__file__).parents[2] / "docs" / "shape-space.md").read_text(encoding="utf-8")
    W, sigma = stored["paths"]["W"], stored["paths"]["log10 sigma"]
    words = f"Along W, R² = {W['r_squared']:.2f}; along log σ, R² = {sigma['r_squared']:.2f}"
    assert words in text
    assert W["p_value"] == sigma["p_value"] == 0.001
    assert f"the {stored['networks']} patched networks" in " ".join(text.split())
