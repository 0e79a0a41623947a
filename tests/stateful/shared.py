"""Two processes that share one cohort and one store: they add, replace, compute, polish and read.

A world goes on over many rounds. In each round two processes do one thing each, in an order of
operations on files that a seed determines, and some are killed. Afterwards the cohort must be what
one order of the two gives, the store must have lost nothing that was finished, and every distance
must be that of the networks that the store names.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from repshape import Cohort, DistanceMatrix, pairwise
from repshape.engine.store import Store
from repshape.store import lease

from .checks import permission, tally
from .faults import Outcome
from .inputs import (
    METRICS,
    NAMES,
    TIMELESS,
    VERSIONS,
    Choice,
    alone,
    by_fingerprint,
    network,
    space_of,
)
from .writers import MEMORY, interleave

Contents = dict[str, Choice]
Pairs = dict[frozenset[str], float]  # distances by the fingerprints of both networks
ROUNDING = 1e-12


@dataclass(frozen=True)
class Step:
    """What one process does in a round, and before which operation on files it is killed."""

    kind: str
    name: str = ""
    version: int = 0
    wait: float = 0.0
    kill: int | None = None

    def applies(self, cohort: Contents) -> bool:
        """Return whether a change of the cohort is possible."""
        return (self.name in cohort) == (self.kind == "replace")

    def after(self, cohort: Contents) -> Contents:
        """Return the cohort after the change."""
        if self.kind not in ("add", "replace"):
            return cohort
        return {**cohort, self.name: (self.name, self.version)}


class World:
    """A cohort and a store on disk, and what two processes do to them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 2])
        self.seed = seed
        self.metric = str(self.rng.choice([*TIMELESS, "polished"]))
        self.root = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.path, self.store = self.root / "cohort", self.root / "store"
        made = Cohort.create(self.path)
        for name in NAMES[:3]:
            made.add(name, network((name, 1)), version=1)

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root)

    def draw(self) -> Step:
        """Return what a process does next."""
        kind = str(self.rng.choice(["add", "replace", "compute", "read"], p=[0.2, 0.2, 0.4, 0.2]))
        return Step(
            kind,
            name=str(self.rng.choice(NAMES)),
            version=int(self.rng.integers(VERSIONS)),
            wait=float(self.rng.choice([0.0, 30.0])),
            kill=int(self.rng.integers(1, 150)) if self.rng.random() < 0.35 else None,
        )

    def act(self, step: Step) -> None:
        """Do one thing; called in a process of its own."""
        if step.kind == "read":
            self.read()
        elif step.kind == "compute":
            self.compute(step.wait)
        else:
            cohort = Cohort.open(self.path)
            change = cohort.add if step.kind == "add" else cohort.replace
            change(step.name, network((step.name, step.version)), version=step.version)

    def compute(self, wait: float = 0.0) -> DistanceMatrix:
        """Compute and polish what the cohort has, and drop what it has no longer."""
        cohort = Cohort.open(self.path)
        held = dict(zip(cohort.labels, cohort.fingerprints, strict=True))
        return pairwise(
            cohort,
            METRICS[self.metric],
            store=self.store,
            tile=2,
            workers=1,
            progress=False,
            wait=wait,
            **permission(self.store, held),
        )

    def read(self) -> None:
        """Read all that there is; each distance is one that these networks have had."""
        contents(self.path)
        if not self.store.exists():
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is not complete
            D = DistanceMatrix.load(self.store)
        space = space_of(Store(self.store).identity)
        for i, j in zip(*np.triu_indices(len(D), 1), strict=True):
            value = D.values[i, j]
            possible = ever(self.metric, space, D.labels[i], D.labels[j])
            assert np.isnan(value) or self.is_one_of(value, possible), (i, j, value)

    def is_one_of(self, value: float, possible: tuple[float, ...]) -> bool:
        """Return whether a distance is possible; the polish may shorten it."""
        if self.metric == "polished":
            return bool(value <= max(possible) + ROUNDING)
        return value in possible

    def round(self) -> None:
        """Let two processes do one thing each, and check what they leave."""
        steps = self.draw(), self.draw()
        before, known = contents(self.path), self.pairs()
        bursts = self.rng.geometric(float(self.rng.choice([0.5, 0.05, 0.01])), size=4000)
        with mock.patch.object(lease, "PAUSE", 0.005):
            outcomes = interleave(
                [lambda one=one: self.act(one) for one in steps],
                [one.kill for one in steps],
                tuple(bursts.tolist()),
            )
        for step, outcome in zip(steps, outcomes, strict=True):
            tally[f"{step.kind} {outcome.end}"] += 1
        tally["steps"] += 2
        where = (self.seed, steps, outcomes)
        assert contents(self.path) in list(possible_contents(before, steps, outcomes)), where
        self.check_store(known, where)

    def pairs(self) -> Pairs:
        """Return the finished distances of the store, by fingerprints."""
        if not self.store.exists():
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            D, identity = DistanceMatrix.load(self.store), Store(self.store).identity
        prints = [identity.networks[label] for label in D.labels]
        places = zip(*np.triu_indices(len(D), 1), strict=True)
        every = {frozenset((prints[i], prints[j])): float(D.values[i, j]) for i, j in places}
        return {pair: value for pair, value in every.items() if not np.isnan(value)}

    def check_store(self, known: Pairs, where: Any) -> None:
        """Raise if a finished pair is lost, or a distance is not that of its networks."""
        if not self.store.exists():
            assert not known, where
            return
        found, identity = self.pairs(), Store(self.store).identity
        stored = set(identity.networks.values())
        for pair, value in known.items():
            if pair <= stored:
                assert pair in found, (where, pair)
                assert found[pair] == value or self.metric == "polished", (where, pair)
        for pair, value in found.items():
            own = alone(self.metric, space_of(identity), *sorted(pair))
            assert self.is_one_of(value, (own,)), (where, pair, value, own)

    def finish(self) -> None:
        """Compute the rest undisturbed: the result is that of a store from scratch."""
        D = self.compute()
        assert D.complete
        assert not (self.store / lease.FOLDER).exists()
        self.check_store({}, self.seed)
        assert D.labels == Cohort.open(self.path).labels
        fresh = pairwise(Cohort.open(self.path), METRICS[self.metric], workers=1, progress=False)
        if self.metric in TIMELESS:
            np.testing.assert_array_equal(D.values, fresh.values)


def contents(path: Path) -> Contents:
    """Return what a cohort holds, from its responses."""
    cohort, found = Cohort.open(path), {}
    for record, one in zip(cohort.records, cohort, strict=True):
        assert one.fingerprint == record.fingerprint
        found[record.name] = by_fingerprint()[one.fingerprint]
        assert record.metadata == {"version": found[record.name][1]}
    return found


def ever(metric: str, space: int | None, first: str, second: str) -> tuple[float, ...]:
    """Return the distances between all versions of two networks."""
    prints = [[network((name, v)).fingerprint for v in range(VERSIONS)] for name in (first, second)]
    return tuple(alone(metric, space, *sorted(pair)) for pair in product(*prints))


def possible_contents(
    before: Contents, steps: tuple[Step, Step], outcomes: tuple[Outcome, Outcome]
) -> Iterator[Contents]:
    """Yield the cohorts that one order of two changes gives; a killed one has happened, or not."""
    changes = [
        (step, outcome.end)
        for step, outcome in zip(steps, outcomes, strict=True)
        if step.kind in ("add", "replace") and outcome.end != "refused"
    ]
    for order in permutations(changes):
        for happened in product((True, False), repeat=len(order)):
            cohort, legal = before, True
            for (step, end), did in zip(order, happened, strict=True):
                if did:
                    legal &= step.applies(cohort)
                    cohort = step.after(cohort)
                else:
                    legal &= end == "killed"
            if legal:
                yield cohort


def run_world(seed: int, rounds: int) -> None:
    """Let two processes share a world for some rounds."""
    with World(seed) as world:
        for _ in range(rounds):
            world.round()
        world.finish()
    tally["worlds"] += 1
