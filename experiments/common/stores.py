"""Matrices of distances, each in a store of its own, so that a run may be stopped at any moment."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import repshape as rs
from experiments.common import files

DISTANCES = "distances"
CENTRED = "centred"
SECONDS = "seconds.json"


def alpha_name(alpha: float) -> str:
    """Return the name of a matrix.

    >>> alpha_name(0.5), alpha_name(2.0)
    ('alpha-0.5', 'alpha-2')
    """
    return f"alpha-{alpha:g}"


def gaussian_metrics(
    alphas: tuple[float, ...], *, centred: bool, **options: Any
) -> dict[str, rs.GaussianShapeMetric]:
    """Return Gaussian metrics with these options, by the names of their matrices."""
    options["preprocess"] = rs.Preprocess(center=True) if centred else None
    prefix = f"{CENTRED}-" if centred else ""
    return {f"{prefix}{alpha_name(a)}": rs.GaussianShapeMetric(a, **options) for a in alphas}


def raw_and_centred(
    alphas: tuple[float, ...], centred: tuple[float, ...] | None = None, **options: Any
) -> dict[str, rs.GaussianShapeMetric]:
    """Return metrics of raw networks, then of centred ones: by default at all alphas above 0.

    At alpha 0 means do not matter, so centring changes nothing and is left out.

    >>> list(raw_and_centred((0.0, 2.0)))
    ['alpha-0', 'alpha-2', 'centred-alpha-2']
    """
    if centred is None:
        centred = tuple(alpha for alpha in alphas if alpha > 0)
    raw = gaussian_metrics(alphas, centred=False, **options)
    return raw | gaussian_metrics(centred, centred=True, **options)


@dataclass(frozen=True)
class DistanceStores:
    """Stores of a study, and the wall time of each matrix over all runs that worked on it.

    Attributes
    ----------
    folder : Path
    workers : int
    polish : bool
        Of `repshape.pairwise`.
    """

    folder: Path
    workers: int
    polish: bool = True

    def pairwise(
        self, store: str, networks: Sequence[Any], metric: Any, metadata: pd.DataFrame
    ) -> rs.DistanceMatrix:
        """Return a matrix, from its store as far as it is there; labels are those of the rows."""
        start = time.perf_counter()
        path = self.folder / store
        path.parent.mkdir(parents=True, exist_ok=True)
        found = rs.pairwise(
            networks,
            metric,
            labels=list(metadata.index),
            metadata=metadata,
            workers=self.workers,
            polish=self.polish,
            store=path,
            progress=False,
        )
        self.add_seconds(store, time.perf_counter() - start)
        return found

    @property
    def seconds(self) -> dict[str, float]:
        """Wall time of each matrix."""
        path = self.folder / SECONDS
        return json.loads(path.read_text()) if path.exists() else {}

    def add_seconds(self, name: str, seconds: float) -> None:
        """Add to the wall time of a matrix."""
        self.folder.mkdir(parents=True, exist_ok=True)
        known = self.seconds
        known[name] = round(known.get(name, 0.0) + seconds, 2)
        files.write_json(self.folder / SECONDS, known)
