"""How conclusions depend on choices that the paper made silently: the same study, many times.

Covariance distances do not depend on centring, and mean distances do not depend on the covariance
estimator. So d_0 and d_2 are computed once for each combination that matters, and combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import repshape as rs
from experiments.brain.protocol import Networks, distances, estimate, reduce, search
from experiments.brain.settings import Settings

FloatArray = npt.NDArray[np.float64]
Loader = Any  # takes the key of a stimulus and the least number of neurons, returns networks

TRANSFORMS = {"counts": None, "square root": "sqrt"}
CENTRINGS = {"centred": True, "not centred": False}
MATCHED = "-matched"  # natural stimuli, as many conditions as there are artificial ones
MEANS, COVARIANCES = 2.0, 0.0


class Cell(NamedTuple):
    """One combination of choices: those of the paper, or others."""

    components: int
    window: str
    transform: str
    centring: str
    covariance: str
    artificial: str
    natural: str


class Key(NamedTuple):
    """What one matrix of distances depends on; centring or covariance is empty where it must be."""

    stimulus: str
    components: int
    transform: str
    detail: str

    @property
    def text(self) -> str:
        """The key as text, for names of arrays."""
        return "|".join(map(str, self))


def cells(settings: Settings, variants: Mapping[str, list[str]]) -> list[Cell]:
    """Return all combinations; variants are the keys of stimuli by role, the paper's first.

    >>> from experiments.brain.settings import SMALL
    >>> len(cells(SMALL, {"artificial": ["a"], "natural": ["b"], "window": [""]}))
    24
    """
    return [
        Cell(*values)
        for values in product(
            settings.components,
            variants["window"],
            TRANSFORMS,
            CENTRINGS,
            settings.estimators,
            variants["artificial"],
            variants["natural"],
        )
    ]


def keys_of(cell: Cell) -> dict[tuple[str, float], Key]:
    """Return the keys of the four matrices that a cell needs, by role and alpha."""
    out = {}
    for role in ("artificial", "natural"):
        stimulus = getattr(cell, role)
        base = stimulus.removesuffix(MATCHED)
        name = base + cell.window + stimulus[len(base) :]
        start = (name, cell.components, cell.transform)
        out[role, COVARIANCES] = Key(*start, cell.covariance)
        out[role, MEANS] = Key(*start, cell.centring)
    return out


def needed_keys(found: list[Cell]) -> list[Key]:
    """Return all keys once, grouped by stimulus and components."""
    return sorted({key for cell in found for key in keys_of(cell).values()})


def measure(
    keys: list[Key], load: Loader, settings: Settings, n_matched: int, workers: int
) -> Iterator[tuple[Key, list[str], FloatArray]]:
    """Yield each key with the names of its sessions and its distances between all of them."""
    for key in keys:
        matched = key.stimulus.endswith(MATCHED)
        networks = load(key.stimulus.removesuffix(MATCHED), key.components)
        if matched:
            networks = match_conditions(networks, n_matched, settings.seed)
        D = one_matrix(networks, key, settings, workers)
        yield key, list(networks), D


def one_matrix(networks: Networks, key: Key, settings: Settings, workers: int) -> FloatArray:
    """Return the matrix of a key: covariance distances for an estimator, else mean distances."""
    means = key.detail in CENTRINGS
    options = {"transform": TRANSFORMS[key.transform]}
    if means:
        options["center"] = CENTRINGS[key.detail]  # type: ignore[assignment]
    reduced, _ = reduce(networks, key.components, **options)
    moments = estimate(reduced, "mle" if means else key.detail, settings.seed)
    alpha = MEANS if means else COVARIANCES
    return distances(moments, (alpha,), workers, **search(settings.few_starts))[alpha].values


def match_conditions(networks: Networks, count: int, seed: int) -> dict[str, rs.Trials]:
    """Return the networks with a random choice of the conditions, the same for all."""
    total = next(iter(networks.values())).n_conditions
    chosen = np.sort(np.random.default_rng(seed).permutation(total)[:count])
    return {name: rs.Trials([one.responses[m] for m in chosen]) for name, one in networks.items()}
