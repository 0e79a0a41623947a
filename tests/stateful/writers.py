"""Two runs on one store at once, in schedules that a seed determines: kills, waits and growth.

Each run is a process of its own that stops before every operation on files, and goes on when its
parent says so. The parent chooses who goes on, and kills where the schedule says so. So a seed
stands for one order of all operations of both runs.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from repshape import DistanceMatrix, pairwise
from repshape.engine.store import Store
from repshape.errors import RepshapeError
from repshape.store import lease
from repshape.store.identity import Identity

from .checks import NOTHING, tally
from .faults import Outcome, refusal
from .inputs import METRICS, NAMES, TIMELESS, cohort_of, network

MEMORY = Path("/dev/shm")
# Operations before which a run stops.
EVENTS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir")
PATIENCE = 60.0
# What a run that may not go on is told.
TOLD = ("is working on it", "cannot be continued", "is not finished, and has networks")
QUANTITIES = ("values", "lower_bounds", "converged", "n_starts", "n_agreeing", "n_composed")


@dataclass(frozen=True)
class Plan:
    """One run: its networks, how it is told to behave, and before which operation it is killed."""

    names: tuple[str, ...]
    wait: float = 0.0
    shard: str | None = None
    kill: int | None = None

    def identity(self) -> Identity:
        prints = tuple(network((name, 2)).fingerprint for name in self.names)
        return Identity({}, self.names, prints)

    def run(self, store: Path, metric: str, **changes: Any) -> DistanceMatrix:
        options: dict[str, Any] = {"tile": 2, "workers": 1, "progress": False}
        options |= {"shard": self.shard, "wait": self.wait} | changes
        return pairwise(cohort_of(self.identity()), METRICS[metric], store=store, **options)


@dataclass(frozen=True)
class Schedule:
    """What two runs do to a store of a few networks, and who goes on when."""

    seed: int
    metric: str
    before: Plan | None
    plans: tuple[Plan, Plan]
    bursts: tuple[int, ...] = field(repr=False)

    @classmethod
    def of(cls, seed: int) -> Schedule:
        """Return the schedule of a seed."""
        rng = np.random.default_rng(seed)
        metric = str(rng.choice([*TIMELESS, "polished"]))
        count = int(rng.integers(2, 5))
        first = NAMES[:count]
        more = (first, first + NAMES[count : count + 1], first + NAMES[count : count + 2])
        other = first + NAMES[count + 1 : count + 2]
        plans = []
        for names in (more[1], (*more, other)[int(rng.integers(4))]):
            kill = int(rng.integers(1, 200)) if rng.random() < 0.6 else None
            wait = float(rng.choice([0.0, 30.0]))
            shard = str(rng.choice(["1/2", "2/2"])) if rng.random() < 0.2 else None
            plans.append(Plan(names, wait, shard, kill))
        begun = (None, Plan(first), Plan(first, shard="1/2"))[int(rng.integers(3))]
        if rng.random() < 0.5:
            plans.reverse()
        bursts = rng.geometric(float(rng.choice([0.5, 0.05, 0.01])), size=4000)
        return cls(seed, metric, begun, (plans[0], plans[1]), tuple(bursts.tolist()))


class Stepping:
    """A run in a process of its own that stops before each operation on files."""

    def __init__(self, action: Callable[[], Any], kill: int | None) -> None:
        self.kill, self.steps, self.stopped = kill, 0, False
        self.outcome: Outcome | None = None
        (self._asks, asks), (goes, self._goes) = os.pipe(), os.pipe()
        self._words, words = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Zarr has threads, and a way to fork in spite of them
            self.id = os.fork()
        if self.id == 0:
            for handle in (self._asks, self._goes, self._words):
                os.close(handle)
            _act(action, asks, goes, words)
        for handle in (asks, goes, words):
            os.close(handle)

    def settle(self) -> None:
        """Wait until the run stops before an operation, or ends."""
        if self.stopped or self.outcome is not None:
            return
        if not select.select([self._asks], [], [], PATIENCE)[0]:
            os.kill(self.id, signal.SIGKILL)
            os.waitpid(self.id, 0)
            raise AssertionError("a run hangs")
        if not os.read(self._asks, 1):
            self._end()
            return
        self.steps += 1
        self.stopped = True
        if self.steps == self.kill:
            os.kill(self.id, signal.SIGKILL)
            self._end()

    def go_on(self) -> None:
        """Let the run do the operation that it stopped before."""
        self.stopped = False
        os.write(self._goes, b"1")

    def _end(self) -> None:
        words = b"".join(iter(lambda: os.read(self._words, 65536), b"")).decode()
        status = os.waitstatus_to_exitcode(os.waitpid(self.id, 0)[1])
        for handle in (self._asks, self._goes, self._words):
            os.close(handle)
        if status == -signal.SIGKILL:
            self.outcome = Outcome("killed")
        else:
            assert status == 0, words
            self.outcome = Outcome("refused", words) if words else Outcome("done")


def _act(action: Callable[[], Any], asks: int, goes: int, words: int) -> None:
    """Do what a process is for, step by step, and end it."""
    status = 1
    try:
        said = ""
        with _stopping(asks, goes):
            try:
                action()
            except RepshapeError as error:
                said = refusal(error).words
        os.write(words, said.encode())
        status = 0
    except BaseException:
        os.write(words, traceback.format_exc().encode())
    finally:
        os._exit(status)


@contextmanager
def _stopping(asks: int, goes: int) -> Iterator[None]:
    """Stop before each operation on files, until told to go on."""
    active = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if not active:
            return
        if event == "open":
            path, _, flags = arguments
            writes = flags & (os.O_WRONLY | os.O_RDWR)
            if isinstance(path, int) or not (writes or str(path).endswith("zarr.json")):
                return
        elif event not in EVENTS:
            return
        os.write(asks, b"?")
        os.read(goes, 1)

    sys.addaudithook(hook)
    yield
    active = False


def run_schedule(schedule: Schedule) -> tuple[Outcome, ...]:
    """Run two processes in the order that a schedule determines, and check what they leave."""
    root = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    store = root / "store"
    try:
        with mock.patch.object(lease, "PAUSE", 0.005):
            if schedule.before is not None:
                schedule.before.run(store, schedule.metric)
            known = _values(store)
            actions = [partial(plan.run, store, schedule.metric) for plan in schedule.plans]
            kills = [plan.kill for plan in schedule.plans]
            outcomes = interleave(actions, kills, schedule.bursts)
            check_schedule(schedule, root, outcomes, known)
    finally:
        shutil.rmtree(root)
    for outcome in outcomes:
        tally[f"writers {outcome.end}"] += 1
    tally["schedules"] += 1
    return outcomes


def interleave(
    actions: Sequence[Callable[[], Any]], kills: Sequence[int | None], given: tuple[int, ...]
) -> tuple[Outcome, ...]:
    """Do things at once, each in a process of its own; bursts say how long each goes on."""
    runs = [Stepping(action, kill) for action, kill in zip(actions, kills, strict=True)]
    bursts, now, left = iter(given * 100), 0, 0
    while True:
        for run in runs:
            run.settle()
        alive = [k for k, run in enumerate(runs) if run.outcome is None]
        if not alive:
            break
        if left == 0:
            now, left = (now + 1) % len(runs), next(bursts)
        chosen = runs[now if now in alive else alive[0]]
        left -= 1
        chosen.go_on()
    return tuple(run.outcome for run in runs if run.outcome is not None)


def check_schedule(
    schedule: Schedule,
    root: Path,
    outcomes: tuple[Outcome, ...],
    known: dict[frozenset[str], float],
) -> None:
    """Check that nothing is lost, and that the store is what one order of both runs gives."""
    store = root / "store"
    for outcome in outcomes:
        if outcome.end == "refused":
            assert any(words in outcome.words for words in TOLD), (schedule, outcome.words)
    if not store.exists():
        assert all(outcome.end == "killed" for outcome in outcomes), schedule
        return
    _check_kept(schedule, known, _values(store))
    for plan, outcome in zip(schedule.plans, outcomes, strict=True):
        if outcome.end == "done" and plan.shard is None:  # what it returned is in the store
            stored = Store(store).identity.networks
            assert set(plan.names) <= stored.keys(), (schedule, outcomes)
    assert any(outcome.end != "refused" for outcome in outcomes), (schedule, outcomes)
    known |= _values(store)
    for plan, outcome in zip(schedule.plans, outcomes, strict=True):
        if outcome.end != "done":  # as its user would, who may be refused again
            with suppress(RepshapeError):
                plan.run(store, schedule.metric, shard=None, wait=0.0)
    Plan(Store(store).identity.labels).run(store, schedule.metric)
    _check_kept(schedule, known, _values(store))
    assert not (store / lease.FOLDER).exists(), schedule
    found = DistanceMatrix.load(store)
    assert found.complete, schedule
    orders = _orders(schedule, root, found.labels)
    assert any(_same(found, one) for one in orders), (schedule, outcomes)


def _values(store: Path) -> dict[frozenset[str], float]:
    """Return the distances that a store has, by the names of each pair."""
    if not store.exists():
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        D = DistanceMatrix.load(store)
    places = zip(*np.triu_indices(len(D), 1), strict=True)
    pairs = {frozenset((D.labels[i], D.labels[j])): float(D.values[i, j]) for i, j in places}
    return {pair: value for pair, value in pairs.items() if not np.isnan(value)}


def _check_kept(
    schedule: Schedule, before: dict[frozenset[str], float], now: dict[frozenset[str], float]
) -> None:
    for pair, value in before.items():
        assert pair in now, (schedule, pair)
        shorter = schedule.metric == "polished" and now[pair] <= value
        assert now[pair] == value or shorter, (schedule, pair, value, now[pair])


def _orders(schedule: Schedule, root: Path, labels: tuple[str, ...]) -> Iterator[DistanceMatrix]:
    """Yield what undisturbed runs give: one after the other, each finished or only begun."""
    first = [] if schedule.before is None else [schedule.before]
    number = 0
    for order in (schedule.plans, schedule.plans[::-1]):
        for shards in ((None, None), (NOTHING, None), (None, NOTHING), (NOTHING, NOTHING)):
            number += 1
            place = root / f"order-{number}"
            for plan in (*first, *order):
                shard = plan.shard if plan in first else shards[order.index(plan)]
                with suppress(RepshapeError):
                    plan.run(place, schedule.metric, shard=shard, wait=0.0)
            if Store(place).identity.networks.keys() == set(labels):
                Plan(Store(place).identity.labels).run(place, schedule.metric)
                yield DistanceMatrix.load(place)


def _same(found: DistanceMatrix, expected: DistanceMatrix) -> bool:
    chosen = expected[list(found.labels)]
    pairs = ((getattr(found, name), getattr(chosen, name)) for name in QUANTITIES)
    return all(np.array_equal(a, b) if a is not None else b is None for a, b in pairs)
