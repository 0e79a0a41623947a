"""What several processes do to one cohort at once, and what it may become in one order of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from repshape import Cohort
from repshape.io.destination import Destination

from .faults import Outcome
from .inputs import Choice, network
from .writers import TOLD

Contents = dict[str, Choice]
# What a process is told that lost to another one.
REASONS = (
    "another process replaced or removed",
    "replaced or removed by another process",
    "another process added",
    # If it began after the other one had finished.
    "There is no network named",
    "already has a network named",
    *TOLD,
)


@dataclass(frozen=True)
class Change:
    """One change of a cohort, all of it or nothing: of one network, or an import of several.

    ``replaced`` are those of the names that must be in the cohort; all others must not.
    """

    kind: str
    names: tuple[str, ...]
    version: int
    replaced: tuple[str, ...] = ()

    def applies(self, cohort: Contents) -> bool:
        """Return whether a cohort can be changed like this."""
        if self.kind == "remove":
            return self.names[0] in cohort
        return all((name in cohort) == (name in self.replaced) for name in self.names)

    def after(self, cohort: Contents) -> Contents:
        """Return the cohort after the change."""
        if self.kind == "remove":
            return {name: one for name, one in cohort.items() if name not in self.names}
        return cohort | {name: (name, self.version) for name in self.names}

    def make(self, cohort: Cohort) -> None:
        """Change a cohort on disk."""
        rows = [
            (name, network((name, self.version)), {"version": self.version}) for name in self.names
        ]
        if self.kind == "import":
            assert cohort.path is not None
            replace = list(self.replaced)
            Destination.checked(cohort.path, self.names, add=True, replace=replace).save(rows)
        elif self.kind == "remove":
            cohort.remove(self.names[0])
        else:
            name, one, metadata = rows[0]
            (cohort.replace if self.replaced else cohort.add)(name, one, **metadata)


@dataclass(frozen=True)
class Step:
    """What one process does, and before which operation on files it is killed.

    Changes are made one after the other in a cohort that is opened once.
    """

    kind: str
    changes: tuple[Change, ...] = ()
    wait: float = 0.0
    shard: str | None = None
    kill: int | None = None

    def act(self, path: Path) -> None:
        """Change the cohort; called in a process of its own."""
        cohort = Cohort.open(path)
        for change in self.changes:
            change.make(cohort)

    def is_possible_alone(self, cohort: Contents) -> bool:
        """Return whether no change would be refused if there was no other process."""
        for change in self.changes:
            if not change.applies(cohort):
                return False
            cohort = change.after(cohort)
        return True

    @property
    def touched(self) -> set[str]:
        """The names of networks that it adds, replaces or removes."""
        return {name for change in self.changes for name in change.names}

    @property
    def takes_away(self) -> bool:
        """Whether a network is replaced or removed, which others may be reading."""
        return any(change.replaced or change.kind == "remove" for change in self.changes)

    def defeats(self, other: Step) -> bool:
        """Return whether another process may be refused because this one was faster."""
        if other.changes:
            return bool(self.touched & other.touched)
        if self.changes:
            return self.takes_away
        return {self.kind, other.kind} <= {"compute", "shard"}


def lengths(step: Step, outcome: Outcome | None) -> range:
    """Return how many of its changes a process has made; None stands for any outcome so far."""
    whole = len(step.changes)
    if outcome is None or outcome.end == "killed":
        return range(whole + 1)
    return range(whole, whole + 1) if outcome.end == "done" else range(max(whole, 1))


def merged(sequences: Sequence[tuple[Change, ...]]) -> Iterator[tuple[Change, ...]]:
    """Yield every order of changes that keeps the order of each process."""
    if not any(sequences):
        yield ()
    for k, sequence in enumerate(sequences):
        if sequence:
            rest = [*sequences[:k], sequence[1:], *sequences[k + 1 :]]
            yield from ((sequence[0], *others) for others in merged(rest))


def possible_contents(
    before: Contents, steps: Sequence[Step], outcomes: Sequence[Outcome | None]
) -> Iterator[Contents]:
    """Yield the cohorts that some order gives; what was killed has happened, or not."""
    made = [lengths(step, outcome) for step, outcome in zip(steps, outcomes, strict=True)]
    for counts in product(*made):
        parts = [step.changes[:count] for step, count in zip(steps, counts, strict=True)]
        for order in merged(parts):
            cohort: Contents | None = before
            for change in order:
                cohort = (
                    change.after(cohort) if cohort is not None and change.applies(cohort) else None
                )
            if cohort is not None:
                yield cohort


def lost(before: Contents, steps: Sequence[Step], outcomes: Sequence[Outcome]) -> list[int]:
    """Return which processes were refused though they would not have been alone."""
    return [
        k
        for k, (step, outcome) in enumerate(zip(steps, outcomes, strict=True))
        if outcome.end == "refused" and step.is_possible_alone(before)
    ]


def refusals_are_due(before: Contents, steps: Sequence[Step], outcomes: Sequence[Outcome]) -> bool:
    """Return whether each process that lost has lost to one that did not, and is told so."""
    losers = lost(before, steps, outcomes)
    winners = [step for k, step in enumerate(steps) if k not in losers]
    return all(
        any(winner.defeats(steps[k]) for winner in winners) and says_why(outcomes[k].words)
        for k in losers
    )


def says_why(words: str) -> bool:
    """Return whether a sentence names the other process as the reason."""
    return any(reason in words for reason in REASONS)
