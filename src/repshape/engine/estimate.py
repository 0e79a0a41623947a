"""What a run would cost: time, disk and memory, from a few pairs that are solved on the spot.

A sample of the networks, of representative sizes, goes through the same stages as the whole run.
The time of each stage is extrapolated: preparation with the number of networks, all else with the
number of pairs. Evaluating compositions also grows with the number of networks through which a
pair is composed.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from time import thread_time
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import count
from repshape._parallel import thread_pool
from repshape.engine.effort import Stage
from repshape.engine.footprint import disk_bytes, memory_bytes
from repshape.engine.growth import Form
from repshape.engine.job import Job, Run
from repshape.engine.plan import Plan
from repshape.engine.polish import make_task, polish_layers
from repshape.engine.sides import records_of
from repshape.engine.store import Store
from repshape.engine.threads import Metric, PreparedCache, solve_tasks
from repshape.engine.tiles import Layer, MemoryTiles
from repshape.io.cohort import Cohort
from repshape.metrics.base import ShapeMetric

IndexArray = npt.NDArray[np.intp]

# As many networks are sampled as fit into this many seconds of processor time, within limits.
BUDGET_SECONDS = 20.0
FEWEST_NETWORKS = 4
MOST_NETWORKS = 16
# With the polish, a pair takes at most about this many times its own search.
POLISH_FACTOR = 1.3
# Seconds to write a tile durably, with its alignments.
SECONDS_PER_TILE = 0.02
SEED = 0


@dataclass(frozen=True)
class Estimate:
    """What a run would cost.

    Attributes
    ----------
    n_pairs, n_known : int
        Number of pairs, over all metrics, and how many of them a store has already.
    workers : int
    preparing, searching, polishing, writing : float
        Processor seconds of preparing networks, of the searches of pairs by themselves, of the
        polish, and of writing tiles.
    disk, memory : int
        Bytes on disk when the run is finished, and at most in memory while it runs.
    n_sampled, n_sampled_pairs : int
        Number of networks and pairs that were solved for the estimate.
    """

    n_pairs: int
    n_known: int
    workers: int
    preparing: float
    searching: float
    polishing: float
    writing: float
    disk: int
    memory: int
    n_sampled: int
    n_sampled_pairs: int

    @property
    def cpu_seconds(self) -> float:
        """Processor seconds, over all workers."""
        return self.preparing + self.searching + self.polishing + self.writing

    @property
    def seconds(self) -> float:
        """Seconds that pass, if every worker has a core of its own."""
        return self.cpu_seconds / self.workers

    def lines(self) -> list[str]:
        """Say it in words."""
        new = self.n_pairs - self.n_known
        known = f", of which {self.n_known} are known already" if self.n_known else ""
        parts = {
            "preparing": self.preparing,
            "searching": self.searching,
            "polish": self.polishing,
            "writing": self.writing,
        }
        shares = ", ".join(f"{what} {duration(cost)}" for what, cost in parts.items() if cost)
        workers = count(self.workers, "worker")
        lines = [
            f"{count(self.n_pairs, 'pair')}{known}",
            f"time: about {duration(self.seconds)} on {workers}, each with a core of its own",
            f"processor time: {duration(self.cpu_seconds)} ({shares})",
            f"memory: about {size(self.memory)}",
            f"disk: about {size(self.disk)}",
        ]
        if new:
            sampled = f"{count(self.n_sampled_pairs, 'pair')} of {self.n_sampled} networks"
            lines.append(f"estimated from {sampled}, solved just now")
        return lines


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> duration(0.04), duration(80), duration(5000), duration(400000)
    ('0.04 s', '80 s', '83 min', '4.6 days')
    """
    for limit, length, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds / 86400:.2g} days"


def size(n_bytes: int) -> str:
    """Return a number of bytes in the unit that suits it.

    >>> size(3 * 2**20)
    '3.0 MiB'
    """
    return f"{n_bytes / 2**20:.1f} MiB" if n_bytes < 2**30 else f"{n_bytes / 2**30:.1f} GiB"


@dataclass
class StageCosts:
    """Processor seconds of one metric's sample, and how often a layer changed a pair.

    ``composing`` is the part of the polish that grows with the number of compositions, and
    ``compressed`` what compression leaves of the transforms, as a share.
    """

    searching: float = 0.0
    solving: float = 0.0
    composing: float = 0.0
    n_pairs: int = 0
    changed: list[float] = field(default_factory=list)
    compressed: float = 1.0


class Clock:
    """Processor seconds inside the solver of a metric."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def attach(self, metric: Metric) -> Metric:
        """Return a copy of the metric whose solver is timed."""
        if not isinstance(metric, ShapeMetric):
            return metric
        copy = metric.with_parameters()
        copy.__dict__["solve_pairs"] = self._timed(copy.solve_pairs)
        return copy

    def _timed(self, solve: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(solve)
        def timed(*given: Any, **options: Any) -> Any:
            start = thread_time()
            try:
                return solve(*given, **options)
            finally:
                self.seconds += thread_time() - start

        return timed


def estimate_cost(run: Run) -> Estimate:
    """Return what a run would cost; nothing is written.

    Examples
    --------
    >>> from repshape.engine.plan import Settings
    >>> from repshape.engine.run import plan_pairwise
    >>> def distance(x, y): return abs(x - y)
    >>> given = [float(k) for k in range(30)], {"": distance}, {"": None}, None, None, None
    >>> found = estimate_cost(plan_pairwise(*given, Settings.checked(workers=1)))
    >>> found.n_pairs, found.n_sampled, found.n_sampled_pairs, found.polishing
    (435, 16, 120, 0.0)
    """
    known, total = run.count_pairs()
    parts = [_estimate_job(job) for job in run.jobs]
    summed = {
        name: sum(getattr(one, name) for one in parts)
        for name in ("preparing", "searching", "polishing", "writing", "disk", "n_sampled_pairs")
    }
    return Estimate(
        n_pairs=total,
        n_known=known,
        workers=max((one.workers for one in parts), default=1),
        memory=max((one.memory for one in parts), default=0),
        n_sampled=max((one.n_sampled for one in parts), default=0),
        **summed,
    )


def _estimate_job(job: Job) -> Estimate:
    K, sizes = len(job.labels), neurons_of(job)
    chosen = sample_networks(sizes, count_sampled(job, sizes))
    cache, preparing, clock = _prepared(job, chosen)
    searching = polishing = writing = 0.0
    disk = known = 0
    every = Plan(K, 1, job.rows).n_pairs
    forms = {name: present_form(job, name) for name in job.metrics}
    for number, (name, form) in enumerate(forms.items()):
        costs = measure_stages(cache, number, form, clock, polish=job.polished[name])
        known += job.count_known(name)
        new = every - job.count_known(name)
        per_pair = new / max(costs.n_pairs, 1)
        more = min(form.effort.hubs, K - 2) / max(min(form.effort.hubs, len(chosen) - 2), 1)
        searching += per_pair * costs.searching
        polishing += per_pair * (costs.solving + more * costs.composing)
        if job.paths[name] is not None:
            n_layers = 1 + len(costs.changed)
            writing += SECONDS_PER_TILE * n_layers * len(Plan(K, form.edge, job.rows).tiles)
            disk += disk_bytes(sizes, form, costs.changed, costs.compressed)
    edge = max(form.edge for form in forms.values())
    n_rounds = 1 + max(map(int, job.polished.values()))
    return Estimate(
        n_pairs=len(forms) * every,
        n_known=known,
        workers=job.settings.workers,
        preparing=preparing / len(chosen) * count_preparations(job, edge, n_rounds),
        searching=searching,
        polishing=polishing,
        writing=writing,
        disk=disk,
        memory=memory_bytes(job, forms, sizes),
        n_sampled=len(chosen),
        n_sampled_pairs=len(forms) * len(chosen) * (len(chosen) - 1) // 2,
    )


def present_form(job: Job, name: str) -> Form:
    """Return the form of a matrix, with the effort of its store if it exists already."""
    form, path = job.form(name), job.paths[name]
    if path is None or not path.exists():
        return form
    store = Store(path)
    return replace(form, alignments=store.alignments, bounded=store.bounded, effort=store.effort)


def neurons_of(job: Job) -> IndexArray:
    """Return how many neurons each network has; 0 where that is unknown."""
    found = [getattr(one, "n_neurons", None) for one in records_of(job.networks)]
    if None in found:
        found = [np.shape(one)[-1] if np.ndim(one) > 1 else 0 for one in map(_first, job.networks)]
    kept = job.sizes.dimensions
    return np.minimum(np.array(found, dtype=np.intp), max(kept, 1))


def _first(network: Any) -> Any:
    """Return the means of a tuple, or a network as it is."""
    return network[0] if isinstance(network, tuple) else network


def sample_networks(sizes: IndexArray, count: int) -> IndexArray:
    """Return the places of ``count`` networks whose sizes are spread as those of all are.

    >>> sample_networks(np.array([9, 2, 2, 9, 9, 2]), 2).size
    2
    """
    total = len(sizes)
    count = min(count, total)
    order = np.lexsort([np.random.default_rng(SEED).random(total), sizes])
    places = ((np.arange(count) + 0.5) * total / count).astype(np.intp)
    return np.sort(order[places])


def count_sampled(job: Job, sizes: IndexArray) -> int:
    """Return how many networks to sample, from the time of one pair."""
    pilot = sample_networks(sizes, 2)
    cache, _, clock = _prepared(job, pilot)
    seconds = 0.0
    for number, name in enumerate(job.metrics):
        form = present_form(job, name)
        searching = measure_stages(cache, number, form, clock, polish=False).searching
        seconds += searching * (POLISH_FACTOR if job.polished[name] else 1.0)
    pairs = BUDGET_SECONDS / max(seconds, 1e-9)
    return int(np.clip((2 * pairs) ** 0.5, FEWEST_NETWORKS, MOST_NETWORKS))


def _prepared(job: Job, chosen: IndexArray) -> tuple[PreparedCache, float, Clock]:
    """Return prepared networks, the seconds it took, and the clock of their metrics' solvers."""
    names = [job.labels[k] for k in chosen]
    networks: Sequence[Any] = job.networks
    some = networks[names] if isinstance(networks, Cohort) else [networks[k] for k in chosen]
    clock = Clock()
    metrics = [clock.attach(metric) for metric in job.metrics.values()]
    cache = PreparedCache(some, names, metrics, len(chosen))
    start = thread_time()
    with thread_pool(1) as pool:
        cache.request(range(len(chosen)), pool)
    return cache, thread_time() - start, clock


def measure_stages(
    cache: PreparedCache, metric: int, form: Form, clock: Clock, *, polish: bool
) -> StageCosts:
    """Solve all pairs of prepared networks, with the polish or without, and time each stage."""
    count = len(cache.names)
    tiles = MemoryTiles(Plan(count, count), form.alignments, form.bounded, form.effort)
    costs = StageCosts(n_pairs=count * (count - 1) // 2)
    if not tiles.plan.tiles:
        return costs
    (tile,) = tiles.plan.tiles
    layers = [Layer(tiles, metric, 0)]
    costs.searching, _ = _time_layer(layers[0], tile, cache, clock)
    for layer in polish_layers(tiles, metric) if polish else ():
        seconds, solving = _time_layer(layer, tile, cache, clock)
        composing = seconds - solving if layer.stage is Stage.COMPOSE else 0.0
        costs.composing += composing
        costs.solving += seconds - composing
        before, after = layer.below.distance, tiles.entries(layer.number).distance
        costs.changed.append(float(np.count_nonzero(after < before) / 2 / costs.n_pairs))
    if form.alignments is not None:
        kept = [one.astype(form.alignments).ravel() for one in tiles.transforms(0, tile)]
        content = np.concatenate(kept).tobytes()
        costs.compressed = len(zlib.compress(content, level=1)) / max(len(content), 1)
    return costs


def _time_layer(layer: Layer, tile: Any, cache: PreparedCache, clock: Clock) -> tuple[float, float]:
    """Solve a tile, and return the seconds that it took and those inside the solver."""
    begun, solving = thread_time(), clock.seconds
    solve_tasks([make_task(layer, tile)], cache, 1, lambda _: None)
    return thread_time() - begun, clock.seconds - solving


def count_preparations(job: Job, edge: int, n_rounds: int) -> int:
    """Return how often networks are prepared, with as many of them in memory as fit.

    The networks that were not used for the longest time are dropped first.
    """
    K = len(job.labels)
    capacity = job.sizes.capacity(job.settings.memory, edge)
    if capacity >= K:
        return K
    ready: OrderedDict[int, None] = OrderedDict()
    count = 0
    for _ in range(n_rounds):
        for tile in Plan(K, edge, job.rows).tiles:
            wanted = sorted({*tile.rows, *tile.columns})
            for index in wanted:
                count += index not in ready
                ready.pop(index, None)
                ready[index] = None
            while len(ready) > max(capacity, len(wanted)):
                ready.popitem(last=False)
    return count
