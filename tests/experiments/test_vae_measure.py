"""Measuring a study: which networks, which distances, and that nothing is computed twice."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.common import files
from experiments.common.archives import open_archive
from experiments.common.results import ARRAYS, RESULTS, read_results
from experiments.vae import cohort
from experiments.vae import measure as measure_module
from experiments.vae.captions import count_doubts, doubts_text
from experiments.vae.cohorts import (
    SPRITES,
    Group,
    complete_plans,
    complete_seeds,
    draw_trials,
    gaussians,
    groups_of,
    metadata_of,
    read_networks,
)
from experiments.vae.keep import keep_networks, measured_latents
from experiments.vae.known import KnownResults
from experiments.vae.measure import Measurement, repaired
from experiments.vae.results import full_score_differences, measure_all
from experiments.vae.run import FULL_SCORES, LATENTS, SCORES, Study
from vae_support import MEASURE, drawn_study

import repshape as rs
from repshape.datasets import vaes
from repshape.errors import InputError


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return drawn_study(tmp_path_factory.mktemp("measured"))


@pytest.fixture(scope="module")
def measured(study: Study) -> dict[str, Any]:
    list(measure_all(study, 1, lambda done, total: None))
    return read_results(study.out)[0]


# Networks


def copy_of(study: Study, out: Path) -> Study:
    """Return the same networks in another folder, without stores."""
    shutil.copytree(study.out / files.NETWORKS, out / files.NETWORKS)
    return replace(study, out=out)


def test_groups_are_compared_within_themselves(study: Study) -> None:
    names = [group.name for group in groups_of(study)]
    assert names == [
        "dsprites-trained-kaiming",
        "dsprites-untrained-kaiming",
        "dsprites-untrained-pytorch",
    ]
    sizes = [len(complete_plans(study, group)) for group in groups_of(study)]
    assert sizes == [24, 3, 3]


def test_only_complete_seeds_are_measured(tmp_path: Path) -> None:
    """A seed without one of its networks waits; the others do not."""
    target = drawn_study(tmp_path)
    missing = next(plan for plan in SPRITES.plans(target) if plan.seed == 2)
    (target.folder(missing) / files.RECORD).unlink()
    assert complete_seeds(target, SPRITES) == [0, 1, 3]
    assert {plan.seed for plan in complete_plans(target, SPRITES)} == {0, 1, 3}
    assert len(complete_plans(target, SPRITES)) == 18


def test_networks_are_sorted_by_cell(study: Study) -> None:
    frame = metadata_of(study, complete_plans(study, SPRITES))
    assert list(dict.fromkeys(frame["cell"])) == [
        "beta 1",
        "beta 10",
        "dip_i 1",
        "dip_i 20",
        "annealed 5",
        "annealed 20",
    ]
    assert frame["seed"].tolist()[:4] == [0, 1, 2, 3]
    assert frame["A"].tolist()[:2] == [11.0, 11.0]


def test_images_are_evenly_spaced() -> None:
    """Held-out images are sorted by their factors: the first half would be one shape."""
    network = gaussians(np.arange(512.0)[:, None], np.zeros((512, 1)), 256)
    assert np.array_equal(network.means.ravel(), np.arange(0, 512, 2))
    assert gaussians(np.arange(6.0)[:, None], np.zeros((6, 1)), 9).n_conditions == 6


def test_noise_of_networks_is_independent_and_reproducible() -> None:
    network = rs.Gaussians(np.zeros((4, 2)), np.ones((4, 2)))
    first, second = (draw_trials(name, network, 500).pooled.ravel() for name in ("a", "b"))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.06  # 4000 numbers: standard error 0.016
    assert np.array_equal(first, draw_trials("a", network, 500).pooled.ravel())


# Distances


def test_distances_are_those_of_the_latents(study: Study, measured: dict[str, Any]) -> None:
    arrays = read_results(study.out)[1]
    plans = complete_plans(study, SPRITES)
    networks = read_networks(study, plans, MEASURE.n_images)
    for alpha in (0.0, 1.0):
        metric = rs.GaussianShapeMetric(alpha=alpha)
        expected = metric.distance(networks[0], networks[7])
        assert arrays[f"{SPRITES.name}/alpha-{alpha:g}"][6] == pytest.approx(expected, rel=1e-5)
    shifted = [rs.Gaussians(one.means - one.means.mean(axis=0), one.variances) for one in networks]
    expected = rs.GaussianShapeMetric(alpha=2.0).distance(shifted[0], shifted[7])
    assert arrays[f"{SPRITES.name}/centred-alpha-2"][6] == pytest.approx(expected, rel=1e-5)


def test_results_count_networks_and_seconds(measured: dict[str, Any]) -> None:
    found = measured["networks"][SPRITES.name]
    counts = {"planned": 24, "measured": 24, "failed": 0, "scored": 24}
    assert found == counts | {
        "seeds": 4,
        "seeds_planned": 4,
        "seconds": 48.0,
        "score_seconds": 24 * 1.5,
    }
    assert measured["seconds"]["dsprites-trained-kaiming-24/alpha-1"] > 0
    assert set(measured["numbers"]["sweep"]) == {"alpha-1", "alpha-2", "energy-2", "energy-4"}
    assert measured["numbers"]["sweep"]["energy-4"]["relative difference to most"] == 0


def test_results_count_doubtful_distances(study: Study, measured: dict[str, Any]) -> None:
    doubts = measured["doubts"]
    matrices = dict(Measurement(study, 1).tasks())
    assert set(matrices) <= set(doubts)
    for name in (f"{SPRITES.name}/alpha-0", f"{SPRITES.name}/alpha-2"):
        D = matrices[name]()
        assert doubts[name]["doubtful"] == D.n_doubtful
        assert doubts[name]["pairs"] == 24 * 23 // 2
    assert doubts[f"{SPRITES.name}/alpha-2"]["doubtful"] == 0  # it has a formula


def test_captions_say_which_distances_are_doubtful() -> None:
    """For one of three pairs, only one of eight starts found the best optimum."""
    counts = {"n_starts": np.full((3, 3), 8), "n_agreeing": np.full((3, 3), 8)}
    counts["n_agreeing"][0, 2] = counts["n_agreeing"][2, 0] = 1
    gaps = np.where(counts["n_agreeing"] == 1, 0.02, 0.0)
    D = rs.DistanceMatrix(1 - np.eye(3), gaps=gaps, **counts)
    doubts = count_doubts({f"{SPRITES.name}/alpha-0": D})
    text = doubts_text(doubts, [SPRITES.name])
    assert "of 3 distances between trained networks on dSprites" in text
    assert text.endswith("1 at alpha = 0 (by up to about 10 %).")
    assert doubts_text(doubts, ["mnist-trained-kaiming"]) == ""


def test_differences_of_full_scores(study: Study, tmp_path: Path) -> None:
    """Own scores are the loss plus 0 to 14; here the full ones are higher by 1 and by 3."""
    target = copy_of(study, tmp_path)
    assert full_score_differences(target) == {}
    for plan, shift in zip(complete_plans(target, SPRITES)[:2], (1.0, 3.0), strict=True):
        own = json.loads((target.folder(plan) / SCORES).read_text())
        higher = {letter: value + shift for letter, value in own["scores"].items()}
        full = own | {"scores": higher | {"B": None}, "seconds": {"A": 60.0}}
        files.write_json(target.folder(plan) / FULL_SCORES, full)
    found = full_score_differences(target)
    assert (found["networks"], found["minutes"], found["own_minutes"]) == (2, 2.0, 0.05)
    assert found["A"]["mean_difference"] == pytest.approx(-2)
    assert found["A"]["mean_absolute_difference"] == pytest.approx(2)
    assert found["B"] == dict.fromkeys(found["B"])


def test_ratio_along_the_training(study: Study, measured: dict[str, Any]) -> None:
    """Latents of the drawn checkpoints grow from a tenth to their full size."""
    found = measured["numbers"]["along_training"]
    (cell,) = found.values()
    assert cell["steps"] == [0, 1, 3, 6, 12, 25, 50, 100]
    assert cell["alpha-2"][0] == pytest.approx(0.1 * cell["alpha-2"][-1])


def test_nothing_is_computed_twice(study: Study, measured: dict[str, Any]) -> None:
    """Finished matrices come from their stores: no tile is written again."""
    stores = study.out / measure_module.DISTANCES
    tiles = [path for path in stores.rglob("c/**/*") if path.is_file()]
    before = {path: path.stat().st_mtime_ns for path in tiles}
    assert len(before) > 10
    for _, compute in Measurement(study, 1).tasks():
        assert compute().complete
    assert {path: path.stat().st_mtime_ns for path in tiles} == before


# Networks that are kept


def test_kept_networks_are_measured_as_they_are(study: Study, tmp_path: Path) -> None:
    """The kept images are those that are measured."""
    archive = keep_networks(replace(study, only="dsprites"), "pilot", tmp_path)
    assert archive.name == "tiny-dsprites.zip"
    assert len(open_archive(archive).networks) == 30
    kept = replace(study, out=tmp_path, archives=(archive,))
    plans = complete_plans(kept, SPRITES)
    assert plans == complete_plans(study, SPRITES)
    assert not kept.network(plans[0]).has(files.WEIGHTS)
    for own, other in zip(
        read_networks(kept, plans, MEASURE.n_images),
        read_networks(study, plans, MEASURE.n_images),
        strict=True,
    ):
        assert own.means.tolist() == other.means.tolist()
        assert own.variances.tolist() == other.variances.tolist()
    (cell,) = Measurement(kept, 1).training_ratio().values()
    assert cell["alpha-2"][0] == pytest.approx(0.1 * cell["alpha-2"][-1], rel=1e-3)


def test_untrained_networks_of_the_confirmation_are_not_kept(study: Study, tmp_path: Path) -> None:
    one = replace(study, only="dsprites", seeds=range(2, 3))
    archive = keep_networks(one, "confirmation", tmp_path)
    assert archive.name == "tiny-dsprites-confirmation.zip"
    assert len(open_archive(archive).networks) == 6
    (study.folder(one.plans()[-1]) / SCORES).rename(tmp_path / SCORES)
    try:
        with pytest.raises(InputError, match="1 of 6 networks are not finished"):
            keep_networks(one, "confirmation", tmp_path)
    finally:
        (tmp_path / SCORES).rename(study.folder(one.plans()[-1]) / SCORES)


def test_latents_of_other_images_are_rounded() -> None:
    means = np.linspace(1, 2, 8)[:, None]
    found = measured_latents({"means": means, "log_variances": -means, "steps": np.arange(2)}, 4)
    assert found["means"].dtype == np.float16
    assert found["means"] == pytest.approx(means[::2], rel=2**-11)
    assert found["steps"].dtype == np.arange(2).dtype


# Distances of earlier results


def test_known_distances_are_taken_over(
    study: Study, measured: dict[str, Any], tmp_path: Path
) -> None:
    """Only the sweep is computed; verdicts, repairs and times are those of the first run."""
    target = copy_of(study, tmp_path)
    list(measure_all(target, 1, lambda done, total: None, KnownResults(study.out)))
    stores = {path.name for path in (tmp_path / measure_module.DISTANCES).iterdir()}
    assert stores == {"sweep-18", "seconds.json"}
    again, arrays = read_results(tmp_path)
    assert len(again["taken"]) == 8 + 2 * 3
    assert again["numbers"]["repair"] == measured["numbers"]["repair"]
    for store in ("dsprites-trained-kaiming-24/energy", "dsprites-untrained-pytorch-3/alpha-0"):
        assert again["seconds"][store] == measured["seconds"][store]
    before = read_results(study.out)[1]
    assert arrays.keys() == before.keys()
    for name in (f"{SPRITES.name}/alpha-0", f"{SPRITES.name}/energy"):
        assert np.array_equal(arrays[name], before[name])
    assert [claim["verdict"] for claim in again["claims"]] == [
        claim["verdict"] for claim in measured["claims"]
    ]


def is_known(target: Study, known: KnownResults) -> bool:
    return SPRITES.name in Measurement(target, 1, known).known_groups


def test_distances_of_other_networks_are_not_taken(
    study: Study, measured: dict[str, Any], tmp_path: Path
) -> None:
    known = KnownResults(study.out)
    target = copy_of(study, tmp_path)
    assert is_known(target, known)
    assert not is_known(replace(target, measure=replace(MEASURE, n_images=7)), known)
    plan = complete_plans(target, SPRITES)[7]
    record = target.folder(plan) / files.RECORD
    kept = record.read_text()
    record.write_text(json.dumps(json.loads(kept) | {"kl": 5.001}))
    assert not is_known(target, known)
    record.write_text(kept)
    assert is_known(target, known)
    latents = target.folder(plan) / LATENTS
    arrays = dict(np.load(latents))
    files.write_arrays(latents, arrays | {"means": 1.001 * arrays["means"]})
    assert not is_known(target, known)
    del known.arrays[f"{SPRITES.name}/alpha-2"]
    assert not is_known(study, known)


def test_repair_reports_what_it_changed() -> None:
    D = rs.DistanceMatrix([[0, 1, 3], [1, 0, 1], [3, 1, 0]])
    matrix, found = repaired(D)
    assert found["violations"] == 1
    assert matrix.values[0, 2] == pytest.approx(matrix.values[0, 1] + matrix.values[1, 2])
    assert found["negative"] == 0


def test_an_empty_study_is_refused(tmp_path: Path) -> None:
    target = drawn_study(tmp_path, seeds=0, untrained_seeds=0)
    with pytest.raises(InputError, match="no complete seed yet"):
        list(measure_all(target, 1, lambda done, total: None))
    with pytest.raises(InputError, match=r"no results\.json\. Run the step 'measure' first"):
        read_results(tmp_path)


def test_untrained_networks_alone_can_be_measured(tmp_path: Path) -> None:
    """Claims about trained networks are inconclusive then."""
    target = drawn_study(tmp_path, seeds=0)
    list(measure_all(target, 1, lambda done, total: None))
    results, arrays = read_results(tmp_path)
    assert {claim["verdict"] for claim in results["claims"]} == {"inconclusive"}
    assert Group("dsprites", "kaiming", False).name + "/alpha-0" in arrays
    assert {file.name for file in tmp_path.iterdir()} >= {ARRAYS, RESULTS}
    assert measure_module.DISTANCES in {file.name for file in tmp_path.iterdir()}


# The cohort of the package


def test_cohort_has_all_networks_of_a_study(
    study: Study, measured: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = cohort.write_cohort(study, tmp_path)
    monkeypatch.setattr(vaes, "NETWORKS", written[0])
    monkeypatch.setattr(vaes, "DISTANCES", written[1])
    found = rs.datasets.load_vaes()
    assert (len(found), found.n_conditions) == (30, 8)
    assert found[0].conditions[0].startswith("square, scale ")
    assert found.metadata["trained"].sum() == 24
    D = rs.datasets.load_vae_distances(1.0)
    first, other = D.labels[0], D.labels[7]
    expected = rs.GaussianShapeMetric().distance(found[first], found[other])
    assert D[first, other] == pytest.approx(expected, rel=5e-3)


def test_unfinished_studies_do_not_enter_the_package(
    study: Study, measured: dict[str, Any], tmp_path: Path
) -> None:
    results, _ = read_results(study.out)
    results["networks"]["dsprites-trained-kaiming"]["planned"] = 25
    (tmp_path / RESULTS).write_text(json.dumps(results))
    (tmp_path / ARRAYS).write_bytes((study.out / ARRAYS).read_bytes())
    partial = Study(tmp_path, study.settings, study.scores, study.measure)
    with pytest.raises(InputError, match="Only 24 of 25 networks are measured"):
        cohort.write_cohort(partial, tmp_path)
