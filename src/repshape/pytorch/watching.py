"""What a model does in a forward pass that its modules do not tell: random draws, and functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.dropout import _DropoutNd
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from repshape.pytorch.noise import generator_states

# Functions that drop units if they are told to: the places of the probability and of the switch
# among their arguments, and whether it is on by default.
DROPOUT_FUNCTIONS = {
    functional.dropout: (1, 2, True),
    functional.dropout1d: (1, 2, True),
    functional.dropout2d: (1, 2, True),
    functional.dropout3d: (1, 2, True),
    functional.alpha_dropout: (1, 2, False),
    functional.feature_alpha_dropout: (1, 2, False),
    torch.dropout: (1, 2, None),
    torch.alpha_dropout: (1, 2, None),
    torch.feature_dropout: (1, 2, None),
    torch.feature_alpha_dropout: (1, 2, None),
}


class _Draws(TorchDispatchMode):
    """Counts the random numbers that PyTorch draws."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded in func.tags:
            first = out[0] if isinstance(out, list | tuple) else out
            self.count += first.numel() if isinstance(first, Tensor) else 1
        return out


class _Calls(TorchFunctionMode):
    """Notes dropout functions that are switched off, and statistics of batches."""

    def __init__(self, running: list[str], modules: dict[str, nn.Module]) -> None:
        super().__init__()
        self._running, self._modules = running, modules
        self.dropout_off: dict[str, str] = {}
        self.batch_norm: dict[str, str] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        inside = self._running[-1] if self._running else ""
        if func in DROPOUT_FUNCTIONS:
            p, switch, default = DROPOUT_FUNCTIONS[func]
            probability = args[p] if len(args) > p else given.get("p", 0.5)
            name = "training" if func.__module__ == functional.__name__ else "train"
            on = args[switch] if len(args) > switch else given.get(name, default)
            if not on and probability > 0 and not isinstance(self._modules[inside], _DropoutNd):
                self.dropout_off[inside] = func.__name__
        elif func is functional.batch_norm and _argument(args, given, 5, "training", False):
            self.batch_norm[inside] = func.__name__
        return func(*args, **given)


def _argument(args: Sequence[Any], given: dict[str, Any], place: int, name: str, usual: Any) -> Any:
    return args[place] if len(args) > place else given.get(name, usual)


class Watch:
    """Watches one forward pass of a model, up to the last time that one of some modules returns.

    Attributes
    ----------
    drawn : int
        Random numbers that PyTorch drew until then.
    hidden : bool
        Whether random numbers were drawn that PyTorch does not show: by NumPy, by Python, or inside
        of a compiled function.
    before : bool
        Whether random numbers were drawn before the model ran: by a function that adds noise.
    states : tuple of bytes
        The states of the generators after the whole pass.
    dropout_off : dict of str to str
        Names of modules that call a dropout function which is switched off, and of the function.
    batch_norm : dict of str to str
        The same for functions that use the statistics of a batch.
    """

    def __init__(self, model: nn.Module, until: Sequence[nn.Module], device: torch.device) -> None:
        self._model, self._until, self._device = model, set(until), device
        self.drawn, self.hidden, self.before = 0, False, False
        self.states: tuple[bytes, bytes] = (b"", b"")
        self.dropout_off: dict[str, str] = {}
        self.batch_norm: dict[str, str] = {}

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Watch what runs inside; the generators have the seed of the pass already."""
        modules = dict(self._model.named_modules())
        names = {module: name for name, module in modules.items()}
        running: list[str] = []
        draws, calls = _Draws(), _Calls(running, modules)
        seeded = generator_states(self._device)
        start: list[tuple[bytes, bytes]] = []

        def begin(module: nn.Module, arguments: Any) -> None:
            if not start:  # the model itself, after noise was added to its inputs
                start.append(generator_states(self._device))
                self.before = start[0] != seeded
                draws.count = 0
            running.append(names[module])

        def end(module: nn.Module, arguments: Any, output: Any) -> None:
            running.pop()
            if module in self._until:
                self.drawn = draws.count
                shown, others = generator_states(self._device)
                self.hidden = others != start[0][1] or (shown != start[0][0] and not draws.count)

        with ExitStack() as stack:
            for module in modules.values():
                stack.callback(module.register_forward_pre_hook(begin).remove)
                stack.callback(module.register_forward_hook(end).remove)
            stack.enter_context(calls)
            stack.enter_context(draws)
            yield
            self.states = generator_states(self._device)
            self.dropout_off, self.batch_norm = calls.dropout_off, calls.batch_norm
