"""The statistics, verdicts and combinations of choices of the brain study are what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from experiments.brain import protocol
from experiments.brain.claims import CLAIMS, CLASSES
from experiments.brain.decide import decide, relevant, subsampling_statistic, why_unknown
from experiments.brain.headline import class_rows, vae_rows
from experiments.brain.multiverse import cells, keys_of, match_conditions, needed_keys
from experiments.brain.paired_tests import run_tests
from experiments.brain.results import shares
from experiments.brain.settings import SMALL, Source
from experiments.brain.statistics import (
    NOTHING,
    STATISTICS,
    ClassResults,
    Measured,
    agreement,
    log_ratio,
    noise_ratio,
    with_interval,
)
from experiments.brain.study import without_nan
from experiments.brain.vaes import deciding_ratios, latest_ratios, read_ratios
from experiments.vae.claims import CLAIMS as VAE_CLAIMS
from scipy.stats import t as student

import repshape as rs

TWO = replace(SMALL, components=(2, 3), estimators=("shrinkage-cv",))


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
    found = with_interval(mean_gap, {"natural": one}, level=0.9)
    assert found.value == pytest.approx(expected.estimate)
    assert (found.low, found.high) == pytest.approx(expected.interval)
    assert found.n_units == 4
    assert with_interval(mean_gap, {"natural": one}, "names").n_units == 7


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
            if "trained" not in criterion.name:
                assert criterion.name in STATISTICS[claim.name]


def vae_results(trained: float, untrained: float) -> dict[str, Any]:
    """Results of the VAE study: its own criteria, each with an interval of 0.1 to both sides."""
    found = []
    for claim in VAE_CLAIMS[:3]:
        rows = []
        for one in claim.criteria:
            value = untrained if one.name.startswith("untrained") else trained
            numbers = {"estimate": value, "lower": value - 0.1, "upper": value + 0.1}
            rows.append({"name": one.name, "level": 0.98, **numbers})
        found.append({"name": claim.name, "criteria": rows})
    return {"claims": found}


def test_ratios_of_vaes_are_natural_logarithms_of_d_0_over_d_2() -> None:
    """The VAE study has log2 (d_2 / d_0) of trained, and its negative of untrained networks."""
    found = read_ratios(vae_results(0.5, 0.3))
    assert len(found) == 4 + 5 + 5
    trained = next(one for one in found if one.networks.startswith("trained dSprites"))
    assert trained[1:4] == pytest.approx(-np.log(2) * np.array([0.5, 0.6, 0.4]))
    untrained = next(one for one in found if one.networks.startswith("untrained dSprites"))
    assert untrained[1:4] == pytest.approx(np.log(2) * np.array([0.3, 0.2, 0.4]))
    deciding = deciding_ratios(found)
    assert deciding["trained"].value == pytest.approx(0.5 * np.log(2))
    for one in ("Kaiming", "PyTorch", "Glorot"):
        assert deciding[f"untrained, {one}"].low == pytest.approx(0.2 * np.log(2))
    assert read_ratios({"claims": [{"name": "Abstract", "criteria": []}]}) == []


def test_ratios_of_vaes_are_decided_at_the_level_of_the_claim() -> None:
    """Their interval is Student's over seeds: 98 % becomes 98.75 % for four criteria."""
    results = vae_results(0.5, 0.3)
    for claim in results["claims"]:
        for row in claim["criteria"]:
            row["units"] = 10
    found = deciding_ratios(read_ratios(results))["trained"]
    wide, own = student.ppf([1 - 0.0125 / 2, 0.99], 9)
    assert found.high - found.value == pytest.approx(0.1 * np.log(2) * wide / own)
    assert found.n_units == 10


def test_the_headline_has_a_row_for_each_class_and_each_group_of_vaes() -> None:
    numbers = {"value": 0.2, "low": None, "high": None}
    one = {"animals": 4, "log_ratio": numbers, "log_ratio, plug-in": {"value": 0.1}}
    rows = class_rows({"settings": {"source": "macaque"}, "classes": {"natural": one}})
    assert [row.label for row in rows] == ["macaque: natural (n = 4 animals)"]
    assert (rows[0].value, rows[0].plug_in, rows[0].of_vaes) == (0.2, 0.1, False)
    assert np.isnan(rows[0].low)
    both = vae_rows([{"claims": []}, vae_results(0.5, 0.3)])
    assert all(row.of_vaes for row in both)
    assert "dSprites" in both[0].label


def test_ratios_of_a_later_round_replace_those_of_the_pilot() -> None:
    """Only what it has: the confirmation may have been measured in part."""
    later, pilot = vae_results(0.9, 0.7), vae_results(0.5, 0.3)
    later["claims"] = [
        {**claim, "criteria": [row for row in claim["criteria"] if "untrained" in row["name"]]}
        for claim in later["claims"]
    ]
    found = {one.networks: one.value for one in latest_ratios([later, pilot])}
    assert len(found) == 4 + 5 + 5
    for name, value in found.items():
        expected = 0.7 if name.startswith("untrained") else -0.5
        assert value == pytest.approx(expected * np.log(2))


def test_claims_are_decided_by_their_intervals() -> None:
    """Covariance distances larger for one class and smaller for the other: a reversal."""
    one = example()
    scaled = {
        "artificial": replace(one, squared={0.0: 9 * one.squared[2.0], 2.0: one.squared[2.0]}),
        "natural": replace(one, squared={0.0: one.squared[2.0], 2.0: 2 * one.squared[2.0]}),
    }
    vaes = deciding_ratios(read_ratios(vae_results(0.5, 0.3)))
    verdicts = {c["name"]: c["verdict"] for c in decide(Source.ALLEN, scaled, None, vaes)}
    assert verdicts["Section 3.2, reversal"] == verdicts["Section 3.2 (c)"] == "holds"
    assert verdicts["Figure 3 D"] == verdicts["Figure 3 E"] == "holds"
    assert verdicts["Abstract, Kaiming"] == "holds"
    assert verdicts["Section 3.2 (a)"] == "does not hold"  # three times as large
    assert verdicts["Supplementary Figure 5"] == "inconclusive"
    turned = {"artificial": scaled["natural"], "natural": scaled["artificial"]}
    verdicts = {c["name"]: c["verdict"] for c in decide(Source.MACAQUE, turned, None, {})}
    assert verdicts["Section 3.2, reversal"] == "does not hold"
    assert verdicts["Abstract, PyTorch"] == "does not hold"
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
    known = {claim.name: claim for claim in CLAIMS}
    growth = known["Supplementary Figure 6, growth"]
    for alpha, slope in (("0", 0.5), ("1", 0.6), ("2", 0.5)):
        measured = subsampling_statistic(growth, f"alpha = {alpha}", found)
        assert measured.value == pytest.approx(slope)
    claim = known["Supplementary Figure 6, ratio"]
    ratio = subsampling_statistic(claim, "ratio, from below", found)
    assert ratio.value == pytest.approx(0, abs=1e-12)
    lines = subsampling_statistic(known["Supplementary Figure 6, lines"], "", found)
    assert (lines.value, lines.n_units) == (pytest.approx(np.log(2)), draws)
    distances[1, 0, 2] = 0.5 * distances[1, 0, 0]  # one line of one draw falls
    found["distances"] = {"without": distances.tolist()}
    lines = subsampling_statistic(known["Supplementary Figure 6, lines"], "", found)
    assert lines.value == pytest.approx(np.log([2, 2, 0.5]).mean())
    assert lines.low < 0


def test_animals_without_signal_do_not_make_the_ratio_of_noise_unknown() -> None:
    """The corrected variance of means of one animal may be negative, but not their mean."""
    one = replace(example(4), sessions={"signal": np.array([0.5, 0.7, -0.2, 1.0])})
    assert noise_ratio(one) == pytest.approx(-0.5 * np.log(0.5))
    found = with_interval(lambda f: noise_ratio(f["natural"]), {"natural": one})
    assert found.low < found.value < found.high
    assert np.isnan(noise_ratio(replace(one, sessions={"signal": np.array([-1.0, 0.5, 0, 0])})))


def test_numbers_that_are_not_known_say_why() -> None:
    nothing, unknown = NOTHING, Measured(np.nan, np.nan, np.nan, 4)
    assert why_unknown("natural", nothing) == "not measured"
    assert why_unknown("natural", unknown) == "a mean of squares is not positive"
    assert "halves" in why_unknown("natural, agreement", unknown)
    assert "without one" in why_unknown("natural", Measured(0.5, np.nan, np.nan, 4))
    assert why_unknown("natural", Measured(0.5, 0.0, 1.0, 4)) == ""


# The multiverse


def test_the_multiverse_shares_matrices_where_a_choice_does_not_matter() -> None:
    variants = {"artificial": ["a"], "natural": ["b", "b-matched"], "window": ["", "-late"]}
    found = cells(TWO, variants)
    assert len(found) == 2 * 2 * 2 * 2 * 2
    # Stimuli a, a-late, b, b-late and both matched; two components, two transforms; one
    # estimator for covariances and two centrings for means.
    assert len(needed_keys(found)) == 6 * 2 * 2 * 3
    late = next(cell for cell in found if cell.window and cell.natural == "b-matched")
    assert keys_of(late)["natural", 0.0].stimulus == "b-late-matched"


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


def test_halves_of_the_trials_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(protocol, "reduce", lambda part, k: (seen.append(part), (part, []))[1])
    monkeypatch.setattr(protocol, "distances", lambda *a, **k: {})
    values = np.arange(2 * 5 * 3.0).reshape(2, 5, 3)
    protocol.halves({"a": rs.Trials(values)}, TWO, 1)
    parts = [set(one["a"].pooled.ravel().tolist()) for one in seen]
    assert not parts[0] & parts[1]
    assert parts[0] | parts[1] == set(values.ravel().tolist())


def test_without_nan() -> None:
    assert without_nan([float("nan"), (1.0, {"a": float("inf")})]) == [
        None,
        [1.0, {"a": None}],
    ]
