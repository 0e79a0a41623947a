"""Many independent pieces of work over threads, in order, with a bar on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from repshape._cores import available_cores
from repshape.errors import check_integer

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_all(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    what: str = "resamples",
    workers: int | None = None,
    progress: bool | None = None,
) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed over threads.

    Each item must carry its own seed if it needs chance: then the result has the same bits for
    any number of workers.

    >>> run_all(lambda k: k * k, [1, 2, 3], workers=2)
    [1, 4, 9]
    """
    count = _workers(workers)
    with threadpool_limits(limits=1, user_api="blas"), _bar(what, len(items), progress) as advance:
        if count == 1:
            return [_and_tell(function(item), advance) for item in items]
        return _in_threads(function, items, count, advance)


def _workers(workers: int | None) -> int:
    if workers is not None:
        return check_integer("workers", workers, 1)
    return available_cores()


def _and_tell(result: Result, advance: Callable[[], None]) -> Result:
    advance()
    return result


def _in_threads(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    advance: Callable[[], None],
) -> list[Result]:
    with ThreadPoolExecutor(workers, thread_name_prefix="repshape") as pool:
        futures = [pool.submit(function, item) for item in items]
        pending: set[Future[Result]] = set(futures)
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()  # the first failure ends the run
                    advance()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


@contextmanager
def _bar(what: str, total: int, show: bool | None) -> Iterator[Callable[[], None]]:
    """Yield a function that advances a bar by one, or does nothing."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    # A terminal is left clean; a log keeps the last state of the bar.
    with Progress(*columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task, 1)
