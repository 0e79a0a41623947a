"""Parts of a cohort's estimates as tasks of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from repshape._parallel import progress_bar
from repshape.errors import InputError, MissingDependencyError

FloatArray = npt.NDArray[np.float64]
Item = TypeVar("Item")
# A scheduler that does not answer within this time is considered absent.
CONNECT_SECONDS = 30


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingDependencyError(
            "The 'scheduler' parameter needs distributed: pip install 'repshape[dask]'."
        ) from None


@contextmanager
def connect(scheduler: Any) -> Iterator[Any]:
    """Yield a client of a scheduler, given by its address, or the client that was given."""
    distributed = _distributed()
    if isinstance(scheduler, distributed.Client):
        yield scheduler
        return
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError):
        raise InputError(f"There is no Dask scheduler at {scheduler!r}.") from None
    with client:
        yield client


def rows_on_dask(
    function: Callable[[Item], FloatArray],
    items: Sequence[Item],
    finish: Callable[[int, FloatArray], None],
    *,
    scheduler: Any,
    what: str,
    progress: bool | None,
) -> None:
    """Call ``finish(k, function(items[k]))`` for all k, in the order in which workers finish.

    The function, with the networks that it holds, is sent to each worker once.
    """
    with connect(scheduler) as client, progress_bar(what, len(items), progress) as advance:
        shared = client.scatter(function, broadcast=True)
        places = {
            client.submit(_pinned, shared, item, pure=False): k for k, item in enumerate(items)
        }
        try:
            for future in _distributed().as_completed(list(places), loop=client.loop):
                finish(places[future], future.result())  # the first failure ends the run
                advance(1)
        finally:
            client.cancel(list(places))


def _pinned(function: Callable[[Item], FloatArray], item: Item) -> FloatArray:
    """Run in a worker, with one BLAS thread: the same bits as on this machine's threads."""
    with threadpool_limits(limits=1, user_api="blas"):
        return function(item)
