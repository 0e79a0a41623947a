"""Readouts: which numbers of what a layer returns are its neurons, and where its channels are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from torch import Tensor, nn
from torch.nn.modules import pooling
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from repshape.errors import InputTypeError, check_choice

# A name of `READOUTS`, with the key of a tensor before it if a layer returns several; or a function
# of what the layer returns.
Readout: TypeAlias = str | Callable[[Any], Tensor]
# Where the channels are: after the inputs, or at the end.
Channels: TypeAlias = Literal["first", "last"]

# Between the key of a tensor and the name of a readout.
KEY = ":"


@dataclass(frozen=True)
class NamedReadout:
    """A way to turn what a layer returns into neurons, and the shapes it is for.

    Attributes
    ----------
    dimensions : tuple of int
        Numbers of dimensions that it takes, with that of the inputs.
    expected : str
        The shape in words.
    apply : callable
        A function of a tensor (inputs, positions ..., channels), or of any tensor (inputs, ...) if
        ``channels`` is None.
    channels : "first", "last", "known" or None
        Where the channels are unless the kind of the layer says otherwise; "known" refuses layers
        whose kind does not say it.
    fixed : bool
        Whether ``channels`` holds whatever the kind of the layer.
    keeps_positions : bool
        Whether the result is a network with positions.
    """

    dimensions: tuple[int, ...]
    expected: str
    apply: Callable[[Tensor], Tensor]
    channels: Literal["first", "last", "known"] | None = None
    fixed: bool = False
    keeps_positions: bool = False


def _same(tensor: Tensor) -> Tensor:
    return tensor


_MAPS = ((3, 4, 5), "(inputs, channels, positions ...)")
_TOKENS = ((3,), "(inputs, tokens, channels)")
_MAP = ((4,), "(inputs, channels, height, width) or (inputs, height, width, channels)", _same)
_SEQUENCE = ((3,), "(inputs, tokens, channels) or (inputs, channels, time)", _same)
_KEPT: dict[str, Any] = {"keeps_positions": True}
_FIXED: dict[str, Any] = {"keeps_positions": True, "fixed": True}
READOUTS = {
    "flatten": NamedReadout((2, 3, 4, 5, 6), "(inputs, ...)", lambda x: x.flatten(1)),
    "spatial-mean": NamedReadout(*_MAPS, lambda x: x.flatten(1, -2).mean(1), "first"),
    "spatial-max": NamedReadout(*_MAPS, lambda x: x.flatten(1, -2).amax(1), "first"),
    "first-token": NamedReadout(*_TOKENS, lambda x: x[:, 0], "last"),
    "last-token": NamedReadout(*_TOKENS, lambda x: x[:, -1], "last"),
    "token-mean": NamedReadout(*_TOKENS, lambda x: x.mean(1), "last"),
    "map": NamedReadout(*_MAP, "known", **_KEPT),
    "map-channels-first": NamedReadout(*_MAP, "first", **_FIXED),
    "map-channels-last": NamedReadout(*_MAP, "last", **_FIXED),
    "sequence": NamedReadout(*_SEQUENCE, "last", **_KEPT),
    "sequence-channels-first": NamedReadout(*_SEQUENCE, "first", **_FIXED),
    "sequence-channels-last": NamedReadout(*_SEQUENCE, "last", **_FIXED),
}


def split_key(readout: str) -> tuple[str | None, str]:
    """Return the key of a tensor, or None, and the name of the readout.

    >>> split_key("hidden_states.3:token-mean"), split_key("flatten")
    (('hidden_states.3', 'token-mean'), (None, 'flatten'))
    """
    key, separator, name = readout.rpartition(KEY)
    return (key if separator else None), name


def check_readout(readout: Any) -> None:
    """Raise unless a readout is a function, None, or text that names one."""
    if readout is None or callable(readout):
        return
    if not isinstance(readout, str):
        raise InputTypeError(
            "The 'readout' parameter must be the name of a readout, a function or None. "
            f"Got {readout!r} instead."
        )
    check_choice("readout", split_key(readout)[1], READOUTS)


# Layers whose results are (inputs, channels, positions ...), also in classes derived from them.
CHANNELS_FIRST = (
    _ConvNd,
    _NormBase,
    nn.GroupNorm,
    nn.LocalResponseNorm,
    nn.Dropout1d,
    nn.Dropout2d,
    nn.Dropout3d,
    nn.Upsample,
    nn.PixelShuffle,
    nn.PixelUnshuffle,
    pooling._MaxPoolNd,
    pooling._AvgPoolNd,
    pooling._LPPoolNd,
    pooling._AdaptiveMaxPoolNd,
    pooling._AdaptiveAvgPoolNd,
    nn.FractionalMaxPool2d,
)
# Layers whose results end in the channels. A derived class may move them, so its method that
# computes them must be the same.
CHANNELS_LAST = (
    nn.Linear,
    nn.Embedding,
    nn.RNN,
    nn.LSTM,
    nn.GRU,
    nn.MultiheadAttention,
    nn.TransformerEncoderLayer,
    nn.TransformerDecoderLayer,
    nn.TransformerEncoder,
    nn.TransformerDecoder,
)


def channels_of(module: nn.Module) -> Channels | None:
    """Return where the channels of a layer are, or None if its kind does not say it.

    >>> channels_of(nn.Conv2d(1, 1, 1)), channels_of(nn.LayerNorm(4)), channels_of(nn.ReLU())
    ('first', 'last', None)
    """
    if isinstance(module, CHANNELS_FIRST):
        return "first"
    if any(isinstance(module, one) and _computes_as(module, one) for one in CHANNELS_LAST):
        return "last"
    if isinstance(module, nn.LayerNorm) and _computes_as(module, nn.LayerNorm):
        return "last" if len(tuple(module.normalized_shape)) == 1 else None
    return None


def _computes_as(module: nn.Module, kind: type[nn.Module]) -> bool:
    return type(module).forward is kind.forward


def infer_channels(
    shape: tuple[int, ...], known: Mapping[tuple[int, ...], set[Channels]]
) -> Channels | None:
    """Return where channels are by layers of known kinds that return tensors of the same shape.

    None if there is no such layer, if they disagree, or if the shape does not tell the places
    apart.
    """
    found = known.get(shape, set())
    if len(found) != 1 or len(set(shape[1:])) == 1:
        return None
    return next(iter(found))
