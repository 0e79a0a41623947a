"""Networks of the same size: random parts of the networks of a cohort."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import count
from repshape.errors import InputError, check_choice, check_integer
from repshape.io.cohort import Cohort

CHOICES = ("neurons", "trials")
# Enough for the root mean square of a distance: its relative error is below that of one draw by a
# factor of three.
N_DRAWS = 10


def draw_matched(
    networks: Cohort | Mapping[str, Any] | Iterable[Any],
    by: str | Sequence[str] = "neurons",
    *,
    random_state: int = 0,
) -> Cohort:
    """Return networks of the same size: random parts that are as large as the smallest network.

    Distances depend on the number of neurons and, through noise, on the number of trials. If groups
    of networks differ in either, compare parts of the same size, and repeat with other seeds. The
    parameter ``match`` of `repshape.pairwise`, `repshape.inference.equality`,
    `repshape.inference.matrix` and `repshape.inference.confounds` does both.

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
    cohort = networks if isinstance(networks, Cohort) else Cohort.from_networks(networks)
    return _Sizes.of(cohort, check_by("by", by)).draw(cohort, random_state)


def check_by(name: str, by: str | Sequence[str]) -> tuple[str, ...]:
    """Return what to match, or raise one clear sentence."""
    wanted = (by,) if isinstance(by, str) else tuple(by)
    for one in wanted or ("",):
        check_choice(name, one, CHOICES)
    return tuple(one for one in CHOICES if one in wanted)


@dataclass(frozen=True, eq=False)
class _Sizes:
    """The sizes that all networks of a cohort have at least; ``equal`` if none is larger."""

    neurons: int | None
    trials: npt.NDArray[np.int64] | None
    equal: bool

    @classmethod
    def of(cls, cohort: Cohort, by: Sequence[str]) -> _Sizes:
        neurons = trials = None
        equal = True
        if "neurons" in by:
            numbers = [record.n_neurons for record in cohort.records]
            neurons, equal = min(numbers), min(numbers) == max(numbers)
        if "trials" in by:
            counts = np.array([one._trials.n_trials for one in cohort])
            trials = counts.min(axis=0)
            equal = equal and bool((counts == trials).all())
        return cls(neurons, trials, equal)

    def draw(self, cohort: Cohort, random_state: int) -> Cohort:
        return cohort.draw(self.neurons, self.trials, random_state=random_state)

    @property
    def words(self) -> str:
        """What is drawn from each network.

        >>> _Sizes(9, np.array([12, 10, 15]), False).words
        '9 neurons and 10 to 15 trials'
        """
        parts = [] if self.neurons is None else [count(self.neurons, "neuron")]
        if self.trials is not None:
            low, high = int(self.trials.min()), int(self.trials.max())
            parts.append(count(low, "trial") if low == high else f"{low} to {high} trials")
        return " and ".join(parts)


@dataclass(frozen=True)
class Matching:
    """Repeated draws of networks of the same size.

    Attributes
    ----------
    by : tuple of str
        ``"neurons"``, ``"trials"`` or both.
    n_draws, random_state : int
    """

    by: tuple[str, ...]
    n_draws: int
    random_state: int

    @classmethod
    def checked(
        cls, match: str | Sequence[str], n_draws: int, random_state: int, store: Any = None
    ) -> Matching:
        """Check the parameters of a function that takes ``match``."""
        by = check_by("match", match)
        check_integer("n_draws", n_draws, 1)
        check_integer("random_state", random_state, 0)
        if store is not None:
            raise InputError(
                "The 'match' parameter averages over draws, which a store does not keep. To "
                "store one draw, pass repshape.draw_matched(networks, ...) without 'match'."
            )
        return cls(by, n_draws, random_state)

    def draw(self, networks: Cohort) -> tuple[list[Cohort], dict[str, Any]]:
        """Return the draws, and what was drawn; a single draw if all networks are equally large."""
        sizes = _Sizes.of(networks, self.by)
        times = 1 if sizes.equal else self.n_draws
        state = np.random.SeedSequence(self.random_state).generate_state(times)
        about = {"by": list(self.by), "drawn": sizes.words, "n_draws": times}
        drawn = [sizes.draw(networks, int(seed)) for seed in state]
        return drawn, about | {"random_state": self.random_state}
