"""Which colour stands for which value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from repshape.errors import InputError
from repshape.plots.colouring import MOST_LEVELS, Colouring, grid_colours
from repshape.plots.style import PALETTE


def luminance(colours: np.ndarray) -> np.ndarray:
    return colours[:, :3] @ [0.2126, 0.7152, 0.0722]


def test_numbers_are_continuous_and_rise_in_lightness() -> None:
    found = Colouring.of([3.0, 1.0, 2.0, 5.0])
    assert (found.kind, found.limits) == ("continuous", (1.0, 5.0))
    assert np.argsort(luminance(found.colours)).tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("values", [["b", "a", "b"], [True, False, True]])
def test_all_else_is_categorical_and_sorted(values: list) -> None:
    found = Colouring.of(values)
    assert found.kind == "categorical"
    assert found.codes.tolist() == [1, 0, 1]
    assert found.level_colours == PALETTE[:2]
    assert found.markers[0] == found.markers[2] != found.markers[1]


def test_numbers_as_levels_sort_as_numbers() -> None:
    assert Colouring.of([10, 9, 10], kind="categorical").levels == ("9", "10")
    assert Colouring.of(["layer 10", "layer 2"]).levels == ("layer 2", "layer 10")


def test_missing_values_are_grey_crosses() -> None:
    for values in (["a", None, "b"], [1.0, np.nan, 2.0], [1, None, 2]):
        found = Colouring.of(values)
        assert found.n_missing == 1
        assert found.markers[1] == "x"
        assert np.ptp(found.colours[1, :3]) == 0  # grey
    assert Colouring.of(["a", None]).levels == ("a", "missing")


def test_numbers_with_gaps_stay_numbers() -> None:
    for values in ([1, None, 2], pd.array([1, None, 2], dtype="Int64"), [np.int32(1), np.nan]):
        assert Colouring.of(list(values)).kind == "continuous"
    with pytest.raises(InputError, match="must be numbers"):
        Colouring.of(["a", "b"], kind="continuous")


def test_rare_levels_share_one_entry() -> None:
    values = [f"level {k:03d}" for k in range(40)] + ["level 039"]
    found = Colouring.of(values)
    assert len(found.levels) == MOST_LEVELS + 1
    assert found.levels[-1] == f"{40 - MOST_LEVELS} others"
    assert "level 039" in found.levels  # the commonest keeps its own
    assert len({*zip(found.level_colours, found.level_markers, strict=True)}) == MOST_LEVELS + 1


def test_a_constant_and_nothing_known_have_colours() -> None:
    assert np.ptp(Colouring.of([2.0, 2.0]).colours, axis=0).max() == 0
    assert Colouring.of([np.nan, np.nan]).n_missing == 2


def test_kind_must_be_one_of_three() -> None:
    with pytest.raises(InputError, match="'kind' parameter of Colouring must be one of"):
        Colouring.of([1], kind="rainbow")


def test_grid_colours_interpolate_between_corners() -> None:
    corners = grid_colours([0, 1, 0, 1], [0, 0, 1, 1])
    middle = grid_colours([0, 1, 0.5], [0, 1, 0.5])[2]
    np.testing.assert_allclose(middle, corners.mean(axis=0))
