"""Untrained networks in disjoint pairs, which are the units of their claims."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.common import files
from experiments.common.results import is_whole, read_results
from experiments.common.rounds import CONFIRMATION, PILOT
from experiments.common.samples import PairSample, read_sample
from experiments.common.stores import DISTANCES
from experiments.common.summary import Round
from experiments.vae import pairs as pairs_module
from experiments.vae.analysis import random_test_sets
from experiments.vae.cohorts import Group, read_network
from experiments.vae.decide import decide_stored
from experiments.vae.measure import Measurement
from experiments.vae.page import RESULTS_FOLDER, page_text, rounds_text
from experiments.vae.results import measure_all
from experiments.vae.run import LATENTS, Study
from experiments.vae.scales import ROUNDS
from experiments.vae.statistics import log_ratio
from scipy.stats import t as student
from vae_support import MEASURE, drawn_study

import repshape as rs
from repshape.errors import InputError

GROUP = Group("dsprites", "kaiming", False)
COST = json.loads((RESULTS_FOLDER / "cost.json").read_text())
PAIRED = replace(MEASURE, untrained_pairs=True)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Seven untrained networks: three pairs, and one without a partner."""
    out = tmp_path_factory.mktemp("paired")
    drawn = drawn_study(out, seeds=0, untrained_seeds=7, first_seed=10)
    return replace(drawn, measure=PAIRED)


@pytest.fixture(scope="module")
def measured(study: Study) -> dict[str, Any]:
    list(measure_all(study, 1, lambda done, total: None))
    return read_results(study.out)[0]


def stored_sample(study: Study) -> PairSample:
    sample = read_sample(read_results(study.out)[1], GROUP.name)
    assert isinstance(sample, PairSample)
    return sample


def test_only_the_confirmation_has_pairs(tmp_path: Path) -> None:
    for part, paired in ((PILOT, False), (CONFIRMATION, True)):
        measure = Study.of_scale("small", tmp_path, part=part).measure
        assert measure.untrained_pairs is paired
        assert (measure.sweep_seeds == 0) is paired
    confirmed = ROUNDS[CONFIRMATION]
    assert {one.untrained_seeds for one in confirmed["small"].values()} == {200}
    assert {one.untrained_seeds for one in confirmed["paper"].values()} == {50}
    for scale in ("small", "paper"):
        for one in confirmed[scale].values():
            assert one.untrained_initialisations == ("kaiming", "pytorch", "glorot")


def test_the_confirmation_is_measured_group_by_group_when_all_seeds_are_there(
    tmp_path: Path,
) -> None:
    """Untrained networks are complete, trained ones are not: these wait."""
    sizes: dict[str, Any] = {"seeds": 3, "untrained_seeds": 4, "first_seed": 10}
    drawn = drawn_study(tmp_path, **sizes, untrained_initialisations=("kaiming",))
    started = replace(drawn, measure=PAIRED, part=CONFIRMATION)
    (started.folder(started.plans()[-1]) / files.RECORD).unlink()
    assert list(Measurement(started, 1).groups) == [GROUP.name]
    list(measure_all(started, 1, lambda done, total: None))
    found = read_results(tmp_path)[0]
    assert found["round"] == CONFIRMATION
    counted = {name: (one["measured"], one["planned"]) for name, one in found["networks"].items()}
    assert counted == {"dsprites-trained-kaiming": (0, 18), GROUP.name: (4, 4)}
    assert not is_whole(found)
    assert list(Round.of(found).claims) == ["ratio"]
    text = page_text(read_results(RESULTS_FOLDER)[0], COST, found)
    assert "by initialisation: untrained networks on dSprites (4 Kaiming)." in text.replace(
        "\n", " "
    )
    assert "| not measured yet | - |" in text
    assert "in the confirmation (pilot: inconclusive)" in text
    some = replace(started, seeds=range(10, 12))
    assert [len(plans) for plans in Measurement(some, 1).groups.values()] == [12, 4]
    (started.folder(started.plans()[3]) / files.RECORD).unlink()
    with pytest.raises(InputError, match="no complete group yet"):
        Measurement(started, 1).check()


def test_a_page_says_that_seeds_were_left_out() -> None:
    found = deepcopy(read_results(RESULTS_FOLDER)[0])
    found["networks"]["dsprites-trained-kaiming"] |= {"seeds": 8, "seeds_planned": 10}
    text = rounds_text(found, found)
    assert "8 of 10 planned seeds of trained networks on dSprites (Kaiming initialisation)." in text
    found["networks"]["dsprites-trained-kaiming"]["seeds"] = 10
    assert "planned seeds" not in rounds_text(found, found)


def test_pairs_are_disjoint_and_their_distances_those_of_the_metrics(
    study: Study, measured: dict[str, Any]
) -> None:
    sample = stored_sample(study)
    names = [*sample.metadata.index, *sample.column("second")]
    assert len(set(names)) == len(names) == 6
    plans = {plan.name: plan for plan in GROUP.plans(study)}
    seeds = [(plans[a].seed, plans[b].seed) for a, b in zip(names[:3], names[3:], strict=True)]
    assert seeds == [(10, 11), (12, 13), (14, 15)]
    x, y = (read_network(study.network(plans[names[k]]), MEASURE.n_images) for k in (1, 4))
    for alpha in (0.0, 2.0):
        expected = rs.GaussianShapeMetric(alpha).distance(x, y)
        assert sample.distances[f"alpha-{alpha:g}"][1] == pytest.approx(expected, rel=1e-5)
    centred = [rs.Gaussians(one.means - one.means.mean(axis=0), one.variances) for one in (x, y)]
    expected = rs.GaussianShapeMetric(2.0).distance(*centred)
    assert sample.distances["centred-alpha-2"][1] == pytest.approx(expected, rel=1e-5)


def test_pairs_are_the_units_of_the_interval(study: Study, measured: dict[str, Any]) -> None:
    """The interval of the log ratio of two means is that of the jackknife, written out here."""
    sample = stored_sample(study)
    d0, d2 = (sample.distances[name] for name in ("alpha-0", "alpha-2"))
    claim = next(one for one in measured["claims"] if one["name"] == "ratio")
    found = next(one for one in claim["criteria"] if "untrained" in one["name"])
    assert (found["units"], found["level"]) == (3, pytest.approx(1 - 0.05 / 4))
    left = [-np.log2(np.delete(d2, k).mean() / np.delete(d0, k).mean()) for k in range(3)]
    error = np.sqrt(2 / 3 * ((left - np.mean(left)) ** 2).sum())
    estimate = -np.log2(d2.mean() / d0.mean())
    assert found["estimate"] == pytest.approx(estimate, rel=1e-5)
    half = student.ppf((1 + found["level"]) / 2, 2) * error
    assert found["upper"] - estimate == pytest.approx(half, rel=1e-4)


def test_centred_ratios_are_reported_with_their_intervals(
    study: Study, measured: dict[str, Any]
) -> None:
    row = measured["numbers"]["distances"][GROUP.name]
    assert (row["units"], row["unit"]) == (3, "pairs")
    expected = log_ratio(stored_sample(study), centred=True)
    assert row["centred_log_ratio"]["estimate"] == pytest.approx(expected, rel=1e-5)
    ends = row["centred_log_ratio"]
    assert ends["lower"] < ends["estimate"] < ends["upper"]
    assert row["centred-alpha-2"] < row["alpha-2"]


def test_stored_distances_decide_again(study: Study, measured: dict[str, Any]) -> None:
    again = decide_stored(study.out)
    for claim, first in zip(again["claims"], measured["claims"], strict=True):
        assert claim["verdict"] == first["verdict"]
        for one, other in zip(claim["criteria"], first["criteria"], strict=True):
            if other["estimate"] is None:
                assert one["estimate"] is None
            else:
                assert one["estimate"] == pytest.approx(other["estimate"], rel=1e-5)


def test_finished_pairs_are_not_compared_again(
    study: Study, measured: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed network makes its own pair new, and no other."""
    pairs = pairs_module.disjoint_pairs(GROUP.plans(study), 10)
    path = tmp_path / "pairs.json"
    path.write_text((study.out / DISTANCES / f"{GROUP.name}-pairs.json").read_text())
    changed = study.folder(pairs[2][1]) / LATENTS
    kept = changed.read_bytes()
    arrays = dict(np.load(changed))
    files.write_arrays(changed, arrays | {"means": 1.5 * arrays["means"]})
    calls: list[float] = []
    distance = rs.GaussianShapeMetric.distance

    def counted(self: Any, x: Any, y: Any) -> float:
        calls.append(self.alpha)
        return distance(self, x, y)

    monkeypatch.setattr(rs.GaussianShapeMetric, "distance", counted)
    before = json.loads(path.read_text())
    try:
        found = pairs_module.compare_pairs(study, pairs, path, 1)
    finally:
        changed.write_bytes(kept)
    assert calls == [0.0, 2.0, 2.0]
    after = json.loads(path.read_text())
    names = [first.name for first, _ in pairs]
    assert [before[name] == after[name] for name in names] == [True, True, False]
    assert found.distances["alpha-0"][0] == before[names[0]]["distances"]["alpha-0"]


@pytest.mark.nightly
def test_random_test_sets_are_easier_than_whole_seeds(tmp_path: Path) -> None:
    """With the paper's protocol, a network of the same seed may be the nearest neighbour."""
    target = drawn_study(tmp_path, untrained_seeds=0)
    list(measure_all(target, 1, lambda done, total: None))
    sample = read_sample(read_results(tmp_path)[1], "dsprites-trained-kaiming")
    found = random_test_sets(sample)
    assert found["objective and every strength"]["alpha-2"]["estimate"] > 0.9
    expected = rs.analysis.knn_regress(
        sample.distances["alpha-1"],
        sample.column("A"),
        n_neighbors=(1, 2, 3, 4, 5, 7, 9, 12, 15),
        n_folds=6,
        n_permutations=0,
    )
    assert found["A"]["alpha-1"]["estimate"] == pytest.approx(expected.estimate)
