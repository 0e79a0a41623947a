"""Everything that runs long: one pool, one progress bar and one way to be interrupted.

Pairs, sweeps, resamples, means and reports all run here. Work is handed to threads, because the
native solver releases the interpreter lock. BLAS is pinned to one thread meanwhile, so that the
bits of a result do not depend on the number of workers. The first failure, or Ctrl-C, cancels what
has not begun.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, TypeAlias, TypeVar

from threadpoolctl import ThreadpoolController, threadpool_limits

from repshape.errors import check_integer

Item = TypeVar("Item")
Result = TypeVar("Result")
# Called with the number of pieces that were finished since the last call.
Advance: TypeAlias = Callable[[int], None]

# A notebook shows the state of a run at most this often, in seconds.
NOTEBOOK_INTERVAL = 0.2


def available_cores() -> int:
    """Return the number of cores this process may use, which a queue may limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_workers(workers: int | None) -> int:
    """Return the number of workers, all cores by default, or raise one clear sentence."""
    return available_cores() if workers is None else check_integer("workers", workers, 1)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread; entering it takes some 10 microseconds."""
    pinned: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return pinned


@contextmanager
def thread_pool(workers: int) -> Iterator[Executor]:
    """Yield a pool, with BLAS pinned to one thread; one worker runs in the calling thread.

    Whatever raises in the body, Ctrl-C included, cancels the tasks that have not begun.
    """
    pool: Executor = InlinePool() if workers == 1 else ThreadPoolExecutor(workers, "repshape")
    with threadpool_limits(limits=1, user_api="blas"), pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class InlinePool(Executor):
    """Runs what it is given at once, in the calling thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run, and return the result as if it had been waited for; a failure ends the run here."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def run_all(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    what: str = "resamples",
    workers: int | None = None,
    progress: bool | None = None,
) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed over threads.

    An item that needs randomness must carry its own seed: then the result has the same bits for
    any number of workers.

    >>> run_all(lambda k: k * k, [1, 2, 3], workers=2)
    [1, 4, 9]
    """
    count = check_workers(workers)
    with progress_bar(what, len(items), progress) as advance, thread_pool(count) as pool:
        futures = []
        for item in items:
            futures.append(pool.submit(function, item))
            if count == 1:
                advance(1)
        pending: set[Future[Result]] = set() if count == 1 else set(futures)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()  # the first failure ends the run
                advance(1)
        return [future.result() for future in futures]


@contextmanager
def progress_bar(what: str, total: int, show: bool | None) -> Iterator[Advance]:
    """Yield a function that advances a progress bar, or does nothing.

    Parameters
    ----------
    what : str
        What is counted, in the plural.
    total : int
    show : bool or None
        None shows the bar only in a terminal or a notebook. A script whose stderr is not a
        terminal shows it only with True.
    """
    notebook = _in_notebook()
    if show is False or (show is None and not notebook and not sys.stderr.isatty()):
        yield lambda _: None
    elif notebook:
        yield _NotebookBar(what, total)
    else:
        with _terminal_bar(what, total) as advance:
            yield advance


@contextmanager
def _terminal_bar(what: str, total: int) -> Iterator[Advance]:
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

    class Rate(ProgressColumn):
        def render(self, task: Task) -> str:
            speed = task.finished_speed or task.speed
            return "" if speed is None else f"{speed:.3g} {what}/s"

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    console = Console(stderr=True)
    # A terminal is left clean; a log keeps the last state of the bar.
    with Progress(*columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def _in_notebook() -> bool:
    """Whether the code runs in the kernel of a notebook; without loading IPython to find out."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    # Google Colab has a subclass of it.
    return any(one.__name__ == "ZMQInteractiveShell" for one in type(shell).__mro__)


class _NotebookBar:
    """One line under a notebook's cell that is rewritten as work is finished."""

    def __init__(self, what: str, total: int) -> None:
        from IPython.display import display

        self._what, self._total, self._done = what, total, 0
        self._began = self._shown = time.monotonic()
        self._line = display({"text/plain": self._words()}, raw=True, display_id=True)

    def __call__(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if self._done >= self._total or now - self._shown > NOTEBOOK_INTERVAL:
            self._shown = now
            self._line.update({"text/plain": self._words()}, raw=True)

    def _words(self) -> str:
        spent = time.monotonic() - self._began if self._done else 0.0
        left = spent * (self._total / self._done - 1) if self._done else 0.0
        rest = f", {left:.0f} s left" if left >= 1 else ""
        return f"{self._what}: {self._done} of {self._total}{rest}"
