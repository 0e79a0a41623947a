"""The matrices of a report: read, checked to be of the same networks, and named."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape.errors import InputError, InputTypeError
from repshape.io.cohort import Cohort
from repshape.io.zarr import read_attributes
from repshape.matrix.distances import DistanceMatrix
from repshape.pairwise.store import FORMAT as STORE
from repshape.pairwise.store import Store
from repshape.report.words import short_name

PathLike = str | os.PathLike[str]
MatrixLike = DistanceMatrix | PathLike
CohortLike = Cohort | PathLike
# The page keeps a number for each pair of networks; beyond this it would not open on a laptop.
MOST_NETWORKS = 5000
# Rounding enters a distance through a square root, as 1e-8 of the responses. Where no distance of a
# matrix reaches this share of the largest in another, its networks coincide.
COINCIDE = 1e-6


@dataclass(frozen=True, eq=False)
class Source:
    """One matrix of the report.

    Attributes
    ----------
    name : str
        What the page calls it; unique.
    matrix : DistanceMatrix
        The distances, complete or not.
    path : pathlib.Path or None
        Where it was read from.
    coincide : bool
        Whether all networks coincide but for rounding, judged beside the other matrices.
    """

    name: str
    matrix: DistanceMatrix
    path: Path | None = None
    coincide: bool = False

    @property
    def store(self) -> Store | None:
        """The store it was read from, or None."""
        return Store(self.path) if self.path is not None and self.path.is_dir() else None


def read_sources(
    matrices: MatrixLike | Sequence[MatrixLike] | Mapping[str, MatrixLike],
) -> tuple[Source, ...]:
    """Return the matrices with a name each, or raise one clear sentence.

    A folder of stores, as a sweep leaves it, stands for all of them.

    >>> D = DistanceMatrix([[0, 1], [1, 0]])
    >>> [source.name for source in read_sources([D, D])]
    ['matrix', 'matrix (2)']
    """
    if isinstance(matrices, DistanceMatrix | str | os.PathLike):
        matrices = [matrices]
    if isinstance(matrices, Mapping):
        given = [(str(name), one) for name, one in matrices.items()]
    elif isinstance(matrices, Sequence):
        given = [("", one) for one in matrices]
    else:
        raise InputTypeError(
            "The 'matrices' parameter must be one or several matrices of distances, or their "
            f"files. Got {type(matrices).__name__} instead."
        )
    found = [source for name, one in given for source in _read(name, one)]
    if not found:
        raise InputError("The 'matrices' parameter must hold at least one matrix. Got none.")
    for other in found[1:]:
        _check_same(found[0], other)
    if len(found[0].matrix) > MOST_NETWORKS:
        raise InputError(
            f"A report shows at most {MOST_NETWORKS} networks. Got {len(found[0].matrix)}."
        )
    return _judged(_named(found))


def _read(name: str, given: Any) -> list[Source]:
    if isinstance(given, DistanceMatrix):
        return [Source(name, given)]
    if not isinstance(given, str | os.PathLike):
        raise InputTypeError(
            "Each matrix must be a DistanceMatrix or the path of one. "
            f"Got {type(given).__name__} instead."
        )
    path = Path(given)
    if not path.exists():
        raise InputError(f"There is nothing at {path}.")
    if path.is_dir() and (read_attributes(path) or {}).get("format") is None:
        inside = [one for one in sorted(path.iterdir()) if _is_store(one)]
        if not inside:
            raise InputError(f"{path} holds no distance store.")
        prefix = f"{name}: " if name else ""
        return [
            Source(prefix + one.name if prefix else "", DistanceMatrix.load(one), one)
            for one in inside
        ]
    return [Source(name, DistanceMatrix.load(path), path)]


def _is_store(path: Path) -> bool:
    return path.is_dir() and (read_attributes(path) or {}).get("format") == STORE


def _check_same(first: Source, other: Source) -> None:
    mine, theirs = first.matrix.labels, other.matrix.labels
    if mine == theirs:
        return
    words = "All matrices must have the same networks in the same order."
    if len(mine) != len(theirs):
        raise InputError(f"{words} Got {len(mine)} and {len(theirs)} networks.")
    k = next(k for k, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
    raise InputError(f"{words} Network {k} is {mine[k]!r} in one and {theirs[k]!r} in another.")


def _named(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Give each a name from what was measured, told apart by file and number where they clash."""
    drafts = [(one, one.name or short_name(one.matrix.description, one.path)) for one in sources]
    times = Counter(name for _, name in drafts)
    taken: set[str] = set()
    named = []
    for source, draft in drafts:
        stem = source.path.stem if source.path is not None else ""
        name = f"{draft} ({stem})" if times[draft] > 1 and stem and not source.name else draft
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        taken.add(unique)
        named.append(replace(source, name=unique))
    return tuple(named)


def _judged(sources: Sequence[Source]) -> tuple[Source, ...]:
    sizes = [float(np.nanmax(np.abs(source.matrix.values))) for source in sources]
    pairs = zip(sources, sizes, strict=True)
    return tuple(replace(one, coincide=size <= COINCIDE * max(sizes)) for one, size in pairs)


def joint_metadata(sources: Sequence[Source], cohorts: Sequence[Cohort | None]) -> pd.DataFrame:
    """Return all columns that any matrix or cohort has; the first to have one counts."""
    frame = pd.DataFrame(index=list(sources[0].matrix.labels))
    tables = [source.matrix.metadata for source in sources]
    for table in [*tables, *(cohort.metadata for cohort in cohorts if cohort is not None)]:
        for at, column in enumerate(table.columns):
            if str(column) not in frame:
                frame[str(column)] = table.iloc[:, at].to_numpy()
    return frame


def read_cohorts(
    sources: Sequence[Source], cohort: CohortLike | Sequence[CohortLike] | None
) -> list[Cohort | None]:
    """Return the responses behind each matrix, or raise one sentence unless they fit.

    One cohort serves all matrices; several are one for each.
    """
    if cohort is None:
        return [None] * len(sources)
    if isinstance(cohort, Cohort | str | os.PathLike):
        opened = cohort if isinstance(cohort, Cohort) else Cohort.open(cohort)
        cohorts = [opened] * len(sources)
    else:
        cohorts = [one if isinstance(one, Cohort) else Cohort.open(one) for one in cohort]
    if len(cohorts) == 1:
        cohorts *= len(sources)
    if len(cohorts) != len(sources):
        raise InputError(
            "The 'cohort' parameter must be one cohort, or one for each matrix. "
            f"Got {len(cohorts)} for {len(sources)} matrices."
        )
    for source, one in zip(sources, cohorts, strict=True):
        _check_cohort(source, one)
    return list(cohorts)


def _check_cohort(source: Source, cohort: Cohort) -> None:
    labels = source.matrix.labels
    if cohort.labels != labels:
        differing = [a for a, b in zip(cohort.labels, labels, strict=False) if a != b]
        got = f"{len(cohort)} networks" + (f", among them {differing[0]!r}" if differing else "")
        raise InputError(
            "The 'cohort' parameter must hold the networks of the matrices in the same order. "
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
