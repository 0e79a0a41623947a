"""Values of networks are joined by name, in every function that takes them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import repshape as rs
from repshape._joins import in_order, match_rows
from repshape.errors import InputError, InputTypeError
from repshape.plots.embedding import EmbeddingPicture
from repshape.plots.matrix import MatrixPicture
from repshape.plots.parts import PartsPicture
from repshape.plots.responses import ResponsesPicture
from repshape.report.sources import read_inputs

NAMES = ("b", "a", "d", "c", "f", "e")
AREAS = dict(zip(NAMES, ["V1", "V1", "V1", "V4", "V4", "V4"], strict=True))
DEPTHS = {name: float(k) for k, name in enumerate(NAMES)}
TABLE = pd.DataFrame({"area": AREAS, "depth": DEPTHS})
SORTED = TABLE.sort_index()  # a, b, c, ...: another order than that of the networks
METRIC = rs.GaussianShapeMetric()


def networks() -> dict[str, rs.Gaussians]:
    rng = np.random.default_rng(0)
    ones = np.ones((3, 2))
    return {
        name: rs.Gaussians(rng.normal(size=(3, 2)), ones * (1 + k)) for k, name in enumerate(NAMES)
    }


def matrix() -> rs.DistanceMatrix:
    places = np.array([0.0, 0.3, 0.1, 5.0, 5.2, 5.5])
    return rs.DistanceMatrix(np.abs(np.subtract.outer(places, places)), NAMES)


# Functions that return the area of each network, as they understood a table.
TABLES: dict[str, Callable[[Any], list[Any]]] = {
    "pairwise": lambda t: _areas(rs.pairwise(networks(), METRIC, metadata=t, progress=False)),
    "pairwise, labels": lambda t: _areas(
        rs.pairwise(list(networks().values()), METRIC, labels=NAMES, metadata=t, progress=False)
    ),
    "pairwise_many": lambda t: _areas(
        rs.pairwise_many(networks(), {"x": METRIC}, metadata=t, progress=False)["x"]
    ),
    "Cohort.from_networks": lambda t: _areas(rs.Cohort.from_networks(networks(), metadata=t)),
    "DistanceMatrix": lambda t: _areas(rs.DistanceMatrix(np.zeros((6, 6)), NAMES, t)),
    "DistanceMatrix.replace": lambda t: _areas(matrix().replace(metadata=t)),
    "write_report": lambda t: read_inputs(matrix(), metadata=t).metadata["area"].tolist(),
}


def _areas(found: Any) -> list[Any]:
    areas: list[Any] = found.metadata["area"].tolist()
    return areas


@pytest.mark.parametrize("read", TABLES.values(), ids=TABLES)
class TestTables:
    def test_an_index_of_names_in_another_order_is_matched(self, read: Any) -> None:
        assert read(SORTED) == list(AREAS.values())

    def test_the_default_index_goes_by_position(self, read: Any) -> None:
        assert read(TABLE.reset_index(drop=True)) == list(AREAS.values())

    def test_a_missing_name_is_refused_and_named(self, read: Any) -> None:
        with pytest.raises(InputError, match="has no row for network 'd'"):
            read(SORTED.rename({"d": "x"}))

    @pytest.mark.parametrize("order", [[2, 0, 1, 3, 4, 5], [10, 11, 12, 13, 14, 15]])
    def test_other_numbers_are_refused(self, read: Any, order: list[int]) -> None:
        with pytest.raises(InputError, match=r"indexed by numbers .* sorting or filtering"):
            read(TABLE.set_axis(order, axis=0))

    def test_a_mix_is_refused(self, read: Any) -> None:
        with pytest.raises(InputError, match="has no row for networks 'f', 'e'"):
            read(TABLE.set_axis(["b", "a", "d", "c", 4, 5], axis=0))


def test_more_about_tables() -> None:
    read = TABLES["DistanceMatrix"]
    with pytest.raises(InputError, match="has 'x', not among the networks"):
        read(pd.concat([SORTED, SORTED.iloc[:1].rename({"a": "x"})]))
    with pytest.raises(InputError, match="has 2 rows for network 'a'"):
        read(pd.concat([SORTED, SORTED.iloc[:1]]))
    with pytest.raises(InputError, match=r"a row for each of 6 networks\. Got 5"):
        read(TABLE.reset_index(drop=True).iloc[:5])
    assert read(SORTED.to_dict("index")) == list(AREAS.values())  # rows by name
    assert read({"area": list(AREAS.values())}) == list(AREAS.values())  # columns
    with_names = SORTED.rename_axis("network").reset_index()
    assert read(with_names) == list(AREAS.values())
    with pytest.raises(InputTypeError, match="must be a table with a row for each network"):
        read("area")


def test_networks_without_names_take_tables_by_position_only() -> None:
    given = list(networks().values())
    table = TABLE.reset_index(drop=True)
    assert _areas(rs.Cohort.from_networks(given, metadata=table)) == list(AREAS.values())
    for wrong in (table.sort_values("area", ascending=False), TABLE):
        with pytest.raises(InputError, match="the networks have no names"):
            rs.pairwise(given, METRIC, metadata=wrong, progress=False)
        with pytest.raises(InputError, match="the networks have no names"):
            rs.Cohort.from_networks(given, metadata=wrong)
        with pytest.raises(InputError, match="the networks have no names"):
            rs.inference.groups(np.zeros((6, 6)) + 1 - np.eye(6), wrong["area"])


def test_numbers_as_names_that_contradict_positions_are_refused() -> None:
    D = rs.DistanceMatrix(1 - np.eye(3), ["2", "0", "1"])
    with pytest.raises(InputError, match="named by the same numbers in another order"):
        rs.inference.groups(D, pd.Series(["x", "x", "y"]))
    years = rs.DistanceMatrix(np.zeros((2, 2)), ["2021", "2020"])
    assert in_order(pd.Series([1, 2], index=[2020, 2021]), years.labels, 2, "x").tolist() == [2, 1]


def test_renaming_keeps_the_rows_and_files_keep_numbers_as_names(tmp_path: Path) -> None:
    D = matrix().replace(metadata=SORTED).replace(labels=list("uvwxyz"))
    assert _areas(D) == list(AREAS.values())
    cohort = rs.Cohort.from_networks(networks(), metadata=SORTED)
    assert _areas(rs.pairwise(cohort, METRIC, labels=list("uvwxyz"), progress=False)) == _areas(D)
    numbered = rs.DistanceMatrix(np.zeros((2, 2)), ["1", "0"], {"1": {"k": "x"}, "0": {"k": "y"}})
    numbered.save(tmp_path / "d.npz")
    assert rs.DistanceMatrix.load(tmp_path / "d.npz").metadata["k"].to_dict() == {
        "1": "x",
        "0": "y",
    }


# Functions of a value for each network, with a result that depends on the order of the values.
VALUES: dict[str, Callable[[Any], Any]] = {
    "groups": lambda v: rs.inference.groups(matrix(), v).statistic,
    "groups, blocks": lambda v: rs.inference.groups(matrix(), list("xyyxxy"), v).dispersion_p_value,
    "paired": lambda v: (
        rs.inference.paired(matrix(), matrix().replace(values=1 - np.eye(6)), v).interval
    ),
    "confounds": lambda v: (
        rs.inference.confounds(networks(), METRIC, labels=v, progress=False).gain_share_within
    ),
    "knn_classify": lambda v: rs.analysis.knn_classify(
        matrix(), v, n_neighbors=[1], n_folds=2, test_size=0.5, n_permutations=0
    ).scores.tolist(),
    "knn_classify, groups": lambda v: (
        rs.analysis.knn_classify(
            matrix(), list("xyxxyy"), n_neighbors=[1], n_folds=2, groups=v, n_permutations=19
        ).null_mean
    ),
    "knn_regress": lambda v: rs.analysis.knn_regress(
        matrix(), v, n_neighbors=[1], n_folds=2, test_size=0.5, n_permutations=0
    ).scores.tolist(),
    "predict": lambda v: (
        rs.analysis.neighbor_graph(networks(), METRIC, 2, progress=False).predict(v).tolist()
    ),
    "trajectory": lambda v: rs.analysis.trajectory(networks(), v, n_permutations=0).r_squared,
    "trajectory, blocks": lambda v: (
        rs.analysis.trajectory(networks(), [1, 5, 3, 4, 2, 6], blocks=v, n_permutations=49).p_value
    ),
    "frechet_mean": lambda v: rs.analysis.frechet_mean(networks(), weights=v).weights.tolist(),
    "plot_matrix": lambda v: _bars(MatrixPicture.of(matrix(), groups=v)),
    "plot_embedding": lambda v: EmbeddingPicture.of(
        rs.embed(matrix()), colour=v
    ).colouring.colours.tolist(),
    "plot_embedding, areas": lambda v: EmbeddingPicture.of(
        rs.embed(matrix()), areas=v
    ).areas.tolist(),
    "plot_parts": lambda v: PartsPicture.of(matrix(), matrix(), groups=v).colouring.codes.tolist(),
}
NUMERIC = ("knn_regress", "trajectory", "frechet_mean", "plot_embedding, areas")
BLOCKS = dict(zip(NAMES, "xyxzyz", strict=True))
CONTENTS = dict.fromkeys(VALUES, AREAS) | dict.fromkeys(NUMERIC, DEPTHS)
CONTENTS |= dict.fromkeys(
    ("groups, blocks", "paired", "trajectory, blocks", "knn_classify, groups"), BLOCKS
)


def _bars(picture: MatrixPicture) -> list[int]:
    assert picture.groups is not None
    codes: list[int] = picture.groups.codes.tolist()
    return codes


@pytest.mark.parametrize("function", VALUES)
class TestValues:
    def test_names_are_matched_in_any_order(self, function: str) -> None:
        read, values = VALUES[function], CONTENTS[function]
        expected = read(list(values.values()))
        column = pd.Series(values).sort_index()
        assert read(column.tolist()) != expected  # the order matters
        assert read(column) == expected
        assert read(column.to_dict()) == expected
        assert read(xr.DataArray(column.rename_axis("network"))) == expected
        assert read(column.to_frame()) == expected

    def test_the_default_index_goes_by_position(self, function: str) -> None:
        read, values = VALUES[function], list(CONTENTS[function].values())
        assert read(pd.Series(values)) == read(values)

    def test_what_cannot_be_matched_is_refused(self, function: str) -> None:
        read, column = VALUES[function], pd.Series(CONTENTS[function])
        with pytest.raises(InputError, match=r"indexed by numbers .* sorting or filtering"):
            read(column.set_axis([3, 1, 2, 0, 4, 5]))
        with pytest.raises(InputError, match=r"no entry for network 'f'\. It has 'x', not among"):
            read(column.rename({"f": "x"}))
        with pytest.raises(InputError, match="no entry for network 'f'"):
            read(column.drop("f").to_dict())
        with pytest.raises(InputError, match=r"an entry for each of 6 networks\. Got 5"):
            read(column.tolist()[:5])


def test_values_that_are_no_sequence_are_refused() -> None:
    for wrong, words in (({"a", "b"}, "Got a set"), (7, "Got 7"), (TABLE, "table with 2 columns")):
        with pytest.raises(InputTypeError, match=words):
            rs.inference.groups(matrix(), wrong)  # type: ignore[arg-type]


def test_rows_of_colours_are_matched_by_name() -> None:
    shades = pd.DataFrame(np.linspace(0, 1, 18).reshape(6, 3), index=NAMES)
    found = EmbeddingPicture.of(rs.embed(matrix()), colour=shades.sort_index())
    np.testing.assert_allclose(found.colouring.colours[:, :3], shades)


def test_conditions_are_matched_by_name() -> None:
    network = rs.Gaussians(np.eye(3), np.ones((3, 3)), conditions=["x", "z", "y"])
    expected = ResponsesPicture.of(network, colour=[1.0, 2.0, 3.0]).colouring.colours
    found = ResponsesPicture.of(network, colour={"z": 2.0, "y": 3.0, "x": 1.0}).colouring.colours
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(InputError, match="no entry for condition 'y'"):
        ResponsesPicture.of(network, colour={"z": 2.0, "x": 1.0})


def test_a_matrix_is_put_in_the_order_of_its_embedding_and_cohort() -> None:
    D = rs.pairwise(networks(), METRIC, metadata=SORTED, progress=False)
    plane, turned = rs.embed(D), D[sorted(NAMES)]
    expected = EmbeddingPicture.of(plane, D, colour="area").colouring.codes.tolist()
    assert EmbeddingPicture.of(plane, turned, colour="area").colouring.codes.tolist() == expected
    assert rs.analysis.distortion(turned, plane).median == rs.analysis.distortion(D, plane).median
    one, other = (rs.inference.confounds(networks(), METRIC, D=d) for d in (D, turned))
    np.testing.assert_array_equal(one.angles.values, other.angles.values)
    with pytest.raises(InputError, match=r"'D' parameter .* it has no 'f'"):
        EmbeddingPicture.of(plane, D.replace(labels=["b", "a", "d", "c", "x", "e"]))


def test_groups_of_confounds_are_checked_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("repshape.inference.confounds")
    monkeypatch.setattr(module, "pairwise", None)  # calling it would raise
    with pytest.raises(InputError, match="no entry for network 'f'"):
        rs.inference.confounds(networks(), METRIC, labels=pd.Series(AREAS).drop("f"))


def test_keys_are_names_also_of_networks_without_names() -> None:
    assert in_order({1: "b", 0: "a"}, None, 2, "x") == ["a", "b"]
    assert match_rows([1, 0, 5], ["0", "1"], 2, "x", keys=True, others=True) == [1, 0]
