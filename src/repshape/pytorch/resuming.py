"""Is what a cohort holds what would be collected now? Settings, code and recomputed trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from repshape._arrays import FloatArray
from repshape.errors import InputError, InputTypeError
from repshape.io.records import Record
from repshape.pytorch.identity import NoValueError, joined_hash, module_hashes, value_hash
from repshape.pytorch.layers import Capture, Layer
from repshape.pytorch.passes import Passes

# Keys of metadata: hashes of the modules and of functions, and what recomputed trials must give.
MODULES, NOISE_CODE, READOUT_CODE, CHECK = "modules", "noise_code", "readout_code", "check"
# The code of a function that was named by the user, or that has no value to compare.
NAMED, NO_VALUE = "named ", "no value: "
CHANGES = NO_VALUE + "something that changes while it runs"
# Numbers that are kept of each trial: sums of its responses with random signs.
SUMS = 2
# Sums may differ by this many epsilons of the norm of the responses, and by at most this share of
# it: another machine, or another size of the batches, rounds differently.
CHECK_ROUNDING, CHECK_SHARE = 1024, 0.1
REMEDY = "Choose another name, or collect into another cohort."
# What the keys of metadata stand for that are hashes.
HASHED = {
    "weights": "The weights of the model have changed.",
    "inputs": "The inputs have changed.",
    MODULES: "Attributes of the modules, such as a dropout rate, or the code of the model changed.",
    NOISE_CODE: "The noise function, or something that it reads, has changed.",
    READOUT_CODE: "The readout function, or something that it reads, has changed.",
}


@dataclass(frozen=True)
class Code:
    """What decides the responses besides weights, inputs and settings.

    Attributes
    ----------
    modules : dict of str to str
        A hash of each attribute of the modules.
    functions : tuple of str or None
        Code of the function of the noise and of the readout of each layer; None if there is none.
    """

    modules: Mapping[str, str]
    functions: tuple[str | None, ...]

    @classmethod
    def of(cls, model: nn.Module, functions: Sequence[Any], names: Sequence[str | None]) -> Code:
        """Return the code of a model and of functions, each of which may have a name."""
        named = zip(functions, names, strict=True)
        return cls(module_hashes(model), tuple(function_code(*one) for one in named))

    def lasting(self, later: Code) -> Code:
        """Return what is the same after some passes: a counter, for example, is not a setting."""
        modules = {
            key: value for key, value in self.modules.items() if later.modules.get(key) == value
        }
        pairs = zip(self.functions, later.functions, strict=True)
        return Code(modules, tuple(one if one == two else CHANGES for one, two in pairs))

    @property
    def modules_hash(self) -> str:
        """One hash of all attributes."""
        return joined_hash(self.modules)


def function_code(function: Any, name: str | None) -> str | None:
    """Return what identifies a function: its name, or a hash of what it computes."""
    if not callable(function):
        return None
    if name is not None:
        return NAMED + name
    try:
        return value_hash(function)
    except NoValueError as error:
        return NO_VALUE + str(error)


def check_name(parameter: str, name: Any, given: Sequence[Any]) -> None:
    """Raise unless a name is text, and there is a function that it names."""
    if name is None:
        return
    if not isinstance(name, str) or not name:
        raise InputTypeError(f"The '{parameter}' parameter must be text. Got {name!r} instead.")
    if not any(map(callable, given)):
        noun = parameter.removesuffix("_name")
        raise InputError(f"The '{parameter}' parameter needs a function as '{noun}'.")


def check_same_settings(present: Record, wanted: Record, apart: Sequence[str] = ()) -> None:
    """Raise unless a network of a cohort is the one that would be collected."""
    head = f"The cohort already has a network named {wanted.name!r}"
    known = present.metadata
    if "weights" in known and MODULES not in known:
        raise InputError(
            f"{head}, from an earlier version of repshape that did not record all that decides its "
            f"responses. {REMEDY}"
        )
    for key, value in wanted.metadata.items():
        if key in (*apart, CHECK) or known.get(key) == value:
            continue
        before = known.get(key)
        if key in (NOISE_CODE, READOUT_CODE) and _is_vouched(before, value):
            continue
        changed = f"{HASHED[key]} " if key in HASHED else ""
        raise InputError(f"{head} with {key}={before!r}, and not {value!r}. {changed}{REMEDY}")
    for key, noun in ((NOISE_CODE, "noise"), (READOUT_CODE, "readout")):
        code = wanted.metadata.get(key)
        if key not in apart and isinstance(code, str) and code.startswith(NO_VALUE):
            raise InputError(
                f"{head}, but whether the {noun} function is still the same is unknown: it reads "
                f"{code.removeprefix(NO_VALUE)}. Pass {noun}_name= to name it, and change the name "
                "whenever you change the function."
            )


def _is_vouched(before: Any, now: Any) -> bool:
    """Whether a user names a function now that could not be compared before."""
    return str(before).startswith(NO_VALUE) and str(now).startswith(NAMED)


def checked_rows(passes: Passes) -> list[int]:
    """Return rows that are computed again: the first, one in the middle, and the last."""
    M, L = len(passes.inputs), passes.n_trials
    return sorted({0, (M // 2) * L + L // 2, M * L - 1})


def sums_of(responses: FloatArray) -> FloatArray:
    """Return sums of the responses of a trial with random signs."""
    flat = responses.ravel()
    signs = np.random.default_rng(flat.size).choice([-1.0, 1.0], size=(SUMS, flat.size))
    found: FloatArray = signs @ flat
    return found


def sums_text(trials: Sequence[FloatArray]) -> str:
    """Return sums of the responses of several trials as text, which is kept to compare them."""
    return "; ".join(" ".join(f"{one:.17g}" for one in sums_of(trial)) for trial in trials)


class Checks:
    """Takes the trials that are to be computed again from those that are collected."""

    def __init__(self, passes: Passes) -> None:
        self._n_trials = passes.n_trials
        self._rows = np.array(checked_rows(passes))
        self._found: dict[str, dict[int, FloatArray]] = {}

    def see(self, layer: str, condition: int, trial: int, rows: FloatArray) -> None:
        """Look at trials of a condition, the first of which has the number ``trial``."""
        start = condition * self._n_trials + trial
        kept = self._found.setdefault(layer, {})
        for row in self._rows[(start <= self._rows) & (self._rows < start + len(rows))]:
            kept[int(row)] = rows[row - start].copy()

    def text(self, layer: str) -> str:
        """Return what is kept of a layer."""
        return sums_text([self._found[layer][int(row)] for row in self._rows])


def check_trials(stored: Any, rows: Sequence[FloatArray], epsilon: float, name: str) -> None:
    """Raise unless recomputed trials are those whose sums are stored, up to rounding."""
    known = [np.array(part.split(), dtype=float) for part in str(stored).split(";")]
    share = min(CHECK_ROUNDING * epsilon, CHECK_SHARE)
    same = len(known) == len(rows) and all(
        np.abs(sums_of(row) - sums).max() <= share * np.linalg.norm(row)
        for row, sums in zip(rows, known, strict=True)
    )
    if not same:
        raise InputError(
            f"The cohort already has a network named {name!r}, but some of its trials were "
            "computed again and differ. Something that decides the responses has changed, or the "
            f"model draws from a generator that collect cannot seed. {REMEDY}"
        )


def recompute(passes: Passes, layers: Sequence[Layer]) -> tuple[dict[str, list[FloatArray]], float]:
    """Return the checked trials of each layer, computed again, and the machine epsilon.

    If the model draws by itself, whole batches must be the same; otherwise the trials are enough.
    """
    capture = Capture(layers)
    found: dict[str, list[FloatArray]] = {layer.name: [] for layer in layers}
    with passes.ready(capture) as forward:
        for row in checked_rows(passes):
            # Two rows, because some models leave out the dimension of the inputs if there is one.
            batch, key = passes.batch_of(row) if passes.plan.draws else (np.array([row] * 2), (0,))
            capture.begin(len(batch))
            forward(batch, *key)
            place = int(np.flatnonzero(batch == row)[0])
            for name, rows in capture.rows().items():
                found[name].append(rows[place].copy())
    return found, capture.epsilon
