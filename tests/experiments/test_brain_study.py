"""The brain study runs from NWB files to verdicts, and its statistics are what they say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.brain import figures, protocol, study, validation
from experiments.brain.claims import ALPHAS, CLAIMS, CLASSES
from experiments.brain.decide import decide, read_vaes, relevant, subsampling_statistic
from experiments.brain.figures import REPORT, draw_all
from experiments.brain.multiverse import cells, keys_of, match_conditions, needed_keys
from experiments.brain.page import image_folder, kept, page_file, write_page
from experiments.brain.paired_tests import run_tests
from experiments.brain.results import read_results, shares
from experiments.brain.settings import SMALL, Source, settings_of
from experiments.brain.sources import GRATINGS, SCENES, read_records
from experiments.brain.statistics import (
    STATISTICS,
    ClassResults,
    agreement,
    jackknife_interval,
    log_ratio,
    with_interval,
)
from experiments.brain.study import Study, measure, pieces

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
    n_repeats=8,
    n_drifting_repeats=8,
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
        patch.setattr(figures, "FORMATS", {"png": {"dpi": 40}})
        list(draw_all(run, [], 1))
    return run


@pytest.fixture(scope="module")
def results(tiny: Study) -> dict[str, Any]:
    return read_results(tiny.out)


# A run


def test_a_run_from_nwb_files_measures_everything_and_decides_every_claim(
    tiny: Study, results: dict[str, Any]
) -> None:
    assert len(list((tiny.out / "nwb").glob("*.nwb"))) == 8
    assert [claim["name"] for claim in results["claims"]] == [claim.name for claim in CLAIMS]
    assert set(results["classes"]) == {"gratings", "scenes", "drifting-0.1", "drifting-0.8"}
    decided = 0
    for claim in results["claims"]:
        assert len(claim["criteria"]) >= 1
        known = [row for row in claim["criteria"] if row["value"] is not None]
        decided += bool(known)
    # So few sessions may have no agreement between distances, and few corrected distances.
    assert decided > len(CLAIMS) / 2
    # Two numbers of components, two windows, two transforms, two centrings, two readings of the
    # gratings, all scenes or as many as gratings; and corrected distances.
    assert len(results["multiverse"]["rows"]) == 2**6 + 2
    assert results["truth"]["scenes"]["distances"]["0"]["n_pairs"] == 6


def test_all_figures_and_the_report_are_written(tiny: Study) -> None:
    names = ("fig3", "supp5", "supp6", "noise", "truth", "multiverse", "side-by-side")
    for name in names:
        assert (tiny.out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "natural scenes, alpha = 0" in (tiny.out / REPORT).read_text()


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
        assert found["distances"][f"{alpha:g}"][0][1] == pytest.approx(expected, rel=1e-6)


def test_halves_of_the_trials_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(protocol, "reduce", lambda part, k: (seen.append(part), (part, []))[1])
    monkeypatch.setattr(protocol, "distances", lambda *a, **k: {})
    values = np.arange(2 * 5 * 3.0).reshape(2, 5, 3)
    protocol.halves({"a": rs.Trials(values)}, TINY, 1)
    parts = [set(one["a"].pooled.ravel().tolist()) for one in seen]
    assert not parts[0] & parts[1]
    assert parts[0] | parts[1] == set(values.ravel().tolist())


# Statistics


def example(count: int = 6, animals: tuple[str, ...] | None = None) -> ClassResults:
    rng = np.random.default_rng(count)
    matrices = []
    for _ in range(2):
        points = rng.normal(size=(count, 4))
        matrices.append(np.linalg.norm(points[:, None] - points, axis=2))
    names = tuple(f"s{k}" for k in range(count))
    squared = {0.0: matrices[0] ** 2, 2.0: matrices[1] ** 2}
    plug_in = {alpha: np.sqrt(D) for alpha, D in squared.items()}
    return ClassResults(names, animals or names, squared, plug_in)


def test_log_ratio_of_equal_and_scaled_distances() -> None:
    one = example()
    doubled = replace(one, squared={0.0: 4 * one.squared[2.0], 2.0: one.squared[2.0]})
    assert log_ratio(doubled) == pytest.approx(np.log(2))
    negative = replace(one, squared={0.0: -one.squared[2.0], 2.0: one.squared[2.0]})
    assert np.isnan(log_ratio(negative))


def test_the_jackknife_over_animals_is_that_of_the_library() -> None:
    """For a mean of differences, `repshape.inference.paired` has the same interval."""
    one = example(7, ("a", "a", "b", "b", "c", "d", "d"))

    def mean_gap(found: Any) -> float:
        D = found["natural"].plug_in
        upper = np.triu_indices(len(D[0.0]), 1)
        return float(np.mean((D[0.0] - D[2.0])[upper]))

    expected = rs.inference.paired(one.plug_in[0.0], one.plug_in[2.0], list(one.animals))
    found = with_interval(mean_gap, {"natural": one})
    assert found.value == pytest.approx(expected.estimate)
    assert (found.low, found.high) == pytest.approx(expected.interval)
    assert found.n_units == 4
    assert with_interval(mean_gap, {"natural": one}, "names").n_units == 7


def test_the_jackknife_interval_of_a_mean_is_students() -> None:
    values = np.array([1.0, 4.0, 2.0, 7.0])
    left = [float(np.delete(values, k).mean()) for k in range(4)]
    low, high = jackknife_interval(float(values.mean()), left)
    half = 2.353363 * values.std(ddof=1) / 2  # t with 3 degrees of freedom, 95 %
    assert (low, high) == pytest.approx((3.5 - half, 3.5 + half), rel=1e-5)
    assert np.isnan(jackknife_interval(0.0, [0.0, float("nan"), 1.0])).all()


def test_agreement_is_one_for_equal_distances_and_not_known_for_noise() -> None:
    A, B = example().squared[0.0], example().squared[2.0]
    halves = {f"{a}, half {k}": A for a in (0, 2) for k in (1, 2)}
    assert agreement(replace(example(), halves=halves)) == pytest.approx(1)
    halves["0, half 2"] = -B - A
    assert np.isnan(agreement(replace(example(), halves=halves)))


def test_every_criterion_has_a_statistic() -> None:
    for claim in CLAIMS:
        if claim.name.startswith("Supplementary Figure 6"):
            continue
        for criterion in claim.criteria:
            if criterion.name not in ("trained", "untrained"):
                assert criterion.name in STATISTICS[claim.name]


def test_claims_are_decided_by_their_intervals() -> None:
    """Covariance distances larger for one class and smaller for the other: a reversal."""
    one = example()
    scaled = {
        "artificial": replace(one, squared={0.0: 9 * one.squared[2.0], 2.0: one.squared[2.0]}),
        "natural": replace(one, squared={0.0: one.squared[2.0], 2.0: 2 * one.squared[2.0]}),
    }
    vaes = read_vaes({"log_ratios": {"trained": [-0.5, -0.6, -0.4], "untrained": [0.3, 0.2, 0.4]}})
    verdicts = {c["name"]: c["verdict"] for c in decide(Source.ALLEN, scaled, None, vaes)}
    assert verdicts["Section 3.2, reversal"] == verdicts["Section 3.2 (c)"] == "holds"
    assert verdicts["Abstract"] == verdicts["Figure 3 D"] == verdicts["Figure 3 E"] == "holds"
    assert verdicts["Section 3.2 (a)"] == "does not hold"  # three times as large
    assert verdicts["Supplementary Figure 5"] == "cannot be told"
    turned = {"artificial": scaled["natural"], "natural": scaled["artificial"]}
    verdicts = {c["name"]: c["verdict"] for c in decide(Source.MACAQUE, turned, None, {})}
    assert verdicts["Section 3.2, reversal"] == verdicts["Abstract"] == "does not hold"
    assert "Appendix B.2" not in verdicts


def test_comparisons_of_classes_use_the_sessions_of_both() -> None:
    one = example()
    found = {"artificial": one, "natural": one.keep([True] * 4 + [False] * 2)}
    both = relevant("Section 3.2 (c)", "difference", found)
    assert [len(both[role].names) for role in CLASSES] == [4, 4]
    assert list(relevant("Figure 3 E", "artificial", found)) == ["artificial"]


def test_paired_tests_are_about_the_sessions_of_both_classes() -> None:
    """The ratio is halved for natural stimuli in all pairs, so all animals agree."""
    one = example(6)
    natural = replace(one, squared={0.0: one.squared[0.0] / 4, 2.0: one.squared[2.0]})
    natural = replace(natural, plug_in={a: np.sqrt(D) for a, D in natural.squared.items()})
    rows = run_tests({"artificial": one, "natural": natural}, 0)
    assert len(rows) == 10
    found = next(row for row in rows if row["comparison"].endswith("natural over artificial"))
    assert found["estimate"] == pytest.approx(-np.log(2))
    assert found["p_value"] == found["smallest_p_value"] == 2 / 2**6
    assert (found["below 0"], found["pairs"], found["animals"]) == (15, 15, 6)
    negative = replace(one, squared={0.0: one.squared[0.0] - 100, 2.0: one.squared[2.0]})
    rows = run_tests({"artificial": negative, "natural": natural}, 0)
    assert sum(row["distances"] == "corrected" for row in rows) == 2


def test_subsampling_slopes_and_ratios() -> None:
    sizes, draws = np.array([10, 20, 40]), 3
    distances = np.empty((3, draws, 3))
    distances[:, :, 0] = sizes[:, None] ** 0.5
    distances[:, :, 1] = sizes[:, None] ** 0.6
    distances[:, :, 2] = 2 * sizes[:, None] ** 0.5
    found = {"sizes": sizes.tolist(), "distances": {"without": distances.tolist()}}
    growth = "Supplementary Figure 6, growth"
    for alpha, slope in (("0", 0.5), ("1", 0.6), ("2", 0.5)):
        measured = subsampling_statistic(growth, f"alpha = {alpha}", found)
        assert measured.value == pytest.approx(slope)
    ratio = subsampling_statistic("Supplementary Figure 6, ratio", "ratio, from below", found)
    assert ratio.value == pytest.approx(0, abs=1e-12)


# The multiverse


def test_the_multiverse_shares_matrices_where_a_choice_does_not_matter() -> None:
    variants = {"artificial": ["a"], "natural": ["b", "b-matched"], "window": ["", "-late"]}
    found = cells(TINY, variants)
    assert len(found) == 2 * 2 * 2 * 2 * 2
    # Stimuli a, a-late, b, b-late and both matched; two components, two transforms; one
    # estimator for covariances and two centrings for means.
    assert len(needed_keys(found)) == 6 * 2 * 2 * 3
    late = next(cell for cell in found if cell.window and cell.natural == "b-matched")
    assert keys_of(late)["natural", 0.0].stimulus == "b-late-matched"


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


def test_matched_conditions_are_the_same_in_all_networks() -> None:
    x = rs.Trials(np.arange(5)[:, None, None] * np.ones((5, 2, 1)))
    found = match_conditions({"a": x, "b": x}, 3, 0)
    assert found["a"].n_conditions == 3
    assert np.array_equal(found["a"].means, found["b"].means)


def test_shares_count_claims() -> None:
    rows = [
        {"estimate": "plug-in", "claims": {"x": [0.1, True]}},
        {"estimate": "plug-in", "claims": {"x": [-0.1, False]}},
        {"estimate": "corrected", "claims": {"x": [0.2, True]}},
    ]
    assert shares(rows) == {"x": {"plug-in": [1, 2], "corrected": [1, 1]}}


# Pages


def test_the_page_of_a_run_has_its_figures_and_claims(tiny: Study, tmp_path: Path) -> None:
    files = write_page(tiny.out, tmp_path)
    text = (tmp_path / page_file("simulated")).read_text()
    assert "says nothing about brains" in text
    assert all(claim.name in text for claim in CLAIMS)
    assert tmp_path / image_folder("simulated") / "multiverse.png" in files
    assert all(file.exists() for file in files)


def test_kept_results_have_no_recordings(results: dict[str, Any]) -> None:
    assert "sessions" not in kept(results, None)
    assert list(kept(results, None)["multiverse"]) == ["shares"]


def test_without_nan() -> None:
    assert study.without_nan([float("nan"), (1.0, {"a": float("inf")})]) == [
        None,
        [1.0, {"a": None}],
    ]
