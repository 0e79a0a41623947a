"""Measuring, figures and page, on a study whose networks are trained for a moment."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.common import drawing
from experiments.common.results import ARRAYS, RESULTS, read_results
from experiments.patch_gaussian import collecting, page, results
from experiments.patch_gaussian.__main__ import app
from experiments.patch_gaussian.claims import CLAIMS
from experiments.patch_gaussian.cohorts import spread
from experiments.patch_gaussian.collecting import (
    cohort_path,
    collect_all,
    load_network,
    read_networks,
)
from experiments.patch_gaussian.decide import decide_stored
from experiments.patch_gaussian.draw import FIGURES
from experiments.patch_gaussian.measure import SEARCH, Measurement
from experiments.patch_gaussian.page import page_text, rounds_text
from experiments.patch_gaussian.results import count_networks, measure_all
from experiments.patch_gaussian.run import Study
from experiments.patch_gaussian.settings import (
    MEASURE_SCALES,
    SCALES,
    MeasureSettings,
)
from experiments.patch_gaussian.wide import WIDE, main
from patch_support import MEASURE, TINY
from stored_support import draw_quickly, forbid_distances
from test_common_cifar10 import write_binary
from typer.testing import CliRunner

import repshape as rs
from repshape.errors import InputError

ROOT = Path(__file__).parents[2]
SETTINGS = replace(TINY, taus=(0.1, 0.3), seeds=2, epochs=1)
SMALL = replace(MEASURE, example_passes=3)


def ignore(done: int, total: int) -> None:
    pass


@pytest.fixture(autouse=True)
def no_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the reference code, with which the study compares itself where it is found."""
    monkeypatch.delenv("NETREP_PATH", raising=False)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cifar10")
    write_binary(folder)
    return folder


@pytest.fixture(scope="module")
def measured(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study that the command has trained, measured and drawn, with few pixels."""
    out = tmp_path_factory.mktemp("study") / "out"
    options = ["--out", str(out), "--images", str(images), "--workers", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCALES, "small", SETTINGS)
        patch.setitem(MEASURE_SCALES, "small", SMALL)
        patch.setattr(drawing, "FORMATS", {"png": {"dpi": 40}})
        patch.delenv("NETREP_PATH", raising=False)
        done = CliRunner().invoke(app, ["all", *options])
    assert done.exit_code == 0, done.output
    assert "inconclusive" in done.stderr
    return Study(out, SETTINGS, SMALL, images)


def copied(study: Study, out: Path) -> Study:
    """Return a study with the same trained networks and nothing else."""
    shutil.copytree(study.out / "networks", out / "networks")
    return replace(study, out=out)


def same_results(first: Study, second: Study) -> None:
    numbers, arrays = zip(*(read_results(study.out) for study in (first, second)), strict=True)
    for one in numbers:
        one.pop("seconds")
    assert numbers[0] == numbers[1]
    assert arrays[0].keys() == arrays[1].keys()
    for name, values in arrays[0].items():
        np.testing.assert_array_equal(values, arrays[1][name], err_msg=name)


# Responses


def test_thin_factors_are_those_of_the_unbiased_covariance(measured: Study) -> None:
    plans = Measurement(measured, 1).plans
    cohort = rs.Cohort.open(cohort_path(measured, 0.1))
    whole, first, second = (read_networks(measured, plans, 0.1, half) for half in (0, 1, 2))
    trials = np.stack(cohort[plans[2].name].responses)  # type: ignore[union-attr]
    assert trials.shape == (4, 6, 5)
    for networks, part in (
        (whole, slice(None)),
        (first, slice(None, 3)),
        (second, slice(3, None)),
    ):
        expected = [np.cov(one[part], rowvar=False) for one in trials]
        np.testing.assert_allclose(networks[2].covariances, expected, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(networks[2].means, trials[:, part].mean(axis=1), rtol=1e-6)


def test_noise_differs_between_networks_and_taus(measured: Study, images: Path) -> None:
    """Two networks of equal weights respond differently to noise, and equally without it."""
    plans = Measurement(measured, 1).plans
    low, high = (read_networks(measured, plans, tau) for tau in (0.1, 0.3))
    for one, other in zip(low, high, strict=True):
        assert other.total_variance.mean() > 3 * one.total_variance.mean()


def test_moments_at_the_scale_of_the_paper_have_the_ridge(measured: Study, tmp_path: Path) -> None:
    study = copied(measured, tmp_path / "out")
    size = MeasureSettings(4, 30, keep_trials=False, ridge=0.5)
    study = replace(study, measure=size)
    plans = Measurement(study, 1).plans
    assert len(list(collect_all(study, plans))) == 4
    found = read_networks(study, plans, 0.1)
    assert isinstance(found, rs.Cohort)
    assert list(found.labels) == [plan.name for plan in plans]
    values = np.linalg.eigvalsh(found[0].covariances)  # type: ignore[union-attr]
    assert values.min() >= 0.5 - 1e-9
    names = [name for name, _ in Measurement(study, 1).tasks()]
    assert not [name for name in names if "half" in name]


def test_responses_do_not_depend_on_how_they_are_shared_out(
    measured: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several workers collect one tau each: a cohort on disk has one writer."""
    taken: list[float] = []

    def one_after_the_other(function: Any, items: Any, workers: int) -> Any:
        taken.extend(items)
        return map(function, items)

    monkeypatch.setattr(collecting, "run_jobs", one_after_the_other)
    study = copied(measured, tmp_path / "out")
    plans = Measurement(study, 1).plans
    names = [one["name"] for one in collect_all(study, plans, 2)]
    assert taken == list(SETTINGS.taus)
    assert names == ["responses at tau = 0.1", "responses at tau = 0.3"]
    for tau in SETTINGS.taus:
        own, other = (rs.Cohort.open(cohort_path(one, tau)) for one in (study, measured))
        for plan in plans:
            first, second = (np.stack(one[plan.name].responses) for one in (own, other))  # type: ignore[union-attr]
            assert np.array_equal(first, second)


def test_the_confirmation_measures_what_claims_need(measured: Study, tmp_path: Path) -> None:
    for part, centred in (("pilot", True), ("confirmation", False)):
        assert Study.of_scale("small", tmp_path, part=part).measure.centred is centred
    slim = replace(measured, measure=replace(SMALL, centred=False))
    names = [name for name, _ in Measurement(slim, 1).tasks()]
    assert not [name for name in names if "centred" in name]
    assert {name for name in names if "half" not in name} == {
        f"tau-{tau:g}/alpha-{alpha}" for tau in SETTINGS.taus for alpha in (0, 1, 2)
    }


def test_the_confirmation_is_measured_when_its_chosen_seeds_are_finished(
    measured: Study, tmp_path: Path
) -> None:
    """What is left out is stated in the results and on the page."""
    study = replace(copied(measured, tmp_path / "out"), part="confirmation")
    (study.folder(study.plans()[-1]) / "record.json").unlink()
    with pytest.raises(InputError, match="choose finished seeds with --seeds"):
        Measurement(study, 1).check()
    some = Measurement(replace(study, seeds=range(1)), 1)
    some.check()
    counts = count_networks(some.study, some)
    assert counts["planned"] == counts["measured"] == len(study.plans()) // 2
    assert (counts["seeds"], counts["seeds_planned"]) == (1, 2)
    pilot = {"versions": {"repshape": "0.2.0"}, "networks": counts | {"seeds": 2}}
    text = rounds_text(pilot, {"networks": counts})
    assert "confirmation has 1 fresh seeds" in text
    assert "1 of 2 planned seeds." in text
    assert "those of\nthe pilot" in text  # figures show the round with more seeds


def test_weights_that_the_record_does_not_describe_are_refused(
    measured: Study, tmp_path: Path
) -> None:
    study = copied(measured, tmp_path / "out")
    plan = study.plans()[0]
    other = study.folder(study.plans()[1]) / "weights.npz"
    shutil.copy(other, study.folder(plan) / "weights.npz")
    with pytest.raises(InputError, match="none-seed0 are not those that its record describes"):
        load_network(study, plan, study.data())


def test_spread_does_not_depend_on_the_number_of_trials() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(200, 5))
    expected = np.sqrt(5 * 0.25 / (2 * 5 * means.var(axis=0, ddof=1).mean()))
    for n_trials in (3, 40):
        trials = means[:, None] + 0.5 * rng.normal(size=(200, n_trials, 5))
        found = spread(rs.estimate_moments(trials, "unbiased"), n_trials)
        assert found == pytest.approx(expected, rel=0.08)


# Distances


def test_matrices_are_those_of_the_metric(measured: Study) -> None:
    numbers, arrays = read_results(measured.out)
    plans = Measurement(measured, 1).plans
    assert [plan.name for plan in plans][:2] == ["none-seed0", "none-seed1"]
    x, y = read_networks(measured, plans[1:3], 0.3)
    centred = rs.GaussianShapeMetric(1.0, preprocess=rs.Preprocess(center=True))
    pair = 3  # of (0, 1), (0, 2), (0, 3), (1, 2)
    for name, metric in (("alpha-0", rs.GaussianShapeMetric(0.0)), ("centred-alpha-1", centred)):
        stored = arrays[f"networks/tau-0.3/{name}"][pair]
        assert stored == pytest.approx(metric.set_params(**SEARCH).distance(x, y), rel=1e-9)
    assert numbers["networks"]["measured"] == 4
    assert len(numbers["networks"]["records"]) == 4
    assert numbers["numbers"]["manipulation"]["verdict"] in {"does not hold", "inconclusive"}


def test_excess_of_the_search_is_that_over_the_default(measured: Study) -> None:
    numbers, arrays = read_results(measured.out)
    measurement = Measurement(measured, 1)
    networks = measurement.networks(0.3, 0)
    metric = rs.GaussianShapeMetric(0.0)
    whole = [metric.distance(*pair) for pair in combinations(networks, 2)]  # as few as are checked
    stored = arrays["networks/tau-0.3/alpha-0"]
    found = numbers["numbers"]["search"]["tau-0.3/alpha-0"]
    assert found["mean"] == pytest.approx(np.mean(stored / whole - 1), abs=1e-7)
    assert found["largest"] == pytest.approx(np.max(stored / whole - 1), abs=1e-7)
    assert found["between"] == pytest.approx(stored.std(ddof=1) / stored.mean(), abs=1e-7)
    assert set(numbers["numbers"]["search"]) == {
        f"tau-{tau}/alpha-{alpha}" for tau in (0.1, 0.3) for alpha in (0, 1)
    }


def test_incomplete_seeds_are_left_out(measured: Study, tmp_path: Path) -> None:
    study = copied(measured, tmp_path / "out")
    (study.folder(study.plans()[-1]) / "record.json").unlink()
    assert {plan.seed for plan in Measurement(study, 1).plans} == {0}
    (study.folder(study.plans()[0]) / "record.json").unlink()
    with pytest.raises(InputError, match="Run the step 'train' first"):
        list(measure_all(study, 1, ignore))


SCRIPT = f"""
import sys
from pathlib import Path
from experiments.patch_gaussian.results import count_networks, measure_all
from experiments.patch_gaussian.run import Study
from experiments.patch_gaussian.settings import Architecture, MeasureSettings, Settings

if __name__ == "__main__":
    out, images = map(Path, sys.argv[1:])
    for step in measure_all(Study(out, {SETTINGS!r}, {SMALL!r}, images), 1, lambda *counts: None):
        print(step["name"], flush=True)
"""


def test_killed_measurement_continues_with_the_same_results(
    measured: Study, tmp_path: Path
) -> None:
    study = copied(measured, tmp_path / "out")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, str(script), str(study.out), str(study.images)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("tau-0.1/centred"):
                process.send_signal(signal.SIGKILL)
                break
    assert not (study.out / RESULTS).exists()
    list(measure_all(study, 1, ignore))
    same_results(study, measured)


# Figures and page


def test_one_command_leaves_results_figures_and_a_report(measured: Study) -> None:
    pictures = {f"{name}.png" for name in FIGURES.known}
    names = {path.name for path in measured.out.iterdir()}
    assert {RESULTS, ARRAYS, "report.html"} | pictures <= names


def test_page_and_figures_come_from_stored_results_alone(
    measured: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says first that these networks do not show the effect of Patch-Gaussian."""
    monkeypatch.setitem(drawing.FORMATS, "png", {"dpi": 40})
    stored = tmp_path / "stored"
    stored.mkdir()
    for name in (RESULTS, ARRAYS):
        shutil.copy(measured.out / name, stored)
    files = page.write_study_page(stored, tmp_path)
    text = files[0].read_text()
    assert {file.stem for file in files[1:]} == set(FIGURES.known)
    assert text.index("do not show the effect") < text.index("## Does Patch-Gaussian work here?")
    assert "| images per distance | 2000 | 4 |" in text
    assert "<br>*too many networks failed to train*" in text
    assert "{" not in text.replace("{.", "")


def test_claims_are_decided_again_from_stored_distances(measured: Study) -> None:
    before = json.loads((measured.out / RESULTS).read_text())
    again = decide_stored(measured.out)
    assert again.keys() == before.keys()
    for old, new in zip(before["claims"], again["claims"], strict=True):
        assert (old["name"], old["verdict"], old["note"]) == (
            new["name"],
            new["verdict"],
            new["note"],
        )
        for one, other in zip(old["criteria"], new["criteria"], strict=True):
            assert other["folds"].keys() == one["folds"].keys()


def test_page_is_that_of_the_stored_results() -> None:
    current = (ROOT / "docs" / page.PAGE).read_text(encoding="utf-8")
    assert page.stored_page(page.RESULTS_FOLDER) == current
    assert "a small replication" in current.splitlines()[0]


@pytest.mark.nightly  # the same page is compared with the documentation in test_stored_pages.py
def test_figures_are_drawn_from_the_stored_results_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is aligned or measured again, and no network is needed."""
    forbid_distances(monkeypatch)
    draw_quickly(monkeypatch)
    options = ["figures", "--results", str(page.RESULTS_FOLDER), "--out", str(tmp_path)]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.stderr
    expected = {f"{name}.png" for name in FIGURES.known} | {drawing.REPORT}
    assert {file.name for file in tmp_path.iterdir()} == expected


def test_stored_results_decide_the_claims_as_they_are_written() -> None:
    stored = read_results(page.RESULTS_FOLDER)[0]
    assert [claim["name"] for claim in stored["claims"]] == [claim.name for claim in CLAIMS]
    for found, claim in zip(stored["claims"], CLAIMS, strict=True):
        assert found["sentence"] == claim.sentence
        criteria = [(one["name"], one["above"], one["refuted_below"]) for one in found["criteria"]]
        assert criteria == [(c.name, c.above, c.refuted_below) for c in claim.criteria]
    assert stored["networks"]["measured"] == stored["networks"]["planned"] == 48
    assert sum(path.stat().st_size for path in page.RESULTS_FOLDER.iterdir()) < 4_000_000


def test_page_of_the_tiny_scale_shows_no_results(measured: Study) -> None:
    numbers = read_results(measured.out)[0] | {"scale": "tiny"}
    text = page_text(numbers, {}, {})
    assert "Not measured yet" in text
    assert "it holds if all of these are above" in text


def test_page_reports_widths_cost_and_the_reference_code(measured: Study, tmp_path: Path) -> None:
    shutil.copytree(measured.out, tmp_path / "small")
    main(tmp_path / "small", measured.out)
    found = json.loads((tmp_path / "small" / WIDE).read_text())
    assert {row["same"] for row in found["conclusions"]} <= {True, None}
    numbers = read_results(measured.out)[0]
    row: dict[str, Any] = {"pair": ["a", "b"], "alpha": 0.0, "distance": 1.0, "seconds": 2.0}
    row |= {"netrep_distance": 1.5, "netrep_seconds": 20.0}
    numbers["numbers"]["reference"] = {"tau": 0.1, "ridge": 1e-4, "rows": [row]}
    cost = {"passes": 200, "pairs": 343746, "paper_images": 2000, "core_hours": {"alpha-0": 4800.0}}
    cost |= {"seconds_per_pair": {"alpha-0": {"40": 1.0, "80": 2.0}}}
    cost |= {"paper_seconds_per_pair": {"alpha-0": 50.0}}
    text = page_text(numbers, cost, found)
    assert "| a and b | 0 | 20 | 2 | 10 | 1.5 | 1 |" in text
    assert "343 746 for each alpha" in text
    assert "| alpha = 0 | 1 | 2 | 50 | 4800 |" in text
    assert "2.0 days on 100 cores" in text
    assert "## Twice the width" in text


# The command


def test_figures_need_results(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["figures", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "Run the step 'measure' first" in " ".join(done.stderr.split())


def test_reference_code_is_optional(measured: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NETREP_PATH", raising=False)
    assert results.compare_reference(Measurement(measured, 1)) == {}
