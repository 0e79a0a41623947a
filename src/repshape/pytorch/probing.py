"""What the shapes of a layer's responses mean: two passes with different numbers of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor, nn

from repshape.errors import InputError, RepshapeError
from repshape.pytorch.layers import Layer, OutputCapture
from repshape.pytorch.passes import Passes
from repshape.pytorch.readouts import Channels, channels_of, infer_channels

# Numbers of inputs of the two passes. With one input, some models leave out its dimension.
SIZES = (2, 3)

Shape = tuple[int, ...]
Known = dict[Shape, set[Channels]]


def resolve_layers(passes: Passes, layers: Sequence[Layer]) -> list[Layer]:
    """Return the layers with the dimensions of their inputs, channels and positions.

    The dimension of the inputs is the one that has as many entries as there are inputs in both
    passes. In one pass alone, a number of tokens may happen to be the number of inputs.
    """
    capture = OutputCapture(layers, lambda layer, output: _shape(layer.tensor(output)))
    known: Known = {}
    found: list[dict[str, Shape]] = []
    with passes.ready(capture) as forward, _known_kinds(passes.model, known):
        for size in SIZES:
            known.clear()
            capture.begin()
            try:
                forward(np.minimum(np.arange(size), passes.n_rows - 1))
            except RepshapeError:
                raise
            except Exception as error:
                error.add_note(
                    f"collect runs a model on {SIZES[0]} and on {SIZES[1]} inputs first, to find "
                    "the dimension of the inputs in what its layers return."
                )
                raise
            found.append(dict(capture.taken()))
    return [_resolve(layer, [shapes[layer.name] for shapes in found], known) for layer in layers]


def _shape(tensor: Tensor) -> Shape:
    return tuple(tensor.shape)


@contextmanager
def _known_kinds(model: nn.Module, known: Known) -> Iterator[None]:
    """Note the shapes that layers of known kinds return, with the place of their channels."""

    def note(module: nn.Module, arguments: Any, output: Any) -> None:
        place = channels_of(module)
        if place is not None and isinstance(output, Tensor):
            known.setdefault(_shape(output), set()).add(place)

    modules = [one for one in model.modules() if channels_of(one) is not None]
    handles = [one.register_forward_hook(note) for one in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _resolve(layer: Layer, shapes: list[Shape], known: Known) -> Layer:
    resolved = replace(layer, axis=_inputs_axis(layer, shapes))
    last = shapes[-1]
    resolved.check_shape(last)
    named = layer.named
    if named is None or named.channels is None:
        return resolved
    place = named.channels if named.fixed else _channels(layer, last, known) or named.channels
    if place == "known":
        sizes = resolved.in_words(last)
        raise InputError(
            f"The layer {layer.name!r} returns maps of shape {sizes}, and its kind, "
            f"{type(layer.module).__name__}, does not say whether channels come first or last. "
            "Pass readout='map-channels-first' or readout='map-channels-last'."
        )
    resolved = replace(resolved, channels=place)
    if not named.keeps_positions:
        return resolved
    rest = [size for k, size in enumerate(last) if k != resolved.axis]
    return replace(resolved, positions=tuple(rest[1:] if place == "first" else rest[:-1]))


def _channels(layer: Layer, shape: Shape, known: Known) -> Channels | None:
    return channels_of(layer.module) or infer_channels(shape, known)


def _inputs_axis(layer: Layer, shapes: list[Shape]) -> int:
    """Return the dimension that follows the number of inputs, or raise one clear sentence."""
    same = len({len(shape) for shape in shapes}) == 1
    sizes = list(zip(*shapes, strict=True)) if same else []
    axes = [k for k, found in enumerate(sizes) if found == SIZES]
    others = [k for k, found in enumerate(sizes) if len(set(found)) > 1 and k not in axes]
    if len(axes) == 1 and not others:
        return axes[0]
    given = " and ".join(f"{shape} for {n} inputs" for n, shape in zip(SIZES, shapes, strict=True))
    what = "readout of layer" if callable(layer.readout) else "layer"
    raise InputError(
        f"The {what} {layer.name!r} must return a tensor with one dimension for the inputs. "
        f"Got shape {given}. Pass a function as 'readout' that returns (inputs, neurons)."
    )
