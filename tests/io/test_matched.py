"""Networks of the same size: random parts, the same for the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import repshape as rs
from repshape.errors import InputError, InputTypeError


def recordings() -> dict[str, rs.Trials]:
    rng = np.random.default_rng(0)
    counts = {"a": (9, [10, 8]), "b": (21, [7, 12]), "c": (12, [9, 9])}
    return {
        name: rs.Trials(
            [rng.normal(size=(L, n)) for L in trials], neurons=[f"u{k}" for k in range(n)]
        )
        for name, (n, trials) in counts.items()
    }


def test_drawn_neurons_and_trials_are_those_of_the_network() -> None:
    x = recordings()["b"]
    part = x.draw(neurons=5, trials=[3, 4], random_state=2)
    assert part.n_neurons == 5
    assert part.n_trials.tolist() == [3, 4]
    assert part.neurons is not None
    columns = [int(name[1:]) for name in part.neurons]
    for m in range(2):
        known = {tuple(row) for row in x.responses[m][:, columns]}
        drawn = [tuple(row) for row in part.responses[m]]
        assert set(drawn) <= known
        assert len(set(drawn)) == len(drawn)


def test_the_same_seed_draws_the_same_part_and_another_seed_another_one() -> None:
    x = recordings()["b"]
    first, again, other = (x.draw(neurons=6, random_state=seed).neurons for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_matched_networks_have_the_sizes_of_the_smallest_and_keep_their_metadata(
    tmp_path: Path,
) -> None:
    cohort = rs.Cohort.create(tmp_path / "cohort.zarr")
    for name, network in recordings().items():
        cohort.add(name, network, area=f"area of {name}")
    matched = rs.draw_matched(cohort, ("neurons", "trials"))
    assert [one.n_neurons for one in matched] == [9, 9, 9]
    assert [one.n_trials.tolist() for one in matched] == [[7, 8]] * 3
    assert matched.metadata["area"].tolist() == ["area of a", "area of b", "area of c"]
    assert [one.n_neurons for one in cohort] == [9, 21, 12]


def test_draws_of_networks_are_independent() -> None:
    x = recordings()["b"]
    matched = rs.Cohort.from_networks({"x": x, "copy": x.in_unit(2.0)}).draw(neurons=6)
    assert matched["x"].neurons != matched["copy"].neurons


def test_neurons_of_a_network_with_positions_stay_together() -> None:
    rng = np.random.default_rng(1)
    x = rs.PositionNetwork(rng.normal(size=(2, 5, 4, 6)), neurons=list("abcdef"))
    part = x.draw(neurons=2)
    assert part.neurons is not None
    kept = ["abcdef".index(name) for name in part.neurons]
    np.testing.assert_array_equal(part.means, x.means[:, :, kept])


def test_neurons_of_moments_keep_their_covariances() -> None:
    rng = np.random.default_rng(2)
    A = rng.normal(size=(3, 5, 5))
    x = rs.Gaussians(rng.normal(size=(3, 5)), A @ A.transpose(0, 2, 1), neurons=list("abcde"))
    part = x.draw(neurons=3)
    assert part.neurons is not None
    kept = ["abcde".index(name) for name in part.neurons]
    np.testing.assert_array_equal(part.covariances, x.covariances[:, kept][:, :, kept])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Say what to draw"),
        ({"neurons": 10}, "In network 'a': The network has 9 neurons, so 10 cannot be drawn"),
        ({"trials": 8}, "In network 'b': There are 7 trials at condition 0, so 8 cannot be drawn"),
        ({"trials": [1, 1, 1]}, "one for each condition. Got 3 for 2 conditions"),
        ({"neurons": 0}, "must be an integer of at least 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(options: dict[str, int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        rs.Cohort.from_networks(recordings()).draw(**options)


def test_trials_cannot_be_drawn_from_moments() -> None:
    with pytest.raises(InputTypeError, match="must have trials"):
        rs.Gaussians.points(np.eye(3)).draw(trials=2)
    with pytest.raises(InputError, match="one of 'neurons', 'trials'"):
        rs.draw_matched(recordings(), "units")
