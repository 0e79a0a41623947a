"""Layers of a model by name: what they return during a forward pass, as rows of neurons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from repshape._labels import find_label
from repshape.errors import InputError, InputTypeError, check_choice

FloatArray = npt.NDArray[np.float64]
# A name of `READOUTS`, or a function of what the layer returns.
Readout: TypeAlias = str | Callable[[Any], Tensor]

# Between the name of a layer and the number of its call, if it runs more than once in a pass.
CALL = "@"


@dataclass(frozen=True)
class NamedReadout:
    """A way to turn what a layer returns into rows of neurons, and the shapes it is for."""

    dimensions: tuple[int, ...]
    expected: str
    apply: Callable[[Tensor], Tensor]


_MAPS = ((3, 4, 5), "(inputs, channels, positions ...)")
_TOKENS = ((3,), "(inputs, tokens, channels)")
READOUTS = {
    "flatten": NamedReadout((2, 3, 4, 5, 6), "(inputs, ...)", lambda x: x.flatten(1)),
    "spatial-mean": NamedReadout(*_MAPS, lambda x: x.flatten(2).mean(2)),
    "spatial-max": NamedReadout(*_MAPS, lambda x: x.flatten(2).amax(2)),
    "first-token": NamedReadout(*_TOKENS, lambda x: x[:, 0]),
    "last-token": NamedReadout(*_TOKENS, lambda x: x[:, -1]),
    "token-mean": NamedReadout(*_TOKENS, lambda x: x.mean(1)),
}


@dataclass(frozen=True)
class Layer:
    """One layer of a model.

    Attributes
    ----------
    name : str
        As it was asked for, with the number of the call if there is one.
    module : torch.nn.Module
    call : int or None
        Which of its calls in a forward pass counts, from 1; None if there must be one only.
    readout : str, callable or None
    """

    name: str
    module: nn.Module
    call: int | None
    readout: Readout | None

    @property
    def setting(self) -> str | None:
        """The readout in words, for metadata."""
        if self.readout is None or isinstance(self.readout, str):
            return self.readout
        return getattr(self.readout, "__qualname__", type(self.readout).__name__)

    def rows(self, output: Any, n_rows: int) -> Tensor:
        """Return what the layer returned as a tensor (inputs, neurons), or raise."""
        if callable(self.readout):
            found = self.readout(output)
            source = f"The 'readout' function of layer {self.name!r}"
        else:
            found = self._read(output)
            source = f"The layer {self.name!r}"
        if not isinstance(found, Tensor):
            raise InputTypeError(f"{source} must return a tensor. Got {_type(found)} instead.")
        if found.ndim != 2 or len(found) != n_rows:
            raise InputError(
                f"{source} must return a tensor of shape (inputs, neurons) with {n_rows} inputs in "
                f"this batch. Got shape {tuple(found.shape)} instead."
            )
        return found

    def _read(self, output: Any) -> Tensor:
        if not isinstance(output, Tensor):
            raise InputTypeError(
                f"The layer {self.name!r} must return a tensor. Got {_type(output)} instead: pass "
                "a function of it as 'readout' that returns a tensor (inputs, neurons)."
            )
        shape = tuple(output.shape)
        if self.readout is None:
            if output.ndim == 2:
                return output
            listed = ", ".join(repr(name) for name in READOUTS)
            raise InputError(
                f"The layer {self.name!r} returns a tensor of shape {shape}. Choose with 'readout' "
                f"what its neurons are: one of {listed}, or a function."
            )
        assert isinstance(self.readout, str)
        named = READOUTS[self.readout]
        if output.ndim not in named.dimensions:
            raise InputError(
                f"The readout {self.readout!r} is for tensors of shape {named.expected}. "
                f"Got shape {shape} from layer {self.name!r} instead."
            )
        return named.apply(output)


def _type(value: Any) -> str:
    return f"a {type(value).__name__}"


def find_layers(
    model: nn.Module,
    names: Sequence[str],
    readout: Readout | Mapping[str, Readout | None] | None,
) -> list[Layer]:
    """Return layers by name, or raise an error that lists similar names."""
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(f"The layers must be distinct. Got {twice!r} more than once.")
    if isinstance(readout, Mapping):
        for name in readout:
            find_label(name, tuple(names), "layer")
        chosen = {name: readout.get(name) for name in names}
    else:
        chosen = dict.fromkeys(names, readout)
    return [_find_layer(model, name, chosen[name]) for name in names]


def _find_layer(model: nn.Module, name: Any, readout: Readout | None) -> Layer:
    if not isinstance(name, str):
        raise InputTypeError(
            f"The 'layer' parameter must be the name of a layer, as text. Got {name!r} instead."
        )
    if readout is not None and not callable(readout):
        check_choice("readout", readout, READOUTS)
    modules = dict(model.named_modules(remove_duplicate=False))
    stem, _, number = name.rpartition(CALL)
    call = int(number) if stem and name not in modules and number.isdecimal() else None
    found = find_label(name if call is None else stem, tuple(modules), "layer")
    if call == 0:
        raise InputError(f"The calls of a layer are counted from 1. Got {name!r}.")
    return Layer(name, list(modules.values())[found], call, readout)


class Capture:
    """Takes copies of what layers return, at the moment they return it.

    A later layer may change a tensor in place, as ``ReLU(inplace=True)`` does, so that nothing but
    a copy is safe. Copies are in double precision and in the memory of the CPU.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._n_rows = 0
        self._calls: Counter[str] = Counter()
        self._rows: dict[str, FloatArray] = {}
        self.epsilon = 0.0  # the coarsest precision in which a layer has computed

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Register the hooks, and remove them again."""
        handles = [one.module.register_forward_hook(self._hook(one)) for one in self._layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _hook(self, layer: Layer) -> Callable[[nn.Module, Any, Any], None]:
        def take(module: nn.Module, arguments: Any, output: Any) -> None:
            self._calls[layer.name] += 1
            if layer.call not in (None, self._calls[layer.name]):
                return
            rows = layer.rows(output, self._n_rows).detach()
            if rows.dtype.is_floating_point:
                self.epsilon = max(self.epsilon, torch.finfo(rows.dtype).eps)
            # First to the CPU: some devices have no double precision.
            copied = rows.to("cpu").to(torch.float64, copy=True)
            self._rows[layer.name] = copied.numpy()

        return take

    def begin(self, n_rows: int) -> None:
        """Forget the last forward pass; the next one has so many inputs."""
        self._n_rows = n_rows
        self._calls.clear()
        self._rows = {}

    def rows(self) -> dict[str, FloatArray]:
        """Return the copies of this forward pass, an array (inputs, neurons) for each layer."""
        for layer in self._layers:
            calls = self._calls[layer.name]
            if layer.call is None and calls > 1:
                raise InputError(
                    f"The layer {layer.name!r} runs {calls} times in a forward pass. Choose one "
                    f"of them, for example {layer.name + CALL + '1'!r} for the first."
                )
            if layer.name not in self._rows:
                times = "" if layer.call is None else f" as often as {layer.call} times"
                raise InputError(f"A forward pass does not run the layer {layer.name!r}{times}.")
        return self._rows
