"""How a model varies, found by a few forward passes before the trials are collected.

A pass may have many trials only if each of them has noise of its own. What `Dropout` and `Noise`
draw is keyed by condition and trial. What a model draws by itself is counted in passes with two
sizes of the batch: noise of single rows needs random numbers in proportion to the rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from repshape._arrays import FloatArray
from repshape._labels import list_labels
from repshape.errors import InputError, RepshapeWarning
from repshape.pytorch.layers import Capture, Layer
from repshape.pytorch.noise import drops, seed_batch
from repshape.pytorch.passes import HELD_BYTES, Passes, Plan
from repshape.pytorch.sharing import find_sharing, reduce_columns
from repshape.pytorch.sinks import ROUNDING
from repshape.pytorch.watching import Watch

AUTO, PER_EXAMPLE, PER_PASS = "auto", "per-example", "per-pass"
PASSES = (AUTO, PER_EXAMPLE, PER_PASS)
# Rows of the larger of the two passes in which random numbers are counted.
FEW_ROWS = 16
# Passes and rows in which noise of the same inputs is compared.
COMPARED_PASSES, COMPARED_ROWS = 12, 32
# Generators that a module may own, whose draws cannot be seen.
OWN_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
# Distinguishes the random numbers of these passes from those of the trials.
PROBE = 2**32
# How many modules with noise that stays off a message lists, and what to do about them.
LISTED = 3
REMEDY = "Put the module into train mode yourself, or use a torch.nn.Dropout layer."


class SkippedNoiseWarning(RepshapeWarning):
    """Noise of a model that noise="dropout" could not switch on."""


@dataclass(frozen=True)
class _Seen:
    """What was seen in one pass."""

    rows: dict[str, FloatArray]
    watch: Watch
    unaligned: frozenset[nn.Module]
    epsilon: float


def find_plan(passes: Passes, layers: Sequence[Layer], choice: str) -> Plan:
    """Return how to divide the trials among forward passes, or raise.

    Parameters
    ----------
    passes : Passes
        Their plan does not count.
    layers : sequence of Layer
    choice : {"auto", "per-example", "per-pass"}
        "auto" finds out whether trials in one pass would share noise.
    """
    many, few = _sizes(passes)
    first = _look(passes, layers, many)
    plan = _find_trained(passes, layers, first) if passes.noise.dropout else Plan()
    ready = replace(passes, plan=plan)
    seen = [_look(ready, layers, many) if plan.trained else first, _look(ready, layers, few)]
    ready = replace(ready, plan=_checked(ready, seen[0].watch))
    unaligned = frozenset().union(*(one.unaligned for one in seen))
    ready = replace(ready, plan=replace(ready.plan, unaligned=unaligned))
    seen = [_look(ready, layers, size) for size in (many, few)] if unaligned else seen
    draws = any(one.watch.drawn or one.watch.hidden or one.watch.before for one in seen)
    draws = draws or _has_generator(passes.model)
    shared = choice == PER_PASS
    if choice == AUTO and draws and passes.batch_size > 1:
        shared = _is_shared(ready, layers, seen, (many, few))
    return replace(ready.plan, draws=draws, per_pass=shared, group=_group(passes, seen[0].rows))


def _sizes(passes: Passes) -> tuple[int, int]:
    """Return two sizes of batches; with one input, some models leave out its dimension."""
    if passes.batch_size == 1:
        return 1, 1
    many = max(min(FEW_ROWS, passes.batch_size, passes.n_rows), 3)
    return many, max(many // 2, 2)


def _look(passes: Passes, layers: Sequence[Layer], size: int) -> _Seen:
    """Run the first rows, and return what was seen."""
    capture = Capture(layers)
    watch = Watch(passes.model, [layer.module for layer in layers], passes.place.device)
    with passes.ready(capture) as forward:
        capture.begin(size)
        seed_batch(passes.seed, PROBE, 0)
        with watch.attached():
            forward(np.minimum(np.arange(size), passes.n_rows - 1), PROBE, 0)
        rows = capture.rows()
    return _Seen(rows, watch, frozenset(forward.dropout.unaligned), capture.epsilon)


def _checked(passes: Passes, watch: Watch) -> Plan:
    """Raise if statistics of batches are used; return the plan with all noise that stays off."""
    plan = passes.plan
    for name, function in watch.batch_norm.items():
        raise InputError(
            f"The module {name!r} calls {function} with training=True, which uses the statistics "
            "of each batch, so that a response would depend on the other inputs in the batch. Put "
            "the module into evaluation mode."
        )
    if not passes.noise.dropout:
        return plan
    off = [name for name in watch.dropout_off if name not in plan.skipped]
    skipped = plan.skipped | {name: f"{watch.dropout_off[name]} in {name!r}" for name in off}
    if not plan.trained and not any(map(drops, passes.model.modules())):
        if skipped:
            raise InputError(
                f"noise='dropout' cannot switch on {listed(skipped.values())}, and the "
                f"{type(passes.model).__name__} has no other dropout. {REMEDY}"
            )
        raise InputError(
            "noise='dropout' needs a model with a dropout layer whose probability is above "
            f"0, or another module that is random in train mode. The {type(passes.model).__name__} "
            "has none."
        )
    return replace(plan, skipped=skipped)


def listed(phrases: Iterable[str]) -> str:
    """Return the first phrases for a sentence, and the number of the others."""
    known = list(phrases)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return ", ".join(known[:LISTED]) + more


def _find_trained(passes: Passes, layers: Sequence[Layer], first: _Seen) -> Plan:
    """Find modules of users and of other libraries that draw random numbers in train mode only.

    Modules of one class are tried together. Those that fail in train mode, return other shapes, or
    change buffers, as batch normalisation does, stay in evaluation mode.
    """
    found: dict[str, nn.Module] = {}
    skipped: dict[str, str] = {}
    classes: dict[type[nn.Module], dict[str, nn.Module]] = {}
    for name, module in passes.model.named_modules():
        own = not type(module).__module__.startswith("torch.") and not drops(module)
        if own and not module.training:
            classes.setdefault(type(module), {})[name] = module
    before = _buffers(passes.model)
    for kind, modules in classes.items():
        tried = replace(passes, plan=Plan(trained=modules))
        attributes = {module: dict(vars(module)) for module in modules.values()}
        try:
            seen = _look(tried, layers, _size(first))
            drawn = seen.watch.states != first.watch.states
            same = _shapes(seen) == _shapes(first) and not seen.watch.batch_norm
        except Exception:  # what a model raises in train mode
            drawn = same = False
        changed = _restore(passes.model, before)
        for module, values in attributes.items():  # such as a count of the passes
            vars(module).update(values)
        if drawn and same and not changed:
            found |= modules
        elif drawn:
            skipped |= {name: f"the noise of {kind.__name__} {name!r}" for name in modules}
    return Plan(trained=found, skipped=skipped)


def _size(seen: _Seen) -> int:
    return len(next(iter(seen.rows.values())))


def _shapes(seen: _Seen) -> dict[str, tuple[int, ...]]:
    return {name: rows.shape for name, rows in seen.rows.items()}


def _buffers(model: nn.Module) -> dict[str, Tensor]:
    return {name: one.detach().clone() for name, one in model.named_buffers()}


def _restore(model: nn.Module, before: Mapping[str, Tensor]) -> bool:
    """Give buffers their values back; return whether some had changed."""
    changed = False
    for name, buffer in model.named_buffers():
        known = before.get(name)
        if known is not None and known.shape == buffer.shape and not torch.equal(known, buffer):
            changed = True
            buffer.detach().copy_(known)
    return changed


def _has_generator(model: nn.Module) -> bool:
    values = [value for module in model.modules() for value in vars(module).values()]
    return any(isinstance(value, OWN_GENERATORS) for value in values)


def _is_shared(
    passes: Passes, layers: Sequence[Layer], seen: Sequence[_Seen], sizes: tuple[int, int]
) -> bool:
    """Whether trials in one pass share noise, or may share it."""
    watches = [one.watch for one in seen]
    if any(one.hidden for one in watches) or _has_generator(passes.model):
        return True
    if watches[0].drawn * sizes[1] != watches[1].drawn * sizes[0]:
        return True  # some random numbers are drawn once in a pass
    conditions = np.arange(min(2, len(passes.inputs)))
    per_condition = min(COMPARED_ROWS, passes.batch_size) // len(conditions)
    if per_condition < 2:
        conditions, per_condition = conditions[:1], 2
    # The first trial in all rows, so that nothing varies but what the model draws by itself.
    rows = np.repeat(conditions * passes.n_trials, per_condition)
    capture = Capture(layers)
    taken: dict[str, list[FloatArray]] = {layer.name: [] for layer in layers}
    with passes.ready(capture) as forward:
        for k in range(COMPARED_PASSES):
            capture.begin(len(rows))
            forward(rows, PROBE, 1 + k)
            for name, found in capture.rows().items():
                taken[name].append(reduce_columns(found))
    blocks, tolerances = [], []
    for parts in taken.values():
        whole = np.nan_to_num(np.stack(parts), posinf=0.0, neginf=0.0)
        for k in range(len(conditions)):
            block = whole[:, k * per_condition : (k + 1) * per_condition]
            blocks.append(block)
            tolerances.append(ROUNDING * capture.epsilon * float(np.abs(block).max(initial=0.0)))
    return find_sharing(blocks, tolerances)


def _group(passes: Passes, rows: Mapping[str, FloatArray]) -> int:
    """Return how many conditions a pass can have, so that their trials can be held."""
    each = passes.n_trials * sum(one[0].nbytes for one in rows.values())
    fitting: int = min(passes.batch_size, len(passes.inputs), HELD_BYTES // max(each, 1))
    return max(fitting, 1)


def switched_on(passes: Passes) -> str | None:
    """Return the modules that noise="dropout" switches on, in words."""
    if not passes.noise.dropout:
        return None
    names = [name for name, module in passes.model.named_modules() if drops(module)]
    return list_labels([*names, *passes.plan.trained])
