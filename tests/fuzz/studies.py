"""Cases of what is done with many networks: matrices, analyses and inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import repshape as rs
from repshape import analysis, inference
from repshape.preprocess import FittedPreprocess

from .checks import WrongError, close, demand, no_nan
from .draws import Draw, power_of_ten
from .networks import Net, network, sequences, trials, unit_of

# The square of such a part of the largest response is no number, so that shorter distances are 0.
VANISHING = 1e-155
GROUPS = ["orthogonal", "rotation", "permutation", "identity"]


def many(draw: Draw, low: int, high: int, make: Callable[..., Net] = network) -> list[Net]:
    """Return networks with the same conditions; in every other case also of the same size."""
    M, n, same = draw.whole(1, 5), draw.whole(1, 4), draw.chance(0.5)
    count = draw.whole(low, high)
    return [make(draw, M, n if same else draw.whole(1, 4)) for _ in range(count)]


def expect(draw: Draw, nets: list[Net]) -> None:
    """Note whether the networks may be used."""
    draw.expect = "either" if all(net.usable for net in nets) else "refusal"


def refused(draw: Draw) -> None:
    """Raise if networks were used that should have been refused."""
    if draw.expect == "refusal":
        raise WrongError("networks that are not finite were used")


def gaussian_metric(draw: Draw) -> Any:
    return rs.GaussianShapeMetric(
        draw.pick([0.0, 1.0, 2.0]), group=draw.pick(GROUPS), n_starts=draw.pick([2, "auto"])
    )


def pairwise(draw: Draw) -> None:
    """A matrix: symmetric, finite, above its bounds, and without a violated triangle."""
    nets = many(draw, 1, 5, draw.pick([network, trials]))
    metric = gaussian_metric(draw)
    if all(net.trials is not None for net in nets) and draw.chance(0.4):
        kinds = [rs.EnergyShapeMetric(estimator="v", n_starts=2), rs.ProcrustesShapeMetric()]
        metric = draw.pick(kinds).set_params(group=draw.pick(GROUPS))
    draw.note(metric)
    expect(draw, nets)
    D = rs.pairwise([net.given for net in nets], metric, workers=1, progress=False)
    refused(draw)
    demand(np.isfinite(D.values).all(), "a distance is not finite")
    demand((D.values == D.values.T).all(), "the matrix is not symmetric")
    demand((np.diagonal(D.values) == 0).all(), "the diagonal is not zero")
    demand((D.lower_bounds <= D.values).all(), "a distance is below its bound")
    margin = 1e-6 * float(D.values.max(initial=0.0)) + VANISHING * unit_of(*nets)
    worst = rs.triangle_violations(D).largest
    demand(worst <= margin, f"a triangle is violated by {worst}")


def distances(draw: Draw, low: int = 1, high: int = 8) -> Any:
    """Return a matrix of distances: between points, arbitrary, all equal or all zero."""
    K = draw.whole(low, high)
    kind = draw.pick(["points", "points", "arbitrary", "equal", "zeros", "copies"])
    points = draw.rng.normal(size=(K, draw.whole(1, 3)))
    if kind == "copies":
        points[K // 2 :] = points[0]
    values = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    if kind == "arbitrary":
        values = draw.rng.random((K, K))
        values = values + values.T
    if kind == "equal":
        values = np.ones((K, K))
    np.fill_diagonal(values, 0.0)
    scale = 0.0 if kind == "zeros" else power_of_ten(draw)
    draw.note(f"{kind} distances {values.shape} at {scale:.3g}")
    values = values * scale
    draw.expect = "either"
    if draw.chance(0.05):
        values[0, -1] = draw.pick([np.nan, np.inf, -max(scale, 1.0)])
        draw.expect = "refusal" if K > 1 else "either"
    return rs.DistanceMatrix(values) if draw.chance(0.5) and draw.expect == "either" else values


def repair(draw: Draw) -> None:
    """Repaired distances obey the triangle inequality, and repairing them again changes little."""
    D = distances(draw)
    found = rs.repair(D)
    refused(draw)
    values = np.asarray(found.matrix)
    demand(np.isfinite(values).all(), "a repaired distance is not finite")
    worst = rs.triangle_violations(found.matrix).largest
    demand(worst <= 1e-7 * values.max(initial=0.0), f"a triangle is violated by {worst}")


def embed(draw: Draw) -> None:
    """Embeddings are finite, and classical ones of points are exact."""
    D = distances(draw)
    method = draw.pick(["metric", "classical"])
    draw.note(method)
    found = rs.embed(D, draw.whole(1, 2), method=method, n_init=1)
    refused(draw)
    no_nan(found, skip=("explained",))


def _hierarchical(draw: Draw, D: Any) -> Any:
    return analysis.cluster_hierarchical(
        D, draw.whole(1, 3), linkage=draw.pick(["average", "complete", "single"])
    )


def _medoids(draw: Draw, D: Any) -> Any:
    return analysis.cluster_medoids(D, draw.whole(1, 3), n_init=2)


def _classify(draw: Draw, D: Any) -> Any:
    target = draw.rng.integers(0, 2, size=len(np.asarray(D)))
    return analysis.knn_classify(
        D, target, n_neighbors=[1, 2], n_folds=2, n_repeats=2, n_permutations=1
    )


def _regress(draw: Draw, D: Any) -> Any:
    target = draw.rng.normal(size=len(np.asarray(D))) * power_of_ten(draw)
    return analysis.knn_regress(
        D, target, n_neighbors=[1], n_folds=2, n_repeats=2, n_permutations=1
    )


def _nearest(draw: Draw, D: Any) -> Any:
    return analysis.nearest_neighbors(D, 0, draw.whole(1, 3))


def _distortion(draw: Draw, D: Any) -> Any:
    points = draw.rng.normal(size=(len(np.asarray(D)), 2)) * power_of_ten(draw)
    return analysis.distortion(D, points)


def _distortion_curve(draw: Draw, D: Any) -> Any:
    return analysis.distortion_curve(D, [1, 2], n_init=1)


def _groups(draw: Draw, D: Any) -> Any:
    labels = draw.rng.integers(0, 2, size=len(np.asarray(D)))
    return inference.groups(D, labels.tolist(), n_permutations=19)


def _mantel(draw: Draw, D: Any) -> Any:
    other = draw.rng.random(np.asarray(D).shape)
    other = other + other.T
    np.fill_diagonal(other, 0.0)
    return inference.mantel(D, other, n_permutations=19, method=draw.pick(["pearson", "spearman"]))


# Fields that may hold NaN or infinity, by the documentation of the results.
OPEN_FIELDS = ("silhouette", "spread", "balanced_accuracy", "interval", "chance", "values")
OF_MATRICES = [
    _hierarchical,
    _medoids,
    _classify,
    _regress,
    _nearest,
    _distortion,
    _distortion_curve,
    _groups,
    _mantel,
]


def of_matrix(draw: Draw) -> None:
    """Every analysis of a matrix of distances."""
    D = distances(draw)
    function = draw.pick(OF_MATRICES)
    draw.note(function.__name__)
    found = function(draw, D)
    refused(draw)
    skip = (*OPEN_FIELDS, "percentiles") if "distortion" in function.__name__ else OPEN_FIELDS
    no_nan(found, skip=skip)
    p = getattr(found, "p_value", None)
    demand(p is None or 0 < p <= 1, f"the p value is {p}")


def _frechet_mean(draw: Draw, nets: list[Net], metric: Any) -> Any:
    return analysis.frechet_mean([net.given for net in nets], metric, max_iter=20, workers=1)


def _ceiling(draw: Draw, nets: list[Net], metric: Any) -> Any:
    return analysis.frechet_ceiling([net.given for net in nets], metric, workers=1)


def _geodesic(draw: Draw, nets: list[Net], metric: Any) -> Any:
    x, y = nets[0], nets[-1]
    half = analysis.geodesic(x.given, y.given, 0.5, metric)
    demand(np.isfinite(half.means).all(), "the midpoint is not finite")
    demand(np.isfinite(half.stored).all(), "the noise of the midpoint is not finite")
    return None


def _maps(draw: Draw, nets: list[Net], metric: Any) -> Any:
    tangent = analysis.log_map(nets[0].given, nets[-1].given, metric)
    no_nan(tangent)
    moved = analysis.exp_map(nets[0].given, tangent, metric)
    demand(np.isfinite(moved.means).all(), "the end of a tangent is not finite")
    unit = unit_of(nets[0], nets[-1])
    size = np.sqrt(nets[0].means.size)
    assert tangent.transform is not None
    turn = tangent.transform[: nets[-1].n_neurons]  # a search could miss it
    turned = FittedPreprocess(np.zeros(len(turn)), turn, 1.0, 1.0).apply(nets[-1].given)
    gap = metric.with_parameters(group="identity").distance(moved, turned) / unit
    if not any(net.denormal for net in nets):
        close(gap, 0.0, 1e-5 * size, "the exponential of the logarithm is not the network")
    return None


def _tangent_pca(draw: Draw, nets: list[Net], metric: Any) -> Any:
    return analysis.tangent_pca([net.given for net in nets], metric, n_components=1, workers=1)


def _trajectory(draw: Draw, nets: list[Net], metric: Any) -> Any:
    values = np.arange(len(nets), dtype=float)
    return analysis.trajectory(
        [net.given for net in nets], values, metric, n_permutations=9, workers=1
    )


def _clusters(draw: Draw, nets: list[Net], metric: Any) -> Any:
    return analysis.cluster_shapes(
        [net.given for net in nets], 1, metric, n_init=1, max_iter=3, workers=1
    )


def _interpolate(draw: Draw, nets: list[Net], metric: Any) -> Any:
    return analysis.interpolate(
        [net.given for net in nets], [0.0, 1.0, 2.0], metric, workers=1, progress=False
    )


def _subsample(draw: Draw, nets: list[Net], metric: Any) -> Any:
    return analysis.subsample(
        [net.given for net in nets],
        draw.pick(["trials", "conditions", "neurons"]),
        [1],
        metric,
        n_draws=1,
        workers=1,
        progress=False,
    )


def _match(draw: Draw, nets: list[Net], metric: Any) -> Any:
    mass = draw.pick([0.25, 0.5, 1.0])
    return analysis.match_neurons(nets[0].given, nets[-1].given, mass, alpha=metric.alpha)


def _graph(draw: Draw, nets: list[Net], metric: Any) -> Any:
    given = [net.given for net in nets]
    return analysis.neighbor_graph(given, metric, 1, workers=1, progress=False)


def _query(draw: Draw, nets: list[Net], metric: Any) -> Any:
    given = [net.given for net in nets]
    return analysis.query(given[1:], given[0], metric, 1, workers=1, progress=False)


OF_NETWORKS = [
    _frechet_mean,
    _ceiling,
    _geodesic,
    _maps,
    _tangent_pca,
    _trajectory,
    _clusters,
    _interpolate,
    _subsample,
    _match,
    _graph,
    _query,
]


def of_networks(draw: Draw) -> None:
    """Every analysis of networks themselves."""
    function = draw.pick(OF_NETWORKS)
    nets = many(draw, 2, 4, trials if function is _subsample else network)
    metric = gaussian_metric(draw).set_params(n_starts=2)
    draw.note(function.__name__)
    draw.note(metric)
    expect(draw, [nets[0], nets[-1]] if function in (_geodesic, _maps, _match) else nets)
    found = function(draw, nets, metric)
    refused(draw)
    no_nan(found, skip=("radius", "explained_variance_ratio", "scores", "r_squared"))


def _estimate(draw: Draw, nets: list[Net], metric: Any) -> Any:
    function = draw.pick([inference.distance, inference.ratio])
    draw.note(function.__name__)
    method = draw.pick(["calibrated", "halves", "jackknife", "bootstrap"])
    more = {"n_resamples": 4} if method == "bootstrap" else {}
    return function(nets[0].given, nets[1].given, metric, method=method, workers=1, **more)


def _difference(draw: Draw, nets: list[Net], metric: Any) -> Any:
    x, y = nets[0].given, nets[1].given
    return inference.difference((x, y), (y, x), metric, workers=1)


def _floor(draw: Draw, nets: list[Net], metric: Any) -> Any:
    return inference.floor(nets[0].given, metric, n_splits=3, workers=1)


def _equality(draw: Draw, nets: list[Net], metric: Any) -> Any:
    return inference.equality(nets[0].given, nets[1].given, metric, n_permutations=9, workers=1)


def _matrix(draw: Draw, nets: list[Net], metric: Any) -> Any:
    given = [net.given for net in nets]
    inference.matrix(given, metric, n_splits=2, workers=1, progress=False)
    return None


def _held_out(draw: Draw, nets: list[Net], metric: Any) -> Any:
    given = [net.given for net in nets]
    inference.held_out(given, metric, workers=1, progress=False)
    return None


def _confounds(draw: Draw, nets: list[Net], metric: Any) -> Any:
    given = [net.given for net in nets]
    inference.confounds(given, metric, n_splits=2, n_permutations=9, workers=1, progress=False)
    return None


OF_TRIALS = [_estimate, _difference, _floor, _equality, _matrix, _held_out, _confounds]


def infer(draw: Draw) -> None:
    """Every estimate and test from trials."""
    function = draw.pick(OF_TRIALS)
    M, n = draw.whole(1, 5), draw.whole(1, 3)
    scale = 10.0 ** draw.whole(-20, 20) if draw.chance(0.8) else None
    nets = [trials(draw, M, n, fewest=6, most=12, scale=scale) for _ in range(3)]
    metric = gaussian_metric(draw).set_params(n_starts=1)
    if draw.chance(0.2):
        metric = rs.EnergyShapeMetric(n_starts=1)
    draw.note(function.__name__)
    draw.note(metric)
    expect(draw, nets if function not in (_floor,) else nets[:1])
    if function in (_estimate, _difference, _equality):
        expect(draw, nets[:2])
    found = function(draw, nets, metric)
    refused(draw)
    if found is not None:
        # A ratio is NaN where an estimated squared distance is not positive.
        skip = ("estimate", "interval", "standard_error", "plug_in")
        no_nan(found, skip=("overlap", *(skip if "ratio" in draw.words else ())))


def process_mean(draw: Draw) -> None:
    """Fréchet means of time series."""
    M, T, n = draw.whole(1, 2), draw.whole(1, 2), draw.whole(1, 2)
    nets = [sequences(draw, M, (T,), n, fewest=2, most=4) for _ in range(2)]
    metric = rs.ProcessShapeMetric(mode=draw.pick(["joint", "marginal"]), n_starts=2)
    expect(draw, nets)
    found = analysis.frechet_mean([net.given for net in nets], metric, max_iter=10, workers=1)
    refused(draw)
    no_nan(found, skip=("mean",))
