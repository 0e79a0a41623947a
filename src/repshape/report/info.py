"""What a path holds, in words and as data: a cohort, a matrix of distances or one network."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from repshape._arrays import count
from repshape._doubt import TELLING_STARTS, is_single_of_few
from repshape.errors import InputError, RepshapeError
from repshape.io.cohort import FORMAT as COHORT
from repshape.io.cohort import Cohort
from repshape.io.importing import SUFFIXES, read_network
from repshape.io.zarr import read_attributes
from repshape.matrix.cross import CrossDistances
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.summary import doubt_words, largest, largest_excess
from repshape.responses import Gaussians, Trials
from repshape.responses.positions import PositionNetwork
from repshape.responses.windows import window_words
from repshape.store.header import kind_in

# With up to this many neurons, a search with one start has found the best of all alignments; pairs
# of very many neurons can have one start because there was no time for more.
MOST_EXACT = 8


@dataclass(frozen=True)
class Info:
    """A description: a line for each fact, and the same facts as data for JSON."""

    lines: tuple[str, ...]
    data: dict[str, Any]


def info(path: str | os.PathLike[str]) -> Info:
    """Describe a cohort, a matrix (a store, ``.npz`` or ``.csv``) or a file of one network.

    Examples
    --------
    >>> info("nowhere")
    Traceback (most recent call last):
        ...
    repshape.errors.InputError: There is nothing at nowhere.
    See "Troubleshooting" in the documentation.
    """
    place = Path(str(path).partition("#")[0])
    if not place.exists():
        raise InputError(f"There is nothing at {place}.")
    if place.is_dir():
        return _folder(place)
    if place.suffix in (".npz", ".csv"):
        try:
            return describe_matrix(DistanceMatrix.load(place), str(place))
        except RepshapeError:
            if place.suffix == ".csv":
                raise
    if place.suffix == ".npz":
        with suppress(RepshapeError):
            return describe_cross(CrossDistances.load(place), str(place))
    if place.suffix.lower() in SUFFIXES:
        return describe_network(read_network(path), str(path))
    raise InputError(f"{place} is neither a cohort, nor a matrix of distances, nor a network.")


def _folder(place: Path) -> Info:
    attributes = read_attributes(place) or {}
    if attributes.get("format") == COHORT:
        return describe_cohort(Cohort.open(place))
    if kind_in(attributes) == "matrix":
        return describe_matrix(DistanceMatrix.load(place), str(place))
    if kind_in(attributes) == "cross":
        return describe_cross(CrossDistances.load(place), str(place))
    inside = [one for one in sorted(place.iterdir()) if (read_attributes(one) or {}).get("format")]
    if not inside:
        raise InputError(f"{place} is neither a cohort nor a matrix of distances.")
    found = {one: _folder(one) for one in inside}
    lines = [[f"{one}:", *(f"  {line}" for line in held.lines)] for one, held in found.items()]
    data = {"kind": "folder", "contents": [held.data for held in found.values()]}
    return Info(tuple(line for held in lines for line in held), data)


def describe_cohort(cohort: Cohort) -> Info:
    """Describe a cohort without reading its responses."""
    records = cohort.records
    kinds = sorted({record.kind for record in records})
    total = sum(record.n_bytes for record in records)
    columns = list(cohort.metadata.columns)
    lines = [repr(cohort), f"stored as {', '.join(kinds) or 'nothing'}; {total / 2**20:.1f} MiB"]
    lines.append(f"metadata: {', '.join(columns) or 'none'}")
    if windows := count_windows(cohort):
        listed = [f"{words} ({count(number, 'network')})" for words, number in windows.items()]
        lines.append(f"spikes counted after the onset: {', '.join(listed)}")
    sizes = [record.n_neurons for record in records]
    data = {
        "kind": "cohort",
        "path": None if cohort.path is None else str(cohort.path),
        "networks": len(cohort),
        "conditions": cohort.n_conditions,
        "neurons": [min(sizes, default=0), max(sizes, default=0)],
        "stored": kinds,
        "bytes": total,
        "metadata": columns,
        "windows": windows,
        "names": list(cohort.labels),
    }
    return Info(tuple(lines), data)


def count_windows(cohort: Cohort) -> dict[str, int]:
    """Return the windows of spike counts in words, and how many networks have each."""
    windows = [record.window for record in cohort.records]
    return dict(Counter(window_words(one) for one in windows if one is not None))


def describe_matrix(D: DistanceMatrix, path: str) -> Info:
    """Describe a matrix of distances."""
    known = D.condensed()[~np.isnan(D.condensed())]
    lines = [
        f"{D!r}",
        "complete" if D.complete else f"incomplete: {count(D.n_missing, 'pair')} missing",
    ]
    for name, value in D.description.get("parameters", {}).items():
        lines.append(f"{name} = {value!r}")
    polish = D.description.get("polish")
    if polish:
        lines.append(polish_words(polish))
    if search_words(D):
        lines.append(search_words(D))
    data = {
        "kind": "distances",
        "path": path,
        "networks": len(D),
        "complete": D.complete,
        "missing_pairs": D.n_missing,
        "unconverged_pairs": D.n_unconverged,
        "doubtful_pairs": D.n_doubtful,
        "possible_excess": largest_excess(D),
        "median_agreement": _median_agreement(D),
        "smallest": float(known.min()) if known.size else None,
        "largest": float(known.max()) if known.size else None,
        "description": D.description,
        "metadata": list(map(str, D.metadata.columns)),
    }
    return Info(tuple(lines), data)


def describe_cross(C: CrossDistances, path: str) -> Info:
    """Describe distances between two sets of networks."""
    known = C.values[~np.isnan(C.values)]
    excess = C.possible_excess
    data = {
        "kind": "cross",
        "path": path,
        "rows": C.shape[0],
        "columns": C.shape[1],
        "complete": C.complete,
        "missing_pairs": C.n_missing,
        "unconverged_pairs": C.n_unconverged,
        "doubtful_pairs": C.n_doubtful,
        "possible_excess": None if excess is None else largest(excess),
        "smallest": float(known.min()) if known.size else None,
        "largest": float(known.max()) if known.size else None,
        "description": C.description,
    }
    lines = [f"{C!r}", "complete" if C.complete else f"{count(C.n_missing, 'pair')} missing"]
    return Info((*lines, *C.summary().splitlines()[1:]), data)


def _median_agreement(D: DistanceMatrix) -> float | None:
    shares = None if D.agreement is None else D.agreement[np.triu_indices(len(D), 1)]
    if shares is None or np.isnan(shares).all():
        return None
    return float(np.nanmedian(shares))


def search_words(D: DistanceMatrix) -> str:
    """Say how surely the search found the best alignments; nothing if that is not known."""
    median = _median_agreement(D)
    if median is None or D.n_starts is None or D.n_agreeing is None:
        return ""
    upper = np.triu_indices(len(D), 1)
    starts, agreeing = D.n_starts[upper], D.n_agreeing[upper]
    if starts.max() == 1:
        return f"search: each pair was solved {single_words(D)}"
    words = f"search: in the median pair, {100 * median:.0f} % of the starts found the best optimum"
    composed = int(np.count_nonzero((agreeing == 0) & (starts > 0)))
    if composed:
        words += f"; that of {count(composed, 'pair')} was composed from alignments of others"
    if D.n_doubtful:
        return f"{words}; {doubt_words(D)}"
    single = n_single_of_few(D)
    if single:
        found = f"that of {count(single, 'pair')} was found by one start"
        return f"{words}; {found} of fewer than {TELLING_STARTS}"
    return words


def is_exact(D: DistanceMatrix) -> bool:
    """Whether pairs with one start are solved exactly: few neurons, and an automatic search."""
    automatic = D.description.get("parameters", {}).get("n_starts") == "auto"
    few = D.sizes is not None and bool((D.sizes["neurons"] <= MOST_EXACT).all())
    return automatic and few


def is_all_exact(D: DistanceMatrix) -> bool:
    """Whether every pair is solved exactly."""
    return D.n_starts is not None and bool(D.n_starts.max() == 1) and is_exact(D)


def single_words(D: DistanceMatrix) -> str:
    """Say how pairs with one start were solved: exactly, or as the user wanted."""
    if is_exact(D):
        return "exactly"
    fixed = isinstance(D.description.get("parameters", {}).get("n_starts"), int)
    return "from one start" if fixed else "exactly or from one start"


def n_single_of_few(D: DistanceMatrix) -> int:
    """Return the number of pairs whose optimum one start found, of too few to tell much by it."""
    if D.n_starts is None or D.n_agreeing is None:
        return 0
    single = is_single_of_few(D.values, D.lower_bounds, D.n_starts, D.n_agreeing)
    return int(single[np.triu_indices(len(D), 1)].sum())


def polish_words(report: dict[str, Any], *, triangles: bool = True) -> str:
    """Say what the polish changed, with or without the number of violated triangles."""
    before, after = (f"{report[key]:.6g}" for key in ("total_before", "total_after"))
    words = (
        f"polish: {count(int(report['pairs_improved']), 'pair')} improved, by up to "
        f"{100 * report['largest_gain']:.2g} %"
    )
    if before != after:
        words += f"; sum of distances {before} to {after}"
    if not triangles:
        return words
    counts = [report[f"violated_triangles_{when}"] for when in ("before", "after")]
    return f"{words}; violated triangles {counts[0]} to {counts[1]}"


def describe_network(network: Trials | Gaussians | PositionNetwork, path: str) -> Info:
    """Describe one network."""
    positions = network.positions if isinstance(network, PositionNetwork) else None
    flat = network.flat if isinstance(network, PositionNetwork) else network
    data: dict[str, Any] = {
        "kind": "network",
        "path": path,
        "stored": "trials" if isinstance(flat, Trials) else flat.kind,
        "conditions": network.n_conditions,
        "neurons": network.n_neurons,
        "fingerprint": network.fingerprint,
    }
    if positions is not None:
        data["positions"] = list(positions)
    if isinstance(flat, Trials):
        data["trials"] = [int(flat.n_trials.min()), int(flat.n_trials.max())]
        data["missing_trials"] = int(flat.n_dropped.sum())
    return Info((repr(network),), data)
