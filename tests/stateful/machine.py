"""The machine: one cohort and one store on disk, and beside it a store that nothing disturbs."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from repshape import Cohort, DistanceMatrix, pairwise
from repshape.errors import RepshapeError
from repshape.pairwise.identity import Identity
from repshape.pairwise.polish import can_polish
from repshape.pairwise.sources import Sources
from repshape.pairwise.store import Store

from .damage import HARMS, Damage, contents, follow_advice, restore
from .faults import Child, Fault, Outcome, attempt, injected, refusal
from .inputs import (
    METRICS,
    NAMES,
    TIMELESS,
    VERSIONS,
    Choice,
    alone,
    by_fingerprint,
    cohort_of,
    network,
    space_of,
)

# A disk in memory, where there is one: writes that wait for a disk teach nothing here.
MEMORY = Path("/dev/shm")
# A shard without any tiles: it begins a generation, and computes nothing.
NOTHING = "9999/9999"
# More advice than this for the damage of one step does not help.
MOST_ADVICE = 40

# What was tried, over all machines of this process.
tally: Counter[str] = Counter()

names = st.sampled_from(NAMES)
versions = st.integers(0, VERSIONS - 1)
numbers = st.integers(0, 10**6)
harms = st.builds(Damage, st.sampled_from(HARMS), numbers, numbers, st.sampled_from([True, True, False]))
tiles = st.integers(1, 3)


def faults(operations: int) -> st.SearchStrategy[Fault]:
    """Return faults somewhere in an action of about so many operations on files."""
    at = st.integers(1, operations)
    return st.one_of(
        st.builds(Fault),
        st.builds(Fault, st.just("kill"), at),
        st.builds(Fault, st.just("kill"), at),
        st.builds(Fault, st.sampled_from(["full", "read-only"]), at),
        st.builds(Fault, st.just("too large"), st.integers(0, 1500)),
    )


class StoreMachine(RuleBasedStateMachine):
    """Whatever happens, a result is the one of an undisturbed run, or it is refused."""

    @initialize(metric=st.sampled_from(sorted(METRICS)), versions=st.tuples(versions, versions))
    def begin(self, metric: str, versions: tuple[int, int]) -> None:
        self.root = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.path, self.store, self.shadow = (self.root / one for one in ("cohort", "d", "shadow"))
        self.metric = metric
        self.cohort: dict[str, Choice] = {}
        made = Cohort.create(self.path)
        for name, version in zip(NAMES, versions, strict=False):
            made.add(name, network((name, version)), version=version)
            self.cohort[name] = (name, version)

    def teardown(self) -> None:
        if hasattr(self, "root"):
            shutil.rmtree(self.root)

    @invariant()
    def count_steps(self) -> None:
        tally["steps"] += 1

    def _idle(self) -> None:
        """Do nothing, where a rule does not apply: what it needs may differ from run to run."""
        tally["steps"] -= 1

    # The cohort.

    @rule(name=names, version=versions, fault=faults(40))
    def add(self, name: str, version: int, fault: Fault) -> None:
        choice = (name, version)
        after = self.cohort if name in self.cohort else {**self.cohort, name: choice}
        self._change(lambda c: c.add(name, network(choice), version=version), after, fault)

    @rule(name=names, version=versions, fault=faults(50))
    def replace(self, name: str, version: int, fault: Fault) -> None:
        choice = (name, version)
        after = {**self.cohort, name: choice} if name in self.cohort else self.cohort
        self._change(lambda c: c.replace(name, network(choice), version=version), after, fault)

    @rule(name=names, fault=faults(12))
    def remove(self, name: str, fault: Fault) -> None:
        if len(self.cohort) <= 2:
            return self._idle()
        after = {one: choice for one, choice in self.cohort.items() if one != name}
        self._change(lambda c: c.remove(name), after, fault)

    def _change(
        self, change: Callable[[Cohort], None], after: dict[str, Choice], fault: Fault
    ) -> None:
        """Change the cohort, all of it or nothing."""
        cohort = Cohort.open(self.path)
        outcome = attempt(lambda: change(cohort), fault)
        self._count(outcome, fault)
        found = Cohort.open(self.path)
        self.cohort, before = self._choices(found), self.cohort
        assert self.cohort in (before, after), (before, after, self.cohort)
        if outcome.end == "done":
            assert list(self.cohort) == list(after)
            assert self.cohort == after
        if outcome.end == "refused" and fault.kind == "none":
            assert self.cohort == before == after, outcome.words
        if outcome.end != "killed" and fault.kind != "kill":  # what the caller holds is the truth
            assert cohort.labels == found.labels
            assert cohort.fingerprints == found.fingerprints

    def _choices(self, cohort: Cohort) -> dict[str, Choice]:
        """Return what a cohort holds, from its responses."""
        read = {}
        for record, one in zip(cohort.records, cohort, strict=True):
            assert one.fingerprint == record.fingerprint
            read[record.name] = by_fingerprint()[one.fingerprint]
            assert read[record.name][0] == record.name
            assert record.metadata == {"version": read[record.name][1]}
        return read

    # The store.

    @rule(fault=faults(400), tile=tiles, shard=st.sampled_from([None, None, None, "1/2", "2/2"]))
    def compute(self, fault: Fault, tile: int, shard: str | None) -> None:
        known, files = self._known(), self._chunks()
        outcome = attempt(lambda: self._run(tile=tile, shard=shard), fault)
        self._count(outcome, fault)
        self._check_nothing_lost(known, files)
        if outcome.end == "refused":
            self._check_refusal(outcome.words, fault)
        if outcome.end == "done" and shard is None:
            self._check_finished()

    @rule(faults=st.tuples(faults(400), faults(400)), shards=st.booleans(), late=st.booleans())
    def compute_in_two_processes(
        self, faults: tuple[Fault, Fault], shards: bool, late: bool
    ) -> None:
        known, files = self._known(), self._chunks()
        names = ("1/2", "2/2") if shards else (None, None)
        children = [
            Child(lambda name=name: self._run(shard=name), fault)  # type: ignore[misc]
            for name, fault in zip(names, faults, strict=True)
        ]
        outcomes = [child.join() for child in children]
        tally["processes"] += 2
        for outcome, fault in zip(outcomes, faults, strict=True):
            self._count(outcome, fault)
        self._check_nothing_lost(known, files)
        if late:
            self._compute_undisturbed()

    @rule(tile=tiles)
    def resume(self, tile: int) -> None:
        self._compute_undisturbed(tile)

    def _compute_undisturbed(self, tile: int = 2) -> None:
        outcome = attempt(lambda: self._run(tile=tile), Fault())
        self._count(outcome, Fault())
        if outcome.end == "refused":
            self._check_refusal(outcome.words, Fault())
        else:
            self._check_finished()

    @rule()
    def load(self) -> None:
        if not self.store.exists():
            return self._idle()
        self._check_loaded(DistanceMatrix.load(self.store))

    @rule()
    def compute_on_a_read_only_disk(self) -> None:
        """A finished store needs no writing."""
        if not self._finished(self.store):
            return self._idle()
        tally["read-only disks"] += 1
        with injected(Fault("read-only", 1)):
            self._check_loaded(DistanceMatrix.load(self.store))
            cohort = cohort_of(Store(self.store).identity)
            again = pairwise(cohort, METRICS[self.metric], store=self.store, progress=False)
        self._check_same(again, DistanceMatrix.load(self.shadow))

    @rule(metric=st.sampled_from(sorted(METRICS)))
    def change_the_metric(self, metric: str) -> None:
        if metric == self.metric or not self.store.exists():
            return self._idle()
        before = contents(self.store)
        assert self._refused(lambda: self._run(metric=metric))
        assert contents(self.store) == before

    @rule()
    def compute_without_permission(self) -> None:
        if not self._permission()["replace"]:
            return self._idle()
        before = contents(self.store)
        assert self._refused(lambda: self._run(replace=None, remove=None))
        assert contents(self.store) == before

    @rule(name=names)
    def compute_a_selection(self, name: str) -> None:
        if not self.store.exists():
            return self._idle()
        chosen = [one for one in self.cohort if one != name]
        before = contents(self.store)
        stored = Store(self.store).identity.networks
        inside = all(stored.get(one) == network(self.cohort[one]).fingerprint for one in chosen)
        if not inside or len(chosen) in (0, len(stored)):
            return self._idle()
        cohort = Cohort.open(self.path)[chosen]
        try:
            D = pairwise(cohort, METRICS[self.metric], store=self.store, progress=False)
        except RepshapeError as error:
            self._count(refusal(error), Fault())
            assert not self._finished(self.store), error
        else:
            self._check_same(D, DistanceMatrix.load(self.shadow)[chosen])
        assert contents(self.store) == before

    # Damage.

    @rule(damages=st.lists(harms, min_size=1, max_size=2), load=st.booleans())
    def damage_the_store(self, damages: list[Damage], load: bool) -> None:
        if not self.store.exists():
            return self._idle()
        before = contents(self.store)
        tally["corruptions"] += sum(one.apply(self.store) for one in damages)
        if load:
            try:
                self._check_loaded(DistanceMatrix.load(self.store))
            except RepshapeError as error:
                self._count(refusal(error), Fault())
        for _ in range(MOST_ADVICE):
            outcome = attempt(self._run, Fault())
            self._count(outcome, Fault())
            if outcome.end == "done":
                self._check_finished()
                return
            if self._is_expected(outcome.words) or not follow_advice(outcome.words, self.store):
                break
            tally["advice followed"] += 1
        else:
            raise AssertionError(f"the advice does not help: {outcome.words}")
        restore(self.store, before)
        self._compute_undisturbed()

    @rule(damages=st.lists(harms, min_size=1, max_size=2), run=st.booleans())
    def damage_the_cohort(self, damages: list[Damage], run: bool) -> None:
        before, known, files = contents(self.path), self._known(), self._chunks()
        tally["corruptions"] += sum(one.apply(self.path) for one in damages)
        try:
            assert self._choices(Cohort.open(self.path)) == self.cohort
        except RepshapeError as error:
            self._count(refusal(error), Fault())
        if run:
            outcome = attempt(self._run, Fault())
            self._count(outcome, Fault())
            if outcome.end == "done":
                self._check_finished()
        restore(self.path, before)
        self._check_nothing_lost(known, files)

    # What must hold.

    def _run(
        self, *, tile: int = 2, shard: str | None = None, metric: str | None = None, **changes: Any
    ) -> DistanceMatrix:
        options = self._permission() | changes
        return pairwise(
            Cohort.open(self.path),
            METRICS[metric or self.metric],
            store=self.store,
            tile=tile,
            shard=shard,
            workers=1,
            progress=False,
            **options,
        )

    def _permission(self) -> dict[str, Any]:
        return permission(self.store, {k: network(v).fingerprint for k, v in self.cohort.items()})

    def _identity(self) -> Identity:
        """Return what the store would belong to after a run."""
        prints = tuple(network(choice).fingerprint for choice in self.cohort.values())
        return Identity({}, tuple(self.cohort), prints)

    def _known(self) -> int:
        """Return how many pairs of the cohort the store has."""
        if not self.store.exists():
            return 0
        return Sources(Store(self.store).generations, self._identity()).count()

    def _chunks(self) -> dict[Path, bytes]:
        """Return the finished chunks of the present generation."""
        if not self.store.exists():
            return {}
        files = contents(Store(self.store).folder)
        return {path: content for path, content in files.items() if "c" in path.parts}

    def _check_nothing_lost(self, known: int, files: dict[Path, bytes]) -> None:
        if not self.store.exists():
            assert not files
            return
        assert self._known() >= known
        folder = Store(self.store).folder
        if all(folder in path.parents for path in files):
            now = contents(folder)
            assert all(now.get(path) == content for path, content in files.items())
        self._follow()

    def _check_refusal(self, words: str, fault: Fault) -> None:
        if fault.kind == "none":
            assert self._is_expected(words), words
        else:
            assert fault.kind != "kill", words
            assert "Cannot write to" in words or self._is_expected(words), words

    def _is_expected(self, words: str) -> bool:
        """Return whether an undisturbed run would be refused, too: a network is too large."""
        space = space_of(Store(self.store).identity) if self.store.exists() else None
        largest = max(network(choice).n_neurons for choice in self.cohort.values())
        return "'pad_to' was" in words and space is not None and largest > space

    def _check_finished(self) -> None:
        """Check the store after a run that says that it is complete."""
        self._follow()
        assert self._finished(self.store)
        found = DistanceMatrix.load(self.store)
        assert sorted(found.labels) == sorted(self.cohort)
        self._check_loaded(found)

    def _check_loaded(self, D: DistanceMatrix) -> None:
        if self._finished(self.store):
            expected = DistanceMatrix.load(self.shadow)
            self._check_same(D, expected)
        if self._finished(self.store) and self.metric not in TIMELESS:
            return
        identity = Store(self.store).identity
        space, prints = space_of(identity), identity.networks
        seen = self.__dict__.setdefault("polished", set())
        for i, first in enumerate(D.labels):
            for j, second in enumerate(D.labels[:i]):
                value = D.values[i, j]
                pair = (prints[first], prints[second])
                own = np.isnan(value) or value == alone(self.metric, space, *pair)
                assert own or (*sorted(pair), value) in seen, (first, second, value)

    def _check_same(self, D: DistanceMatrix, expected: DistanceMatrix) -> None:
        """Check that two matrices have the same bits."""
        expected = expected[list(D.labels)]
        for name in ("values", "lower_bounds", "converged", "n_starts", "n_agreeing", "n_composed"):
            np.testing.assert_array_equal(getattr(D, name), getattr(expected, name), name)
        assert D.description == expected.description, (D.description, expected.description)
        assert D.metadata.equals(expected.metadata)

    def _finished(self, store: Path) -> bool:
        if not store.exists():
            return False
        opened = Store(store)
        if can_polish(METRICS[self.metric]):
            return opened.polished() is not None and not opened.missing()
        return not opened.missing()

    def _follow(self) -> None:
        """Let the undisturbed store go the way of the other one."""
        if not self.store.exists():
            return
        real = Store(self.store).identity
        shadow = Store(self.shadow).identity if self.shadow.exists() else None
        if shadow is None or shadow.networks != real.networks:
            self._run_shadow(real, NOTHING)
        if self._finished(self.store) and not self._finished(self.shadow):
            self._run_shadow(real, None)
            D = DistanceMatrix.load(self.shadow)
            prints, seen = real.networks, self.__dict__.setdefault("polished", set())
            for i, first in enumerate(D.labels):
                for j, second in enumerate(D.labels[:i]):
                    seen.add((*sorted((prints[first], prints[second])), D.values[i, j]))

    def _run_shadow(self, identity: Identity, shard: str | None) -> None:
        cohort, metric = cohort_of(identity), METRICS[self.metric]
        changes = permission(self.shadow, identity.networks)
        options: dict[str, Any] = {"shard": shard, "workers": 1, "progress": False, "tile": 2}
        pairwise(cohort, metric, store=self.shadow, **options, **changes)

    def _refused(self, action: Callable[[], Any]) -> bool:
        try:
            action()
        except RepshapeError as error:
            self._count(refusal(error), Fault())
            return True
        return False

    def _count(self, outcome: Outcome, fault: Fault) -> None:
        if outcome.end == "killed":
            tally["kills"] += 1
        if outcome.end == "refused":
            tally["refusals"] += 1
            if fault.kind in ("full", "read-only", "too large") and "Cannot write" in outcome.words:
                tally[f"disks: {fault.kind}"] += 1
        if outcome.end == "done":
            tally["finished"] += 1


class AnyMomentMachine(StoreMachine):
    """Also kills from outside, at any moment: what happens then differs from run to run."""

    @rule(milliseconds=st.integers(1, 150), tile=tiles)
    def kill_at_any_moment(self, milliseconds: int, tile: int) -> None:
        known, files = self._known(), self._chunks()
        child = Child(lambda: self._run(tile=tile))
        child.kill_after(milliseconds / 1000)
        self._count(child.join(), Fault())
        self._check_nothing_lost(known, files)


def permission(store: Path, networks: dict[str, str]) -> dict[str, Any]:
    """Return which networks a run must replace in a store, and remove from it."""
    stored = Store(store).identity.networks if store.exists() else {}
    changed = [name for name in networks if stored.get(name, networks[name]) != networks[name]]
    absent = [name for name in stored if name not in networks]
    return {"replace": changed or None, "remove": absent or None}
