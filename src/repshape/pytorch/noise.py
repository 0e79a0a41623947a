"""What makes the trials of a condition differ: dropout, noise of the inputs, or the model itself.

Every trial has a stream of random numbers of its own, which depends on the seed, the condition and
the trial alone. So dropout and noise of the inputs do not depend on the size of the batches, nor on
the device. What a model draws by itself, from the generators of PyTorch, NumPy and Python, is
seeded batch by batch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from repshape.errors import InputError, InputTypeError, check_real

# "dropout", the standard deviation of noise of the inputs, or a function of an input.
NoiseLike: TypeAlias = str | float | Callable[[Tensor, np.random.Generator], Tensor]
AddNoise: TypeAlias = Callable[[Tensor, np.random.Generator], Tensor]

DROPOUT = "dropout"
# Kinds of dropout whose masks are drawn here, and the dimensions that a batch of each must have.
# The last three drop whole channels, the second dimension. Given another number of dimensions, they
# take the batch for something else.
MASKED = {
    nn.Dropout: range(2, 100),
    nn.Dropout1d: (3,),
    nn.Dropout2d: (3, 4),
    nn.Dropout3d: (5,),
}
# They apply dropout inside, with probability `dropout`, if they are in train mode.
WITH_DROPOUT_INSIDE = (nn.MultiheadAttention, nn.RNNBase)
# The largest number of conditions and of trials that the key of a stream can hold.
LARGEST_INDEX = 2**32


def trial_stream(seed: int, condition: int, trial: int) -> np.random.Generator:
    """Return the random numbers of one trial: a counter-based generator, keyed by what it is for.

    >>> trial_stream(0, 1, 2).random() == trial_stream(0, 1, 2).random()
    True
    >>> trial_stream(0, 1, 2).random() == trial_stream(0, 2, 1).random()
    False
    """
    key = np.array([seed, condition * LARGEST_INDEX + trial], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


@dataclass(frozen=True)
class Noise:
    """What is done to a model, and to its inputs, so that its responses vary.

    Attributes
    ----------
    setting : float, str or None
        The noise in words, for metadata.
    add : callable or None
        Returns one input with noise.
    dropout : bool
        Whether dropout is on although the model is in evaluation mode.
    function : callable or None
        The function of the user that adds noise.
    """

    setting: float | str | None
    add: AddNoise | None = None
    dropout: bool = False
    function: Any = None

    @classmethod
    def of(cls, noise: NoiseLike | None, name: str | None = None) -> Noise:
        """Return the noise that the parameter of `collect` describes, or raise.

        A function may have a name, which takes the place of its own in the metadata.
        """
        if noise is None:
            return cls(None)
        if isinstance(noise, str) and noise == DROPOUT:
            return cls(DROPOUT, dropout=True)
        if callable(noise):
            words = name or getattr(noise, "__qualname__", type(noise).__name__)
            return cls(words, add=noise, function=noise)
        if isinstance(noise, str):
            raise InputError(
                "The 'noise' parameter must be 'dropout', the standard deviation of Gaussian noise "
                f"of the inputs, a function, or None. Got {noise!r} instead."
            )
        scale = check_real("noise", noise, low=0, closed="left")
        return cls(scale, add=partial(add_gaussian, scale=scale))

    def inputs(self, clean: Tensor, streams: list[np.random.Generator]) -> Tensor:
        """Return a batch of inputs with noise: one stream for each of them."""
        if self.add is None:
            return clean
        noisy = [self.add(one, rng) for one, rng in zip(clean, streams, strict=True)]
        for one in noisy:
            if not isinstance(one, Tensor):
                raise InputTypeError(
                    "The 'noise' function must return a tensor, the input with noise. "
                    f"Got a {type(one).__name__} instead."
                )
            if one.shape != noisy[0].shape:
                raise InputError(
                    "The 'noise' function must return tensors of one shape. "
                    f"Got {tuple(noisy[0].shape)} and {tuple(one.shape)}."
                )
        return torch.stack(noisy).to(clean.device)


def add_gaussian(clean: Tensor, rng: np.random.Generator, scale: float) -> Tensor:
    """Return one input with Gaussian noise of a standard deviation."""
    if not clean.is_floating_point():
        raise InputError(f"The inputs must be real numbers to add noise. Got {clean.dtype}.")
    kind: Any = np.float64 if clean.dtype == torch.float64 else np.float32
    drawn = torch.from_numpy(rng.standard_normal(tuple(clean.shape), dtype=kind))
    return clean + scale * drawn.to(clean.device, clean.dtype)


def drops(module: nn.Module) -> bool:
    """Whether a module drops units in train mode."""
    if isinstance(module, _DropoutNd):
        return bool(module.p > 0)
    return isinstance(module, WITH_DROPOUT_INSIDE) and float(module.dropout) > 0


class Dropout:
    """Dropout as PyTorch defines it, with masks from the streams of the trials.

    It is on in dropout layers that are in train mode, and with ``everywhere`` in all of them. Kinds
    of dropout whose masks cannot be drawn here are put into train mode, and draw by themselves.

    Parameters
    ----------
    model : torch.nn.Module
    everywhere : bool
    trained : iterable of torch.nn.Module
        Other modules to put into train mode, which draw by themselves.
    unaligned : iterable of torch.nn.Module
        Dropout layers whose first dimension is not that of the batch, whatever its size.
    """

    def __init__(
        self,
        model: nn.Module,
        everywhere: bool,
        trained: Iterable[nn.Module] = (),
        unaligned: Iterable[nn.Module] = (),
    ) -> None:
        self._modules = [
            one for one in model.modules() if drops(one) and (everywhere or one.training)
        ]
        self._trained = list(trained)
        self.unaligned = set(unaligned)
        self.streams: list[np.random.Generator] = []

    @contextmanager
    def on(self) -> Iterator[None]:
        """Switch dropout on, and leave all modules as they were."""
        with ExitStack() as stack:
            for module in [*self._modules, *self._trained]:
                stack.callback(setattr, module, "training", module.training)
                ours = type(module) in MASKED and module not in self.unaligned
                module.training = not ours
                if ours:
                    stack.callback(module.register_forward_hook(self._mask).remove)
            yield

    def _mask(self, module: nn.Module, arguments: Any, output: Any) -> Tensor:
        """Return what a dropout layer in evaluation mode returned, with units dropped."""
        assert isinstance(module, _DropoutNd)
        if output.ndim not in MASKED[type(module)] or len(output) != len(self.streams):
            self.unaligned.add(module)
            module.training = True
            dropped: Tensor = module.forward(output)
            module.training = False
            return dropped
        shape = list(output.shape[1:])
        if type(module) is not nn.Dropout:
            shape[1:] = [1] * len(shape[1:])
        kept = np.stack([rng.random(shape, dtype=np.float32) >= module.p for rng in self.streams])
        mask = torch.from_numpy(kept).to(output.device, output.dtype)
        thinned: Tensor = output * (mask / max(1 - module.p, torch.finfo(mask.dtype).tiny))
        return thinned


def generator_states(device: torch.device) -> tuple[bytes, bytes]:
    """Return the states of PyTorch's generators, and of NumPy's and Python's, which all share."""
    own = torch.random.get_rng_state().numpy().tobytes()
    if (backend := _backend(device)) is not None:
        own += backend.get_rng_state(device).cpu().numpy().tobytes()
    kind, words, *rest = np.random.get_state()  # noqa: NPY002 (what models draw from)
    return own, np.asarray(words).tobytes() + repr((kind, rest, random.getstate())).encode()


def _backend(device: torch.device) -> Any:
    """Return the module of an accelerator that has a generator for each device, or None."""
    backend = getattr(torch, device.type, None)
    indexed = device.type != "cpu" and hasattr(backend, "device_count")
    return backend if indexed else None


@contextmanager
def private_randomness(device: torch.device) -> Iterator[None]:
    """Leave the generators that all share as they were, whatever is seeded and drawn inside."""
    indexed = _backend(device) is not None
    places = [device.index or 0] if indexed else []
    kind = device.type if indexed else "cuda"
    with ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        stack.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002
        stack.enter_context(torch.random.fork_rng(devices=places, device_type=kind))
        yield


def seed_batch(seed: int, *key: int) -> None:
    """Seed the generators that all share for a batch, which the key identifies."""
    state = np.random.SeedSequence([seed, *key]).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(state >> np.uint64(1)))
    np.random.seed(int(state & np.uint64(2**32 - 1)))  # noqa: NPY002 (what models draw from)
    random.seed(int(state))
