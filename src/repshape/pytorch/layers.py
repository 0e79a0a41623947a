"""Layers of a model by name: what they return during a forward pass, as rows of neurons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from repshape._labels import find_label
from repshape.errors import InputError, InputTypeError
from repshape.pytorch.outputs import find_tensor
from repshape.pytorch.readouts import (
    READOUTS,
    Channels,
    NamedReadout,
    Readout,
    check_readout,
    split_key,
)

FloatArray = npt.NDArray[np.float64]
T = TypeVar("T")

# Between the name of a layer and the number of its call, if it runs more than once in a pass.
CALL = "@"


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
    axis : int
        Dimension of the inputs in what the layer returns.
    channels : "first", "last" or None
        Where the channels are, once the inputs come first; None if that does not matter.
    positions : tuple of int or None
        Shape of the positions, if the readout keeps them.
    """

    name: str
    module: nn.Module
    call: int | None
    readout: Readout | None
    axis: int = 0
    channels: Channels | None = None
    positions: tuple[int, ...] | None = None

    @property
    def setting(self) -> str | None:
        """The readout in words, for metadata."""
        if self.readout is None or isinstance(self.readout, str):
            return self.readout
        return getattr(self.readout, "__qualname__", type(self.readout).__name__)

    @property
    def named(self) -> NamedReadout | None:
        """The readout that has a name, if it has one."""
        return READOUTS[split_key(self.readout)[1]] if isinstance(self.readout, str) else None

    def tensor(self, output: Any) -> Tensor:
        """Return the tensor that is read, as the layer returned it, or raise."""
        if self.readout is not None and not isinstance(self.readout, str):
            found = self.readout(output)
            if not isinstance(found, Tensor):
                raise InputTypeError(
                    f"The 'readout' function of layer {self.name!r} must return a tensor. "
                    f"Got a {type(found).__name__} instead."
                )
            return found
        key = split_key(self.readout)[0] if self.readout is not None else None
        return find_tensor(output, key, self.module, self.name)

    def check_shape(self, shape: Sequence[int]) -> None:
        """Raise unless the readout takes a tensor of this shape."""
        words, named = self.in_words(shape), self.named
        if callable(self.readout) and (len(shape) != 2 or self.axis != 0):
            raise InputError(
                f"The 'readout' function of layer {self.name!r} must return a tensor of shape "
                f"(inputs, neurons). Got shape {words} instead."
            )
        if self.readout is None and len(shape) != 2:
            listed = ", ".join(repr(name) for name in READOUTS)
            raise InputError(
                f"The layer {self.name!r} returns a tensor of shape {words}. Choose with 'readout' "
                f"what its neurons are: one of {listed}, or a function."
            )
        if named is not None and len(shape) not in named.dimensions:
            raise InputError(
                f"The readout {self.readout!r} is for tensors of shape {named.expected}. "
                f"Got shape {words} from layer {self.name!r} instead."
            )

    def in_words(self, shape: Sequence[int]) -> str:
        """Return a shape without the number of inputs, which depends on the batch.

        >>> Layer("", nn.Identity(), None, None, axis=1).in_words((7, 256, 3))
        '(7, inputs, 3)'
        """
        parts = ["inputs" if k == self.axis else str(size) for k, size in enumerate(shape)]
        return f"({', '.join(parts)})" if len(parts) != 1 else f"({parts[0]},)"

    def read(self, output: Any) -> Tensor:
        """Return what is read: (inputs, neurons), or (inputs, positions ..., neurons)."""
        found = self.tensor(output)
        self.check_shape(found.shape)
        found = found.movedim(self.axis, 0)
        if self.channels == "first":
            found = found.movedim(1, -1)
        return found if self.named is None else self.named.apply(found)

    def rows(self, output: Any, n_rows: int) -> Tensor:
        """Return what is read as a tensor (inputs, columns), position after position, or raise."""
        found = self.read(output)
        if len(found) != n_rows:
            raise InputError(
                f"The layer {self.name!r} must return one response for each of {n_rows} inputs. "
                f"Got {len(found)} of them."
            )
        return found.flatten(1)


def find_layers(
    model: nn.Module,
    wanted: Sequence[str | nn.Module],
    readout: Readout | Mapping[Any, Readout | None] | None,
) -> list[Layer]:
    """Return layers by name or as modules, or raise an error that lists similar names."""
    names = [_name_of(model, one) for one in wanted]
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(f"The layers must be distinct. Got {twice!r} more than once.")
    chosen: dict[str, Readout | None] = {}
    if isinstance(readout, Mapping):
        given = {_name_of(model, key): value for key, value in readout.items()}
        for name in given:
            find_label(name, tuple(names), "layer")
        chosen = {name: given.get(name) for name in names}
    else:
        chosen = dict.fromkeys(names, readout)
    return [_find_layer(model, name, chosen[name]) for name in names]


def _name_of(model: nn.Module, layer: Any) -> str:
    """Return the name of a layer, which may be given as the module itself."""
    if isinstance(layer, str):
        return layer
    if not isinstance(layer, nn.Module):
        raise InputTypeError(
            "The 'layer' parameter must be the name of a layer, as text, or a module of the model. "
            f"Got {layer!r} instead."
        )
    for name, module in model.named_modules():
        if module is layer:
            return str(name)
    raise InputError(
        f"The 'layer' parameter must be a module of the model. Got a {type(layer).__name__} that "
        f"is not part of the {type(model).__name__}."
    )


def _find_layer(model: nn.Module, name: str, readout: Readout | None) -> Layer:
    check_readout(readout)
    modules = dict(model.named_modules(remove_duplicate=False))
    stem, _, number = name.rpartition(CALL)
    call = int(number) if stem and name not in modules and number.isdecimal() else None
    found = find_label(name if call is None else stem, tuple(modules), "layer")
    if call == 0:
        raise InputError(f"The calls of a layer are counted from 1. Got {name!r}.")
    return Layer(name, list(modules.values())[found], call, readout)


class OutputCapture(Generic[T]):
    """Takes what layers return, at the moment they return it.

    Parameters
    ----------
    layers : sequence of Layer
    read : callable
        ``read(layer, output)`` returns what is taken. A later layer may change a tensor in place,
        as ``ReLU(inplace=True)`` does, so that nothing but a copy is safe.
    """

    def __init__(self, layers: Sequence[Layer], read: Callable[[Layer, Any], T]) -> None:
        self._layers, self._read = layers, read
        self._calls: Counter[str] = Counter()
        self._taken: dict[str, T] = {}

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
            if layer.call in (None, self._calls[layer.name]):
                self._taken[layer.name] = self._read(layer, output)

        return take

    def begin(self) -> None:
        """Reset before a forward pass."""
        self._calls.clear()
        self._taken = {}

    def taken(self) -> dict[str, T]:
        """Return what was taken of each layer in this forward pass, or raise."""
        for layer in self._layers:
            calls = self._calls[layer.name]
            if layer.call is None and calls > 1:
                raise InputError(
                    f"The layer {layer.name!r} runs {calls} times in a forward pass. Choose one "
                    f"of them, for example {layer.name + CALL + '1'!r} for the first."
                )
            if layer.name not in self._taken:
                times = "" if layer.call is None else f" as often as {layer.call} times"
                raise InputError(f"A forward pass does not run the layer {layer.name!r}{times}.")
        return self._taken


class Capture(OutputCapture[FloatArray]):
    """Takes copies of the rows (inputs, columns) of layers, in double precision and on the CPU."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        super().__init__(layers, self._copy)
        self._n_rows = 0
        self.epsilon = 0.0  # the coarsest precision in which a layer has computed

    def _copy(self, layer: Layer, output: Any) -> FloatArray:
        rows = layer.rows(output, self._n_rows).detach()
        if rows.dtype.is_floating_point:
            self.epsilon = max(self.epsilon, torch.finfo(rows.dtype).eps)
        # First to the CPU: some devices have no double precision.
        copied: FloatArray = rows.to("cpu").to(torch.float64, copy=True).numpy()
        return copied

    def begin(self, n_rows: int = 0) -> None:
        """Reset for a forward pass with ``n_rows`` inputs."""
        super().begin()
        self._n_rows = n_rows

    def rows(self) -> dict[str, FloatArray]:
        """Return an array (inputs, columns) for each layer in this forward pass, or raise."""
        return self.taken()
