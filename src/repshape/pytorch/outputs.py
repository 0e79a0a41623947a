"""Tensors inside what a layer returns: a tensor, or tuples, dicts and dataclasses of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor, nn

from repshape.errors import InputError, InputTypeError

# Between the keys of nested outputs: "hidden_states.3" is the fourth of the hidden states.
NESTED = "."
# The key of an output that is a tensor itself.
WHOLE = ""
# Of an output with several tensors, the one of this name is what the layer computes.
MAIN = "last_hidden_state"
# These return their responses first, and then states or weights.
RESPONSES_FIRST = (nn.RNNBase, nn.MultiheadAttention)


def tensors_of(output: Any) -> dict[str, Tensor]:
    """Return every tensor of an output by its key.

    >>> import torch
    >>> sorted(tensors_of({"logits": torch.zeros(2), "states": (torch.ones(1), None)}))
    ['logits', 'states.0']
    """
    if isinstance(output, Tensor):
        return {WHOLE: output}
    found = {}
    for name, part in _parts(output):
        for key, tensor in tensors_of(part).items():
            found[f"{name}{NESTED}{key}" if key else name] = tensor
    return found


def _parts(output: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(output, Mapping):
        yield from ((str(name), part) for name, part in output.items())
    elif is_dataclass(output):
        yield from ((field.name, getattr(output, field.name)) for field in fields(output))
    elif isinstance(output, list | tuple):
        names = getattr(output, "_fields", range(len(output)))
        yield from ((str(name), part) for name, part in zip(names, output, strict=True))


def find_tensor(output: Any, key: str | None, module: nn.Module, layer: str) -> Tensor:
    """Return the tensor of a key, or for None the only or main one; raise if there is none."""
    found = tensors_of(output)
    if not found:
        raise InputTypeError(
            f"The layer {layer!r} must return a tensor, or a tuple, dict or dataclass of tensors. "
            f"Got a {type(output).__name__} instead: pass a function of it as 'readout' that "
            "returns a tensor (inputs, neurons)."
        )
    chosen = _default(found, module) if key is None else key
    if chosen in found:
        return found[chosen]
    if WHOLE in found:
        raise InputError(
            f"The layer {layer!r} returns a single tensor, which has no parts. Got the key {key!r}."
        )
    listed = ", ".join(repr(one) for one in found)
    missing = f" Got {key!r}." if key is not None else ""
    raise InputError(
        f"The layer {layer!r} returns a {type(output).__name__} with the tensors {listed}. Choose "
        f"one of them with 'readout', such as readout={next(iter(found)) + ':flatten'!r}.{missing}"
    )


def _default(found: Mapping[str, Tensor], module: nn.Module) -> str | None:
    if len(found) == 1:
        return next(iter(found))
    if isinstance(module, RESPONSES_FIRST):
        return "0"
    return MAIN if MAIN in found else None
