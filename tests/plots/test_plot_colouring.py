"""Which colour stands for which value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from repshape._colours import cyclic_table, period_of
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


class TestCyclic:
    def test_both_ends_of_a_period_have_the_same_colour(self) -> None:
        found = Colouring.of([0.0, 90.0, 180.0, np.nan], "orientation (deg)")
        assert (found.kind, found.limits, found.n_missing) == ("cyclic", (0.0, 180.0), 1)
        np.testing.assert_array_equal(found.colours[0], found.colours[2])
        assert np.abs(found.colours[0] - found.colours[1]).max() > 0.2

    def test_nearby_angles_have_similar_colours_across_zero(self) -> None:
        near = Colouring.of([359.0, 1.0, 180.0], "direction").colours
        assert np.abs(near[0] - near[1]).max() < 0.05 < np.abs(near[0] - near[2]).max()

    @pytest.mark.parametrize(
        ("name", "values", "period"),
        [
            ("orientation", [0, 30, 150], 180.0),
            ("Orientation", [0, 90, 350], 360.0),
            ("grating_direction", [0, 45, 315], 360.0),
            ("phase_rad", [0.0, 2.0, 6.0], 2 * np.pi),
            ("phase", [1, 2, 3], None),
            ("direction", [0, 90, 720], None),
            ("layer", [0, 90, 180], None),
            ("triangle", [0, 90, 180], None),
            ("angle", [np.nan, np.nan], None),
        ],
    )
    def test_period_is_read_from_the_name(
        self, name: str, values: list[float], period: float | None
    ) -> None:
        assert period_of(name, values) == period

    def test_other_numbers_stay_continuous(self) -> None:
        assert Colouring.of([0.0, 45.0, 135.0], "orientation", "continuous").kind == "continuous"
        assert Colouring.of([0.0, 45.0, 135.0], "depth", "cyclic").limits == (0.0, 360.0)

    def test_the_circle_of_colours_is_closed_and_seen_on_white_and_black(self) -> None:
        table = cyclic_table()
        steps = np.abs(np.diff(np.vstack([table, table[:1]]), axis=0)).max(axis=1)
        assert steps.max() < 0.05
        linear = np.where(table <= 0.04045, table / 12.92, ((table + 0.055) / 1.055) ** 2.4)
        luminance = linear @ [0.2126, 0.7152, 0.0722]
        assert (1.05 / (luminance + 0.05)).min() > 2.2
        assert ((luminance + 0.05) / 0.05).min() > 4.0
