"""One search for neighbours: networks, bounds, solved pairs and blocks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape._arrays import count
from repshape._parallel import progress_bar
from repshape.analysis.lower_bounds import lower_bounds
from repshape.analysis.neighbor_result import NeighborGraph
from repshape.analysis.neighbor_search import Limits, NeighborSearch, choose_pivots
from repshape.analysis.pair_solver import pair_solver
from repshape.analysis.solved_pairs import PairStore, SolvedPairs
from repshape.engine.plan import Settings
from repshape.engine.sides import Chain, records_of
from repshape.engine.threads import Metric
from repshape.errors import InputError, SearchWarning, check_integer, check_real
from repshape.io.cohort import Cohort
from repshape.matrix.checks import carried_metadata, check_labels
from repshape.matrix.summary import excess_words
from repshape.metrics.base import in_one_space
from repshape.metrics.identity import describe
from repshape.store.identity import Identity, Permission

# Bytes of a block of rows for each of its pairs: bounds, distances, masks and temporaries.
BYTES_PER_PAIR = 64
SHARE_OF_MEMORY_FOR_BOUNDS = 0.25
LARGEST_BLOCK = 512


class NeighborJob:
    """A search for the neighbours of networks in a cohort.

    Parameters
    ----------
    cohort : sequence of networks
        Where to search.
    labels, metadata
        Of the cohort.
    metric : ShapeMetric or callable
    limits : Limits
    settings : Settings
    queries : sequence of networks
        New networks, which are numbered after those of the cohort.
    query_labels : tuple of str
    """

    def __init__(
        self,
        cohort: Sequence[Any],
        labels: tuple[str, ...],
        metadata: pd.DataFrame,
        metric: Metric,
        limits: Limits,
        settings: Settings,
        queries: Sequence[Any] = (),
        query_labels: tuple[str, ...] = (),
    ) -> None:
        self.cohort, self.labels, self.metadata = cohort, labels, metadata
        self.metric, self.limits, self.settings = metric, limits, settings
        self.queries, self.query_labels = queries, query_labels
        self.solved = SolvedPairs()
        self.description: dict[str, Any] = {}
        rest = len(labels) - (not queries)
        if limits.k is not None and limits.k > rest:
            raise InputError(
                f"The 'k' parameter must be at most the number of other networks, {rest}. "
                f"Got {limits.k} instead."
            )

    def prepare(
        self, name: str | None = None, store: Path | None = None, replace: Any = None
    ) -> None:
        """Read the sizes of all networks, and open the store.

        ``replace`` names networks whose responses may differ from those that the store knows.
        """
        if store is None and replace is not None:
            raise InputError("The 'replace' parameter needs a store.")
        permission = Permission.of(replace, None, self.labels)
        on_disk = isinstance(self.cohort, Cohort) and self.cohort.path is not None
        if self.settings.engine == "dask" and not on_disk:
            raise InputError(
                "Dask needs a cohort on disk, which its workers can read: see Cohort.save."
            )
        if store is not None and not isinstance(self.cohort, Cohort):
            self.cohort = Cohort.from_networks(self.cohort, self.labels)
        self.metric = in_one_space(self.metric, [*records_of(self.cohort), *self.queries])
        self.description = describe(self.metric, name)
        if store is not None:
            assert isinstance(self.cohort, Cohort)
            identity = Identity(self.description, self.labels, self.cohort.verify())
            self.solved = PairStore(store, identity, permission)

    def rows_of_shard(self) -> range:
        """Return the networks of the cohort that are this shard's."""
        shard, total = self.settings.shard, len(self.labels)
        edges = [total * part // shard.count for part in (shard.index - 1, shard.index)]
        return range(*edges)

    def run(self, rows: range, n_pivots: int | None = None, exact: bool = False) -> NeighborGraph:
        """Search the neighbours of some networks, block by block."""
        names = (*self.labels, *self.query_labels)
        networks = Chain(self.cohort, self.queries) if self.queries else self.cohort
        budget = int(SHARE_OF_MEMORY_FOR_BOUNDS * self.settings.memory)
        bounds = lower_bounds(self.metric, networks, names, budget)
        found: list[Any] = []
        reused = self.solved.count(rows)
        with pair_solver(networks, names, self.metric, self.settings) as solver:
            columns = len(self.labels)
            search = NeighborSearch(bounds, self.solved, solver.solve, columns, self.limits)
            number = self._n_pivots(n_pivots, exact)
            if number:
                search.pivots = choose_pivots(search, number, len(names), exact)
            with progress_bar("networks", len(rows), self.settings.progress) as advance:
                for block in self._blocks(rows):
                    found += search.run(block, advance)
        self.warn_of_doubt()
        settings: dict[str, Any] = {"query": bool(self.queries), "bounds": bounds.name}
        settings |= {"tight_bounds": search.n_tight, "pivots": number}
        settings |= {"exact": exact, "doubtful_pairs": self.solved.n_doubtful}
        settings["reused_pairs"] = reused
        return NeighborGraph.of_rows(
            found,
            of=tuple(names[row] for row in rows),
            labels=self.labels,
            metadata=self.metadata,
            k=self.limits.k,
            radius=self.limits.radius,
            n_pairs=self._count_pairs(rows),
            n_solved=self.solved.count(rows),
            description=self.description,
            settings=settings,
        )

    def _n_pivots(self, given: int | None, exact: bool) -> int:
        """Return how many pivots to use: by default, none where they cannot help."""
        is_metric = exact or getattr(self.metric, "is_metric", False)
        if given and not is_metric:
            raise InputError(
                "Pivots need a metric that satisfies the triangle inequality. Got "
                f"{self.metric!r}. Pass exact=True to declare that it does."
            )
        if given is not None:
            return min(given, len(self.labels))
        exact = exact or (is_metric and getattr(self.metric, "group", None) == "identity")
        return round(len(self.labels) ** (1 / 3)) if exact else 0

    def _count_pairs(self, rows: range) -> int:
        """Return how many pairs the rows of the whole matrix have."""
        if self.queries:
            return len(rows) * len(self.labels)
        return len(rows) * (len(rows) - 1) // 2 + len(rows) * (len(self.labels) - len(rows))

    def _blocks(self, rows: range) -> list[range]:
        budget = SHARE_OF_MEMORY_FOR_BOUNDS * self.settings.memory
        size = min(max(int(budget / (BYTES_PER_PAIR * len(self.labels))), 1), LARGEST_BLOCK)
        return [
            range(start, min(start + size, rows.stop))
            for start in range(rows.start, rows.stop, size)
        ]

    def warn_of_doubt(self) -> None:
        """Warn once if some solved pairs may be longer than necessary."""
        doubtful = self.solved.n_doubtful
        if doubtful:
            total = count(len(self.solved.pairs), "solved pair")
            warnings.warn(
                f"{excess_words(doubtful, total, self.solved.largest_excess)}. A larger n_starts "
                "searches longer.",
                SearchWarning,
                stacklevel=4,  # the caller of neighbor_graph
            )


def check_limits(k: int | None, radius: float | None) -> Limits:
    """Return what counts as a neighbour, or raise."""
    if k is None and radius is None:
        raise InputError("Give the number of neighbours 'k', a 'radius', or both. Got neither.")
    far = np.inf if radius is None else check_real("radius", radius, low=0.0)
    return Limits(None if k is None else check_integer("k", k, 1), float(far))


def own_names(networks: Any, total: int) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Return the labels and metadata that networks carry themselves."""
    given = list(networks) if isinstance(networks, Mapping) else getattr(networks, "labels", None)
    labels = check_labels(given, total)
    return labels, carried_metadata(networks, labels)
