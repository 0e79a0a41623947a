"""The protocol of the paper (Appendix B.2), step by step: plug-in distances without error bars."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import repshape as rs
from experiments.brain.claims import ALPHAS, SUBSAMPLED_ALPHAS
from experiments.brain.settings import Settings
from repshape.errors import SearchWarning

FloatArray = npt.NDArray[np.float64]
Networks = Mapping[str, rs.Trials]

SHRINKAGE = "shrinkage-cv"


def reduce(
    networks: Networks, n_components: int, **options: Any
) -> tuple[dict[str, rs.Trials], list[float]]:
    """Reduce each session by PCA over all images of a class; return the explained variances."""
    reduced, explained = {}, []
    for name, trials in networks.items():
        phi = rs.Preprocess(n_components=n_components, **options).fit(trials)
        applied = phi.apply(trials)
        assert isinstance(applied, rs.Trials)
        reduced[name] = applied
        explained.append(phi.explained_variance)
    return reduced, explained


def estimate(
    reduced: Networks, covariance: str = SHRINKAGE, seed: int = 0
) -> dict[str, rs.Gaussians]:
    """Estimate means and covariances; gamma is chosen by split-half cross-validation."""
    return {
        name: rs.estimate_moments(trials, covariance, random_state=seed)
        for name, trials in reduced.items()
    }


def gamma_of(moments: rs.Gaussians) -> float:
    """Return the shrinkage of a session, one number for all conditions."""
    return float(np.mean(np.asarray(moments.shrinkage, dtype=np.float64)))


def distances(
    moments: Mapping[str, rs.Gaussians], alphas: Sequence[float], workers: int, **options: Any
) -> dict[float, rs.DistanceMatrix]:
    """Return the matrix of distances between all sessions at each alpha."""
    metrics = [rs.GaussianShapeMetric(alpha, **options) for alpha in alphas]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)  # doubtful pairs are counted in the results
        found = [rs.pairwise(moments, one, workers=workers, progress=False) for one in metrics]
    return dict(zip(alphas, found, strict=True))


def search(n_starts: int) -> dict[str, Any]:
    """Return how alignments are searched, as options of a metric."""
    return {"n_starts": n_starts, "tol": 1e-5, "max_iter": 200}


def session_means(matrix: npt.ArrayLike) -> FloatArray:
    """Return the mean distance of each session from the others.

    >>> session_means([[0.0, 1.0, 3.0], [1.0, 0.0, 5.0], [3.0, 5.0, 0.0]])
    array([2., 3., 4.])
    """
    values = np.asarray(matrix, dtype=np.float64)
    return np.asarray(values.sum(axis=1) / (len(values) - 1))


def measure_class(networks: Networks, settings: Settings, workers: int) -> dict[str, Any]:
    """Follow the protocol for one class of stimuli; return everything, ready for JSON."""
    reduced, explained = reduce(networks, settings.n_components)
    moments = estimate(reduced, seed=settings.seed)
    found = distances(moments, ALPHAS, workers, **search(settings.n_starts))
    test = rs.inference.mantel(found[0.0], found[2.0], random_state=settings.seed)
    return {
        "names": list(networks),
        "n_neurons": [one.n_neurons for one in networks.values()],
        "n_conditions": next(iter(networks.values())).n_conditions,
        "explained": explained,
        "gamma": [gamma_of(one) for one in moments.values()],
        "distances": {f"{alpha:g}": D.values.tolist() for alpha, D in found.items()},
        "mantel": {"correlation": test.correlation, "p_value": test.p_value},
        "unconverged": sum(D.n_unconverged for D in found.values()),
        "doubtful": sum(D.n_doubtful for D in found.values()),
    }


def halves(networks: Networks, settings: Settings, workers: int) -> dict[str, Any]:
    """Follow the protocol for each half of the trials: d_0 and d_2 of independent samples."""
    out: dict[str, Any] = {}
    rng = np.random.default_rng(settings.seed)
    orders = {
        name: [rng.permutation(int(L)) for L in one.n_trials] for name, one in networks.items()
    }
    for half in (0, 1):
        part = {
            name: rs.Trials(
                [x[order[half::2]] for x, order in zip(one.responses, orders[name], strict=True)],
                conditions=one.conditions,
            )
            for name, one in networks.items()
        }
        reduced, _ = reduce(part, settings.n_components)
        found = distances(
            estimate(reduced, seed=settings.seed), (0.0, 2.0), workers, **search(settings.n_starts)
        )
        for alpha, D in found.items():
            out[f"{alpha:g}, half {half + 1}"] = D.values.tolist()
    return out


def subsample(networks: Networks, settings: Settings, workers: int) -> dict[str, Any]:
    """Subsample neurons of the two largest sessions, without PCA (Supplementary Figure 6)."""
    largest = sorted(networks, key=lambda name: networks[name].n_neurons)[-2:]
    pair = [networks[name] for name in largest]
    most = min(one.n_neurons for one in pair)
    sizes = [size for size in settings.subsample_sizes if size <= most]
    metric = rs.GaussianShapeMetric(covariance=SHRINKAGE, **search(settings.few_starts))
    curves = {
        name: rs.analysis.subsample(
            pair,
            "neurons",
            sizes,
            metric,
            alphas=SUBSAMPLED_ALPHAS,
            n_draws=settings.n_draws,
            replace=replace,
            random_state=settings.seed,
            workers=workers,
            progress=False,
        ).distances[..., 0]
        for name, replace in (("without", False), ("with", True))
    }
    return {
        "sessions": largest,
        "n_neurons": [one.n_neurons for one in pair],
        "sizes": sizes,
        "distances": {name: values.tolist() for name, values in curves.items()},
    }
