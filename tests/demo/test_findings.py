"""Findings about the toy networks: they hold for these networks, and fail on contrary data."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest

import repshape as rs
from repshape.demo.findings import Check, Finding, grid_recovery, toy_findings
from repshape.errors import InputError

Matrices = Mapping[float, rs.DistanceMatrix]


@pytest.fixture(scope="module")
def matrices() -> Matrices:
    toy = rs.datasets.toy_networks(7, 5)
    metrics = {str(a): rs.GaussianShapeMetric(alpha=a) for a in (0.0, 1.0, 2.0)}
    return {float(name): D for name, D in rs.pairwise_many(toy, metrics).items()}


def like(D: rs.DistanceMatrix, values: np.ndarray) -> rs.DistanceMatrix:
    return rs.DistanceMatrix(values, labels=D.labels, metadata=D.metadata)


def test_the_three_findings_hold(matrices: Matrices) -> None:
    findings = toy_findings(matrices)
    assert [finding.name for finding in findings] == ["Figure 2 C", "Figure 2 D", "Figure 2 E"]
    assert all(finding.holds for finding in findings)


def test_a_plane_that_is_there_already_is_used(matrices: Matrices) -> None:
    planes = {a: rs.embed(D) for a, D in matrices.items()}
    given = toy_findings(matrices, planes)
    assert [f.summary() for f in given] == [f.summary() for f in toy_findings(matrices)]
    assert grid_recovery(matrices[1.0], planes[1.0]).embedding is planes[1.0]


@pytest.mark.parametrize(
    ("swapped", "verdicts"),
    [
        ({1.0: 2.0}, [False, True, True]),  # the joint metric sees no more than means
        ({1.0: 0.0}, [False, True, True]),  # ... or than covariances
        ({2.0: 1.0}, [True, False, True]),  # means would tell networks apart
        ({0.0: 1.0}, [True, True, False]),  # covariances would tell opposites apart
        ({0.0: 2.0}, [True, True, False]),  # covariances would be blind to everything
    ],
)
def test_findings_fail_on_contrary_data(
    matrices: Matrices, swapped: Mapping[float, float], verdicts: list[bool]
) -> None:
    changed = dict(matrices) | {to: matrices[source] for to, source in swapped.items()}
    assert [finding.holds for finding in toy_findings(changed)] == verdicts


def test_shuffled_networks_are_not_recovered(matrices: Matrices) -> None:
    D = matrices[1.0]
    order = np.random.default_rng(0).permutation(len(D))
    shuffled = like(D, D.values[np.ix_(order, order)])
    assert grid_recovery(shuffled).r2_correlation < 0.5
    assert grid_recovery(shuffled).unfolded < 0.8
    assert not toy_findings(dict(matrices) | {1.0: shuffled})[0].holds


def test_folds_are_counted_cell_by_cell(matrices: Matrices) -> None:
    D = matrices[1.0]
    plane = D.metadata.to_numpy(dtype=np.float64)

    def unfolded(points: np.ndarray) -> float:
        distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
        return grid_recovery(like(D, distances)).unfolded

    assert unfolded(plane) == 1.0
    assert unfolded(np.abs(plane)) == 0.5  # folded at correlation 0: three cells of six each side
    assert unfolded(plane * [0.0, 1.0]) == 0.0  # a line has no area
    assert unfolded(plane * 0.0) == 0.0


def test_order_of_networks_does_not_matter(matrices: Matrices) -> None:
    D = matrices[1.0]
    order = np.random.default_rng(1).permutation(len(D))
    moved = D[[D.labels[k] for k in order]]
    one, other = grid_recovery(D), grid_recovery(moved)
    assert other.unfolded == one.unfolded == 1.0
    assert other.largest_opposite == one.largest_opposite
    assert other.smallest_opposite == one.smallest_opposite
    assert other.r2_scale == pytest.approx(one.r2_scale, abs=1e-6)


def test_a_check_is_decided_by_its_number() -> None:
    assert Check("a", 1.0, "<=", 1.0).holds
    assert not Check("a", 1.0, "<", 1.0).holds
    for relation in ("<", "<=", ">", ">=", "=="):
        assert not Check("a", float("nan"), relation, 1.0).holds
    with pytest.raises(InputError, match="'relation' parameter of Check must be one of"):
        Check("a", 1.0, "~", 1.0)


def test_a_finding_needs_all_of_its_checks() -> None:
    good, bad = Check("a", 1.0, "<", 2.0), Check("b", 3.0, "<", 2.0)
    assert Finding("x", "So it is.", (good,)).holds
    finding = Finding("x", "So it is.", (good, bad), {"c": np.float64(4.0)})
    assert not finding.holds
    assert str(finding) == "x does not hold: So it is. (a 1 < 2; b 3, not < 2)"
    assert json.loads(json.dumps(finding.summary()))["context"] == {"c": 4.0}
    with pytest.raises(InputError, match="at least one check"):
        Finding("x", "So it is.", ())


def test_bad_input_is_named(matrices: Matrices) -> None:
    with pytest.raises(InputError, match=r"'distances' parameter .* none for 2"):
        toy_findings({0.0: matrices[0.0], 1.0: matrices[1.0]})
    D = matrices[1.0]
    with pytest.raises(InputError, match="column 'correlation'"):
        grid_recovery(rs.DistanceMatrix(D.values))
    part = D[D.labels[:-1]]
    with pytest.raises(InputError, match="form a grid"):
        grid_recovery(part)
    with pytest.raises(InputError, match="35 points in two dimensions"):
        grid_recovery(D, rs.embed(D, 3))
