"""Where the trials of a layer go: moments or trials in memory, or trials on disk."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import zarr

from repshape._arrays import FloatArray, Labels, digest, frozen, symmetrized
from repshape.errors import InputError
from repshape.io.network_arrays import stored_checksum
from repshape.io.records import Record
from repshape.io.zarr import CHUNK_BYTES, add_array, create_group
from repshape.moments import contrasts
from repshape.responses import Gaussians, Trials
from repshape.responses.positions import PositionNetwork

Responses: TypeAlias = Gaussians | Trials | PositionNetwork

# What divides the sum of squares of L trials: L - DEGREES_LOST.
DEGREES_LOST = {"mle": 0, "unbiased": 1}
# A half of the trials must have a covariance.
FEWEST_IN_A_HALF = 2
# Trials whose largest difference is below this many epsilons of the largest response are equal up
# to rounding: the same input may be rounded differently in other rows of a batch.
ROUNDING = 16


@dataclass(frozen=True)
class Shape:
    """Numbers of conditions, of trials of each condition, and of columns; shape of the positions.

    The columns are the neurons, or with positions those of one position after the other.
    """

    n_conditions: int
    n_trials: int
    n_columns: int
    positions: tuple[int, ...] | None = None

    def placed(self, flat: Gaussians | Trials) -> Responses:
        """Return responses at their positions, if there are any."""
        return flat if self.positions is None else PositionNetwork._trusted(flat, self.positions)


class Sink(ABC):
    """Takes the trials of a layer in order, some trials of one condition at a time."""

    def __init__(self, layer: str, shape: Shape) -> None:
        self.layer, self.shape = layer, shape
        self._first = np.zeros(shape.n_columns)
        self._spread = self._largest = 0.0

    def add(self, condition: int, trial: int, rows: FloatArray) -> None:
        """Take trials (k, neurons) of a condition, the first of which has the number ``trial``."""
        if not np.isfinite(rows).all():
            where = trial + int(np.argmin(np.isfinite(rows).all(axis=1)))
            raise InputError(
                f"The responses of layer {self.layer!r} must be finite. Got NaN or infinity at "
                f"condition {condition}, trial {where}."
            )
        if trial == 0:
            self._first = rows[0].copy()
        self._spread = max(self._spread, float(np.abs(rows - self._first).max()))
        self._largest = max(self._largest, float(np.abs(rows).max()))
        self._take(condition, trial, rows)

    def all_equal(self, epsilon: float) -> bool:
        """Whether the trials of every condition are equal up to rounding."""
        return self._spread <= ROUNDING * epsilon * self._largest

    @abstractmethod
    def _take(self, condition: int, trial: int, rows: FloatArray) -> None: ...


class RunningMoments:
    """Mean and covariance of L trials of every condition; memory does not grow with L.

    With more trials than columns, blocks are merged as by Welford and by Chan, Golub and LeVeque:
    of counts a and b, means u and v, and sums of squares Q and R about them, the union has
    Q + R + (v - u)(v - u)' a b / (a + b). Otherwise the trials of one condition at a time are held,
    and the covariance is kept as a factor of n x (L - 1), from which nothing is lost.
    """

    def __init__(self, n_conditions: int, n_trials: int, n_columns: int) -> None:
        M, L, n = n_conditions, n_trials, n_columns
        self._thin = n >= L
        self._n_trials = L
        self._means = np.zeros((M, n))
        self._stored = np.zeros((M, n, L - 1 if self._thin else n))
        self._held = np.empty((L, n) if self._thin else (0, n))

    def add(self, condition: int, trial: int, rows: FloatArray) -> None:
        """Take trials (k, columns) of a condition, the first of which has the number ``trial``."""
        if self._thin:
            self._held[trial : trial + len(rows)] = rows
            if trial + len(rows) == self._n_trials:
                self._means[condition] = mean = self._held.mean(axis=0)
                self._stored[condition] = contrasts(self._held - mean)
            return
        mean = rows.mean(axis=0)
        centred, step = rows - mean, mean - self._means[condition]
        share = len(rows) / (trial + len(rows))
        self._stored[condition] += centred.T @ centred + np.outer(step, step) * (trial * share)
        self._means[condition] += step * share

    def network(self, conditions: Labels, covariance: str, halves: Any = None) -> Gaussians:
        """Return the moments of all conditions, once; nothing can be added afterwards."""
        count = self._n_trials - DEGREES_LOST[covariance]
        self._stored /= np.sqrt(count) if self._thin else count
        stored = self._stored if self._thin else symmetrized(self._stored)
        return Gaussians._trusted(
            frozen(self._means),
            frozen(stored),
            "factors" if self._thin else "full",
            conditions,
            covariance,
            n_trials=np.full(len(stored), self._n_trials, dtype=np.intp),
            halves=halves,
        )


class MomentSink(Sink):
    """Mean and covariance of every condition, and with ``halves`` those of half of the trials.

    The halves are the first and the last trials. There are none if one would have no covariance.
    """

    def __init__(self, layer: str, shape: Shape, covariance: str, *, halves: bool = False) -> None:
        super().__init__(layer, shape)
        self._covariance = covariance
        L = shape.n_trials
        spans = [(0, L)]
        if halves and L >= 2 * FEWEST_IN_A_HALF:
            spans += [(0, L // 2), (L // 2, L)]
        self._parts = [
            (start, stop, RunningMoments(shape.n_conditions, stop - start, shape.n_columns))
            for start, stop in spans
        ]

    def _take(self, condition: int, trial: int, rows: FloatArray) -> None:
        for start, stop, moments in self._parts:
            part = rows[max(start - trial, 0) : max(stop - trial, 0)]
            if len(part):
                moments.add(condition, max(trial - start, 0), part)

    def network(self, conditions: Labels) -> Responses:
        """Return the moments of all conditions, once; nothing can be added afterwards."""
        (_, _, whole), *rest = self._parts
        halves = tuple(one.network(conditions, self._covariance) for _, _, one in rest)
        return self.shape.placed(whole.network(conditions, self._covariance, halves or None))


class TrialSink(Sink):
    """All trials, in memory."""

    def __init__(self, layer: str, shape: Shape) -> None:
        super().__init__(layer, shape)
        self._trials = np.empty((shape.n_conditions, shape.n_trials, shape.n_columns))

    def _take(self, condition: int, trial: int, rows: FloatArray) -> None:
        self._trials[condition, trial : trial + len(rows)] = rows

    def network(self, conditions: Labels) -> Responses:
        """Return the trials of all conditions."""
        return self.shape.placed(Trials(self._trials, conditions=conditions))


class DiskSink(Sink):
    """All trials, in the folder of a network of a cohort; one chunk is held in memory.

    A chunk holds several conditions, or if these are too large some trials of one condition.
    """

    def __init__(self, layer: str, shape: Shape, folder: Path) -> None:
        super().__init__(layer, shape)
        M, L, n = shape.n_conditions, shape.n_trials, shape.n_columns
        fitting = max(CHUNK_BYTES // (8 * n), 1)  # trials in a chunk
        self._chunk = (min(max(fitting // L, 1), M), min(L, fitting))
        self._held = np.empty((self._chunk[0] * self._chunk[1], n))
        self._start, self._end = 0, 0  # rows that are held, counted over all conditions
        self._folder = folder
        self._group = create_group(folder, {})
        self._array = self._group.create_array(
            "trials",
            shape=(M, L, n),
            dtype=np.float64,
            chunks=(*self._chunk, n),
            compressors=[zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()],
        )
        self._digest = hashlib.sha256(b"trials")
        self._counts = np.full(M, L, dtype=np.int64)
        self._hash_header(self._counts.dtype, self._counts.shape)
        self._digest.update(self._counts.data)
        self._hash_header(np.dtype(np.float64), (M * L, n))

    def _hash_header(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self._digest.update(f"|{dtype.str}{shape}|".encode())  # as `repshape._arrays.digest`

    def _take(self, condition: int, trial: int, rows: FloatArray) -> None:
        self._digest.update(np.ascontiguousarray(rows).data)
        while len(rows):
            room = len(self._held) - (self._end - self._start)
            left = self.shape.n_trials - self._end % self.shape.n_trials
            part = rows[: min(room, left)]
            offset = self._end - self._start
            self._held[offset : offset + len(part)] = part
            self._end += len(part)
            rows = rows[len(part) :]
            whole = self._end % self.shape.n_trials == 0
            if self._end - self._start == len(self._held) or (whole and self._chunk[0] == 1):
                self._flush()

    def _flush(self) -> None:
        L = self.shape.n_trials
        (first, trial), last = divmod(self._start, L), (self._end - 1) // L
        held = self._held[: self._end - self._start]
        span = slice(trial, trial + len(held)) if first == last else slice(0, L)
        self._array[first : last + 1, span] = held.reshape(last + 1 - first, -1, held.shape[1])
        self._start = self._end

    def finish(self, record: Record, order: int) -> None:
        """Write what is still held, and the record of the network."""
        if self._end > self._start:
            self._flush()
        add_array(self._group, "n_trials", self._counts)
        add_array(self._group, "n_dropped", np.zeros_like(self._counts))
        fingerprint, positions = self._digest.hexdigest(), self.shape.positions
        if positions is not None:  # as that of a network with positions
            fingerprint = digest(fingerprint, np.array(positions, dtype=np.int64))
        complete = replace(
            record,
            n_neurons=self.shape.n_columns // prod(positions or ()),
            n_bytes=8 * len(self._counts) * self.shape.n_trials * self.shape.n_columns,
            fingerprint=fingerprint,
            positions=positions,
            checksum=stored_checksum(self._folder),
            order=order,
        )
        self._group.update_attributes(complete.attributes())
