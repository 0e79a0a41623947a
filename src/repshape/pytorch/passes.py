"""Forward passes in batches: every trial of every condition, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from repshape.errors import InputError, InputTypeError
from repshape.pytorch.inputs import Inputs, Place
from repshape.pytorch.layers import Capture, FloatArray, Layer, OutputCapture
from repshape.pytorch.noise import Dropout, Noise, private_randomness, seed_batch, trial_stream

# Weights and inputs are hashed in parts of this many bytes, and hashes are truncated to this many
# digits.
HASHED_BYTES, HASH_DIGITS = 2**24, 16
# With one trial in each pass, responses of at most this many bytes wait for their other trials.
HELD_BYTES = 2**28

# Takes a condition, a trial, and from this trial on an array (trials, neurons) for each layer.
Take: TypeAlias = Callable[[int, int, dict[str, FloatArray]], None]


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
                "Call model.eval() first; dropout is switched on with noise='dropout'. For Monte "
                "Carlo batch normalisation, replace it by a module that draws statistics of "
                "batches of training data in each pass."
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
class Plan:
    """How the trials are divided among forward passes, and what is switched on in the model.

    Attributes
    ----------
    per_pass : bool
        Whether a pass has at most one trial of each condition, because trials in one pass would
        share noise.
    draws : bool
        Whether the model draws random numbers by itself, which depend on the size of the batches.
    trained : dict of str to torch.nn.Module
        Modules of the model that draw noise in train mode only, and are put into it.
    unaligned : frozenset of torch.nn.Module
        Dropout layers whose first dimension is not that of the batch.
    group : int
        Conditions in a pass, if ``per_pass``.
    skipped : dict of str to str
        Modules whose noise stays off, and what it is, in words.
    """

    per_pass: bool = False
    draws: bool = False
    trained: dict[str, nn.Module] = field(default_factory=dict)
    unaligned: frozenset[nn.Module] = frozenset()
    group: int = 1
    skipped: dict[str, str] = field(default_factory=dict)


class Forward:
    """A model that is ready: dropout is on, and generators are private."""

    def __init__(self, passes: Passes, dropout: Dropout) -> None:
        self._passes, self.dropout = passes, dropout

    def __call__(self, rows: npt.NDArray[np.int_], *key: int) -> None:
        """Run some rows, with conditions in ascending order.

        What the model draws by itself depends on the key.
        """
        passes = self._passes
        conditions, trials = np.divmod(rows, passes.n_trials)
        streams = [
            trial_stream(passes.seed, int(m), int(trial))
            for m, trial in zip(conditions, trials, strict=True)
        ]
        self.dropout.streams = streams
        seed_batch(passes.seed, *key)
        first = int(conditions[0])
        inputs, place = passes.inputs, passes.place
        unique = inputs.take(slice(first, int(conditions[-1]) + 1), place)
        index = torch.from_numpy(conditions - first).to(place.device)
        noisy = inputs.with_noise([one[index] for one in unique], passes.noise, streams)
        inputs.call(passes.model, [place.move(one) for one in noisy])


@dataclass(frozen=True)
class Passes:
    """All trials of all conditions: trial l of condition m is row ``m * n_trials + l``.

    Attributes
    ----------
    model : torch.nn.Module
    inputs : Inputs
    place : Place
    noise : Noise
    n_trials, batch_size, seed : int
    plan : Plan
    """

    model: nn.Module
    inputs: Inputs
    place: Place
    noise: Noise
    n_trials: int
    batch_size: int
    seed: int
    plan: Plan = field(default_factory=Plan)

    @property
    def n_rows(self) -> int:
        """Number of rows: conditions times trials."""
        return len(self.inputs) * self.n_trials

    @contextmanager
    def ready(self, capture: OutputCapture[Any]) -> Iterator[Forward]:
        """Yield what runs some rows; leave the model as it was."""
        plan = self.plan
        dropout = Dropout(self.model, self.noise.dropout, plan.trained.values(), plan.unaligned)
        contexts = private_randomness(self.place.device), _plain_attention(), torch.no_grad()
        # Dropout first: hooks run in the order in which they are registered.
        with contexts[0], contexts[1], contexts[2], dropout.on(), capture.attached():
            yield Forward(self, dropout)

    def run(self, layers: Sequence[Layer], take: Take) -> float:
        """Run every batch, and hand over the responses of one condition after the other.

        ``take(condition, first_trial, rows)`` gets an array (trials, neurons) for each layer.
        Returns the machine epsilon of the layers.
        """
        capture = Capture(layers)
        with self.ready(capture) as forward:
            if self.plan.per_pass:
                for first in range(0, len(self.inputs), self.plan.group):
                    self._run_group(first, forward, capture, take)
                return capture.epsilon
            for start in range(0, self.n_rows, self.batch_size):
                rows, key = self.batch_of(start)
                capture.begin(len(rows))
                forward(rows, *key)
                self._hand_over(start, start + len(rows), capture.rows(), take)
        return capture.epsilon

    def batch_of(self, row: int) -> tuple[npt.NDArray[np.int_], tuple[int, ...]]:
        """Return the rows that are in one pass with a row, and the key of what the model draws.

        With one trial in each pass, the key is the trial alone, so that noise which the model draws
        once in a pass does not depend on the size of the batches.
        """
        if not self.plan.per_pass:
            start = row - row % self.batch_size
            return np.arange(start, min(start + self.batch_size, self.n_rows)), (start,)
        condition, trial = divmod(row, self.n_trials)
        first = condition - condition % self.plan.group
        conditions = np.arange(first, min(first + self.plan.group, len(self.inputs)))
        return conditions * self.n_trials + trial, (trial,)

    def _run_group(self, first: int, forward: Forward, capture: Capture, take: Take) -> None:
        """Run one trial of some conditions in each pass."""
        held: dict[str, FloatArray] = {}
        begin = 0  # the first trial that is held
        for trial in range(self.n_trials):
            batch, key = self.batch_of(first * self.n_trials + trial)
            capture.begin(len(batch))
            forward(batch, *key)
            for name, rows in capture.rows().items():
                if name not in held:
                    size = len(batch), self._held_trials(rows)
                    held[name] = np.empty((*size, *rows.shape[1:]))
                held[name][:, trial - begin] = rows
            count = trial + 1 - begin
            if trial + 1 == self.n_trials or count == min(one.shape[1] for one in held.values()):
                for k in range(len(batch)):
                    take(first + k, begin, {name: one[k, :count] for name, one in held.items()})
                begin = trial + 1

    def _held_trials(self, rows: FloatArray) -> int:
        """Return how many trials are held: all of them, if there are several conditions."""
        if len(rows) > 1:
            return self.n_trials
        return min(self.n_trials, max(HELD_BYTES // max(rows.nbytes, 1), 1))

    def _hand_over(self, start: int, stop: int, rows: dict[str, FloatArray], take: Take) -> None:
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
    held = model.state_dict()
    others = {name: one for name, one in model.named_buffers() if name not in held}
    for name, value in (held | others).items():
        if isinstance(value, Tensor):
            state.update(f"|{name}{value.dtype}{tuple(value.shape)}|".encode())
            _hash_rows(state, value.detach().reshape(-1))
    return state.hexdigest()[:HASH_DIGITS]


def inputs_hash(inputs: Inputs) -> str:
    """Return a hash of the inputs."""
    state = sha256()
    for name, part in zip(inputs.names, inputs.parts, strict=True):
        state.update(f"|{tuple(part.shape)}|".encode())
        if inputs.form != "one":
            state.update(f"|{inputs.form} {name}|".encode())
        _hash_rows(state, part)
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
