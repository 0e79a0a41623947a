"""The calibrated estimate: nested parts, what it is made of, and where it is widened."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.errors import InputError
from repshape.inference.calibrated import Calibrated, plan_parts
from repshape.inference.divisions import Division, divide_in_halves, divide_in_quarters
from repshape.inference.estimates import Settings, distance_interval
from repshape.inference.following import carried, coordinate_map
from repshape.inference.nested import NestedPlan
from repshape.inference.terms import make_terms

FloatArray = npt.NDArray[np.float64]
SETTINGS = Settings("calibrated", 0.9, 0, 1, False)
PLAIN = rs.GaussianShapeMetric(covariance="unbiased")
METRICS = {
    "orthogonal": PLAIN,
    "covariances": PLAIN.with_parameters(alpha=0.0),
    "permutation": PLAIN.with_parameters(group="permutation"),
    "rotation": PLAIN.with_parameters(group="rotation"),
    "identity": PLAIN.with_parameters(group="identity"),
    "soft": PLAIN.with_parameters(group="soft"),
    "PCA": PLAIN.with_parameters(preprocess=rs.Preprocess(n_components=2)),
    "energy": rs.EnergyShapeMetric(n_starts=4),
    "Wasserstein": rs.WassersteinShapeMetric(n_starts=2),
}


def sample(seed: int, L: int = 16, n: int = 3, scale: float = 1.5) -> tuple[FloatArray, FloatArray]:
    """Two networks with clear means, whose noise differs in scale."""
    means = 3.0 * np.random.default_rng(0).normal(size=(4, 1, n))
    x, y = np.random.default_rng([3, seed]).normal(size=(2, 4, L, n))
    return means + x, means + scale * y


def plan_of(metric: Any, *networks: FloatArray) -> NestedPlan:
    return plan_parts(make_terms([networks[:2]], [metric]), SETTINGS)


def by_hand(plan: NestedPlan, metric: Any, gone: int) -> dict[str, float]:
    """Mean squared distances of parts, each pair aligned by the metric's full search."""

    def squared(one: Any, two: Any) -> float:
        d = metric.distance(one, two)
        return d * abs(d)

    out: dict[str, list[float]] = {"B_h": [], "B_q": [], "W_h": [], "W_q": []}
    for division in plan.divisions[: plan.n_deleted if gone >= 0 else None]:
        x, y = ([plan.part(k, side, gone) for side in division.sides] for k in (0, 1))
        for name, pairs in (("h", division.halves), ("q", division.quarters)):
            for i, j in pairs:
                out[f"B_{name}"] += [squared(x[i], y[j]), squared(x[j], y[i])]
                out[f"W_{name}"] += [squared(x[i], x[j]), squared(y[i], y[j])]
    every = range(plan.n_groups)
    found = {name: float(np.mean(values)) for name, values in out.items() if values}
    return found | {"F": squared(*(plan.part(k, every, gone) for k in (0, 1)))}


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
@pytest.mark.filterwarnings("ignore::repshape.errors.FewTrialsWarning")
@pytest.mark.parametrize("name", METRICS)
def test_parts_have_the_distances_of_a_full_search(name: str) -> None:
    """With all groups. Without one, a search begins where the one with all groups ended."""
    metric = METRICS[name]
    plan = plan_of(metric, *sample(0))
    plan = replace(plan, divisions=plan.divisions[:3])
    found = Calibrated(plan.collect(np.array([plan.solve(task) for task in plan.tasks])))
    values = dict(zip(("F", "B_h", "B_q", "W_h", "W_q"), found._parts(), strict=True))
    for part, expected in by_hand(plan, metric, -1).items():
        assert values[part][0, 0] == pytest.approx(expected, rel=0.05, abs=0.005)
    for part, expected in by_hand(plan, metric, 5).items():
        assert values[part][0, 6] == pytest.approx(expected, rel=0.1, abs=0.02)


def test_estimate_is_the_extrapolated_contrast() -> None:
    x, y = sample(1)
    fixed = METRICS["identity"]  # without local optima
    plan = plan_of(fixed, x, y)
    found = rs.inference.distance(x, y, fixed, workers=1)
    rows = []
    for gone in range(-1, plan.n_groups):
        part = by_hand(plan, fixed, gone)
        share = (part["B_q"] - part["B_h"]) / (part["W_q"] - part["W_h"])
        assert 0 < share < 2
        rows.append(part["B_h"] - share * part["W_h"])
    without = np.array(rows[1:])
    error = np.sqrt(7 / 8 * np.sum((without - without.mean()) ** 2))
    t = 1.894578605  # of 7 degrees of freedom
    assert found.estimate * abs(found.estimate) == pytest.approx(rows[0])
    low, high = (one * abs(one) for one in found.interval)
    assert (low, high) == pytest.approx((rows[0] - t * error, rows[0] + t * error))
    assert (found.method, found.n_resamples) == ("calibrated", 8)


def test_exchanging_alternate_quarters_turns_between_into_within() -> None:
    """If the networks are equal, both are equally likely: B_q - W_q is symmetric about 0.

    The same holds for halves. So H, and the difference of numerator and denominator of c, are 0 on
    average: for every metric and any preprocessing.
    """
    division = Division.in_quarters([(0,), (1,), (2,), (3,)])
    labels = {"x": "xxxx", "y": "yyyy"}
    swapped = {"x": "yxyx", "y": "xyxy"}  # quarters 0 and 2 exchanged

    def pairs(names: dict[str, str], one: str, two: str, these: Any) -> list[Any]:
        return sorted(sorted([(names[one][i], i), (names[two][j], j)]) for i, j in these)

    both = [(a, b) for i, j in division.quarters for a, b in ((i, j), (j, i))]
    within = [pair for one in "xy" for pair in pairs(swapped, one, one, division.quarters)]
    assert pairs(labels, "x", "y", both) == sorted(within)
    assert set(division.between) == {*both, *division.halves, *((j, i) for i, j in division.halves)}
    for i, j in division.within:
        assert not set(division.sides[i]) & set(division.sides[j])


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
@pytest.mark.parametrize("name", ["covariances", "PCA", "energy"])
def test_exchanged_quarters_have_exchanged_distances_whatever_the_search(name: str) -> None:
    """A poor search must be as poor within networks as between them."""
    metric = METRICS[name].with_parameters(n_starts=1)
    x, y = sample(11, n=6)
    plan = plan_of(metric, x, y)
    plan = replace(plan, divisions=plan.divisions[:1])
    new_x, new_y = x.copy(), y.copy()
    for side in (plan.divisions[0].sides[0], plan.divisions[0].sides[2]):
        for g in side:
            for m in range(len(x)):
                here, there = (plan.groups[k][g][m] for k in (0, 1))
                new_x[m, here], new_y[m, there] = y[m, there], x[m, here]
    swapped = replace(plan, terms=make_terms([(new_x, new_y)], [metric]))
    one, two = (each.collect(np.array([each.solve(each.tasks[0])])) for each in (plan, swapped))
    quarters = (0, 0, 1, 0)
    assert one.between[quarters] == pytest.approx(two.within[quarters], rel=1e-9)
    assert one.within[quarters] == pytest.approx(two.between[quarters], rel=1e-9)
    assert one.between[quarters] != pytest.approx(one.within[quarters], rel=1e-3)


@pytest.mark.parametrize("n_groups", [8, 12, 16])
def test_quarters_are_as_equal_as_trials_allow(n_groups: int) -> None:
    divisions = divide_in_quarters(n_groups, np.random.default_rng(0))
    assert len({one.sides for one in divisions}) == len(divisions) == 6
    for L in range(2 * n_groups, 3 * n_groups):
        sizes = [len(part) for part in np.array_split(np.arange(L), n_groups)]
        for one in divisions:
            quarters = [sum(sizes[g] for g in side) for side in one.sides[:4]]
            assert sum(quarters) == L
            assert max(quarters) - min(quarters) <= 1
            for i, j in one.halves:
                assert sorted((*one.sides[i], *one.sides[j])) == list(range(n_groups))


def test_divisions_into_halves_do_not_repeat() -> None:
    for n_groups, count in ((4, 3), (6, 10), (8, 18)):
        divisions = divide_in_halves(n_groups, np.random.default_rng(0))
        assert len({frozenset(one.sides) for one in divisions}) == count


@pytest.mark.parametrize("name", ["orthogonal", "PCA"])
def test_carried_transforms_are_the_same_in_other_coordinates(name: str) -> None:
    """Between the same trials in other coordinates, a transform keeps its distance."""
    metric = METRICS[name]
    x, y = sample(2, n=4)
    old = [metric.prepare(one) for one in (x, y)]
    order = np.random.default_rng(0).permutation(16)
    new = [metric.prepare(one[:, order]) for one in (x, y)]
    core = metric.solve_pairs(old, [(0, 1)], keep=True).transforms[0]
    maps = [coordinate_map(a, b) for a, b in zip(old, new, strict=True)]
    start = carried(core, maps, np.array([0, 1]))
    known, moved = (
        metric.rate_starts(nets, [(0, 1)], [T[None]])[0][0]
        for nets, T in ((old, core), (new, start))
    )
    assert moved == pytest.approx(known, rel=1e-9)


def test_example_of_the_readme_is_covered() -> None:
    """A binomial with 12 draws at 90 % is below 8 in 1 of 2000 cases. Halves rarely cover it."""
    covered, halves = 0, 0
    for seed in range(12):
        rng = np.random.default_rng([5, seed])
        means = rng.normal(size=(20, 1, 6))
        x, y = (means + s * rng.normal(size=(20, 50, 6)) for s in (0.1, 1.0))
        truth = np.sqrt(6 * 0.9**2)
        low, high = rs.inference.distance(x, y, workers=1, random_state=seed).interval
        covered += low <= truth <= high
        if seed < 3:
            high = rs.inference.distance(x, y, method="halves", workers=1).interval[1]
            halves += truth <= high
    assert covered >= 8
    assert halves < 3


@pytest.mark.parametrize(("L", "enough"), [(6, 16), (10, 16), (15, 16)])
def test_few_trials_are_widened_and_said(L: int, enough: int) -> None:
    x, y = sample(4, L=L)
    with pytest.warns(
        rs.inference.FewTrialsWarning,
        match=f"There are {L} trials per condition for 3 dimensions.*About {enough} trials",
    ) as caught:
        found = rs.inference.distance(x, y, workers=1)
    assert [one.filename for one in caught] == [__file__]
    assert "widened for few trials" in found.method
    plan = plan_of(PLAIN, x, y)
    part = by_hand(plan, PLAIN, -1)
    H, R = part["B_h"] - part["W_h"], 2 * part["F"] - part["B_h"]
    low, high = (one * abs(one) for one in found.interval)
    assert low < min(H, R) <= max(H, R) < high
    assert found.estimate * abs(found.estimate) == pytest.approx((H + R) / 2, rel=1e-3)


def test_quarters_that_say_little_are_seen_by_their_distances() -> None:
    """With 4 trials in 12 dimensions, distances within do not halve when trials double."""
    x, y = sample(5, n=12)
    with pytest.warns(rs.inference.FewTrialsWarning, match="About 48 trials"):
        found = rs.inference.distance(x, y, PLAIN.with_parameters(n_starts=2), workers=1)
    assert "widened" in found.method
    many = rs.inference.distance(*sample(5, L=48, n=12), PLAIN.with_parameters(n_starts=2))
    assert many.method == "calibrated"


def test_bits_do_not_depend_on_the_number_of_workers() -> None:
    x, y = sample(6)
    one, two = (rs.inference.distance(x, y, workers=workers) for workers in (1, 3))
    assert (one.estimate, one.interval) == (two.estimate, two.interval)


def test_intervals_of_terms_are_those_of_each_by_itself() -> None:
    x, y = sample(7)
    z = sample(8)[0] + 1.0
    terms = make_terms([(x, y), (x, z)], [PLAIN, PLAIN])
    plan = plan_parts(terms, SETTINGS)
    found = Calibrated(plan.collect(np.array([plan.solve(task) for task in plan.tasks])))
    (joint,) = found.candidates(0.9)
    for k, one in enumerate(found.each(0.9, distance_interval)):
        error = np.sqrt(joint.covariance[k, k])
        assert one.value * abs(one.value) == pytest.approx(joint.squared[k])
        assert one.ends[1] ** 2 == pytest.approx(joint.squared[k] + joint.quantile * error)


def test_tiles_of_a_cohort_share_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distances within a network are computed once, whatever the tiles."""
    x, y = sample(9)
    z = sample(10)[0] + 1.0
    pairs = [(x, y), (x, z), (y, z)]

    def collected() -> Any:
        plan = plan_parts(make_terms(pairs, [PLAIN] * 3), SETTINGS)
        assert sorted(k for _, alone in plan.tiles for k in alone) == [0, 1, 2]
        return plan.collect(np.array([plan.solve(task) for task in plan.tasks]))

    whole = collected()
    monkeypatch.setattr("repshape.inference.nested.TILE", 1)
    tiled = collected()
    np.testing.assert_array_equal(whole.between, tiled.between)
    np.testing.assert_array_equal(whole.within, tiled.within)
    np.testing.assert_array_equal(whole.full, tiled.full)


def test_bad_settings_are_refused() -> None:
    x, y = sample(0)
    with pytest.raises(
        InputError, match=r"'n_groups' .* at least 8 for method='calibrated'\. Got 6"
    ):
        rs.inference.distance(x, y, n_groups=6)
    with pytest.raises(InputError, match=r"at least 6 trials in every condition\. Got 5"):
        rs.inference.distance(x[:, :5], y[:, :5])
