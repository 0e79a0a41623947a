"""Networks of the same size: random parts of the networks of a cohort."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from repshape.errors import check_choice
from repshape.io.cohort import Cohort


def draw_matched(
    networks: Cohort | Mapping[str, Any] | Iterable[Any],
    by: str | Sequence[str] = "neurons",
    *,
    random_state: int = 0,
) -> Cohort:
    """Return networks of the same size: random parts that are as large as the smallest network.

    Distances depend on the number of neurons and, through noise, on the number of trials. If groups
    of networks differ in either, compare parts of the same size, and repeat with other seeds.

    Parameters
    ----------
    networks : Cohort, dict or sequence of networks
    by : "neurons", "trials", or both
        What to match: the smallest number of neurons of any network, or for each condition the
        smallest number of trials that any network has.
    random_state : int
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> recordings = {"a": rng.normal(size=(4, 10, 9)), "b": rng.normal(size=(4, 8, 21))}
    >>> [one.n_neurons for one in draw_matched(recordings)]
    [9, 9]
    >>> [one.n_trials.tolist() for one in draw_matched(recordings, "trials")]
    [[8, 8, 8, 8], [8, 8, 8, 8]]
    """
    wanted = (by,) if isinstance(by, str) else tuple(by)
    for one in wanted or ("",):
        check_choice("by", one, ("neurons", "trials"))
    cohort = networks if isinstance(networks, Cohort) else Cohort.from_networks(networks)
    neurons = trials = None
    if "neurons" in wanted:
        neurons = min(record.n_neurons for record in cohort.records)
    if "trials" in wanted:
        counts = [one._trials.n_trials for one in cohort]
        trials = np.min(counts, axis=0)
    return cohort.draw(neurons, trials, random_state=random_state)
