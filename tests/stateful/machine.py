"""The machine: one cohort and one store on disk, and beside it a store that nothing disturbs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from repshape import Cohort, DistanceMatrix, pairwise
from repshape.engine.store import Store
from repshape.errors import RepshapeError
from repshape.io.destination import Destination

from .checks import CheckedMachine, tally
from .damage import HARMS, Damage, contents, follow_advice, restore, undo
from .faults import Child, Fault, attempt, injected, refusal
from .inputs import METRICS, NAMES, VERSIONS, Choice, by_fingerprint, cohort_of, network

# A disk in memory, where there is one: writes that wait for a disk teach nothing here.
MEMORY = Path("/dev/shm")
# More advice than this for the damage of one step does not help.
MOST_ADVICE = 40

names = st.sampled_from(NAMES)
versions = st.integers(0, VERSIONS - 1)
numbers = st.integers(0, 10**6)
harms = st.builds(
    Damage, st.sampled_from(HARMS), numbers, numbers, st.sampled_from([True, True, False])
)
tiles = st.integers(2, 3)


def faults(operations: int) -> st.SearchStrategy[Fault]:
    """Return faults somewhere in an action of about n operations on files."""
    at = st.integers(1, operations)
    return st.one_of(
        st.builds(Fault),
        st.builds(Fault, st.just("kill"), at),
        st.builds(Fault, st.just("kill"), at),
        st.builds(Fault, st.sampled_from(["full", "read-only"]), at),
        st.builds(Fault, st.just("too large"), st.integers(0, 1500)),
    )


def where(applies: Callable[[Any], Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a rule do nothing, and not count as a step, where it does not apply.

    A precondition of hypothesis would have to be the same whenever a machine is run again, which
    the moment of a kill is not.
    """

    def conditional(step: Callable[..., None]) -> Callable[..., None]:
        @wraps(step)
        def guarded(self: Any, **given: Any) -> None:
            if applies(self):
                step(self, **given)
            else:
                tally["steps"] -= 1

        return guarded

    return conditional


def has_store(machine: Any) -> bool:
    """Return whether anything was computed."""
    return bool(machine.store.exists())


class StoreMachine(CheckedMachine):
    """Whatever happens, a result is the one of an undisturbed run, or it is refused."""

    @initialize(
        metric=st.sampled_from(sorted(METRICS)), versions=st.lists(versions, min_size=3, max_size=5)
    )
    def begin(self, metric: str, versions: list[int]) -> None:
        self.root = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.path, self.store, self.shadow = (self.root / one for one in ("cohort", "d", "shadow"))
        self.metric = metric
        self.cohort: dict[str, Choice] = {}
        self.polished: set[tuple[str, str, float]] = set()
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
    @where(lambda self: len(self.cohort) > 2)
    def remove(self, name: str, fault: Fault) -> None:
        after = {one: choice for one, choice in self.cohort.items() if one != name}
        self._change(lambda c: c.remove(name), after, fault)

    @rule(versions=st.dictionaries(names, versions, min_size=1, max_size=3), fault=faults(120))
    def import_several(self, versions: dict[str, int], fault: Fault) -> None:
        """Add some networks and replace others, all of them or none."""
        replaced = [name for name in versions if name in self.cohort]
        rows = [(name, network((name, one)), {"version": one}) for name, one in versions.items()]

        def change(_: Cohort) -> None:
            Destination.checked(self.path, list(versions), add=True, replace=replaced).save(rows)

        self._change(
            change, {**self.cohort, **{one: (one, versions[one]) for one in versions}}, fault
        )

    def _change(
        self, change: Callable[[Cohort], None], after: dict[str, Choice], fault: Fault
    ) -> None:
        """Change the cohort, all of it or nothing."""
        cohort = Cohort.open(self.path)
        held = cohort.fingerprints
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
        if cohort.fingerprints != held:  # what the caller holds and has changed is the truth
            assert cohort.labels == found.labels
            assert cohort.fingerprints == found.fingerprints
        if self.cohort == before:
            assert cohort.fingerprints == held

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

    @rule(fault=faults(300), tile=tiles, shard=st.sampled_from([None, None, None, "1/2", "2/2"]))
    def compute(self, fault: Fault, tile: int, shard: str | None) -> None:
        known, files = self._known(), self._chunks()
        outcome = attempt(lambda: self._run(tile=tile, shard=shard), fault)
        self._count(outcome, fault)
        self._check_nothing_lost(known, files)
        if outcome.end == "refused":
            self._check_refusal(outcome.words, fault)
        if outcome.end == "done" and shard is None:
            self._check_finished()

    @rule(faults=st.tuples(faults(300), faults(300)), shards=st.booleans(), late=st.booleans())
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
    @where(has_store)
    def load(self) -> None:
        self._check_loaded(DistanceMatrix.load(self.store))

    @rule()
    @where(lambda self: self._finished(self.store))
    def compute_on_a_read_only_disk(self) -> None:
        """A finished store needs no writing."""
        tally["read-only disks"] += 1
        with injected(Fault("read-only", 1)):
            self._check_loaded(DistanceMatrix.load(self.store))
            cohort = cohort_of(Store(self.store).identity)
            again = pairwise(cohort, METRICS[self.metric], store=self.store, progress=False)
        self._check_same(again, DistanceMatrix.load(self.shadow))

    @rule(metric=st.sampled_from(sorted(METRICS)))
    @where(has_store)
    def change_the_metric(self, metric: str) -> None:
        if metric == self.metric:
            return
        before = contents(self.store)
        assert self._refused(lambda: self._run(metric=metric))
        assert contents(self.store) == before

    @rule()
    @where(lambda self: self._permission()["replace"])
    def compute_without_permission(self) -> None:
        before = contents(self.store)
        assert self._refused(lambda: self._run(replace=None, remove=None))
        assert contents(self.store) == before

    @rule(name=names)
    @where(has_store)
    def compute_a_selection(self, name: str) -> None:
        chosen = [one for one in self.cohort if one != name]
        before = contents(self.store)
        stored = Store(self.store).identity.networks
        inside = all(stored.get(one) == network(self.cohort[one]).fingerprint for one in chosen)
        if not inside or len(chosen) in (0, len(stored)):
            return
        cohort = Cohort.open(self.path)[chosen]
        metric, finished = METRICS[self.metric], self._finished(self.store)
        if not finished:
            assert self._refused(lambda: pairwise(cohort, metric, store=self.store))
        else:
            D = pairwise(cohort, metric, store=self.store, progress=False)
            self._check_same(D, DistanceMatrix.load(self.shadow)[chosen])
        assert contents(self.store) == before

    # Damage.

    @rule(damages=st.lists(harms, min_size=1, max_size=2), load=st.booleans())
    @where(has_store)
    def damage_the_store(self, damages: list[Damage], load: bool) -> None:
        before = contents(self.store)
        tally["corruptions"] += sum(one.apply(self.store) for one in damages)
        after = contents(self.store)
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
                undo(self.store, before, after)  # what was damaged and not read
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


class AnyMomentMachine(StoreMachine):
    """Also kills from outside, at any moment: what happens then differs from run to run."""

    @rule(milliseconds=st.integers(1, 150), tile=tiles)
    def kill_at_any_moment(self, milliseconds: int, tile: int) -> None:
        known, files = self._known(), self._chunks()
        child = Child(lambda: self._run(tile=tile))
        child.kill_after(milliseconds / 1000)
        self._count(child.join(), Fault())
        self._check_nothing_lost(known, files)
