"""Cases of the baselines, of the estimators of moments and of the preprocessing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.covariance import ledoit_wolf, oas

import repshape as rs
from repshape import baselines

from .checks import WrongError, close, demand, no_nan
from .draws import Array, Draw
from .networks import MOST_NEURONS, Net, network, trials, unit_of

# Angles and 1 - cosine of plain formulas lose half of the digits near 0.
PLAIN = 1e-6
# Means whose differences are below this fraction of their size have lost digits.
CONDITIONED = 1e-5


def _pick_measure(draw: Draw) -> tuple[str, dict[str, Any]]:
    name = draw.pick(["rsa", "rsa", "cka", "cca", "svcca", "pwcca", "riemannian", "nbs"])
    options: dict[str, Any] = {}
    if name == "rsa":
        options["dissimilarity"] = draw.pick(["euclidean", "correlation", "mahalanobis"])
        options["compare"] = draw.pick(["pearson", "spearman", "cosine"])
        if options["dissimilarity"] != "correlation":
            options["squared"] = draw.chance(0.3)
    if name == "cka":
        options = {"kernel": draw.pick(["linear", "rbf"]), "debiased": draw.chance(0.4)}
    if name in ("rsa", "cka", "nbs"):
        options["angular"] = draw.chance(0.5)
    return name, options


def baseline(draw: Draw) -> None:
    """All baselines: range, symmetry, zero to itself, scale, and plain formulas."""
    name, options = _pick_measure(draw)
    M = draw.whole(3, 8) if draw.chance(0.9) else draw.whole(1, 3)
    x, y = network(draw, M, draw.whole(1, MOST_NEURONS)), network(draw, M, draw.whole(1, 4))
    draw.note(f"{name} {options}")
    draw.expect = "either" if x.usable and y.usable else "refusal"
    measure = partial(getattr(baselines, name), **options)
    value = measure(x.given, y.given)
    if draw.expect == "refusal":
        raise WrongError("a network that is not finite got a value")
    no_nan(value)
    largest = np.inf if name == "riemannian" else np.pi if options.get("angular") else 2.0
    demand(-1e-12 <= value <= largest + 1e-12, f"{value} is out of range")
    law = draw.pick([_swapped, _itself, _rescaled, _plain])
    draw.note(law.__name__)
    law(draw, measure, name, x, y, value)


def _swapped(draw: Draw, measure: Any, name: str, x: Net, y: Net, value: float) -> None:
    close(measure(y.given, x.given), value, 1e-6, "not symmetric")


def _itself(draw: Draw, measure: Any, name: str, x: Net, y: Net, value: float) -> None:
    close(measure(x.given, x.given), 0.0, 1e-6, "a network is not at 0 from itself")


def _rescaled(draw: Draw, measure: Any, name: str, x: Net, y: Net, value: float) -> None:
    """Every measure but one ignores the scale of each network."""
    if name == "riemannian" or x.denormal:
        return
    c = 1 / unit_of(x)
    close(measure(x.times(c), y.given), value, 1e-6, f"scaling x by {c:g} changes the value")


def _plain(draw: Draw, measure: Any, name: str, x: Net, y: Net, value: float) -> None:
    formula = PLAIN_FORMULAS.get(name)
    if formula is None or x.denormal or y.denormal:
        return
    X, Y = (one.means / unit_of(one) for one in (x, y))
    smallest = min(np.ptp(one, axis=0).max() / np.abs(one).max() for one in (X, Y))
    if smallest < CONDITIONED:
        return
    expected = formula(X - X.mean(0), Y - Y.mean(0), measure.keywords)
    if expected is not None:
        close(value, expected, PLAIN if not measure.keywords.get("angular") else 1e-3, name)


def _similarity(cosine: float, options: dict[str, Any]) -> float:
    return float(np.arccos(np.clip(cosine, -1, 1)) if options["angular"] else 1 - cosine)


def _plain_rsa(X: Array, Y: Array, options: dict[str, Any]) -> float | None:
    if options["dissimilarity"] != "euclidean" or options["compare"] == "spearman":
        return None
    u, v = (pdist(one) ** (2 if options["squared"] else 1) for one in (X, Y))
    if options["compare"] == "pearson":
        u, v = u - u.mean(), v - v.mean()
    return _similarity(float(u @ v / np.linalg.norm(u) / np.linalg.norm(v)), options)


def _plain_cka(X: Array, Y: Array, options: dict[str, Any]) -> float | None:
    if options["kernel"] != "linear" or options["debiased"]:
        return None
    K, L = X @ X.T, Y @ Y.T
    return _similarity(float((K * L).sum() / np.linalg.norm(K) / np.linalg.norm(L)), options)


def _plain_nbs(X: Array, Y: Array, options: dict[str, Any]) -> float:
    cosine = np.linalg.norm(X.T @ Y, "nuc") / np.linalg.norm(X) / np.linalg.norm(Y)
    return _similarity(float(cosine), options)


PLAIN_FORMULAS: dict[str, Callable[[Array, Array, dict[str, Any]], float | None]] = {
    "rsa": _plain_rsa,
    "cka": _plain_cka,
    "nbs": _plain_nbs,
}


def procrustes_moments(draw: Draw) -> None:
    """The estimate of the Procrustes distance from few stimuli."""
    M, n_moments = draw.whole(4, 8), draw.pick([1, 1, 2])
    x, y = (trials(draw, M, draw.whole(1, 4)) for _ in range(2))
    draw.expect = "either" if x.usable and y.usable else "refusal"
    found = baselines.procrustes_moments(x.given, y.given, n_moments=n_moments, n_pairings=2)
    if draw.expect == "refusal":
        raise WrongError("a network that is not finite got a value")
    no_nan(found)


ESTIMATORS = ["mle", "unbiased", "ledoit-wolf", "oas", "shrinkage-cv", "ridge"]


def estimator(draw: Draw) -> None:
    """Moments from trials, against NumPy and scikit-learn in the unit of the network."""
    name = draw.pick(ESTIMATORS)
    M, n = draw.whole(1, 4), draw.whole(1, 6)
    x = trials(draw, M, n, fewest=1 if name in ("mle", "ridge") else 2)
    draw.note(name)
    draw.expect = "either" if x.usable else "refusal"
    if x.usable and name != "shrinkage-cv" and x.fewest_trials > 1:
        draw.expect = "value"
    found = rs.estimate_moments(x.given, name)
    if draw.expect == "refusal":
        raise WrongError("trials that are not finite got moments")
    demand(np.isfinite(found.means).all(), "the means are not finite")
    demand(np.isfinite(found.stored).all(), "the covariances are not finite")
    assert x.trials is not None
    if x.denormal:
        return
    unit = unit_of(x)
    margin = 1e-9 * max(1, n)
    means = np.stack([(one / unit).mean(axis=0) for one in x.trials])
    demand(np.abs(found.means / unit - means).max() < margin, "wrong means")
    S = found.covariances / unit / unit
    for m, one in enumerate(x.trials):
        expected = _expected(name, one / unit, unit) if x.size > 1e-150 else None
        if expected is not None:
            wrong = np.abs(S[m] - expected).max()
            demand(wrong < margin, f"the covariance of condition {m} is wrong by {wrong}")


def _expected(name: str, rows: Array, unit: float) -> Array | None:
    centred = rows - rows.mean(axis=0)
    plug_in = centred.T @ centred / len(rows)
    if name == "mle":
        return np.asarray(plug_in)
    if name == "unbiased":
        return np.asarray(plug_in * len(rows) / (len(rows) - 1))
    if name == "ridge":
        return (
            np.asarray(plug_in + 1e-4 / unit / unit * np.eye(len(plug_in)))
            if unit > 1e-100
            else None
        )
    # What scikit-learn shrinks by depends on rounding where there is no noise.
    if name == "shrinkage-cv" or np.abs(plug_in).max() < 1e-12 or rows.shape[1] == 1:
        return None
    return np.asarray((ledoit_wolf if name == "ledoit-wolf" else oas)(rows)[0])


def preprocess(draw: Draw) -> None:
    """Preprocessing: centred, of unit variance, or white, as it was asked."""
    M, n = draw.whole(1, 8), draw.whole(1, 6)
    x = network(draw, M, n)
    n_components = draw.whole(1, n) if draw.chance(0.4) else None
    chosen = rs.Preprocess(
        center=draw.chance(0.7),
        scale=draw.chance(0.5),
        n_components=n_components,
        whitening=draw.pick([0.0, 0.0, 0.5, 1.0]),
    )
    draw.note(chosen)
    draw.expect = "either" if x.usable else "refusal"
    phi = chosen.fit(x.given)
    if draw.expect == "refusal":
        raise WrongError("a network that is not finite was preprocessed")
    moved = phi.apply(x.given)
    demand(np.isfinite(moved.means).all(), "the means are not finite")
    gaussians = moved if isinstance(moved, rs.Gaussians) else rs.estimate_moments(moved)
    variance = gaussians.variances
    demand(np.isfinite(variance).all(), "the variances are not finite")
    mean = moved.means.mean(axis=0)
    amplified = abs(phi.gain) * _largest(phi.linear) * x.size
    rounding = 1e-14 * amplified * n
    lost = rounding if x.covariances is None else 1e-14 * amplified**2  # covariances are squares
    if x.denormal:
        return
    if chosen.scale and x.offset < 1e6 and lost < 1e-6:
        spread = moved.means - mean
        total = float((spread**2).sum(axis=1).mean() + variance.sum(axis=1).mean())
        close(total, 1.0, 1e-6, "the total variance is not 1")
    if chosen.center:
        lost = 1e-9 * np.abs(moved.means).max(initial=0.0) + rounding
        demand(np.abs(mean).max() <= lost, f"the grand mean is {np.abs(mean).max()}")


def _largest(matrix: Array | None) -> float:
    return 1.0 if matrix is None else float(np.abs(matrix).max(initial=0.0))
