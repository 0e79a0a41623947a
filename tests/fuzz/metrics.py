"""Cases of the shape metrics: one pair of hostile networks through one metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import repshape as rs
from repshape.groups import BlockOrthogonal, Group, SignedPermutations, oracle
from repshape.metrics.registry import make_metric

from . import twins
from .checks import NOTHING, TWIN, WrongError, close, demand, sound
from .draws import Array, Draw
from .networks import (
    MOST_CONDITIONS,
    MOST_NEURONS,
    Net,
    network,
    points,
    sequences,
    trials,
    unit_of,
)

Make = Callable[[int, int], Net]
NAMED = ["orthogonal", "rotation", "permutation", "identity"]
# Powers of two by which the scaling law multiplies responses.
FACTORS = [2.0, 0.5, 2.0**40, 2.0**-40, 2.0**200, 2.0**-200]
# Groups that are given as objects refuse responses outside this range.
MODERATE = 1e-37, 1e37


@dataclass
class Case:
    """A pair of networks and a metric, with what the laws need to know about the metric.

    Attributes
    ----------
    metric : ShapeMetric
    x, y : Net
    make : callable
        Makes another network with as many conditions, for the triangle inequality.
    twin : callable
        Squared distance at T (n_x, n_y), with responses in a unit.
    degree, scales : float and bool
        Distances have units of responses^degree; and whether d(cx, cy) = c^degree d(x, y).
    exact : bool
        Whether the metric finds the minimum for certain, so that laws of minima hold.
    strict : bool
        Whether every pair of usable networks must get a distance.
    parts : bool
        Whether the distance has a part of the means and one of the covariances.
    """

    metric: Any
    x: Net
    y: Net
    make: Make
    twin: Callable[[Net, Net, Array, float], float]
    degree: float = 1.0
    scales: bool = True
    exact: bool = False
    strict: bool = True
    parts: bool = False
    is_zero_to_itself: bool = True
    rounding: float = 0.0  # of the squared distance, in the unit of the pair

    @property
    def expect(self) -> str:
        if not (self.x.usable and self.y.usable):
            return "refusal"
        return "value" if self.strict else "either"


def sizes(draw: Draw) -> tuple[int, int, int]:
    """Return a number of conditions, and the neurons of two networks: equal in half the cases."""
    M, n = draw.whole(1, MOST_CONDITIONS), draw.whole(1, MOST_NEURONS)
    return M, n, n if draw.group_objects or draw.chance(0.5) else draw.whole(1, MOST_NEURONS)


def pick_group(draw: Draw, names: list[str], n: int) -> str | Group:
    """Return one of the names or, where groups are given as objects, a group for n neurons."""
    if not draw.group_objects:
        return draw.pick(names)
    if draw.chance(0.5):
        return SignedPermutations()
    cuts = np.flatnonzero(draw.rng.random(n - 1) < 0.4) + 1
    return BlockOrthogonal(np.diff([0, *cuts.tolist(), n]).tolist())


def search_options(draw: Draw, M: int, n: int, group: str | Group) -> dict[str, Any]:
    """Return the options that all searches share."""
    options: dict[str, Any] = {"group": group, "n_starts": draw.pick([1, 2, 3, 3])}
    if draw.chance(0.08) and group != "soft":
        options["n_starts"] = "auto"
    if draw.chance(0.25):
        options["weights"] = weights(draw, M)
    if group in ("rotation", "permutation") and draw.chance(0.3):
        options["pad_to"] = n + draw.whole(0, 2)
    return options


def weights(draw: Draw, M: int) -> Array:
    """Return weights of conditions, some of them zero."""
    found = draw.rng.random(M) * (draw.rng.random(M) < 0.7)
    found[draw.whole(0, M - 1)] = 1.0
    return np.asarray(found * 10.0 ** draw.pick([0, 0, -200, 200]))


def normalised(given: Any, M: int) -> Array:
    """Return weights that sum to 1."""
    if given is None:
        return np.full(M, 1.0 / M)
    found = np.asarray(given) / np.max(given)
    return np.asarray(found / found.sum())


def partner(draw: Draw, x: Net, make: Make, n: int, group: str | Group) -> tuple[Net, bool]:
    """Return the other network, and whether it is a copy of the first up to the group."""
    if n != x.n_neurons or not x.usable or not draw.chance(0.15) or group == "soft":
        return make(n, 0), False
    draw.note("y is a copy of x")
    T = oracle(group)(draw.rng.normal(size=(n, n)))
    covariances = x.covariances
    if covariances is not None:
        covariances = T @ covariances @ T.T
        covariances = (covariances + np.swapaxes(covariances, 1, 2)) / 2
    moved = None if x.trials is None else [one @ T.T for one in x.trials]
    net = Net(None, moved, x.means @ T.T, covariances)
    net.given = net.plain = net.times(1.0)
    return net, True


def run(draw: Draw, case: Case) -> None:
    """Check one alignment, then one more law."""
    metric, x, y = case.metric, case.x, case.y
    draw.note(metric)
    draw.expect = case.expect
    if draw.group_objects and draw.expect == "value" and not is_moderate(case.x, case.y):
        draw.expect = "either"
    found = metric.align(x.given, y.given)
    if draw.expect == "refusal":
        raise WrongError("a network that is not finite got a distance")
    sound(found, metric.group, parts=case.parts, padded=metric.pad_to is not None)
    exact = not (x.denormal or y.denormal)
    if exact:
        agrees_with_twin(case, found)
    law = draw.pick(LAWS if exact else EXACT_LAWS)
    draw.note(law.__name__)
    law(draw, case, found)


def is_moderate(*nets: Net) -> bool:
    """Return whether no network is extremely large or small."""
    return all(net.size == 0 or MODERATE[0] < net.size < MODERATE[1] for net in nets)


def agrees_with_twin(case: Case, found: Any) -> None:
    """The value is the plain twin's at the reported transform."""
    unit = unit_of(case.x, case.y)
    squared = case.twin(case.x, case.y, found.transform.T, unit)
    value = found.distance / unit**case.degree
    margin = margin_of(case)
    # A root of a difference of large numbers has half of their digits: compare squares, too.
    slack = margin**2 + 1e-9 * abs(squared) + case.rounding
    near = abs(value * abs(value) - squared) <= slack
    root = np.copysign(np.sqrt(abs(squared)), squared)
    if not near:
        margin += 1e-8 * abs(root) + float(np.sqrt(case.rounding))
        close(value, float(root), margin, "the distance is not its twin's")


def margin_of(case: Case) -> float:
    """Return by how much distances may differ by rounding, in the unit of the pair."""
    terms = max(case.x.means.size, case.y.means.size)
    return TWIN * float(np.sqrt(terms))


def symmetric(draw: Draw, case: Case, found: Any) -> None:
    """Both orders give the same bits."""
    back = case.metric.align(case.y.given, case.x.given)
    demand(back.distance == found.distance, f"not symmetric: {found.distance}, {back.distance}")
    demand(back.lower_bound == found.lower_bound, "the bound is not symmetric")


def zero_to_itself(draw: Draw, case: Case, found: Any) -> None:
    """The distance d(x, x) is 0."""
    if not case.is_zero_to_itself:
        return
    own = case.metric.distance(case.x.given, case.x.given) / unit_of(case.x) ** case.degree
    margin = NOTHING * np.sqrt(case.x.means.size) if case.degree == 1 else 1e-3
    close(own, 0.0, margin, "a network is not at 0 from itself")


def scaled(draw: Draw, case: Case, found: Any) -> None:
    """Multiplying both networks by c multiplies the distance by a power of c."""
    c = draw.pick(FACTORS[:4] if draw.group_objects else FACTORS)
    present = [c * net.size for net in (case.x, case.y) if net.size > 0]
    low, high = MODERATE if draw.group_objects else (1e-150, 1e150)
    if not case.scales or max(present, default=1) > high or min(present, default=1) < low:
        return
    again = case.metric.distance(case.x.times(c), case.y.times(c)) / c**case.degree
    unit = unit_of(case.x, case.y) ** case.degree
    margin = margin_of(case) + 1e-7 * abs(found.distance / unit)
    if case.exact:
        close(again / unit, found.distance / unit, margin, f"the distance of {c:g} times both")
    else:  # another optimum is allowed, another order of magnitude is not
        demand(again >= found.lower_bound - margin * unit, "a scaled distance is below the bound")


def same_bits(draw: Draw, case: Case, found: Any) -> None:
    """How an array is stored changes no bit."""
    again = case.metric.distance(case.x.plain, case.y.plain)
    demand(again == found.distance, f"storage changes {again!r} to {found.distance!r}")


def scored(draw: Draw, case: Case, found: Any) -> None:
    """The score of an alignment on its own networks is its distance."""
    unit = unit_of(case.x, case.y) ** case.degree
    score = case.metric.score(found, case.x.given, case.y.given)
    value, score = found.distance / unit, score / unit
    margin = margin_of(case)
    if abs(value**2 - score**2) > margin**2 + 1e-9 * value**2 + case.rounding:
        margin += 1e-8 * abs(value) + float(np.sqrt(case.rounding))
        close(score, value, margin, "the score is not the distance")


def one_of_many(draw: Draw, case: Case, found: Any) -> None:
    """A pair among prepared networks gets the same bits."""
    prepared = [case.metric.prepare(net.given) for net in (case.x, case.y)]
    again = case.metric.solve_pairs(prepared, [[0, 1]])
    demand(again.distance[0] == found.distance, "a prepared pair has another distance")
    demand(again.lower_bound[0] == found.lower_bound, "a prepared pair has another bound")


def triangle(draw: Draw, case: Case, found: Any) -> None:
    """Where the optimum is exact, no detour is shorter."""
    n = case.x.n_neurons if draw.group_objects else draw.whole(1, MOST_NEURONS)
    metric = case.metric
    if not case.exact or metric.pad_to is not None:
        return
    if not metric.is_metric:
        if metric._has_one_space or case.x.n_neurons != case.y.n_neurons:
            return
        n = case.x.n_neurons
    z = case.make(n, 0)
    if not z.usable or (draw.group_objects and not is_moderate(z)):
        return
    first, second = metric.distance(case.x.given, z.given), metric.distance(z.given, case.y.given)
    unit = unit_of(case.x, case.y, z) ** case.degree
    excess = (found.distance - first - second) / unit
    demand(excess <= margin_of(case), f"the triangle inequality fails by {excess}")


EXACT_LAWS = [symmetric, same_bits, one_of_many]
LAWS = [symmetric, symmetric, zero_to_itself, scaled, same_bits, scored, one_of_many, triangle]


def gaussian(draw: Draw) -> None:
    """GaussianShapeMetric."""
    M, n_x, n_y = sizes(draw)
    group = pick_group(draw, [*NAMED, "orthogonal", "soft"], n_x)
    alpha = draw.pick([0.0, 0.3, 1.0, 1.0, 2.0])
    options = search_options(draw, M, max(n_x, n_y), group)
    metric = rs.GaussianShapeMetric(alpha, **options)
    w = normalised(metric.weights, M)

    def make(n: int, _: int) -> Net:
        return network(draw, M, n)

    def twin(x: Net, y: Net, T: Array, unit: float) -> float:
        pair = twins.SoftPair(x, y, T / len(T), unit) if group == "soft" else None
        means, noise = twins.gaussian_parts(pair or twins.Pair(x, y, T, unit), w)
        return alpha * means + (2 - alpha) * noise

    x = make(n_x, 0)
    y, copied = partner(draw, x, make, n_y, group)
    exact = alpha == 2 or group == "identity"
    run(draw, Case(metric, x, y, make, twin, exact=exact, parts=not copied))


def energy(draw: Draw) -> None:
    """EnergyShapeMetric."""
    M, n_x, n_y = sizes(draw)
    group, q = pick_group(draw, [*NAMED, "soft"], n_x), draw.pick([0.5, 1.0, 1.0, 1.5, 2.0])
    estimator = draw.pick(["u", "v"])
    metric = rs.EnergyShapeMetric(
        q, estimator=estimator, **search_options(draw, M, max(n_x, n_y), group)
    )
    w, fewest = normalised(metric.weights, M), 2 if estimator == "u" else 1

    def make(n: int, _: int) -> Net:
        single = fewest == 1 and draw.chance(0.1)
        return points(draw, M, n) if single else trials(draw, M, n, fewest=fewest)

    def twin(x: Net, y: Net, T: Array, unit: float) -> float:
        pair = twins.SoftPair(x, y, T / len(T), unit) if group == "soft" else None
        return twins.energy_squared(pair or twins.Pair(x, y, T, unit), q, w, estimator)

    x = make(n_x, 0)
    y, _ = partner(draw, x, make, n_y, group)
    strict = min(x.fewest_trials, y.fewest_trials) >= fewest
    case = Case(metric, x, y, make, twin, degree=q / 2, strict=strict)
    case.exact = group == "identity" and estimator == "v"
    case.is_zero_to_itself = estimator == "v"
    case.rounding = 10 * 1e-12**q  # trials closer than 1e-12 of the responses coincide
    run(draw, case)


def wasserstein(draw: Draw) -> None:
    """WassersteinShapeMetric."""
    M, n_x, n_y = sizes(draw)
    group, p = pick_group(draw, NAMED, n_x), draw.pick([1.0, 1.5, 2.0, 2.0, 3.0])
    options = search_options(draw, M, max(n_x, n_y), group)
    options["n_starts"] = draw.pick([1, 1, 1, 1, 1, 1, 2, 3])
    metric = rs.WassersteinShapeMetric(p, **options)
    w = normalised(metric.weights, M)

    def make(n: int, _: int) -> Net:
        return trials(draw, M, n)

    def twin(x: Net, y: Net, T: Array, unit: float) -> float:
        return twins.wasserstein_squared(twins.Pair(x, y, T, unit), p, w)

    x = make(n_x, 0)
    y, _ = partner(draw, x, make, n_y, group)
    run(draw, Case(metric, x, y, make, twin, exact=group == "identity"))


def procrustes(draw: Draw) -> None:
    """ProcrustesShapeMetric."""
    M, n_x, n_y = sizes(draw)
    group, angular = pick_group(draw, [*NAMED, "soft"], n_x), draw.chance(0.3)
    options = search_options(draw, M, max(n_x, n_y), group)
    options.pop("n_starts")
    center = draw.chance(0.6)
    metric = rs.ProcrustesShapeMetric(
        distance="angular" if angular else "euclidean", center=center, **options
    )
    w = normalised(metric.weights, M)
    root = np.sqrt(np.count_nonzero(w) * w)[:, None]

    def make(n: int, _: int) -> Net:
        return network(draw, M, n)

    def twin(x: Net, y: Net, T: Array, unit: float) -> float:
        pair = twins.SoftPair(x, y, T / len(T), unit) if group == "soft" else None
        X, Y = (pair or twins.Pair(x, y, T, unit)).means
        T = (pair or twins.Pair(x, y, T, unit)).T
        if center:
            X, Y = X - w @ X, Y - w @ Y
        X, Y = root * X, root * Y
        if angular:
            u, v = (one / np.linalg.norm(one / (big := np.abs(one).max())) / big for one in (X, Y))
            gap, total = np.linalg.norm(u - v @ T.T), np.linalg.norm(u + v @ T.T)
            return float(2 * np.arctan2(gap, total)) ** 2
        return float(((X - Y @ T.T) ** 2).sum())

    x = make(n_x, 0)
    y, _ = partner(draw, x, make, n_y, group)
    case = Case(metric, x, y, make, twin, exact=True, strict=not angular)
    case.degree = 0.0 if angular else 1.0
    if angular and center and x.usable and y.usable:
        case.rounding = (1e-14 * (x.offset_of(w) + y.offset_of(w))) ** 2
    run(draw, case)


def group_objects(draw: Draw) -> None:
    """Groups that are given as objects, in the four metrics of whole networks."""
    draw.group_objects = True
    draw.pick([gaussian, gaussian, energy, wasserstein, procrustes])(draw)


def process(draw: Draw) -> None:
    """ProcessShapeMetric."""
    M, n_x, n_y, T = draw.whole(1, 4), draw.whole(1, 4), draw.whole(1, 4), draw.whole(1, 3)
    group, mode = draw.pick(NAMED), draw.pick(["marginal", "joint", "causal"])
    alpha = draw.pick([0.0, 1.0, 2.0])
    options = search_options(draw, M, max(n_x, n_y), group)
    most = 6
    if mode == "causal":
        options["order"], most = 1, 12
    metric = rs.ProcessShapeMetric(alpha, mode=mode, **options)
    run(draw, _positions(draw, metric, M, (T,), (n_x, n_y), most=most))


def conv(draw: Draw) -> None:
    """ConvShapeMetric."""
    M, n_x, n_y = draw.whole(1, 3), draw.whole(1, 3), draw.whole(1, 3)
    group, mode = draw.pick(NAMED), draw.pick(["marginal", "joint"])
    options = search_options(draw, M, max(n_x, n_y), group)
    metric = rs.ConvShapeMetric(
        draw.pick([0.0, 1.0, 2.0]), mode=mode, shifts=draw.chance(0.5), **options
    )
    shape = (draw.whole(1, 3), draw.whole(1, 2))
    run(draw, _positions(draw, metric, M, shape, (n_x, n_y), most=4))


def _positions(
    draw: Draw, metric: Any, M: int, shape: tuple[int, ...], n: tuple[int, int], most: int
) -> Case:
    w, alpha, mode = normalised(metric.weights, M), metric.alpha, metric.mode

    def make(n: int, _: int) -> Net:
        return sequences(draw, M, shape, n, most=most)

    def twin(x: Net, y: Net, T: Array, unit: float) -> float:
        means, noise = twins.position_parts(x, y, T, unit, mode, w)
        return float(alpha * means + (2 - alpha) * noise)

    x, y = make(n[0], 0), make(n[1], 0)
    case = Case(metric, x, y, make, twin, strict=mode != "causal")
    if mode == "causal" or getattr(metric, "shifts", False):
        case.twin = _by_score(case)
    return case


def _by_score(case: Case) -> Callable[[Net, Net, Array, float], float]:
    """Return a twin that asks `score`, which is plain NumPy, where there is no shorter one."""

    def twin(x: Net, y: Net, T: Array, unit: float) -> float:
        found = case.metric.align(x.given, y.given)
        return (case.metric.score(found, x.given, y.given) / unit**case.degree) ** 2

    return twin


def covariance(draw: Draw) -> None:
    """CovarianceShapeMetric."""
    M, n = draw.whole(1, 4), draw.whole(1, 4)
    ground = draw.pick(["root-frobenius", "log-euclidean", "affine-invariant"])
    group = draw.pick(["orthogonal", "identity", "rotation"])
    alpha = draw.pick([0.0, 1.0])
    metric = rs.CovarianceShapeMetric(alpha, ground=ground, group=group, n_starts=2)
    metric.set_params(covariance=draw.pick(["mle", "ledoit-wolf", "oas"]), max_iter=50)

    def make(n: int, _: int) -> Net:
        return network(draw, M, n)

    x, y = make(n, 0), make(n, 0)
    case = Case(metric, x, y, make, lambda *_: 0.0, strict=False, parts=True)
    case.twin = _by_score(case)
    if ground != "root-frobenius":
        case.degree, case.scales = 0.0 if alpha == 0 else 1.0, False
        case.is_zero_to_itself = alpha == 0
    run(draw, case)


def any_metric(name: str) -> Callable[[Draw], None]:
    """Return the cases of a metric without cases of its own: default settings, and common laws."""

    def subject(draw: Draw) -> None:
        M, n = draw.whole(1, 4), draw.whole(1, 4)
        metric = make_metric(name)

        def make(n: int, _: int) -> Net:
            return network(draw, M, n)

        x, y = make(n, 0), make(n, 0)
        draw.note(metric)
        draw.expect = "either" if x.usable and y.usable else "refusal"
        found = metric.align(x.given, y.given)
        demand(draw.expect != "refusal", "a network that is not finite got a distance")
        sound(found, metric.group, parts=False, padded=metric.pad_to is not None)
        case = Case(metric, x, y, make, lambda *_: 0.0, strict=False)
        draw.pick(EXACT_LAWS)(draw, case, found)

    return subject
