"""Networks of the same size: random parts of the networks of a cohort."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError, InputTypeError, check_choice, check_integer
from repshape.io.cohort import Cohort
from repshape.responses import as_trials
from repshape.responses.drawing import draw_part


def draw_each(
    cohort: Cohort, neurons: int | None, trials: int | npt.ArrayLike | None, random_state: int
) -> Cohort:
    """Return an independent random part of every network; see `Cohort.draw`."""
    seeds = np.random.SeedSequence(check_integer("random_state", random_state, 0))
    drawn = Cohort()
    for record, seed in zip(cohort.records, seeds.spawn(len(cohort)), strict=True):
        try:
            part = draw_part(cohort[record.name], neurons, trials, seed)
        except (InputError, InputTypeError) as error:
            raise type(error)(f"In network {record.name!r}: {error}") from None
        drawn.add(record.name, part, **record.metadata)
    return drawn


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
        counts = [as_trials(getattr(one, "flat", one)).n_trials for one in cohort]
        trials = np.min(counts, axis=0)
    return cohort.draw(neurons, trials, random_state=random_state)
