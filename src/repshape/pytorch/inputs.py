"""The inputs of a model: one tensor, or several arguments, with the conditions first in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, SequentialSampler

from repshape.errors import InputError, InputTypeError
from repshape.pytorch.noise import Noise

Part: TypeAlias = Tensor | npt.NDArray[Any]
# What `collect` takes as inputs.
InputsLike: TypeAlias = (
    Tensor | npt.ArrayLike | tuple[Part, ...] | Mapping[str, Part] | DataLoader[Any]
)


@dataclass(frozen=True)
class Place:
    """Where a model computes, and in which precision; None if it has no parameters."""

    device: torch.device
    dtype: torch.dtype | None

    def move(self, tensor: Tensor) -> Tensor:
        """Return a tensor where the model computes; real numbers in its precision."""
        dtype = self.dtype if self.dtype and tensor.is_floating_point() else tensor.dtype
        return tensor.detach().to(self.device, dtype)


@dataclass(frozen=True)
class Inputs:
    """The arguments of a model, for all conditions.

    Attributes
    ----------
    parts : tuple of tensors or arrays of shape (conditions, ...)
    form : {"one", "tuple", "dict"}
        How they were given: as one argument, as several, or by keyword.
    names : tuple of str
        Keywords; numbers otherwise.
    """

    parts: tuple[Part, ...]
    form: Literal["one", "tuple", "dict"]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.parts[0])

    def take(self, rows: slice, place: Place) -> list[Tensor]:
        """Return the arguments of some conditions where the model computes, in its precision."""
        chosen = [part[rows] for part in self.parts]
        tensors = [
            part if isinstance(part, Tensor) else torch.from_numpy(np.array(part))
            for part in chosen
        ]
        return [place.move(one) for one in tensors]

    def call(self, model: nn.Module, tensors: Sequence[Tensor]) -> Any:
        """Run the model on a batch."""
        if self.form == "dict":
            return model(**dict(zip(self.names, tensors, strict=True)))
        return model(*tensors)

    def with_noise(
        self, clean: list[Tensor], noise: Noise, streams: Sequence[np.random.Generator]
    ) -> list[Tensor]:
        """Return a batch with noise: one stream for each of its rows.

        Gaussian noise is added to all arguments of real numbers. A function is given all arguments
        of one row in the form of the inputs, and returns them in this form.
        """
        if noise.add is None:
            return clean
        if self.form == "one":
            return [noise.inputs(clean[0], list(streams))]
        if isinstance(noise.setting, float):
            real = [one.is_floating_point() for one in clean]
            real = real if any(real) else [True] * len(clean)  # which is refused later
            pairs = zip(clean, real, strict=True)
            return [noise.inputs(one, list(streams)) if is_real else one for one, is_real in pairs]
        made = [
            self._unpacked(noise.add(self._packed([one[k] for one in clean]), rng))
            for k, rng in enumerate(streams)
        ]
        return [torch.stack(column) for column in zip(*made, strict=True)]

    def _packed(self, tensors: list[Tensor]) -> Any:
        """Return the arguments of one row in the form in which the inputs were given."""
        if self.form == "dict":
            return dict(zip(self.names, tensors, strict=True))
        return tuple(tensors)

    def _unpacked(self, given: Any) -> list[Tensor]:
        found = None
        if self.form == "dict" and isinstance(given, Mapping) and set(given) == set(self.names):
            found = [given[name] for name in self.names]
        elif self.form == "tuple" and isinstance(given, tuple) and len(given) == len(self.parts):
            found = list(given)
        if found is None or not all(isinstance(one, Tensor) for one in found):
            kind = "tuple" if self.form == "tuple" else "dict with the same keys"
            raise InputTypeError(
                f"The 'noise' function must return a {kind} of {len(self.parts)} tensors, as it is "
                f"given. Got a {type(given).__name__} instead."
            )
        return found


def check_inputs(inputs: Any, place: Place) -> Inputs:
    """Return the inputs with the conditions first, or raise one clear sentence."""
    if isinstance(inputs, DataLoader):
        inputs = read_loader(inputs)
    if isinstance(inputs, Mapping):
        names = tuple(str(name) for name in inputs)
        parts = tuple(
            _check_part(part, f"inputs[{name!r}]", place)
            for name, part in zip(names, inputs.values(), strict=True)
        )
        return _check_lengths(Inputs(parts, "dict", names))
    several = isinstance(inputs, tuple) and any(
        isinstance(one, Tensor | np.ndarray) for one in inputs
    )
    if several:
        parts = tuple(_check_part(part, f"inputs[{k}]", place) for k, part in enumerate(inputs))
        return _check_lengths(Inputs(parts, "tuple", tuple(str(k) for k in range(len(parts)))))
    return Inputs((_check_part(inputs, "inputs", place),), "one", ("0",))


def _check_lengths(inputs: Inputs) -> Inputs:
    if not inputs.parts:
        raise InputError("The 'inputs' must hold at least one argument of the model. Got none.")
    lengths = [len(part) for part in inputs.parts]
    if len(set(lengths)) > 1:
        raise InputError(
            f"A {inputs.form} of 'inputs' has one entry for each argument of the model, with the "
            f"conditions first in each. Got {' and '.join(map(str, lengths))} conditions."
        )
    return inputs


def _check_part(given: Any, name: str, place: Place) -> Part:
    found = given if isinstance(given, Tensor | np.ndarray) else np.asarray(given)
    if not isinstance(found, Tensor) and found.dtype.kind not in "fiub":
        raise InputTypeError(
            f"The '{name}' must be a tensor or an array of numbers (conditions, ...). "
            f"Got {type(given).__name__} instead."
        )
    if found.ndim == 0 or not len(found):
        raise InputError(
            f"The '{name}' must have the conditions as their first dimension, at least one. "
            f"Got shape {tuple(found.shape)} instead."
        )
    if isinstance(found, Tensor) and found.device.type not in ("cpu", place.device.type):
        raise InputError(
            f"The '{name}' must be on the device of the model, {place.device}, or on the CPU. "
            f"Got a tensor on {found.device} instead."
        )
    return found


def read_loader(loader: DataLoader[Any]) -> Any:
    """Return all batches of a loader together, without labels, or raise if their order may change.

    Batches that are pairs of inputs and integer labels (inputs,) lose the labels.
    """
    if not isinstance(loader.sampler, SequentialSampler):
        raise InputError(
            "The 'inputs' are the conditions, which must have a fixed order. Got a DataLoader with "
            f"a {type(loader.sampler).__name__}: pass one with shuffle=False."
        )
    if loader.drop_last and loader.batch_size and len(loader.sampler) % loader.batch_size:
        raise InputError(
            "The 'inputs' must be a DataLoader with drop_last=False: this one leaves out the last "
            f"{len(loader.sampler) % loader.batch_size} of {len(loader.sampler)} conditions."
        )
    batches = [_without_labels(batch) for batch in loader]
    if not batches:
        raise InputError("The 'inputs' must have at least one condition. Got an empty DataLoader.")
    if isinstance(batches[0], Mapping):
        return {name: torch.cat([one[name] for one in batches]) for name in batches[0]}
    return torch.cat(batches)


def _without_labels(batch: Any) -> Any:
    if isinstance(batch, Tensor):
        return batch
    if isinstance(batch, Mapping) and all(isinstance(one, Tensor) for one in batch.values()):
        return batch
    if isinstance(batch, list | tuple) and all(isinstance(one, Tensor) for one in batch):
        if len(batch) == 1:
            return batch[0]
        if len(batch) == 2 and batch[1].ndim == 1 and not batch[1].is_floating_point():
            return batch[0]
    got = type(batch).__name__
    if isinstance(batch, list | tuple):
        got = f"{got} of {len(batch)} {'entries' if len(batch) != 1 else 'entry'}"
    raise InputError(
        "The batches of a DataLoader must be tensors, dicts of tensors, or pairs of inputs and "
        f"integer labels, which are left out. Got a {got}: pass the inputs themselves, a tuple "
        "with a tensor for each argument of the model, or a dict."
    )
