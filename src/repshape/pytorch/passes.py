"""Forward passes in batches: every trial of every condition, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from repshape.errors import InputError, InputTypeError
from repshape.pytorch.layers import Capture, FloatArray, Layer
from repshape.pytorch.noise import Dropout, Noise, private_randomness, seed_batch, trial_stream

# Weights and inputs are hashed in parts of this many bytes; of a hash, so many digits are kept.
HASHED_BYTES, HASH_DIGITS = 2**24, 16


@dataclass(frozen=True)
class Place:
    """Where a model computes, and in which precision; None if it has no parameters."""

    device: torch.device
    dtype: torch.dtype | None


def check_model(model: Any) -> Place:
    """Return where a model computes, or raise if its responses would not be its own."""
    if not isinstance(model, nn.Module):
        raise InputTypeError(
            f"The 'model' parameter must be a torch.nn.Module. Got a {type(model).__name__} "
            "instead."
        )
    for name, module in model.named_modules():
        if isinstance(module, _BatchNorm) and (module.training or module.running_mean is None):
            remedy = (
                "Call model.eval() first; dropout is switched on with noise='dropout'."
                if module.running_mean is not None
                else "It keeps no running statistics: train it with track_running_stats=True."
            )
            raise InputError(
                f"The batch normalisation {name!r} uses the statistics of each batch, so that a "
                f"response would depend on the other inputs in the batch. {remedy}"
            )
    tensors = [*model.parameters(), *model.buffers()]
    if any(one.is_meta for one in tensors):
        raise InputError("The model is on the device 'meta', which holds no numbers.")
    device = tensors[0].device if tensors else torch.device("cpu")
    floating = [one.dtype for one in tensors if one.is_floating_point()]
    return Place(device, floating[0] if floating else None)


def check_inputs(inputs: Any, place: Place) -> Tensor | npt.NDArray[Any]:
    """Return the inputs as a tensor or an array with the conditions first, or raise."""
    found = inputs if isinstance(inputs, Tensor | np.ndarray) else np.asarray(inputs)
    if not isinstance(found, Tensor) and found.dtype.kind not in "fiub":
        raise InputTypeError(
            "The 'inputs' must be a tensor or an array of numbers (conditions, ...). "
            f"Got {type(inputs).__name__} instead."
        )
    if found.ndim == 0 or not len(found):
        raise InputError(
            "The 'inputs' must have the conditions as their first dimension, at least one. "
            f"Got shape {tuple(found.shape)} instead."
        )
    if isinstance(found, Tensor) and found.device.type not in ("cpu", place.device.type):
        raise InputError(
            f"The 'inputs' must be on the device of the model, {place.device}, or on the CPU. "
            f"Got a tensor on {found.device} instead."
        )
    return found


def take_inputs(inputs: Tensor | npt.NDArray[Any], rows: slice, place: Place) -> Tensor:
    """Return some of the inputs where the model computes, in its precision."""
    part = inputs[rows]
    found = part if isinstance(part, Tensor) else torch.from_numpy(np.array(part))
    dtype = place.dtype if place.dtype and found.is_floating_point() else found.dtype
    return found.detach().to(place.device, dtype)


@contextmanager
def _plain_attention() -> Iterator[None]:
    """Switch off PyTorch's fast path of transformers, which skips hooks and dropout."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@dataclass(frozen=True)
class Passes:
    """All trials of all conditions: trial l of condition m is row ``m * n_trials + l``.

    Attributes
    ----------
    model : torch.nn.Module
    inputs : tensor or array of shape (conditions, ...)
    place : Place
    noise : Noise
    n_trials, batch_size, seed : int
    """

    model: nn.Module
    inputs: Tensor | npt.NDArray[Any]
    place: Place
    noise: Noise
    n_trials: int
    batch_size: int
    seed: int

    @property
    def n_rows(self) -> int:
        """Number of rows: conditions times trials."""
        return len(self.inputs) * self.n_trials

    def run(
        self, layers: Sequence[Layer], take: Callable[[int, int, dict[str, FloatArray]], None]
    ) -> float:
        """Run every batch, and hand over the responses of one condition after the other.

        ``take(condition, first_trial, rows)`` gets an array (trials, neurons) for each layer.
        Returns the machine epsilon of the layers.
        """
        capture = Capture(layers)
        dropout = Dropout(self.model, self.noise.dropout)
        contexts = private_randomness(self.place.device), _plain_attention(), torch.no_grad()
        # Dropout first: hooks run in the order in which they are registered.
        with contexts[0], contexts[1], contexts[2], dropout.on(), capture.attached():
            for start in range(0, self.n_rows, self.batch_size):
                stop = min(start + self.batch_size, self.n_rows)
                capture.begin(stop - start)
                self._forward(np.arange(start, stop), dropout)
                self._hand_over(start, stop, capture.rows(), take)
        return capture.epsilon

    def _forward(self, rows: npt.NDArray[np.int_], dropout: Dropout) -> None:
        conditions, trials = np.divmod(rows, self.n_trials)
        streams = [
            trial_stream(self.seed, int(m), int(trial))
            for m, trial in zip(conditions, trials, strict=True)
        ]
        dropout.streams = streams
        seed_batch(self.seed, int(rows[0]))
        first = int(conditions[0])
        unique = take_inputs(self.inputs, slice(first, int(conditions[-1]) + 1), self.place)
        clean = unique[torch.from_numpy(conditions - first).to(unique.device)]
        self.model(self.noise.inputs(clean, streams))

    def _hand_over(
        self,
        start: int,
        stop: int,
        rows: dict[str, FloatArray],
        take: Callable[[int, int, dict[str, FloatArray]], None],
    ) -> None:
        row = start
        while row < stop:
            condition, trial = divmod(row, self.n_trials)
            end = min(stop, (condition + 1) * self.n_trials)
            part = slice(row - start, end - start)
            take(condition, trial, {name: found[part] for name, found in rows.items()})
            row = end


def weights_hash(model: nn.Module) -> str:
    """Return a hash of all parameters and buffers of a model."""
    state = sha256()
    for name, value in model.state_dict().items():
        if isinstance(value, Tensor):
            state.update(f"|{name}{value.dtype}{tuple(value.shape)}|".encode())
            _hash_rows(state, value.detach().reshape(-1))
    return state.hexdigest()[:HASH_DIGITS]


def inputs_hash(inputs: Tensor | npt.NDArray[Any]) -> str:
    """Return a hash of the inputs."""
    state = sha256(f"|{tuple(inputs.shape)}|".encode())
    _hash_rows(state, inputs)
    return state.hexdigest()[:HASH_DIGITS]


def _hash_rows(state: Any, values: Tensor | npt.NDArray[Any]) -> None:
    width = max(int(np.prod(values.shape[1:])), 1)
    step = max(HASHED_BYTES // (8 * width), 1)
    for start in range(0, len(values), step):
        part = values[start : start + step]
        if isinstance(part, Tensor):
            part = torch.view_as_real(part) if part.is_complex() else part
            part = part.detach().cpu().to(torch.float64).numpy()  # NumPy lacks some of the dtypes
        state.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
