"""Two processes that share one cohort and one store: they add, replace, remove, compute and read.

A world goes on over many rounds. In each round two processes do one thing each, in an order of
operations on files that a seed determines, and some are killed. Afterwards the cohort must be what
one order of the two gives, the store must have lost nothing that was finished, and every distance
must be that of the networks that the store names. A process may be refused only because of what the
other one does, or if it would be refused alone, and then it is told so in one sentence.
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

from repshape import Cohort, DistanceMatrix, pairwise, triangle_violations
from repshape.engine.store import Store
from repshape.store import lease

from .checks import permission, tally
from .faults import Outcome
from .inputs import (
    BEST,
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
ROUNDING, LOOSE = 1e-12, 1e-6  # of a value, and of the optimum at which a search stops
# What a process does, and how often.
KINDS = {"add": 0.15, "replace": 0.15, "remove": 0.1, "compute": 0.3, "shard": 0.1, "read": 0.2}
CHANGES = ("add", "replace", "remove")
FEWEST = 4  # networks of a cohort from which both processes may remove one


@dataclass(frozen=True)
class Step:
    """What one process does in a round, and before which operation on files it is killed."""

    kind: str
    name: str = ""
    version: int = 0
    wait: float = 0.0
    shard: str | None = None
    kill: int | None = None

    def applies(self, cohort: Contents) -> bool:
        """Return whether a change of the cohort is possible."""
        return (self.name in cohort) == (self.kind != "add")

    def after(self, cohort: Contents) -> Contents:
        """Return the cohort after the change."""
        if self.kind not in CHANGES:
            return cohort
        others = {name: one for name, one in cohort.items() if name != self.name}
        if self.kind == "remove":
            return others
        return {**cohort, self.name: (self.name, self.version)}


class World:
    """A cohort and a store on disk, and what two processes do to them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 2])
        self.seed = seed
        self.metric = str(self.rng.choice([*TIMELESS, *["polished"] * len(TIMELESS)]))
        self.root = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.path, self.store = self.root / "cohort", self.root / "store"
        made = Cohort.create(self.path)
        for name in NAMES[:3]:
            made.add(name, network((name, 1)), version=1)

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root)

    def draw(self, cohort: Contents) -> Step:
        """Return what a process does next, which the cohort mostly allows."""
        kind = str(self.rng.choice(list(KINDS), p=list(KINDS.values())))
        if kind == "remove" and len(cohort) < FEWEST:
            kind = "compute"
        fitting = [name for name in NAMES if (name in cohort) == (kind != "add")]
        any_name = not fitting or (kind != "remove" and self.rng.random() < 0.2)
        return Step(
            kind,
            name=str(self.rng.choice(NAMES if any_name else fitting)),
            version=int(self.rng.integers(VERSIONS)),
            wait=float(self.rng.choice([0.0, 30.0])),
            shard=str(self.rng.choice(["1/2", "2/2"])) if kind == "shard" else None,
            kill=int(self.rng.integers(1, 150)) if self.rng.random() < 0.35 else None,
        )

    def act(self, step: Step) -> None:
        """Do one thing; called in a process of its own."""
        if step.kind == "read":
            self.read()
        elif step.kind in ("compute", "shard"):
            self.compute(step.wait, step.shard)
        elif step.kind == "remove":
            Cohort.open(self.path).remove(step.name)
        else:
            cohort = Cohort.open(self.path)
            change = cohort.add if step.kind == "add" else cohort.replace
            change(step.name, network((step.name, step.version)), version=step.version)

    def compute(self, wait: float = 0.0, shard: str | None = None) -> DistanceMatrix:
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
            shard=shard,
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
            best = min(ever(BEST, space, D.labels[i], D.labels[j]))
            assert np.isnan(value) or self.is_one_of(value, possible, best), (i, j, value)

    def is_one_of(self, value: float, possible: tuple[float, ...], best: float) -> bool:
        """Return whether a distance is possible; the polish may shorten it, if longer than best."""
        if self.metric == "polished":
            return bool(best * (1 - LOOSE) <= value <= max(possible) + ROUNDING)
        return value in possible

    def round(self) -> None:
        """Let two processes do one thing each, and check what they leave."""
        before, known = contents(self.path), self.pairs()
        steps = self.draw(before), self.draw(before)
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
        assert refusals_are_due(before, steps, outcomes), where
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
            best = alone(BEST, space_of(identity), *sorted(pair))
            assert self.is_one_of(value, (own,), best), (where, pair, value, own, best)

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
        else:
            assert triangle_violations(D, tol=LOOSE).count == 0, self.seed


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
        if step.kind in CHANGES and outcome.end != "refused"
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


def refusals_are_due(
    before: Contents, steps: tuple[Step, Step], outcomes: tuple[Outcome, Outcome]
) -> bool:
    """Return whether a process was refused only as it would be alone, or as the other one won."""
    refused = [outcome.end == "refused" for outcome in outcomes]
    alone = [step.kind in CHANGES and not step.applies(before) for step in steps]
    lost = [was and not would for was, would in zip(refused, alone, strict=True)]
    against_reader = any(lost[k] and steps[1 - k].kind == "read" for k in range(2))
    return not against_reader and not (lost[0] and lost[1])


def run_world(seed: int, rounds: int) -> None:
    """Let two processes share a world for some rounds."""
    with World(seed) as world:
        for _ in range(rounds):
            world.round()
        world.finish()
    tally["worlds"] += 1
