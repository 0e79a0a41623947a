"""What is probably wrong with networks although they can be compared, said as warnings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from repshape._arrays import digest
from repshape.errors import CopyWarning, SilentNetworkWarning, TransposedWarning, warn_user
from repshape.responses.gaussians import Gaussians
from repshape.responses.trials import Trials

# Smaller numbers of trials and neurons are equal by chance too often.
FEWEST_TRIALS = 5


class Sizes(NamedTuple):
    """Trials per condition and neurons of a network, and whether its axes have names."""

    n_trials: int
    n_neurons: int
    named: bool


def sizes_of(network: Any) -> Sizes | None:
    """Return the sizes of a network, or None unless all conditions have as many trials."""
    if isinstance(network, Trials):
        low, high = int(network.n_trials.min()), int(network.n_trials.max())
        named = network.conditions is not None or network.neurons is not None
        return Sizes(low, network.n_neurons, named) if low == high else None
    if isinstance(network, np.ndarray) and network.ndim == 3:
        return Sizes(network.shape[1], network.shape[2], named=False)
    return None


def warn_if_transposed(x: Any, y: Any, names: tuple[str, str] = ("one", "the other")) -> None:
    """Warn if one network seems to have its trials where the other has its neurons.

    Of two networks without names, one has as many neurons as the other has trials, and neither
    their neurons nor their trials are equal in number.
    """
    first, second = (one if isinstance(one, Sizes) else sizes_of(one) for one in (x, y))
    if first is None or second is None or first.named or second.named:
        return
    if first.n_neurons == second.n_neurons or first.n_trials == second.n_trials:
        return
    for (a, b), (own, other) in (
        ((first, second), names),
        ((second, first), names[::-1]),
    ):
        if a.n_neurons == b.n_trials >= FEWEST_TRIALS:
            warn_user(
                f"{own[:1].upper()}{own[1:]} has {a.n_neurons} neurons and {a.n_trials} trials per "
                f"condition, and {other} has {b.n_neurons} neurons and {b.n_trials} trials: are "
                f"the trials and neurons of {own} exchanged? Arrays are (conditions, trials, "
                "neurons). Networks with names of conditions or neurons are not checked.",
                TransposedWarning,
            )
            return


def warn_if_silent(network: Any, name: str) -> None:
    """Warn if a network has trials, and all of them are zero. A point at zero may be meant."""
    if isinstance(network, Trials):
        rows: Any = network.pooled
    else:
        rows = network if isinstance(network, np.ndarray) and network.ndim == 3 else None
    if rows is not None and rows.size and not rows.any():
        warn_user(f"All responses of {name} are zero.", SilentNetworkWarning)


def warn_of_copy(name: str, other: str) -> None:
    """Warn that a network has the same responses as another."""
    warn_user(
        f"Network {name!r} is an exact copy of {other!r}: was one file read under two names?",
        CopyWarning,
    )


def warn_of_doubts(networks: Iterable[Any], names: Iterable[str], named: bool) -> None:
    """Warn of what is doubtful about networks that are compared without a cohort.

    Copies are reported if the networks were given names; a list may repeat a network on purpose.
    Objects that are neither networks nor arrays are skipped.
    """
    first: tuple[Any, str] | None = None
    known: dict[str, str] = {}
    for one, name in zip(networks, names, strict=True):
        warn_if_silent(one, f"network {name!r}")
        if first is None:
            first = one, f"network {name!r}"
        else:
            warn_if_transposed(first[0], one, (first[1], f"network {name!r}"))
        key = _fingerprint(one) if named else None
        if key is not None and known.setdefault(key, name) != name:
            warn_of_copy(name, known[key])


def _fingerprint(network: Any) -> str | None:
    if isinstance(network, Trials | Gaussians):
        return f"{network.fingerprint} {network.conditions}"
    is_numeric = isinstance(network, np.ndarray) and network.dtype.kind in "fiu" and network.ndim
    return digest("array", network) if is_numeric else None
