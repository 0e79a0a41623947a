"""The numbers that decide the claims: planted structure is found, and formulas have plain twins."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiments.common.samples import Sample, fold_interval
from experiments.common.verdicts import Verdict
from experiments.patch_gaussian import statistics as st
from experiments.patch_gaussian.analysis import nearest_table
from experiments.patch_gaussian.claims import ALPHAS, CLAIMS
from experiments.patch_gaussian.decide import (
    NO_MANIPULATION,
    TEST,
    TOO_MANY_FAILED,
    Evidence,
    decide_all,
)
from experiments.patch_gaussian.folds import (
    agreement,
    disattenuated,
    matrix_name,
    neighbours,
    patched,
    seed_index,
    shuffled_within,
    vote,
)
from experiments.patch_gaussian.wide import compare_widths
from scipy.stats import spearmanr
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier

from repshape.errors import InputError

TAUS = (0.01, 0.1, 0.5)
CORNERS = ["none", "W2-sigma0.1", "W2-sigma1", "W16-sigma0.1", "W16-sigma1"]
WIDTHS, SIGMAS, SEEDS = (2.0, 4.0, 8.0, 16.0), (0.1, 0.3, 1.0), 3


def frame() -> pd.DataFrame:
    cells = [(np.nan, np.nan), *((w, s) for w in WIDTHS for s in SIGMAS)]
    rows = [
        {
            "cell": "none" if np.isnan(width) else f"W{width:g}-sigma{sigma:g}",
            "width": width,
            "sigma": sigma,
            "seed": seed,
            "failed": False,
        }
        for seed in range(SEEDS)
        for width, sigma in cells
    ]
    names = [f"{row['cell']}-seed{row['seed']}" for row in rows]
    return pd.DataFrame(rows, index=names)


def planted(noise: float, seed: int = 0, *, unrelated: bool = False) -> Sample:
    """Networks on the grid of W and sigma; at alpha 2, if asked for, in random places instead."""
    rng = np.random.default_rng(seed)
    metadata = frame()
    grid = np.stack(
        [np.log2(metadata["width"].fillna(1.0)), 2 * np.log10(metadata["sigma"].fillna(0.03))], 1
    )
    own = grid + noise * rng.normal(size=grid.shape)
    other = rng.normal(size=(len(WIDTHS) * len(SIGMAS) + 1, 2))[np.arange(len(own)) % 13]
    other = 3 * other + noise * rng.normal(size=own.shape)
    distances = {}
    for tau in TAUS:
        for alpha in ALPHAS:
            points = other if unrelated and alpha == 2 else own
            for half in (0, 1, 2):
                moved = points + 0.02 * rng.normal(size=points.shape)
                D = np.linalg.norm(moved[:, None] - moved[None], axis=2)
                distances[matrix_name(alpha, tau, half=half)] = D
    width = metadata["width"].fillna(1.0)
    accuracy, spread = 0.1 * np.log2(width), 1 / width
    for noise_name in ("clean", *(f"{tau:g}" for tau in TAUS), "0.3"):
        metadata[f"accuracy-{noise_name}"] = accuracy
    return Sample(distances, metadata.assign(**{"spread-0.1": spread}))


@pytest.fixture(scope="module")
def clear() -> Sample:
    return planted(0.05, unrelated=True)


# Twins


def test_agreement_divides_by_the_reliability_of_both() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4000)
    A1, A2, B1, B2 = (truth + rng.normal(size=truth.shape) for _ in range(4))
    assert spearmanr(A1, B1).statistic < 0.55
    assert disattenuated(A1, A2, B1, B2) == pytest.approx(1, abs=0.06)
    assert np.isnan(disattenuated(A1, rng.normal(size=4000), B1, B2))


def test_agreement_without_halves_is_the_rank_correlation(clear: Sample) -> None:
    whole = {name: D for name, D in clear.distances.items() if "half" not in name}
    found = agreement(Sample(whole, clear.metadata), (0.0, 0.1), (2.0, 0.1))
    index = seed_index(clear)
    assert list(found) == [(0, 1), (0, 2), (1, 2)]
    A, B = (whole[matrix_name(a, 0.1)][np.ix_(index[0], index[2])].ravel() for a in (0.0, 2.0))
    assert found[0, 2] == pytest.approx(spearmanr(A, B).statistic)


def test_neighbours_vote_as_in_scikit_learn() -> None:
    sample = planted(0.8)
    part = patched(sample)
    name, seed = matrix_name(1.0, 0.1), part.column("seed")
    labels, D = part.column("width"), part.distances[name]
    predicted = vote(labels[neighbours(D, seed)])
    for one in range(SEEDS):
        test, train = seed == one, seed != one
        model = KNeighborsClassifier(3, metric="precomputed").fit(
            D[np.ix_(train, train)], labels[train]
        )
        votes = model.predict_proba(D[np.ix_(test, train)])
        clear_cut = votes.max(axis=1) > 0.5  # ties are decided in another way
        expected = model.classes_[votes.argmax(axis=1)]
        assert clear_cut.sum() > 3
        np.testing.assert_array_equal(predicted[test][clear_cut], expected[clear_cut])


def test_shares_of_farther_networks_have_a_plain_twin(clear: Sample) -> None:
    found = st.nearest_cells(clear, 0.0, 0).folds
    index = seed_index(clear)
    shares = []
    for tau in TAUS:
        D = clear.distances[matrix_name(0.0, tau)]
        for a, b in ((0, 1), (1, 0)):
            for place, i in enumerate(index[a]):
                own = D[i, index[b][place]]
                others = [D[i, j] for k, j in enumerate(index[b]) if k != place]
                shares.append(np.mean([other > own for other in others]))
    assert found[0, 1] == pytest.approx(np.mean(shares))


def test_the_nearest_of_all_networks_shares_the_cell_or_the_seed() -> None:
    """Two cells and three seeds; first networks of a cell are close, then those of a seed."""
    frame = pd.DataFrame({"cell": ["a", "b"] * 3, "seed": np.repeat([0, 1, 2], 2)})
    cell, seed = (frame[name].to_numpy()[:, None] for name in ("cell", "seed"))
    by_cell, by_seed = 1.0 + (cell != cell.T), 1.0 + (seed != seed.T)
    for D, expected in ((by_cell, 1.0), (by_seed, -1.0)):
        distances = {matrix_name(0.0, tau): D - np.diag(np.diag(D)) for tau in (0.01, 0.05)}
        found = st.cell_or_seed(Sample(distances, frame), 0.0)
        assert found.folds == {(0,): expected, (1,): expected, (2,): expected}
    mixed = {matrix_name(0.0, 0.01): by_cell, matrix_name(0.0, 0.05): by_seed}
    assert st.cell_or_seed(Sample(mixed, frame), 0.0).folds[0,] == 0.0
    assert st.cell_or_seed(Sample({}, frame), 0.0).folds == {}


def test_grid_is_the_r_squared_of_a_regression(clear: Sample) -> None:
    rng = np.random.default_rng(1)
    points, values = rng.normal(size=(12, 2)), rng.normal(size=12)
    D = np.linalg.norm(points[:, None] - points[None], axis=2)
    expected = LinearRegression().fit(points, values).score(points, values)
    assert st.explained(values, st.plane_basis(D)) == pytest.approx(expected, rel=1e-3)
    assert np.isnan(st.explained(np.ones(12), st.plane_basis(D)))


def test_p_values_of_few_networks_are_those_of_all_permutations() -> None:
    values = np.array([1.0, 2.0, 4.0])
    weights = np.array([0.0, 1.0, 3.0])
    exact = np.mean([weights @ values[list(p)] >= weights @ values for p in permutations(range(3))])
    found = st.permutation_p_value(
        float(weights @ values), lambda rng: float(weights @ rng.permutation(values)), 5999
    )
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact / 6000))


def test_labels_are_shuffled_within_groups() -> None:
    groups = np.repeat([0, 1], 20)
    order = shuffled_within(groups, np.random.default_rng(0))
    assert sorted(order) == list(range(40))
    np.testing.assert_array_equal(groups[order], groups)
    assert (order != np.arange(40)).sum() > 20


# Intervals


def test_intervals_of_pairs_of_seeds_cover_at_least_as_often_as_they_say() -> None:
    """Folds are sums of an effect of either seed and of noise."""
    rng = np.random.default_rng(0)
    for scales in ((1.0, 0.0), (1.0, 1.0), (0.0, 1.0)):
        covered = 0
        for _ in range(500):
            effects, noise = scales[0] * rng.normal(size=3), scales[1] * rng.normal(size=3)
            pairs = ((0, 1), (0, 2), (1, 2))
            folds = {p: effects[p[0]] + effects[p[1]] + noise[k] for k, p in enumerate(pairs)}
            found = fold_interval(folds, 0.95)
            covered += found.lower <= 0 <= found.upper
        assert covered / 500 > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 500)


def test_two_seeds_have_no_interval() -> None:
    found = fold_interval({(0,): 1.0, (1,): 2.0}, 0.95)
    assert found.estimate == 1.5
    assert np.isnan(found.lower)
    assert np.isnan(fold_interval({}, 0.95).estimate)


# Claims


def verdicts(
    sample: Sample,
    manipulation: Verdict = Verdict.HOLDS,
    scale: str = "small",
    permutations: int = 199,
) -> dict[str, Any]:
    claims = decide_all(Evidence(sample, 16, permutations), manipulation, scale)
    assert [claim["name"] for claim in claims] == [claim.name for claim in CLAIMS]
    return {claim["name"]: claim for claim in claims}


def test_planted_structure_decides_the_claims(clear: Sample) -> None:
    found = verdicts(clear)
    holds = {name for name, claim in found.items() if claim["verdict"] == Verdict.HOLDS}
    assert {"alpha", "grid", "seeds", "spread"} <= holds
    # At alpha 1 networks are where they are at alpha 0, and at every tau where they are at others.
    assert found["alpha 1"]["verdict"] == Verdict.FAILS
    assert found["tau"]["verdict"] == Verdict.FAILS


def test_networks_without_structure_hold_no_claim_of_structure() -> None:
    rng = np.random.default_rng(3)
    sample = planted(0.05)
    places = rng.permutation(len(sample))
    shuffled = {name: D[np.ix_(places, places)] for name, D in sample.distances.items()}
    found = verdicts(Sample(shuffled, sample.metadata))
    for name in ("position", "grid", "seeds"):
        assert found[name]["verdict"] != Verdict.HOLDS
        assert min(c["p_value"] for c in found[name]["criteria"]) > 0.01
    assert all(abs(c["estimate"] - 0.5) < 0.1 for c in found["seeds"]["criteria"])


def test_nothing_is_decided_where_the_networks_do_not_allow_it(clear: Sample) -> None:
    failed = Sample(clear.distances, clear.metadata.assign(failed=np.arange(39) % 5 == 0))
    for claims, note in (
        (verdicts(clear, Verdict.OPEN, permutations=9), NO_MANIPULATION),
        (verdicts(failed, permutations=9), TOO_MANY_FAILED),
        (verdicts(clear, scale="tiny", permutations=9), TEST),
    ):
        assert {claim["verdict"] for claim in claims.values()} == {Verdict.OPEN}
        assert {claim["note"] for claim in claims.values()} == {note}


# Widths


def test_equal_networks_of_two_widths_have_equal_conclusions(clear: Sample) -> None:
    corners = np.isin(clear.column("cell"), CORNERS)
    wide = clear.keep(corners & (clear.column("seed") < 2))
    found = compare_widths(clear, wide, 16)
    assert len(found["networks"]) == 10
    assert all(row["same"] for row in found["conclusions"] if row["same"] is not None)
    assert all(value == 1 for row in found["cells"].values() for value in row.values())
    with pytest.raises(InputError, match="At least 4 networks of both widths"):
        compare_widths(clear, wide.keep(np.arange(10) < 2), 16)


def test_what_the_nearest_network_shares_is_counted() -> None:
    """Two cells and two seeds on a line: nearest are networks of the same seed, but for one."""
    frame = pd.DataFrame({"seed": [0, 0, 1, 1], "cell": ["a", "b", "a", "b"]})
    points = np.array([0.0, 1.0, 5.0, 6.5])
    near = np.abs(points[:, None] - points)
    points[3] = 2.2
    far = np.abs(points[:, None] - points)
    matrices = {matrix_name(alpha, 0.1): near for alpha in (0.0, 1.0)}
    found = nearest_table(Sample(matrices | {matrix_name(2.0, 0.1): far}, frame))["0.1"]
    chance = {"cell, chance": pytest.approx(1 / 3), "seed, chance": pytest.approx(1 / 3)}
    assert found["0"] == {"cell": 0.0, "seed": 1.0} | chance
    assert found["2"] == {"cell": 0.25, "seed": 0.75} | chance
