"""The registry: complete identities, JSON round trips, wording and errors."""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape import baselines
from repshape._version import package_version
from repshape.errors import InputError, InputTypeError
from repshape.metrics.base import ShapeMetric
from repshape.metrics.identity import (
    caption,
    check_identity,
    describe,
    import_name,
    restore,
    short_title,
)
from repshape.metrics.registry import METRICS, check_callable, make_metric, metric_class
from repshape.moments import CovarianceEstimator

partial = functools.partial


class Scorer:
    """An object with a method, which is itself callable."""

    def score(self, x: Any, y: Any) -> float:
        return 0.0

    def __call__(self, x: Any, y: Any) -> float:
        return 0.0


def identity(metric: Any) -> str:
    """The identity as a store writes it."""
    return json.dumps(describe(metric), sort_keys=True)


# Different metrics have different identities


DIFFERENT: dict[str, tuple[Any, Any]] = {
    "functions": (baselines.cka, baselines.rsa),
    "a function and its partial": (baselines.cka, partial(baselines.cka, angular=True)),
    "partials of two functions": (
        partial(baselines.cka, angular=True),
        partial(baselines.rsa, angular=True),
    ),
    "partials with other arguments": (
        partial(baselines.riemannian, shrinkage=0.1),
        partial(baselines.riemannian, shrinkage=0.2),
    ),
    "nested partials": (
        partial(partial(baselines.rsa, squared=True), angular=True),
        partial(partial(baselines.rsa, squared=False), angular=True),
    ),
    "positional and keyword arguments": (partial(np.hypot, 1.0), partial(np.hypot, x1=1.0)),
    "functions as arguments": (partial(max, key=np.min), partial(max, key=np.max)),
    "partials as arguments": (
        partial(max, key=partial(np.min, axis=0)),
        partial(max, key=partial(np.min, axis=1)),
    ),
    "a function and its name": (partial(max, key=np.abs), partial(max, key="numpy.absolute")),
    "lists of arguments": (partial(max, [1, 2]), partial(max, [2, 1])),
    "mappings as arguments": (partial(max, {"a": 1}), partial(max, {"b": 1})),
    "a partial of a metric": (
        partial(rs.GaussianShapeMetric(0.0)),
        partial(rs.GaussianShapeMetric(1.0)),
    ),
    "weights": (
        rs.GaussianShapeMetric(weights=np.array([1.0, 2.0])),
        rs.GaussianShapeMetric(weights=np.array([2.0, 1.0])),
    ),
    "preprocessing": (
        rs.EnergyShapeMetric(preprocess=rs.Preprocess(n_components=2)),
        rs.EnergyShapeMetric(preprocess=rs.Preprocess(n_components=3)),
    ),
    "no preprocessing": (rs.EnergyShapeMetric(), rs.EnergyShapeMetric(preprocess=rs.Preprocess())),
    "estimators": (
        rs.GaussianShapeMetric(covariance=CovarianceEstimator("ridge", ridge=1e-3)),
        rs.GaussianShapeMetric(covariance=CovarianceEstimator("ridge", ridge=1e-2)),
    ),
    "seeds": (rs.WassersteinShapeMetric(), rs.WassersteinShapeMetric(random_state=1)),
    "a parameter that is also a method": (
        rs.ProcrustesShapeMetric(),
        rs.ProcrustesShapeMetric(distance="angular"),
    ),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_different_metrics_have_different_identities(pair: tuple[Any, Any]) -> None:
    one, other = pair
    check_identity(one)
    check_identity(other)
    assert identity(one) != identity(other)


SAME: dict[str, tuple[Any, Any]] = {
    "partials": (partial(baselines.cka, angular=True), partial(baselines.cka, angular=True)),
    "nested partials": (
        partial(partial(baselines.rsa, squared=True), angular=True),
        partial(baselines.rsa, squared=True, angular=True),
    ),
    "weights of any kind": (
        rs.GaussianShapeMetric(weights=pd.Series([1.0, 2.0])),
        rs.GaussianShapeMetric(weights=(np.float64(1.0), 2.0)),
    ),
    "settings": (
        rs.GaussianShapeMetric(preprocess=rs.Preprocess(scale=True)),
        rs.GaussianShapeMetric(preprocess=rs.Preprocess(True, True)),
    ),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_equal_metrics_have_equal_identities(pair: tuple[Any, Any]) -> None:
    assert identity(pair[0]) == identity(pair[1])


def test_an_identity_names_the_function_all_arguments_and_the_version() -> None:
    metric = partial(baselines.rsa, dissimilarity="correlation", angular=True)
    assert describe(metric) == {
        "metric": "repshape.baselines.dissimilarities.rsa",
        "parameters": {"dissimilarity": "correlation", "angular": True},
        "repshape": package_version(),
    }
    held = describe(rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=2)))
    expected = {"center": True, "scale": False, "n_components": 2, "whitening": 0.0}
    assert held["parameters"]["preprocess"] == {"Preprocess": expected | {"transform": None}}
    assert held["metric"] == "GaussianShapeMetric"


# What has no identity


def closure(power: float) -> Any:
    def distance(x: Any, y: Any) -> float:
        return power

    return distance


ANONYMOUS: dict[str, Any] = {
    "lambda": lambda x, y: 0.0,
    "closure": closure(2.0),
    "bound method": Scorer().score,
    "callable object": Scorer(),
    "partial of a lambda": partial(lambda x, y, p: 0.0, p=1),
    "partial with a lambda": partial(max, key=lambda one: one),
    "partial with a closure in a list": partial(max, [closure(1.0)]),
    "partial with an object": partial(max, default=object()),
    "partial with an array of objects": partial(max, np.array([object()])),
    "mapping with keys that are not strings": partial(max, {1: "a"}),
    "metric with an object": rs.GaussianShapeMetric(weights=object()),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("metric", ANONYMOUS.values(), ids=ANONYMOUS)
def test_what_cannot_be_recognised_needs_a_name(metric: Any) -> None:
    advice = "a module" if isinstance(metric, rs.GaussianShapeMetric) else "name='my metric'"
    with pytest.raises(InputError, match=rf"has no name to recognise it by.*{advice}"):
        check_identity(metric)
    check_identity(metric, "mine")
    assert describe(metric, "mine")["metric"] == "mine"
    assert describe(metric)["metric"]  # matrices in memory have a description in any case


def test_functions_of_a_script_have_no_import_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert import_name(closure) == f"{__name__}.closure"
    assert import_name(Scorer.score) == f"{__name__}.Scorer.score"
    assert import_name(max) == "max"
    monkeypatch.setattr(closure, "__module__", "__main__")
    assert import_name(closure) is None


# From JSON and back


WEIGHTS = np.array([0.5, 0.25, 0.25])
SEARCHED: list[dict[str, Any]] = [
    {},
    {"group": "rotation"},
    {"group": "permutation", "n_starts": 3, "tol": 1e-6, "max_iter": 7, "random_state": 5},
    {"weights": WEIGHTS},
    {"preprocess": rs.Preprocess(center=False, scale=True, n_components=2, whitening=0.5)},
]
OWN: dict[str, list[dict[str, Any]]] = {
    "gaussian": [
        {"alpha": 0.5},
        {"covariance": "oas"},
        {"covariance": CovarianceEstimator("shrinkage-cv", target="scaled", n_splits=3)},
    ],
    "energy": [{"q": 0.5}, {"estimator": "v"}],
    "wasserstein": [{"p": 1.0}, {"regularization": 0.1}],
    "procrustes": [{"whitening": 0.5}, {"distance": "angular"}, {"center": False}],
    "conv": [{"mode": "joint"}, {"shifts": True}],
    "covariance": [{"ground": "log-euclidean"}, {"alpha": 0.0}],
    "process": [{"mode": "marginal"}, {"mode": "causal", "order": 2}],
}


def every_setting() -> list[Any]:
    made = []
    for name in METRICS:
        takes = metric_class(name)().get_params()
        shared = [one for one in SEARCHED if set(one) <= set(takes)]
        made += [(name, settings) for settings in shared + OWN.get(name, [])]
    return made


@pytest.mark.parametrize(("name", "settings"), every_setting())
def test_a_metric_comes_back_from_json(name: str, settings: dict[str, Any]) -> None:
    metric = make_metric(name, **settings)
    text = json.dumps(describe(metric), allow_nan=False)
    found = restore(json.loads(text))
    assert type(found) is type(metric)
    assert isinstance(found, ShapeMetric)
    assert json.dumps(describe(found)) == text
    for key, value in settings.items():
        np.testing.assert_array_equal(found.get_params(deep=False)[key], value)


@pytest.mark.parametrize(
    "change",
    [
        {"metric": "CosineShapeMetric"},
        {"metric": None},
        {"parameters": None},
        {"parameters": {"alpha": 3.0}},
        {"parameters": {"beta": 1.0}},
        {"parameters": {"alpha": 1.0}},  # the others are missing: not an identity of ours
        {"parameters": {"preprocess": {"Preprocess": {"centre": True}}}},
    ],
)
def test_what_is_no_identity_of_ours_is_not_restored(change: dict[str, Any]) -> None:
    assert restore(describe(rs.GaussianShapeMetric()) | change) is None


# Words and errors


@pytest.mark.parametrize("name", METRICS)
def test_every_parameter_has_a_rule(name: str) -> None:
    """Except the weights, whose number depends on the conditions."""
    metric = make_metric(name)
    assert {*metric._rules, "weights"} == set(metric.get_params(deep=False))


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_words(name: str) -> None:
    metric = make_metric(name)
    parameter, symbol = metric.key_parameter
    assert parameter in metric.get_params()
    shown = f"{metric.get_params()[parameter]:g}"
    assert short_title(describe(metric)) == f"{metric.title}, {symbol} = {shown}"
    assert caption(describe(metric)).startswith(f"{metric.full_title} (")
    assert "group = orthogonal" in caption(describe(metric))
    assert metric._sentence().endswith(".")


def test_captions_show_settings_as_the_user_wrote_them() -> None:
    metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(scale=True))
    assert f"preprocess = {rs.Preprocess(scale=True)}" in caption(describe(metric))
    assert short_title(describe(baselines.cka)) == "repshape.baselines.kernel_alignment.cka"
    assert caption(describe(baselines.cka, "mine")) == "mine"
    odd = {"metric": "GaussianShapeMetric", "parameters": {"preprocess": {"Preprocess": 5}}}
    assert caption(odd).endswith("(preprocess = {'Preprocess': 5})")


def test_errors_of_names_and_parameters() -> None:
    with pytest.raises(InputError, match="'metric' parameter must be one of 'gaussian', 'energy'"):
        make_metric("cosine")
    with pytest.raises(InputError, match=r"energy metric has no parameter 'alpha'. It takes q, "):
        make_metric("energy", alpha=1.0)
    with pytest.raises(InputError, match=r"must be a float in \[0, 2\]. Got 3"):
        make_metric("gaussian", alpha=3)


def test_errors_of_callables() -> None:
    check_callable(rs.GaussianShapeMetric())
    check_callable(baselines.cka, "mine")
    with pytest.raises(InputTypeError, match="a shape metric or a callable of two networks"):
        check_callable("x")
    for bad in ("", 3):
        with pytest.raises(InputTypeError, match="'name' parameter must be a non-empty string"):
            check_callable(baselines.cka, bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="GaussianShapeMetric already has a name"):
        check_callable(rs.GaussianShapeMetric(), "mine")
