"""What the commands do between parsing and the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from repshape.errors import InputError, check_choice
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import ShapeMetric
from repshape.metrics.registry import make_metric
from repshape.pairwise.plan import ENGINES, Settings
from repshape.pairwise.run import pairwise, pairwise_many
from repshape.preprocess import Preprocess

FILES = (".npz", ".csv")


def sweep(
    name: str,
    alphas: list[float] | None,
    parameters: dict[str, Any],
    preprocess: tuple[int | None, bool, float],
) -> dict[str, ShapeMetric[Any]]:
    """Return one metric, or one for each alpha, by the name that its matrix will have."""
    components, scale, whitening = preprocess
    given = dict(parameters)
    if components is not None or scale or whitening:
        given["preprocess"] = Preprocess(scale=scale, n_components=components, whitening=whitening)
    starts = given.pop("n_starts")
    if starts is not None:
        given["n_starts"] = int(starts) if str(starts).isdigit() else starts
    values: list[float | None] = [*alphas] if alphas else [None]
    return {
        "" if a is None else f"alpha-{a:g}": make_metric(name, alpha=a, **given) for a in values
    }


def check_pairwise(out: Path, metrics: dict[str, Any], settings: dict[str, Any]) -> None:
    """Raise if the options cannot be used together, before anything is read."""
    check_choice("engine", settings["engine"], ENGINES)
    Settings.checked(**{k: v for k, v in settings.items() if k not in ("workers", "engine")})
    if out.suffix not in FILES:
        return
    if len(metrics) > 1:
        raise InputError(f"Several matrices need a folder. Got {out} instead.")
    if settings["engine"] == "dask" or settings["shard"]:
        raise InputError(f"Shards and Dask need a store, a folder. Got {out} instead.")


def run_pairwise(
    cohort: Cohort, metrics: dict[str, ShapeMetric[Any]], out: Path, settings: dict[str, Any]
) -> dict[str, tuple[Path, DistanceMatrix]]:
    """Compute the matrices and return each with where it is."""
    if len(metrics) > 1:
        found = pairwise_many(cohort, metrics, store=out, **settings)
        return {name: (out / name, D) for name, D in found.items()}
    ((name, metric),) = metrics.items()
    if out.suffix not in FILES:
        return {name: (out, pairwise(cohort, metric, store=out, **settings))}
    D = pairwise(cohort, metric, **settings)
    D.save(out)
    return {name: (out, D)}
