"""The brain study runs from NWB files to verdicts, figures and pages."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.brain import validation
from experiments.brain.__main__ import main
from experiments.brain.claims import ALPHAS, CLAIMS
from experiments.brain.figures import REPORT, draw_all
from experiments.brain.headline import side_by_side
from experiments.brain.keep import keep_run, open_kept, open_run
from experiments.brain.page import image_folder, kept, page_file, page_text, redraw, write_page
from experiments.brain.page_text import CAPTIONS
from experiments.brain.results import RESULTS, collect, read_results
from experiments.brain.settings import SMALL, Source, settings_of
from experiments.brain.sources import GRATINGS, SCENES, read_records
from experiments.brain.study import Study, measure, pieces
from experiments.common import drawing
from stored_support import forbid_distances
from typer import Typer
from typer.testing import CliRunner

import repshape as rs
from repshape.errors import InputError, StorageError

ROOT = Path(__file__).parents[2]
# Seconds instead of minutes: few neurons, trials and components.
TINY = replace(
    SMALL,
    n_animals=4,
    n_drifting=4,
    fewest_neurons=5,
    most_neurons=8,
    n_scenes=7,
    n_repeats=20,
    n_drifting_repeats=20,
    spatial_frequencies=(0.04, 0.08),
    phases=(0.0,),
    n_components=3,
    n_groups=4,
    n_splits=1,
    n_starts=1,
    components=(2, 3),
    estimators=("shrinkage-cv",),
    n_shuffles=2,
    subsample_sizes=(3, 5),
    n_draws=2,
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Study:
    run = Study(tmp_path_factory.mktemp("brain"), Source.SIMULATED, TINY)
    list(measure(run, 1))
    with pytest.MonkeyPatch.context() as patch:  # less to draw
        patch.setattr(drawing, "FORMATS", {"png": {"dpi": 40}})
        list(draw_all(run, [], 1))
    return run


@pytest.fixture(scope="module")
def results(tiny: Study) -> dict[str, Any]:
    return read_results(tiny.out)


def app() -> Typer:
    """Return the command line."""
    found = Typer()
    found.command()(main)
    return found


# A run


def test_a_run_from_nwb_files_measures_everything_and_decides_every_claim(
    tiny: Study, results: dict[str, Any]
) -> None:
    assert len(list((tiny.out / "nwb").glob("*.nwb"))) == 8
    assert [claim["name"] for claim in results["claims"]] == [claim.name for claim in CLAIMS]
    assert set(results["classes"]) == {"gratings", "scenes", "drifting-0.1", "drifting-0.8"}
    unknown = {
        (claim["name"], row["name"])
        for claim in results["claims"]
        for row in claim["criteria"]
        if row["value"] is None
    }
    assert {name.split(", ")[0] for name, _ in unknown} == {"Abstract"}  # no VAEs were given
    assert all("trained" in criterion for _, criterion in unknown)
    # Two numbers of components, two windows, two transforms, two centrings, two readings of the
    # gratings, all scenes or as many as gratings; and corrected distances.
    assert len(results["multiverse"]["rows"]) == 2**6 + 2
    assert results["truth"]["scenes"]["distances"]["0"]["n_pairs"] == 6


def test_the_abstract_is_decided_with_results_of_the_vae_study(
    tiny: Study, results: dict[str, Any], tmp_path: Path
) -> None:
    """Results beside a run add rows to the figure, and numbers to the claim."""
    rows = {
        name: {"name": f"{name} dSprites networks, Kaiming initialisation", "level": 0.98}
        | {"estimate": 0.5, "lower": 0.4, "upper": 0.6}
        for name in ("trained", "untrained")
    }
    vaes = {"claims": [{"name": "ratio", "criteria": list(rows.values())}]}
    figure = side_by_side(tiny, results, [vaes])
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert len(labels) == len(results["classes"]) + 2
    found = collect(tiny, [vaes])
    abstract = next(one for one in found["claims"] if one["name"] == "Abstract, Kaiming")
    numbers = {row["name"]: row["value"] for row in abstract["criteria"]}
    assert numbers["trained"] == numbers["untrained, Kaiming"] == pytest.approx(0.5 * np.log(2))
    (tiny.out / RESULTS).write_text(json.dumps(results))  # as it was


def test_all_figures_and_the_report_are_written(tiny: Study) -> None:
    names = ("fig3", "supp5", "supp6", "noise", "truth", "multiverse", "side-by-side")
    for name in names:
        assert (tiny.out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "natural scenes, α = 0" in (tiny.out / REPORT).read_text()


def test_a_finished_run_measures_nothing_and_a_missing_piece_is_measured_again(
    tiny: Study,
) -> None:
    assert list(measure(tiny, 1)) == []
    path = tiny.piece("geometry-gratings")
    before = json.loads(path.read_text())
    path.unlink()
    assert [one["name"] for one in measure(tiny, 1)] == ["geometry-gratings"]
    after = json.loads(path.read_text())
    assert after["orientation"] == before["orientation"]


def test_other_settings_need_another_folder(tiny: Study) -> None:
    other = Study(tiny.out, Source.SIMULATED, replace(TINY, seed=1))
    with pytest.raises(StorageError, match="other settings"):
        next(measure(other, 1))


def test_what_was_read_are_the_counts_of_the_files(tiny: Study) -> None:
    path = tiny.out / "nwb" / "animal-02.nwb"
    for stimulus in (GRATINGS, SCENES):
        direct = rs.io.read_allen(path, stimulus.table, where=stimulus.where)
        stored = tiny.load(stimulus.key)["animal-02"]
        assert np.array_equal(stored.pooled, direct.pooled)
        assert stored.conditions == direct.conditions
    mixed = tiny.load("gratings-mixed")["animal-02"]
    assert mixed.n_trials.tolist() == [TINY.n_repeats] * 6


def test_true_moments_are_in_the_order_of_the_reader_and_fit_the_counts(tiny: Study) -> None:
    for stimulus in (GRATINGS, SCENES):
        networks = tiny.load(stimulus.key)
        exact = validation.true_networks(TINY, stimulus.key, list(networks))
        for name, trials in networks.items():
            scale = np.sqrt(exact[name].variances / TINY.n_repeats)
            z = (trials.means - exact[name].means) / scale
            # Correct moments give mean squares near 1; conditions in another order far more.
            assert 0.4 < float(np.mean(z**2)) < 1.8


# Sessions that cannot be used


def test_an_allen_folder_reports_sessions_that_are_left_out(tiny: Study, tmp_path: Path) -> None:
    source = tiny.out / "nwb"
    run = Study(tmp_path, Source.ALLEN, replace(TINY, n_components=6), source)
    with pytest.raises(InputError, match="Fewer than 4 sessions have 6 units"):
        list(measure(run, 1))
    records = {one["name"]: one for one in read_records(run.sessions)}
    assert len(records) == 8
    small = min(records.values(), key=lambda one: one["n_neurons"].get("scenes", 0))
    assert (
        "5 units" in small["left_out"].values() or "no such stimulus" in small["left_out"].values()
    )


def test_missing_data_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPSHAPE_DATA", raising=False)
    cases = [(Source.ALLEN, None, "--data"), (Source.ALLEN, tmp_path, "NWB files")]
    cases += [(Source.MACAQUE, None, "REPSHAPE_DATA"), (Source.MACAQUE, tmp_path, "npz")]
    for k, (source, data, words) in enumerate(cases):
        run = Study(tmp_path / str(k), source, settings_of(source, "small"), data)
        with pytest.raises(InputError, match=words):
            next(measure(run, 1))


def test_macaque_populations_are_read_from_one_file(tmp_path: Path) -> None:
    """Two classes of images, units that are missing too often, and incomplete trials."""
    rng = np.random.default_rng(0)
    arrays = {}
    for name in ("a_1", "a_2", "b_1", "b_2", "c_1"):
        counts = rng.poisson(3.0, size=(2, 2, 2, 11, 8, 20)).astype(np.int8)
        counts[0, 0, 0, 1, 0, 3] = -1  # one missing trial of one image
        counts[:, :, :, :, 7, :5] = -1  # a unit that is lost
        arrays[name] = counts
    np.savez(tmp_path / "macaque_v1_counts.npz", **arrays)
    size = replace(TINY, n_components=4, components=(4,))
    run = Study(tmp_path / "out", Source.MACAQUE, size, tmp_path)
    todo = measure(run, 1)
    for _ in arrays:
        next(todo)
    natural, synthetic = run.load("natural"), run.load("synthetic")
    assert natural["a_1"].n_neurons == synthetic["a_1"].n_neurons == 7
    assert natural["a_1"].n_trials.tolist() == [19] + [20] * 35
    assert [one["animal"] for one in read_records(run.sessions)] == list("aabbc")
    assert np.array_equal(natural["b_1"].responses[9][:, 2], arrays["b_1"][0, 0, 1, 1, 2])
    assert {name.split("-")[0] for name, _ in pieces(run)} >= {"protocol", "corrected"}


# The protocol


def test_the_protocol_is_the_sum_of_its_steps(tiny: Study) -> None:
    """PCA, means, shrinkage and distances by hand, for one pair."""
    found = tiny.read("protocol-scenes")
    x, y = list(tiny.load("scenes").values())[:2]
    moments = []
    for one, gamma, explained in zip((x, y), found["gamma"], found["explained"], strict=False):
        centre = one.means.mean(axis=0)
        _, values, rows = np.linalg.svd(one.pooled - centre, full_matrices=False)
        share = np.sum(values[: TINY.n_components] ** 2) / np.sum(values**2)
        assert explained == pytest.approx(share)
        reduced = [(r - centre) @ rows[: TINY.n_components].T for r in one.responses]
        identity = np.eye(TINY.n_components)
        shrunk = [gamma * identity + (1 - gamma) * np.cov(r.T, bias=True) for r in reduced]
        means = np.array([r.mean(axis=0) for r in reduced])
        moments.append(rs.Gaussians(means, np.array(shrunk)))
    for alpha in ALPHAS:
        expected = rs.GaussianShapeMetric(alpha).distance(*moments)
        assert found["distances"][f"{alpha:g}"][0][1] == pytest.approx(expected, rel=1e-4)


def test_a_large_cohort_has_a_random_choice_of_sessions_in_the_multiverse(tiny: Study) -> None:
    some = Study(tiny.out, Source.SIMULATED, replace(TINY, multiverse_sessions=3))
    every = tiny.load_some("gratings", 3)
    assert list(every) == list(tiny.load("gratings"))
    chosen = [list(some.load_some(key, 3)) for key in ("gratings", "scenes-late")]
    assert chosen[0] == chosen[1]
    assert len(chosen[0]) == 3
    assert set(chosen[0]) < set(every)


def test_centring_and_estimators_do_not_change_what_the_multiverse_assumes(tiny: Study) -> None:
    """d_0 does not depend on centring, nor d_2 on the covariance estimator."""
    x, y = list(tiny.load("gratings").values())[:2]
    phi = [rs.Preprocess(n_components=3, center=center) for center in (True, False)]
    d_0 = [rs.GaussianShapeMetric(0.0, preprocess=one).distance(x, y) for one in phi]
    assert d_0[0] == pytest.approx(d_0[1], rel=1e-6)
    d_2 = [
        rs.GaussianShapeMetric(2.0, preprocess=phi[0], covariance=name).distance(x, y)
        for name in ("mle", "shrinkage-cv")
    ]
    assert d_2[0] == pytest.approx(d_2[1], rel=1e-6)


# Pages


def test_the_page_of_a_run_has_its_figures_and_claims(tiny: Study, tmp_path: Path) -> None:
    files = write_page(tiny.out, tmp_path)
    text = (tmp_path / page_file("simulated")).read_text()
    assert "says nothing about brains" in text
    assert all(claim.name in text for claim in CLAIMS)
    assert tmp_path / image_folder("simulated") / "multiverse.png" in files
    assert all(file.exists() for file in files)


def test_kept_distances_redraw_the_page(
    tiny: Study, results: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All claims and figures come again from one file, without the folder of the run."""
    forbid_distances(monkeypatch)
    monkeypatch.setattr(drawing, "FORMATS", {"png": {"dpi": 40}})
    path = tmp_path / "simulated.json.gz"
    keep_run(open_run(tiny.out), path)
    assert path.stat().st_size < 200_000
    stored = json.loads(gzip.decompress(path.read_bytes()))
    assert set(stored["records"][0]) == {"name", "animal", "n_neurons", "left_out"}
    files = redraw(path, tmp_path / "docs")
    again = json.loads((tmp_path / "docs" / image_folder("simulated") / RESULTS).read_text())
    for claim, first in zip(again["claims"], results["claims"], strict=True):
        for row, other in zip(claim["criteria"], first["criteria"], strict=True):
            if other["value"] is not None:
                assert row["value"] == pytest.approx(other["value"], rel=1e-4, abs=1e-5)
    drawn = {file.name for file in files if file.suffix == ".png"}
    assert drawn == {file.name for file in tiny.out.glob("*.png")}
    done = CliRunner().invoke(app(), ["figures", "--results", str(path), "--out", str(tmp_path)])
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "fig3.png").exists()


def test_a_missing_file_of_distances_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json\.gz does not exist"):
        open_kept(tmp_path / "none.json.gz", tmp_path)
    with pytest.raises(InputError, match=r"has no settings\.json"):
        open_run(tmp_path)


def test_the_simulated_cohort_is_scored_against_the_truth(
    tiny: Study, results: dict[str, Any], tmp_path: Path
) -> None:
    assert [one["name"] for one in results["scored"]] == [claim.name for claim in CLAIMS]
    gap = next(one for one in results["scored"] if one["name"] == "Section 3.2 (c)")
    values = [
        tiny.read(f"true-cohort-{k}")["Section 3.2 (c)"]["difference"]
        for k in range(1, TINY.truth_cohorts + 1)
    ]
    assert gap["criteria"][0]["true"] == pytest.approx(np.mean(values))
    assert gap["truth"] == ("true" if np.mean(values) > np.log(1.05) else "false")
    text = page_text(kept(results, None), [])
    assert "## Are the estimates right?" in text


@pytest.mark.parametrize("source", ["simulated", "macaque"])
def test_the_pages_in_the_documentation_are_current(source: str) -> None:
    folder = ROOT / "docs" / image_folder(source)
    stored = json.loads((folder / RESULTS).read_text())
    figures = [name for name in CAPTIONS if (folder / f"{name}.png").exists()]
    assert (ROOT / "docs" / page_file(source)).read_text() == page_text(stored, figures)


def test_kept_results_have_no_recordings(results: dict[str, Any]) -> None:
    assert "sessions" not in kept(results, None)
    found = kept(results, None)["multiverse"]
    assert list(found) == ["shares", "corrected"]
    assert [row["components"] for row in found["corrected"]] == [2, 3]
    gap = found["corrected"][1]
    difference = gap["log R, artificial"]["value"] - gap["log R, natural"]["value"]
    assert gap["difference"]["over animals"]["value"] == pytest.approx(difference)
