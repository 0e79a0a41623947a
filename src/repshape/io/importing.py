"""Cohorts from files: NumPy arrays, HDF5, MATLAB, NWB and a manifest that names them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape._labels import left_out
from repshape.errors import InputError, MissingDependencyError, RepshapeError, check_boolean
from repshape.io.allen import count_allen
from repshape.io.cohort import Cohort
from repshape.io.destination import Destination
from repshape.io.expansion import Expansion, MaxBytes
from repshape.io.hdf5 import Hdf5Group, open_hdf5, read_dataset
from repshape.io.mat import read_mat
from repshape.io.npz import read_arrays
from repshape.io.nwb_recording import Recording, SpikeCounts
from repshape.io.paths import abridged, check_input_file, one_line, read_text
from repshape.io.tables import parse_csv
from repshape.responses import Gaussians, Trials
from repshape.responses.positions import PositionNetwork, as_any_network, has_positions

PathLike = str | os.PathLike[str]
HDF5 = (".h5", ".hdf5")
MATLAB = ".mat"
NWB = ".nwb"
SUFFIXES = (".npz", ".npy", *HDF5, MATLAB)
LABELS = ("conditions", "neurons")
COVARIANCES = ("covariances", "variances", "factors", "log_variances")
Row = tuple[str, str, dict[str, Any]]  # of a manifest: name, file and metadata of a network
AnyNetwork = Trials | Gaussians | PositionNetwork


def read_network(path: PathLike, *, max_bytes: int | str | None = None) -> AnyNetwork:
    """Read one network from a file.

    Parameters
    ----------
    path : path
        ``.npy`` holds trials (conditions, trials, neurons) or points (conditions, neurons).
        ``.npz``, HDF5 and ``.mat`` hold an array ``trials``, and ``n_trials`` if these are pooled
        (all trials, neurons); or ``means`` and one of ``covariances``, ``variances``, ``factors``
        and ``log_variances``, which is what an encoder of a VAE returns; or one array of any name,
        as ``.npy``. Optional arrays ``conditions`` and ``neurons`` hold labels. Arrays in ``.mat``
        have the shape that MATLAB shows; ``trials`` may be a cell array with a matrix (trials,
        neurons) for each condition. What follows ``#`` names an array, a group or a struct inside
        the file, as in ``mice.h5#mouse3``.

        Time series and maps have the same names: ``trials`` of shape (conditions, trials, time,
        neurons) or (conditions, trials, height, width, channels), or ``means`` without the axis of
        trials. Their ``covariances`` have time * neurons rows and columns. An array of any name is
        read as ``trials`` if it has four or five dimensions.
    max_bytes : int or str, optional
        How much the file may expand to, in bytes or such as ``"8 GB"``; by default a quarter of
        the memory, or the size of the file if that is larger.

    Returns
    -------
    Trials, Gaussians or PositionNetwork

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/mouse.npy", np.zeros((5, 20, 3)))
    ...     read_network(f"{folder}/mouse.npy")
    Trials(5 conditions, 20 trials each, 3 neurons)
    """
    name, _, inside = str(path).partition("#")
    file = Path(name)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        listed = ", ".join(SUFFIXES)
        hint = " NWB files are read by read_nwb, or by `repshape import --nwb`."
        raise InputError(
            f"The file {abridged(file.name)} must be one of {listed}. "
            f"Got {abridged(repr(file.suffix))} instead."
            f"{hint if NWB in file.suffixes else ''}"
        )
    check_input_file(file)
    try:
        read = read_mat if suffix == MATLAB else _read_hdf5 if suffix in HDF5 else _read_numpy
        arrays = read(file, inside, max_bytes)
        return as_any_network(_interpret(arrays, str(path)))  # type: ignore[no-any-return]
    except RepshapeError as error:
        if isinstance(error, MissingDependencyError) or name in str(error):
            raise
        raise type(error)(f"In {path}: {error}") from None


def import_cohort(
    sources: Sequence[PathLike],
    out: PathLike,
    *,
    common_conditions: bool = False,
    add: bool = False,
    replace: Iterable[str] | None = None,
    name_column: str = "name",
    file_column: str = "file",
    max_bytes: int | str | None = None,
) -> Cohort:
    """Build a cohort on disk, or add networks to one, whole or not at all.

    All networks must have the same conditions in the same order, unless ``common_conditions`` is
    True. Only one network is in memory at a time.

    Parameters
    ----------
    sources : sequence of paths
        Files of networks, each named after its file; and manifests: ``.csv`` tables in UTF-8 with
        a row for each network, its name, its file (relative to the manifest) and columns of
        metadata.
    out : path
        The cohort to make, which must not exist; or, with ``add``, the cohort to add to.
    common_conditions : bool
        Whether to keep only the conditions that all networks have, in the order of the first
        network. Conditions are matched by label. The attribute ``dropped`` of the result lists
        what was left out, by network. Every file is read twice. With ``add``, the conditions of the
        cohort are kept, which all new networks must have.
    add : bool
        Whether to add the networks to a cohort that exists. They must have its conditions, and
        names that it does not have.
    replace : iterable of str, optional
        With ``add``, names of networks that replace those of the same name in the cohort.
    name_column, file_column : str
        The columns of the manifests that hold the name and the file of a network.
    max_bytes : int or str, optional
        How much each file may expand to; see `read_network`.

    Returns
    -------
    Cohort

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/mouse.npy", np.ones((5, 20, 3)))
    ...     import_cohort([f"{folder}/mouse.npy"], f"{folder}/mice.zarr").labels
    ('mouse',)
    """
    rows = _all_rows(sources, name_column, file_column)
    target = Destination.checked(out, [name for name, _, _ in rows], add=add, replace=replace)

    def read(file: str) -> tuple[AnyNetwork, Mapping[str, Any]]:
        return read_network(file, max_bytes=max_bytes), {}

    return _save_rows(rows, read, target, common_conditions)


def import_nwb(
    sources: Sequence[PathLike],
    out: PathLike,
    *,
    stimulus: str,
    condition: str | Sequence[str] | None = None,
    allen: bool = False,
    common_conditions: bool = False,
    add: bool = False,
    replace: Iterable[str] | None = None,
    name_column: str = "name",
    file_column: str = "file",
    **options: Any,
) -> Cohort:
    """Build a cohort of spike counts from NWB files, or add to one, whole or not at all.

    Parameters
    ----------
    sources : sequence of paths
        NWB files, each named after its file; and manifests as in `import_cohort`.
    out : path
        The cohort to make, which must not exist; or, with ``add``, the cohort to add to.
    stimulus : str
        A table of intervals that all files have.
    condition : str or list of str
        Columns of that table. With ``allen``, they have a default.
    allen : bool
        Whether to read the files by `read_allen`, which has a quality filter, or by `read_nwb`.
    common_conditions : bool
        Whether to keep only the conditions that all files have; see `import_cohort`.
    add, replace
        As in `import_cohort`.
    name_column, file_column : str
        The columns of the manifests that hold the name and the file of a network.
    **options
        As in `read_nwb` or `read_allen`: window, which only the latter has a default for, area,
        filters, where and others.

    Returns
    -------
    Cohort
        What a file says about its session and subject goes into the metadata, with the stimulus,
        the area and the window, unless a manifest has a column of that name.
    """
    if condition is None and not allen:
        raise InputError("The 'condition' parameter must name the columns of the conditions.")
    rows = _all_rows(sources, name_column, file_column)
    target = Destination.checked(out, [name for name, _, _ in rows], add=add, replace=replace)

    def read(file: str) -> tuple[Trials, Mapping[str, Any]]:
        with Recording(file) as recording:
            counts = _count_spikes(recording, stimulus, condition, allen, options)
        return counts.trials, counts.metadata

    return _save_rows(rows, read, target, common_conditions)


def _count_spikes(
    recording: Recording,
    stimulus: str,
    condition: str | Sequence[str] | None,
    allen: bool,
    options: Mapping[str, Any],
) -> SpikeCounts:
    if allen:
        return count_allen(recording, stimulus, condition=condition, **options)
    assert condition is not None
    return recording.count_spikes(stimulus, condition, **options)


def _all_rows(sources: Sequence[PathLike], name_column: str, file_column: str) -> list[Row]:
    rows = [row for source in sources for row in _rows(Path(source), name_column, file_column)]
    if not rows:
        raise InputError("There is nothing to import: the manifest has no rows.")
    return rows


def _save_rows(
    rows: Sequence[Row],
    read: Callable[[str], tuple[Any, Mapping[str, Any]]],  # a network, and what its file says
    target: Destination,
    common_conditions: bool,
) -> Cohort:
    """Write the networks that ``read`` finds in files, with their metadata."""
    check_boolean("common_conditions", common_conditions)
    found = ((name, *read(file), meta) for name, file, meta in rows)
    if not common_conditions:
        return target.save((name, net, {**own, **meta}) for name, net, own, meta in found)
    conditions = {name: read(file)[0].conditions for name, file, _ in rows}
    common = target.common(conditions)
    cohort = target.save(
        (name, net.select(common), {**own, **meta}) for name, net, own, meta in found
    )
    cohort.dropped = left_out(conditions, common)
    return cohort


def _rows(source: Path, name_column: str, file_column: str) -> list[Row]:
    """Return name, file and metadata of every network of a manifest, or of the file itself."""
    if source.suffix.lower() != ".csv":
        file, _, inside = str(source).partition("#")
        return [(inside or Path(file).stem.removesuffix(NWB), str(source), {})]
    text = read_text(source)
    try:
        table = parse_csv(text, (name_column, file_column))
    except InputError as error:
        raise InputError(f"In {source}: {error}") from None
    except ValueError as error:
        raise InputError(f"{source} cannot be read as a manifest: {one_line(error)}.") from None
    for column in (name_column, file_column):
        if column not in table.columns:
            listed = abridged(", ".join(map(repr, table.columns)))
            raise InputError(f"{source} needs a column {column!r}. It has {listed}.")
        if (table[column] == "").any():
            row = int((table[column] == "").to_numpy().argmax()) + 2  # the header is line 1
            raise InputError(f"{source} has no {column!r} in line {row}.")
    others = [column for column in table.columns if column not in (name_column, file_column)]
    return [
        (str(row[name_column]), str(source.parent / row[file_column]), _metadata(row, others))
        for _, row in table.iterrows()
    ]


def _metadata(row: pd.Series[Any], columns: Sequence[str]) -> dict[str, Any]:
    cells = {str(column): row[column] for column in columns}
    return {column: None if pd.isna(cell) else cell for column, cell in cells.items()}


def _interpret(arrays: Mapping[str, Any], path: str) -> Any:
    """Return the network that named arrays describe."""
    for name, values in arrays.items():
        parts = values if isinstance(values, list) else [values]
        if any(np.iscomplexobj(part) for part in parts):
            of = f" of {name!r}" if name else ""
            raise InputError(f"The numbers{of} in {path} are complex; responses must be real.")
    labels = {noun: _labels(arrays.get(noun), noun) for noun in LABELS}
    if "trials" in arrays:
        trials = arrays["trials"]
        if "n_trials" in arrays:
            trials = _split(np.asarray(trials), arrays["n_trials"])
        trials = trials if isinstance(trials, list) else np.asarray(trials)
        return (PositionNetwork if has_positions(trials) else Trials)(trials, **labels)
    found = [name for name in COVARIANCES if name in arrays]
    if "means" in arrays:
        return _from_moments(arrays["means"], found, arrays, labels)
    if len(arrays) == 1:
        only = next(iter(arrays.values()))
        return only if isinstance(only, list) else np.asarray(only)
    listed = ", ".join(map(repr, arrays)) or "nothing"
    raise InputError(
        f"{path} must hold 'trials', or 'means' and one of 'covariances', 'variances', 'factors' "
        f"and 'log_variances', or a single array. It holds {listed}."
    )


def _from_moments(
    means: Any, found: Sequence[str], arrays: Mapping[str, Any], labels: Mapping[str, Any]
) -> Gaussians | PositionNetwork:
    """Return the network of means, and of the first kind of covariances that was found."""
    kind: Any = PositionNetwork if np.ndim(means) in (3, 4) else Gaussians
    if not found:
        return kind.points(means, **labels)  # type: ignore[no-any-return]
    if found[0] == "factors":
        return kind.from_factors(means, arrays["factors"], **labels)  # type: ignore[no-any-return]
    make = kind.from_moments if kind is PositionNetwork else kind
    if found[0] == "log_variances":
        return make(means, _variances(arrays["log_variances"]), **labels)
    return make(means, arrays[found[0]], **labels)


def _variances(logarithms: Any) -> np.ndarray[Any, Any]:
    """Return variances from their natural logarithms, or raise if one is not a finite number."""
    values = np.asarray(logarithms, dtype=np.float64)
    with np.errstate(over="ignore"):
        found = np.exp(values)
    if not np.isfinite(found).all():
        raise InputError("'log_variances' must be natural logarithms of finite variances.")
    return np.asarray(found)


def _split(trials: np.ndarray[Any, Any], counts: Any) -> list[np.ndarray[Any, Any]]:
    """Return the trials of each condition, from all of them one below the other."""
    numbers = np.asarray(counts)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or trials.ndim < 2:
        raise InputError("'n_trials' must be a list of integers, and 'trials' (trials, neurons).")
    rows = trials.reshape(-1, trials.shape[-1])
    if trials.ndim in (3, 4) and numbers.sum() == len(trials) < len(rows):
        rows = trials  # sequences or maps
    if (numbers < 0).any() or numbers.sum() != len(rows):
        raise InputError(
            f"'n_trials' must sum to the {len(rows)} rows of 'trials'. Got {numbers.sum()}."
        )
    return np.split(rows, np.cumsum(numbers)[:-1])


def _labels(labels: Any, noun: str) -> list[Any] | None:
    if labels is None:
        return None
    try:
        found = np.asarray(labels).ravel().tolist()
        return [one.decode() if isinstance(one, bytes) else one for one in found]
    except UnicodeDecodeError:
        raise InputError(f"The names of the {noun} are not text in UTF-8.") from None
    except ValueError:
        raise InputError(f"The names of the {noun} must be a list of text.") from None


def _read_hdf5(file: Path, inside: str, max_bytes: MaxBytes) -> dict[str, Any]:
    limit = Expansion(file, max_bytes)
    try:
        with open_hdf5(file, "HDF5 files need h5py: pip install 'repshape[hdf5]'.") as opened:
            root = Hdf5Group(opened, file)
            node = root[inside] if inside else root
            if not isinstance(node, Hdf5Group):
                return {"": read_dataset(node, limit)}
            return {
                name: read_dataset(one, limit)
                for name, one in node.members()
                if not isinstance(one, Hdf5Group)
            }
    except KeyError:
        raise InputError(f"{file} has no array or group {inside!r}.") from None
    except RepshapeError:
        raise
    except Exception as error:  # whatever a damaged file makes HDF5 raise
        reason = one_line(error)
        raise InputError(f"{file} cannot be read as HDF5: {reason}.") from None


def _read_numpy(file: Path, inside: str, max_bytes: MaxBytes) -> dict[str, Any]:
    try:
        arrays = read_arrays(file, max_bytes, {inside} if inside else None)
    except RepshapeError:
        raise
    except Exception:  # whatever a damaged file makes NumPy raise
        raise InputError(
            f"{file} cannot be read as NumPy arrays: it is damaged, cut short, or holds "
            "Python objects."
        ) from None
    if inside and inside not in arrays and "" not in arrays:
        raise InputError(f"{file} has no array {inside!r}.")
    return {"" if inside else name: array for name, array in arrays.items()}
