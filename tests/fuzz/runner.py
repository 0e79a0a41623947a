"""One case, many cases and their tally."""

from __future__ import annotations

import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from threadpoolctl import threadpool_limits

from repshape.errors import RepshapeError
from repshape.metrics.registry import METRICS

from . import files, measures, metrics, studies
from .checks import WrongError, one_sentence
from .draws import Draw

# Seconds of CPU time after which a case counts as hanging.
PATIENCE = 20.0
# Failures beyond this many are counted, but not described.
DESCRIBED = 1000

Subject = Callable[[Draw], None]
# Shares of the cases of a metric, in the registry's order; a new metric has `NEW_SHARE`.
SHARES = {
    "gaussian": 30,
    "energy": 15,
    "wasserstein": 3,
    "procrustes": 14,
    "process": 8,
    "conv": 5,
    "covariance": 3,
}
NEW_SHARE = 3


def of_metrics() -> dict[str, tuple[Subject, float]]:
    """Return the cases of every metric of the registry: its own in `metrics`, or common ones."""
    return {
        full: (getattr(metrics, name, metrics.any_metric(name)), SHARES.get(name, NEW_SHARE))
        for name, full in METRICS.items()
    }


# Functions and their shares of the cases.
SUBJECTS: dict[str, tuple[Subject, float]] = {
    # Only by name: a case may crash the process, or leave no memory to others.
    "files": (files.files, 0),
    **of_metrics(),
    "groups given as objects": (metrics.group_objects, 1),
    "baselines": (measures.baseline, 8),
    "procrustes_moments": (measures.procrustes_moments, 1),
    "estimate_moments": (measures.estimator, 5),
    "Preprocess": (measures.preprocess, 4),
    "pairwise": (studies.pairwise, 1),
    "repair": (studies.repair, 0.5),
    "embed": (studies.embed, 0.5),
    "analysis of matrices": (studies.of_matrix, 1.5),
    "analysis of networks": (studies.of_networks, 1),
    "analysis of time series": (studies.process_mean, 0.2),
    "inference": (studies.infer, 1),
}


@dataclass(frozen=True)
class Outcome:
    """What became of one case: passed, refused or failed, with the reason."""

    function: str
    result: str
    reason: str = ""
    words: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class HangError(Exception):
    """A case took too long."""


@contextmanager
def deadline(seconds: float) -> Any:
    """Raise an error in the block after this many seconds of CPU time."""

    def ring(number: int, frame: Any) -> None:
        raise HangError(f"no answer after {seconds:g} s of CPU time")

    previous = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def choose(draw: Draw) -> str:
    """Return the function of a case, by the shares."""
    total = sum(share for _, share in SUBJECTS.values())
    place = draw.rng.random() * total
    for name, (_, share) in SUBJECTS.items():
        place -= share
        if place < 0:
            return name
    return name


def run_case(
    seed: int, number: int, *, function: str | None = None, describe: bool = False
) -> Outcome:
    """Run one case of any function, or of this one; failures are described."""
    draw = Draw(seed, number)
    name = function or choose(draw)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result, reason = _judge(SUBJECTS[name][0], draw)
    leaks = [one for one in caught if not one.category.__module__.startswith("repshape")]
    if leaks and result != "failed":
        where = f"{leaks[0].filename.rpartition('repshape/')[2]}:{leaks[0].lineno}"
        result, reason = "failed", f"leaks {leaks[0].category.__name__} at {where}: "
        reason += str(leaks[0].message)
    shown = describe or result == "failed"
    own = {one.category.__name__ for one in caught} - {one.category.__name__ for one in leaks}
    return Outcome(
        name, result, reason, tuple(map(_text, draw.words)) if shown else (), tuple(sorted(own))
    )


def _text(words: Any) -> str:
    return " ".join(str(words).split())


def _judge(subject: Subject, draw: Draw) -> tuple[str, str]:
    try:
        with deadline(PATIENCE):
            subject(draw)
    except RepshapeError as error:
        try:
            one_sentence(error)
        except WrongError as wrong:
            return "failed", str(wrong)
        if draw.expect == "value":
            return "failed", f"refuses usable input: {error}"
        return "refused", str(error)
    except WrongError as error:
        return "failed", str(error)
    except Exception as error:
        frames = list(traceback.extract_tb(error.__traceback__))
        last = next((one for one in reversed(frames) if "repshape" in one.filename), frames[-1])
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return "failed", f"{type(error).__name__} at {where}: {error}"
    return "passed", ""


@dataclass
class Tally:
    """How often each function passed, refused or failed, and why it failed."""

    functions: dict[str, Counter[str]] = field(default_factory=dict)
    warnings: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, number: int, outcome: Outcome) -> None:
        """Count one case."""
        self.functions.setdefault(outcome.function, Counter())[outcome.result] += 1
        self.warnings.update(outcome.warnings)
        if outcome.result == "failed" and len(self.failures) < DESCRIBED:
            one = {"number": number, "function": outcome.function, "reason": outcome.reason}
            self.failures.append(one)

    def merge(self, other: Tally) -> None:
        """Add the counts of other cases."""
        for name, counts in other.functions.items():
            self.functions.setdefault(name, Counter()).update(counts)
        self.warnings.update(other.warnings)
        self.failures = (self.failures + other.failures)[:DESCRIBED]

    @property
    def n_cases(self) -> int:
        return sum(counts.total() for counts in self.functions.values())

    @property
    def n_failed(self) -> int:
        return sum(counts["failed"] for counts in self.functions.values())


def run_range(
    seed: int,
    start: int,
    stop: int,
    function: str | None = None,
    begin: Callable[[int], None] = lambda number: None,
) -> Tally:
    """Run the cases from start to stop - 1; ``begin`` is told the number of each before it runs."""
    tally = Tally()
    with threadpool_limits(1):  # matrices of a few numbers: threads would only wait
        for number in range(start, stop):
            begin(number)
            tally.add(number, run_case(seed, number, function=function))
    return tally
