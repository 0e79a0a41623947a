"""pairwise and cross: order, bits, threads, and what they refuse."""

from __future__ import annotations

import inspect
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from threadpoolctl import threadpool_info

from repshape._native import PairResults
from repshape.datasets import toy_networks
from repshape.engine.cross import cross
from repshape.engine.run import pairwise
from repshape.errors import InputError, InputTypeError
from repshape.metrics.base import Prepared, ShapeMetric

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MeansOnly(Prepared):
    means: FloatArray


class UnalignedMeans(ShapeMetric[MeansOnly]):
    """A power of the Frobenius distance of the means, without any transform."""

    def __init__(self, power: float = 1.0, preprocess: Any = None, random_state: int = 7) -> None:
        self.power = power
        self.preprocess = preprocess
        self.random_state = random_state

    def _validate_parameters(self) -> None:
        if self.power <= 0:
            raise InputError("The 'power' parameter must be positive.")

    def _prepare(self, network: Any, phi: Any) -> MeansOnly:
        return MeansOnly(
            phi, network.n_conditions, network.n_neurons, network.conditions, network.means
        )

    def _align_prepared(self, x: MeansOnly, y: MeansOnly) -> Any:
        raise NotImplementedError

    def _evaluate(self, x: Any, y: Any, fixed: Any) -> float:
        raise NotImplementedError

    def solve_pairs(self, prepared: Any, pairs: npt.ArrayLike) -> PairResults:
        """Claim that all pairs converge but those whose first network is number 1."""
        index = np.asarray(pairs)
        found = np.array(
            [frobenius(prepared[i].means, prepared[j].means) ** self.power for i, j in index]
        )
        once = np.ones(len(index), dtype=np.int64)
        return PairResults(found, found / 2, index[:, 0] != 1, once, once)


def frobenius(x: FloatArray, y: FloatArray) -> float:
    return float(np.linalg.norm(x - y))


def networks(count: int = 30) -> list[FloatArray]:
    return list(np.random.default_rng(0).normal(size=(count, 4, 3)))


def test_shape_metric_and_callable_agree() -> None:
    xs = networks()
    fast, slow = pairwise(xs, UnalignedMeans()), pairwise(xs, frobenius)
    np.testing.assert_array_equal(fast.values, slow.values)
    expected = np.linalg.norm(np.array(xs)[:, None] - np.array(xs)[None], axis=(-2, -1))
    np.testing.assert_allclose(fast.values, expected, rtol=1e-14)


def test_bounds_and_convergence_of_each_pair_are_kept() -> None:
    D = pairwise(networks(5), UnalignedMeans())
    assert D.lower_bounds is not None
    assert D.converged is not None
    np.testing.assert_array_equal(D.lower_bounds, D.values / 2)
    assert D.n_unconverged == 3  # pairs (1, 2), (1, 3) and (1, 4)
    np.testing.assert_array_equal(D.converged, D.converged.T)
    assert D.converged.diagonal().all()


def test_callables_have_no_bounds() -> None:
    D = pairwise(networks(3), frobenius)
    assert D.lower_bounds is None
    assert D.converged is None


@pytest.mark.parametrize("metric", [UnalignedMeans(), frobenius])
@pytest.mark.parametrize("count", [2, 30, 60])
def test_same_bits_for_any_number_of_workers(metric: Any, count: int) -> None:
    xs = networks(count)
    alone = pairwise(xs, metric, workers=1)
    for workers in (2, 3, 8):
        np.testing.assert_array_equal(pairwise(xs, metric, workers=workers).values, alone.values)


def test_every_network_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[Any] = []
    original = UnalignedMeans.prepare

    def counting(self: UnalignedMeans, network: Any) -> MeansOnly:
        prepared.append(network)
        return original(self, network)

    monkeypatch.setattr(UnalignedMeans, "prepare", counting)
    pairwise(networks(8), UnalignedMeans())
    assert len(prepared) == 8


def test_each_pair_is_asked_for_once() -> None:
    asked: list[tuple[int, int]] = []

    def metric(x: int, y: int) -> float:
        asked.append((x, y))
        return float(y - x)

    pairwise(range(40), metric)
    assert asked == [(i, j) for i in range(40) for j in range(i + 1, 40)]


def test_threads_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def metric(x: int, y: int) -> float:
        meeting.wait()  # breaks, with an error, unless three calls are under way at once
        return 1.0

    assert pairwise(range(3), metric, workers=3).values.sum() == 6.0


def blas_threads() -> list[int]:
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_blas_is_pinned_inside_and_released_after() -> None:
    inside: list[int] = []

    def metric(x: int, y: int) -> float:
        inside.extend(blas_threads())
        return 1.0

    before = blas_threads()
    pairwise(range(2), metric)
    assert set(inside) == {1}
    assert blas_threads() == before


def test_one_network_has_no_pairs() -> None:
    np.testing.assert_array_equal(pairwise(networks(1), UnalignedMeans()).values, [[0.0]])


def test_labels_and_metadata_come_with_the_networks() -> None:
    toy = toy_networks(3, 2)
    D = pairwise(toy, UnalignedMeans())
    assert D.labels == toy.labels
    pd.testing.assert_frame_equal(D.metadata, toy.metadata)
    names = [f"n{k}" for k in range(6)]
    other = pairwise(toy, UnalignedMeans(), labels=names, metadata=pd.DataFrame({"k": range(6)}))
    assert other.labels == tuple(names)
    assert other.metadata["k"].tolist() == list(range(6))


def test_description_says_what_was_measured() -> None:
    description = pairwise(networks(2), UnalignedMeans(power=2.0)).description
    assert description["metric"] == "UnalignedMeans"
    assert description["parameters"] == {"power": 2.0, "preprocess": None, "random_state": 7}
    assert isinstance(description["repshape"], str)
    json.dumps(description)
    assert pairwise(networks(2), frobenius).description["metric"] == "test_pairwise.frobenius"


def test_any_iterable_of_networks() -> None:
    def stream() -> Iterator[FloatArray]:
        yield from networks(4)

    np.testing.assert_array_equal(
        pairwise(stream(), UnalignedMeans()).values,
        pairwise(np.array(networks(4)), UnalignedMeans()).values,
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_of_the_metric_ends_the_run(workers: int) -> None:
    def metric(x: int, y: int) -> float:
        if (x, y) == (2, 5):
            raise RuntimeError("pair (2, 5)")
        return 1.0

    with pytest.raises(RuntimeError, match=r"pair \(2, 5\)"):
        pairwise(range(30), metric, workers=workers)


def test_progress_never_touches_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    pairwise(range(4), lambda x, y: 1.0)
    assert capsys.readouterr() == ("", "")  # stderr is no terminal here
    pairwise(range(4), lambda x, y: 1.0, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "6/6" in captured.err


def test_distances_that_are_not_finite_name_the_pair() -> None:
    def metric(x: int, y: int) -> float:
        return np.nan if y == 2 else 1.0

    with pytest.raises(InputError, match="nan for networks 'a' and 'c'"):
        pairwise(range(3), metric, labels=["a", "b", "c"])


def test_conditions_that_differ_name_the_networks() -> None:
    bad = [np.zeros((4, 3)), np.ones((4, 3)), np.ones((5, 3))]
    with pytest.raises(InputError, match="Got 4 in '0' and 5 in '2'"):
        pairwise(bad, UnalignedMeans())


def cross_with_itself(xs: Any, metric: Any) -> FloatArray:
    return cross(xs, xs, metric)


@pytest.mark.parametrize("measure", [pairwise, cross_with_itself])
def test_bad_input_is_one_sentence(measure: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(InputError, match=r"at least one network\. Got none"):
        measure([], UnalignedMeans())
    with pytest.raises(InputTypeError, match=r"sequence of networks\. Got int"):
        measure(3, UnalignedMeans())
    with pytest.raises(InputTypeError, match="'metric' parameter must be a shape metric"):
        measure(networks(2), "energy")
    with pytest.raises(InputError, match="'power'"):
        measure(networks(2), UnalignedMeans(power=-1.0))


@pytest.mark.parametrize("workers", [0, -1])
def test_workers_must_be_positive(workers: int) -> None:
    with pytest.raises(InputError, match="'workers' parameter must be an integer of at least 1"):
        pairwise(networks(2), UnalignedMeans(), workers=workers)


def test_labels_are_checked_before_any_work() -> None:
    def never(x: Any, y: Any) -> float:
        raise AssertionError("called")

    with pytest.raises(InputError, match="a label for each of 3"):
        pairwise(range(3), never, labels=["a"])


@pytest.mark.parametrize("workers", [1, 4])
def test_cross_is_a_block_of_pairwise(workers: int) -> None:
    xs = networks(9)
    block = cross(xs[:4], xs[4:], UnalignedMeans(), workers=workers)
    assert block.shape == (4, 5)
    np.testing.assert_array_equal(block, pairwise(xs, UnalignedMeans()).values[:4, 4:])


def test_cross_names_the_networks_that_differ() -> None:
    with pytest.raises(InputError, match="Got 4 in 'rows/0' and 5 in 'columns/1'"):
        cross([np.zeros((4, 3))], [np.ones((4, 3)), np.ones((5, 3))], UnalignedMeans())


def test_the_documentation_has_every_parameter_once_in_three_groups() -> None:
    text = inspect.getdoc(pairwise) or ""
    groups = text.split("three groups.")[1].split("Parameters\n---")[0]
    listed = text.split("Parameters\n----------\n")[1].split("\n\nReturns")[0]
    entries = re.findall(r"^(\w+) :", listed, re.MULTILINE)
    assert re.findall(r"``(\w+)``", groups) == entries
    assert sorted(entries) == sorted(inspect.signature(pairwise).parameters)
