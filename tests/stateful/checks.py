"""What must hold at any time: the checks of the machine, and a store that nothing disturbs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis.stateful import RuleBasedStateMachine

from repshape import Cohort, DistanceMatrix, pairwise
from repshape.engine.sources import Sources
from repshape.engine.store import Store
from repshape.errors import RepshapeError
from repshape.store.identity import Identity

from .damage import contents
from .faults import Fault, Outcome, refusal
from .inputs import METRICS, TIMELESS, Choice, alone, cohort_of, network, space_of

# A shard without any tiles: it begins a generation, and computes nothing.
NOTHING = "9999/9999"
# What was tried, over all machines of this process.
tally: Counter[str] = Counter()


class CheckedMachine(RuleBasedStateMachine):
    """A cohort in ``path``, its distances in ``store``, and in ``shadow`` what they should be."""

    path: Path
    store: Path
    shadow: Path
    metric: str
    cohort: dict[str, Choice]
    polished: set[tuple[str, str, float]]  # what the undisturbed polish has found for pairs

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
        if "'pad_to' was" not in words:
            return False
        largest = max(network(choice).n_neurons for choice in self.cohort.values())
        return largest > (space_of(Store(self.store).identity) or largest)

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
        for i, first in enumerate(D.labels):
            for j, second in enumerate(D.labels[:i]):
                value = D.values[i, j]
                pair = (prints[first], prints[second])
                own = np.isnan(value) or value == alone(self.metric, space, *pair)
                assert own or (*sorted(pair), value) in self.polished, (first, second, value)

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
        recorded = opened.polished() if opened.keeps else (0, {})
        return recorded is not None and not opened.missing() + opened.missing(recorded[0])

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
            prints = real.networks
            for i, first in enumerate(D.labels):
                for j, second in enumerate(D.labels[:i]):
                    self.polished.add((*sorted((prints[first], prints[second])), D.values[i, j]))

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


def permission(store: Path, networks: dict[str, str]) -> dict[str, Any]:
    """Return which networks a run must replace in a store, and remove from it."""
    stored = Store(store).identity.networks if store.exists() else {}
    changed = [name for name in networks if stored.get(name, networks[name]) != networks[name]]
    absent = [name for name in stored if name not in networks]
    return {"replace": changed or None, "remove": absent or None}
