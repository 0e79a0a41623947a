"""The input of a report: matrices of the same networks, their responses and their metadata."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._joins import network_names
from repshape.engine.store import Store
from repshape.errors import InputError, InputTypeError
from repshape.io.cohort import Cohort
from repshape.io.tables import read_metadata, rows_of
from repshape.io.zarr import read_attributes
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import ShapeMetric
from repshape.metrics.identity import restore, short_title
from repshape.store.header import kind_in

FloatArray = npt.NDArray[np.float64]
PathLike = str | os.PathLike[str]
MatrixLike = DistanceMatrix | PathLike
CohortLike = Cohort | PathLike | Mapping[str, Any]
TableLike = pd.DataFrame | PathLike
# The page holds a number for each pair of networks; with more networks it would be too large for
# a laptop to open.
MOST_NETWORKS = 5000
# Rounding enters a distance through a square root, as 1e-8 of the size of the responses. If the
# largest distance of a matrix is below this fraction of the largest in any matrix, its networks
# coincide.
COINCIDE = 1e-6


@dataclass(frozen=True, eq=False)
class Source:
    """One matrix of the report, with what is known about it.

    Attributes
    ----------
    name : str
        The unique name of the matrix on the page.
    matrix : DistanceMatrix
        The distances; some pairs may be missing.
    path : pathlib.Path or None
        The file or store that the matrix was read from.
    coincide : bool
        Whether all distances are zero up to rounding, compared with the other matrices.
    cohort : Cohort or None
        The responses that the distances were computed from.
    distances : ndarray, shape (K * (K - 1) / 2,)
        The upper triangle of the matrix.
    n_missing : int
        Number of pairs that are not computed yet.
    metric : ShapeMetric or None
        The metric; None if it is not a repshape metric.
    """

    name: str
    matrix: DistanceMatrix
    path: Path | None = None
    coincide: bool = False
    cohort: Cohort | None = None
    distances: FloatArray = field(init=False)
    n_missing: int = field(init=False)
    metric: ShapeMetric[Any] | None = field(init=False)

    def __post_init__(self) -> None:
        distances = self.matrix.condensed()
        object.__setattr__(self, "distances", distances)  # the class is frozen
        object.__setattr__(self, "n_missing", int(np.isnan(distances).sum()))
        object.__setattr__(self, "metric", restore(self.matrix.description))

    @property
    def plug_in(self) -> DistanceMatrix:
        """The distances without correction for noise: the matrix itself, unless it has one."""
        bars = self.matrix.error_bars
        return self.matrix if bars is None else self.matrix.replace(values=bars.plug_in)

    @property
    def store(self) -> Store | None:
        """The store it was read from, or None."""
        return Store(self.path) if self.path is not None and self.path.is_dir() else None


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything that a report is made from.

    Attributes
    ----------
    sources : tuple of Source
        The matrices, at least one, all of the same networks in the same order.
    labels : tuple of str
        Names of the networks.
    metadata : pandas.DataFrame
        A row for each network, with the columns of all matrices and cohorts.
    """

    sources: tuple[Source, ...]
    labels: tuple[str, ...]
    metadata: pd.DataFrame


def read_inputs(
    matrices: MatrixLike | Sequence[MatrixLike] | Mapping[str, MatrixLike],
    cohort: CohortLike | Sequence[CohortLike] | None = None,
    metadata: TableLike | None = None,
) -> Inputs:
    """Read and check the matrices, their responses and further metadata.

    A folder of stores, as `pairwise_many` leaves it, stands for all of them. One cohort serves
    all matrices; several cohorts belong to one matrix each.

    >>> D = DistanceMatrix([[0, 1], [1, 0]])
    >>> [source.name for source in read_inputs([D, D]).sources]
    ['matrix', 'matrix (2)']
    """
    found = [one for name, given in _listed(matrices) for one in _read(name, given)]
    if not found:
        raise InputError("The 'matrices' parameter must hold at least one matrix. Got none.")
    for other in found[1:]:
        check_same_networks(found[0].matrix.labels, other.matrix.labels)
    if len(found[0].matrix.labels) > MOST_NETWORKS:
        raise InputError(
            "The 'matrices' parameter must hold at most "
            f"{MOST_NETWORKS} networks. Got {len(found[0].matrix.labels)}."
        )
    sizes = [float(np.nanmax(np.abs(one.matrix.values))) for one in found]
    cohorts = _read_cohorts(cohort, len(found))
    sources = tuple(
        Source(name, one.matrix, one.path, size <= COINCIDE * max(sizes), responses)
        for name, one, size, responses in zip(_names(found), found, sizes, cohorts, strict=True)
    )
    for source in sources:
        if source.cohort is not None:
            _check_cohort(source, source.cohort)
    labels = sources[0].matrix.labels
    return Inputs(sources, labels, _joint_metadata(sources, _read_table(metadata, labels)))


@dataclass(frozen=True, eq=False)
class _Read:
    """A matrix as it was read; the name is empty if the user gave none."""

    name: str
    matrix: DistanceMatrix
    path: Path | None = None


def _listed(matrices: Any) -> list[tuple[str, Any]]:
    """Return a name, which may be empty, and a matrix or path for each entry."""
    if isinstance(matrices, DistanceMatrix | str | os.PathLike):
        return [("", matrices)]
    if isinstance(matrices, Mapping):
        return [(str(name), one) for name, one in matrices.items()]
    if isinstance(matrices, Sequence):
        return [("", one) for one in matrices]
    raise InputTypeError(
        "The 'matrices' parameter must be one or several distance matrices, or paths to them. "
        f"Got {type(matrices).__name__} instead."
    )


def _read(name: str, given: Any) -> list[_Read]:
    if isinstance(given, DistanceMatrix):
        return [_Read(name, given)]
    if not isinstance(given, str | os.PathLike):
        raise InputTypeError(
            "Each matrix must be a DistanceMatrix or the path of one. "
            f"Got {type(given).__name__} instead."
        )
    path = Path(given)
    if not path.exists():
        raise InputError(f"There is nothing at {path}.")
    inside = stores_in(path)
    if inside is None:
        return [_Read(name, DistanceMatrix.load(path), path)]
    return [
        _Read(f"{name}: {one.name}" if name else "", DistanceMatrix.load(one), one)
        for one in inside
    ]


def stores_in(path: Path) -> list[Path] | None:
    """Return the stores in a folder, ordered by name; None unless it is a folder of stores."""
    if not path.is_dir() or (read_attributes(path) or {}).get("format") is not None:
        return None
    inside = [one for one in sorted(path.iterdir()) if _is_store(one)]
    if not inside:
        raise InputError(f"{path} contains no distance store.")
    return inside


def _is_store(path: Path) -> bool:
    return path.is_dir() and kind_in(read_attributes(path)) == "matrix"


def check_same_networks(mine: tuple[str, ...], theirs: tuple[str, ...]) -> None:
    """Raise unless two matrices have the same networks in the same order."""
    if mine == theirs:
        return
    words = "All matrices must have the same networks in the same order."
    if len(mine) != len(theirs):
        raise InputError(f"{words} Got {len(mine)} and {len(theirs)} networks.")
    k = next(k for k, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
    raise InputError(f"{words} Network {k} is {mine[k]!r} in one and {theirs[k]!r} in another.")


def _names(found: Sequence[_Read]) -> list[str]:
    """Return a unique name for each: given, or the metric's, with the file name if they clash."""
    drafts = [one.name or short_name(one.matrix.description, one.path) for one in found]
    times = Counter(drafts)
    names: list[str] = []
    for one, draft in zip(found, drafts, strict=True):
        stem = one.path.stem if one.path is not None else ""
        name = f"{draft} ({stem})" if times[draft] > 1 and stem and not one.name else draft
        unique, number = name, 2
        while unique in names:
            unique, number = f"{name} ({number})", number + 1
        names.append(unique)
    return names


def short_name(description: Mapping[str, Any], path: Path | None = None) -> str:
    """Return a short name for a matrix.

    >>> short_name({"metric": "GaussianShapeMetric", "parameters": {"alpha": 0.5}})
    'Gaussian, α = 0.5'
    """
    repaired = ", repaired" if description.get("repaired") else ""
    return (short_title(description) or (path.stem if path is not None else "matrix")) + repaired


def _read_table(metadata: TableLike | None, labels: Sequence[str]) -> pd.DataFrame:
    """Return the row of each network in a table or CSV file; no columns without one."""
    if metadata is None:
        return pd.DataFrame(index=list(labels))
    if isinstance(metadata, pd.DataFrame):
        return rows_of(metadata, labels, "The 'metadata' parameter")
    if isinstance(metadata, str | os.PathLike):
        return read_metadata(Path(metadata), labels)
    raise InputTypeError(
        "The 'metadata' parameter must be a table or the path of a CSV file. "
        f"Got {type(metadata).__name__} instead."
    )


def _joint_metadata(sources: Sequence[Source], given: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a given table, all matrices and cohorts; of equal names, the first."""
    frame = pd.DataFrame(index=list(sources[0].matrix.labels))
    tables = [given, *(source.matrix.metadata for source in sources)]
    cohorts = [source.cohort for source in sources]
    for table in [*tables, *(one.metadata for one in cohorts if one is not None)]:
        for at, column in enumerate(table.columns):
            if str(column) not in frame:
                frame[str(column)] = table.iloc[:, at].to_numpy()
    return frame


def _read_cohorts(
    cohort: CohortLike | Sequence[CohortLike] | None, n_matrices: int
) -> list[Cohort | None]:
    """Return the responses of each matrix, or None where none were given."""
    if cohort is None:
        return [None] * n_matrices
    given = cohort if isinstance(cohort, list | tuple) else [cohort]
    cohorts = [_read_cohort(one) for one in given]
    if len(cohorts) == 1:
        cohorts *= n_matrices
    if len(cohorts) != n_matrices:
        raise InputError(
            "The 'cohort' parameter must be one cohort, or one for each matrix. "
            f"Got {len(cohorts)} for {n_matrices} matrices."
        )
    return list(cohorts)


def _read_cohort(cohort: Any) -> Cohort:
    """Return a cohort, from its path or from networks that have names."""
    if isinstance(cohort, Cohort):
        return cohort
    if isinstance(cohort, str | os.PathLike):
        return Cohort.open(cohort)
    if network_names(cohort) is None:
        raise InputTypeError(
            "The 'cohort' parameter must be a cohort, its path, or a dict of networks by name. "
            f"Got {type(cohort).__name__} instead."
        )
    return Cohort(cohort)


def _check_cohort(source: Source, cohort: Cohort) -> None:
    labels = source.matrix.labels
    if cohort.labels != labels:
        differing = [a for a, b in zip(cohort.labels, labels, strict=False) if a != b]
        got = f"{len(cohort)} networks" + (f", among them {differing[0]!r}" if differing else "")
        raise InputError(
            "The 'cohort' parameter must hold the networks of the matrices, in the same order. "
            f"Got {got}, for {len(labels)} networks."
        )
    store = source.store
    if store is None:
        return
    for stored, now, label in zip(
        store.identity.fingerprints, cohort.fingerprints, labels, strict=True
    ):
        if stored != now:
            raise InputError(
                f"The responses of network {label!r} in the cohort are not those that "
                f"{source.path} was computed from."
            )
