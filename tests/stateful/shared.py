"""Processes that share one cohort and one store: they add, replace, remove, compute and read.

A world goes on over many rounds. In each round two processes, sometimes three, do one thing each,
in an order of operations on files that a seed determines, and some are killed. Afterwards the
cohort must be what one order of them gives, the store must have lost nothing that was finished, and
every distance must be that of the networks that the store names. What a process reads meanwhile
must be the cohort of a moment, and the distances of one version of each network. A process may be
refused only because another one was faster, or if it would be refused alone, and then it is told so
in one sentence.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product
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
    alone,
    by_fingerprint,
    network,
    space_of,
)
from .orders import Change, Contents, Step, lost, possible_contents, refusals_are_due
from .writers import MEMORY, interleave

Pairs = dict[frozenset[str], float]  # distances by the fingerprints of both networks
ROUNDING, LOOSE = 1e-12, 1e-6  # of a value, and of the optimum at which a search stops
# What a process does, and how often.
KINDS = {
    "add": 0.12,
    "replace": 0.13,
    "remove": 0.08,
    "import": 0.08,
    "twice": 0.09,
    "compute": 0.28,
    "shard": 0.08,
    "read": 0.14,
}
FEWEST = 4  # networks of a cohort from which all processes may remove one
THREE, KILLED = 0.2, 0.35  # shares of rounds of three processes, and of processes to be killed
# Operations on files before one of which a process is killed; most need fewer.
LONGEST = {"compute": 500, "shard": 250, "twice": 250}
LONG = 130


class World:
    """A cohort and a store on disk, and what processes do to them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 3])
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
        changes = (self.change(kind, cohort),) if kind in ("add", "replace", "remove") else ()
        if kind == "import":
            changes = (self.several(cohort),)
        if kind == "twice":
            changes = self.two(cohort)
        return Step(
            kind,
            changes,
            wait=float(self.rng.choice([0.0, 30.0])),
            shard=str(self.rng.choice(["1/2", "2/2"])) if kind == "shard" else None,
            kill=self.moment(kind) if self.rng.random() < KILLED else None,
        )

    def moment(self, kind: str) -> int:
        """Return before which operation on files a process is killed."""
        return int(self.rng.integers(1, LONGEST.get(kind, LONG)))

    def change(self, kind: str, cohort: Contents) -> Change:
        """Return a change of one network; one in five may be impossible."""
        fitting = [name for name in NAMES if (name in cohort) == (kind != "add")]
        any_name = not fitting or (kind != "remove" and self.rng.random() < 0.2)
        name = str(self.rng.choice(NAMES if any_name else fitting))
        replaced = (name,) if kind == "replace" else ()
        return Change(kind, (name,), int(self.rng.integers(VERSIONS)), replaced)

    def several(self, cohort: Contents) -> Change:
        """Return an import of some networks, which replaces those that the cohort has."""
        count = int(self.rng.integers(1, 4))
        names = tuple(str(one) for one in self.rng.choice(NAMES, count, replace=False))
        replaced = tuple(name for name in names if name in cohort)
        return Change("import", names, int(self.rng.integers(VERSIONS)), replaced)

    def two(self, cohort: Contents) -> tuple[Change, ...]:
        """Return two changes of one network."""
        first = self.change("replace" if self.rng.random() < 0.6 else "add", cohort)
        name, version = first.names[0], int(self.rng.integers(VERSIONS))
        if first.kind == "replace" and self.rng.random() < 0.7:
            return Change("remove", (name,), 0), Change("add", (name,), version)
        return first, Change("replace", (name,), version, (name,))

    def act(self, step: Step, possible: list[Contents]) -> None:
        """Do one thing; called in a process of its own."""
        if step.kind == "read":
            assert contents(self.path) in possible
            self.read(possible)
        elif step.kind in ("compute", "shard"):
            D = self.compute(step.wait, step.shard)
            assert D.complete or step.shard is not None
            self.check_matrix(D, possible)
        else:
            step.act(self.path)

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

    def read(self, possible: list[Contents]) -> None:
        """Read all distances that there are."""
        if self.store.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it is not complete
                self.check_matrix(DistanceMatrix.load(self.store), possible)

    def check_matrix(self, D: DistanceMatrix, possible: list[Contents]) -> None:
        """Raise unless all distances are those of one version of each network.

        It is a version that the cohort has now, or that the store had before.
        """
        space = D.description["parameters"].get("pad_to") if self.metric != "function" else None
        stored = self.stored
        versions = [
            sorted({one[name] for one in [*possible, stored] if name in one}) for name in D.labels
        ]
        places = [
            (i, j, D.values[i, j])
            for i, j in zip(*np.triu_indices(len(D), 1), strict=True)
            if not np.isnan(D.values[i, j])
        ]
        prints = [[network(one).fingerprint for one in some] for some in versions]
        assert any(
            all(self.is_right(value, space, (one[i], one[j])) for i, j, value in places)
            for one in product(*prints)
        ), (D.labels, D.values, versions)

    def is_right(self, value: float, space: int | None, pair: Iterable[str]) -> bool:
        """Return whether a distance is that of two networks.

        A polish may shorten it, but not below the best of many starts.
        """
        own = alone(self.metric, space, *sorted(pair))
        if value == own or self.metric != "polished":
            return value == own
        best = alone(BEST, space, *sorted(pair))
        return bool(best * (1 - LOOSE) <= value <= own + ROUNDING)

    def round(self) -> None:
        """Let processes do one thing each, and check what they leave."""
        before, known = contents(self.path), self.pairs()
        self.stored = self.named()
        steps = [self.draw(before) for _ in range(3 if self.rng.random() < THREE else 2)]
        bursts = self.rng.geometric(float(self.rng.choice([0.5, 0.05, 0.01])), size=4000)
        possible = list(possible_contents(before, steps, [None] * len(steps)))
        with mock.patch.object(lease, "PAUSE", 0.005):
            outcomes = interleave(
                [partial(self.act, one, possible) for one in steps],
                [one.kill for one in steps],
                tuple(bursts.tolist()),
            )
        for step, outcome in zip(steps, outcomes, strict=True):
            tally[f"{step.kind} {outcome.end}"] += 1
        losers = lost(before, steps, outcomes)
        for k in losers:
            tally[f"{steps[k].kind} lost"] += 1
        tally["steps"] += len(steps)
        tally["rounds of three"] += len(steps) == 3
        where = (self.seed, steps, outcomes)
        after = contents(self.path)
        assert after in list(possible_contents(before, steps, outcomes)), (where, before, after)
        assert refusals_are_due(before, steps, outcomes), where
        found = self.check_store(known, where)
        kept = {name: one for name, one in before.items() if name not in touched(steps)}
        prints = {network(one).fingerprint for one in kept.values()}
        gone = [pair for pair in known if pair <= prints and pair not in found]
        assert not gone, (where, gone)  # of networks that no process has changed
        self.check_done(steps, outcomes, prints, found, where)

    def named(self) -> Contents:
        """Return the networks that the store names."""
        found = Store(self.store).identity.networks if self.store.exists() else {}
        return {name: by_fingerprint()[one] for name, one in found.items()}

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

    def check_store(self, known: Pairs, where: Any) -> Pairs:
        """Return the finished pairs, or raise if one is lost or not that of its networks."""
        if not self.store.exists():
            assert not known, where
            return {}
        found, identity = self.pairs(), Store(self.store).identity
        stored = set(identity.networks.values())
        for pair, value in known.items():
            if pair <= stored:
                assert pair in found, (where, pair)
                assert found[pair] == value or self.metric == "polished", (where, pair)
        for pair, value in found.items():
            assert self.is_right(value, space_of(identity), pair), (where, pair, value)
        return found

    def check_done(
        self,
        steps: Sequence[Step],
        outcomes: Sequence[Outcome],
        prints: set[str],
        found: Pairs,
        where: Any,
    ) -> None:
        """Raise if what a process has computed, and reported as done, is not in the store."""
        ends = [outcome.end == "done" for outcome in outcomes]
        done = [step for step, end in zip(steps, ends, strict=True) if end]
        shards = {step.shard for step in done if step.kind == "shard"}
        whole = any(step.kind == "compute" for step in done)
        if not whole and len(shards) < 2:
            return
        pairs = {frozenset((one, other)) for one in prints for other in prints if one != other}
        assert pairs <= found.keys(), (where, pairs - found.keys())
        if whole and not touched(steps):
            D = DistanceMatrix.load(self.store)  # warns if it is not complete
            assert triangle_violations(D, tol=LOOSE).count == 0 or self.metric in TIMELESS, where
        tally["finished stores"] += 1

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


def touched(steps: Sequence[Step]) -> set[str]:
    """Return the names of networks that processes add, replace or remove."""
    return {name for step in steps for name in step.touched}


def contents(path: Path) -> Contents:
    """Return what a cohort holds, from its responses."""
    cohort, found = Cohort.open(path), {}
    for record, one in zip(cohort.records, cohort, strict=True):
        assert one.fingerprint == record.fingerprint
        found[record.name] = by_fingerprint()[one.fingerprint]
        assert found[record.name][0] == record.name
        assert record.metadata == {"version": found[record.name][1]}
    return found


def run_world(seed: int, rounds: int) -> None:
    """Let processes share a world for some rounds."""
    with World(seed) as world:
        for _ in range(rounds):
            world.round()
        world.finish()
    tally["worlds"] += 1
