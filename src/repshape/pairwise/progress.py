"""How far a run has come: a bar on stderr with the rate and the time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

# Given the number of pairs that were finished since the last call.
Advance: TypeAlias = Callable[[int], None]


class RateColumn(ProgressColumn):
    """Pairs per second."""

    def render(self, task: Task) -> Text:
        """Return the rate in words."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.3g} pairs/s")


@contextmanager
def progress_bar(what: str, total: int, show: bool | None, done: int = 0) -> Iterator[Advance]:
    """Yield a function that advances a bar on stderr, or does nothing.

    ``show`` is True, False, or None for "only on a terminal".
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda _: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), RateColumn())
    console = Console(stderr=True)
    # A terminal is left clean; a log keeps the last state of the bar.
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda count: bar.advance(task, count)
