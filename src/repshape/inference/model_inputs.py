"""Brains and models as a user gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import check_moderate
from repshape.engine.inputs import as_sequence
from repshape.errors import FewTrialsWarning, InputError, warn_user
from repshape.inference.columns import text_column
from repshape.io.cohort import Cohort
from repshape.matrix.columns import ValuesLike
from repshape.matrix.cross import CrossDistances
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import ShapeMetric, check_same_conditions, in_one_space
from repshape.metrics.identity import describe
from repshape.responses import Gaussians, NetworkLike, Trials, as_trials

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Networks = Cohort | Iterable[NetworkLike] | Mapping[str, NetworkLike]

FEWEST_UNITS = 3


@dataclass(eq=False)
class Side:
    """Brains or models: networks, labels, and metadata or None."""

    networks: list[Any]
    labels: list[str]
    metadata: Any

    @classmethod
    def read(cls, given: Networks, name: str) -> Side:
        """Return what a user gives as the parameter ``name``."""
        networks = list(as_sequence(given, name))
        if not networks:
            raise InputError(f"The '{name}' parameter must hold at least one network. Got none.")
        if isinstance(given, Mapping):
            return cls(networks, [str(key) for key in given], None)
        labels = getattr(given, "labels", None)
        word = name.removesuffix("s")
        names = [f"{word} {k}" for k in range(len(networks))] if labels is None else list(labels)
        return cls(networks, names, getattr(given, "metadata", None))

    def matrix(self, squared: FloatArray, metric: ShapeMetric[Any]) -> DistanceMatrix:
        """Return distances between all of them."""
        about = describe(metric)
        return DistanceMatrix(
            roots(squared), self.labels, metadata=self.metadata, description=about
        )

    def units(self, blocks: ValuesLike | None, over: str) -> IntArray:
        """Return the block of each brain, by number."""
        size = len(self.labels)
        codes = np.arange(size)
        if blocks is not None:
            table = DistanceMatrix(np.zeros((size, size)), self.labels, metadata=self.metadata)
            codes = np.unique(text_column(table, blocks, "blocks"), return_inverse=True)[1]
        count, least = len(np.unique(codes)), FEWEST_UNITS - (over == "conditions")
        if count < least:
            what = "brains" if blocks is None else "blocks"
            raise InputError(f"Intervals over {over} need at least {least} {what}. Got {count}.")
        return codes


@dataclass(frozen=True, eq=False)
class Sides:
    """Brains and models."""

    brains: Side
    models: Side

    @property
    def labels(self) -> list[str]:
        """Labels of all networks, brains first, which are all different."""
        return [f"brains/{one}" for one in self.brains.labels] + [
            f"models/{one}" for one in self.models.labels
        ]

    def prepare(self, metric: ShapeMetric[Any]) -> ShapeMetric[Any]:
        """Read all networks as the metric takes them; return it in the space of all of them."""
        for side, read in ((self.brains, _brain), (self.models, _model)):
            both = zip(side.networks, side.labels, strict=True)
            side.networks = [read(metric, one, name) for one, name in both]
            for one in side.networks:
                check_same_conditions(self.brains.networks[0], one)
        chosen: ShapeMetric[Any] = in_one_space(
            metric, (*self.brains.networks, *self.models.networks)
        )
        return chosen

    def cross(self, squared: FloatArray, metric: ShapeMetric[Any]) -> CrossDistances:
        """Return the distances from brains to models."""
        return CrossDistances(
            roots(squared),
            self.brains.labels,
            self.models.labels,
            row_metadata=self.brains.metadata,
            column_metadata=self.models.metadata,
            description=describe(metric),
        )


def _brain(metric: ShapeMetric[Any], network: Any, name: str) -> Any:
    found = metric._read(network, f"brain {name!r}")
    check_moderate(as_trials(getattr(found, "flat", found), f"brain {name!r}").pooled, name)
    return found


def _model(metric: ShapeMetric[Any], network: Any, name: str) -> Any:
    """Return a model; one whose conditions have a single trial each has no noise."""
    found = metric._read(network, f"model {name!r}")
    if isinstance(found, Trials) and (found.n_trials == 1).all():
        return Gaussians.points(found.means, conditions=found.conditions)
    flat = getattr(found, "flat", found)
    if isinstance(flat, Gaussians) and flat.n_trials is not None:
        warn_user(
            f"The model {name!r} is given by moments of {int(np.min(flat.n_trials))} trials, whose "
            "noise is not removed. Give its trials instead.",
            FewTrialsWarning,
        )
    check_moderate(flat.means if isinstance(flat, Gaussians) else flat.pooled, f"model {name!r}")
    return found


def roots(squared: FloatArray) -> FloatArray:
    """Return distances of squared ones, which may be negative."""
    return np.copysign(np.sqrt(np.abs(squared)), squared)
