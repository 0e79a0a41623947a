"""Run long jobs in processes that may be stopped at any moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.connection import Connection
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_jobs(
    function: Callable[[Item], Result], items: Sequence[Item], workers: int
) -> Iterator[Result]:
    """Yield the results of all items as they are finished, in any order.

    With one worker the jobs run in this process. Otherwise each worker is a process of its own. If
    this process is interrupted or killed, the workers end at once, also in the middle of a job, so
    jobs must write their files whole or not at all.
    """
    if workers == 1 or len(items) <= 1:
        yield from map(function, items)
        return
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(min(workers, len(items)), context, _start_worker, (reader,))
    try:
        futures = [pool.submit(function, item) for item in items]
        for future in as_completed(futures):
            yield future.result()
    except BaseException:
        writer.close()  # ends the workers
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        writer.close()
        reader.close()


def _start_worker(reader: Connection) -> None:
    """Prepare a worker: only the main process answers Ctrl-C, and its end is the worker's end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(reader,), daemon=True).start()


def _end_with_parent(reader: Connection) -> None:
    reader.poll(None)  # nothing is ever sent: it returns once the other end is closed
    os._exit(1)
