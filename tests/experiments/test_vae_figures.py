"""Figures, report and page: from stored results alone, and current."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from experiments.common.pages import criterion_words
from experiments.common.results import ARRAYS, RESULTS, read_results
from experiments.vae import cohort
from experiments.vae.__main__ import app
from experiments.vae.results import measure_all
from experiments.vae.run import Study
from typer.testing import CliRunner
from vae_support import drawn_study

import repshape as rs
from repshape.datasets import vaes
from repshape.errors import InputError

ROOT = Path(__file__).parents[2]


# The stored results


def test_figures_need_results(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["figures", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "Run the step 'measure' first" in done.stderr


# The page


def test_criteria_without_numbers_say_so() -> None:
    criterion = {"name": "energy", "estimate": None, "lower": None, "upper": None}
    assert criterion_words(criterion | {"p_value": None}) == "energy: not measured"


# The cohort of the package


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = drawn_study(tmp_path_factory.mktemp("study"))
    list(measure_all(study, 1, lambda done, total: None))
    return study


def test_cohort_has_all_networks_of_a_study(
    measured: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = cohort.write_cohort(measured, tmp_path)
    monkeypatch.setattr(vaes, "NETWORKS", files[0])
    monkeypatch.setattr(vaes, "DISTANCES", files[1])
    found = rs.datasets.load_vaes()
    assert (len(found), found.n_conditions) == (30, 8)
    assert found[0].conditions[0].startswith("square, scale ")
    assert found.metadata["trained"].sum() == 24
    D = rs.datasets.load_vae_distances(1.0)
    first, other = D.labels[0], D.labels[7]
    expected = rs.GaussianShapeMetric().distance(found[first], found[other])
    assert D[first, other] == pytest.approx(expected, rel=5e-3)


def test_unfinished_studies_do_not_enter_the_package(measured: Study, tmp_path: Path) -> None:
    results, _ = read_results(measured.out)
    results["networks"]["dsprites-trained-kaiming"]["planned"] = 25
    (tmp_path / RESULTS).write_text(json.dumps(results))
    (tmp_path / ARRAYS).write_bytes((measured.out / ARRAYS).read_bytes())
    study = Study(tmp_path, measured.settings, measured.scores, measured.measure)
    with pytest.raises(InputError, match="Only 24 of 25 networks are measured"):
        cohort.write_cohort(study, tmp_path)
