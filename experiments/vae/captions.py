"""The captions of the figures: fixed words, and what the results add to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import repshape as rs
from experiments.common.rounds import CONFIRMATION
from experiments.vae.claims import ENERGY
from experiments.vae.cohorts import SPRITES
from experiments.vae.page_text import CAPTIONS, OF_CONFIRMATION, OF_PILOT, group_words, matrix_words
from repshape.matrix.summary import largest_excess

Results = Mapping[str, Any]
# The groups of trained networks in each figure whose distances may be too long.
DRAWN = {
    "fig4": (SPRITES.name,),
    "supp9": (
        "mnist-trained-kaiming",
        "mnist-trained-pytorch",
        "cifar10-trained-kaiming",
        "cifar10-trained-pytorch",
    ),
}
CENTRED = "centred"


def captions_of(results: Results) -> dict[str, str]:
    """Return the captions of the figures, in the words of the round that they show."""
    added = OF_CONFIRMATION if results.get("round") == CONFIRMATION else OF_PILOT
    doubts = {n: doubts_text(results.get("doubts", {}), groups) for n, groups in DRAWN.items()}
    words = CAPTIONS | {"samples": samples_caption(results)}
    return {name: one + doubts.get(name, "") + added.get(name, "") for name, one in words.items()}


def samples_caption(results: Results) -> str:
    """Return the caption of the figure about numbers of samples; empty if there is none."""
    sweep, size = results["numbers"].get("sweep"), results["measure"]
    if not sweep:
        return ""
    count = len(results["numbers"]["training"]) * size["sweep_seeds"]
    used = sweep.get(f"{ENERGY}-{size['n_trials']}", {})
    difference = used.get("relative difference to most")
    return CAPTIONS["samples"].format(
        networks=count,
        seeds=size["sweep_seeds"],
        images=size["sweep_images"],
        used=size["n_trials"],
        most=max(size["sweep_trials"]),
        difference="not known" if difference is None else f"{difference:.1%}",
        one=1 / count,
    )


def count_doubts(matrices: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return how many distances of each matrix may be too long, of how many, and by what share.

    ``excess`` is that of the pair with the largest, None if it is not known. Matrices that were
    taken from earlier results are left out.
    """
    found = {}
    for name, D in matrices.items():
        if not isinstance(D, rs.DistanceMatrix):
            continue
        pairs = len(D) * (len(D) - 1) // 2
        found[name] = {"doubtful": D.n_doubtful, "pairs": pairs, "excess": largest_excess(D)}
    return found


def doubts_text(doubts: Mapping[str, Mapping[str, Any]], groups: Iterable[str]) -> str:
    """Say which distances between networks as they are may be too long; empty if none may be.

    >>> found = {"doubtful": 3, "pairs": 190, "excess": 0.151}
    >>> doubts_text({"sprites/alpha-0": found}, ["sprites"]).partition(": ")[2]
    'of 190 distances between sprites, 3 at alpha = 0 (by up to about 15 %).'
    """
    parts = []
    for group in groups:
        own = {
            name.removeprefix(f"{group}/"): one
            for name, one in doubts.items()
            if name.startswith(f"{group}/") and CENTRED not in name and one["doubtful"]
        }
        if own:
            pairs = next(iter(own.values()))["pairs"]
            counts = ", ".join(_count(name, one) for name, one in own.items())
            parts.append(f"of {pairs} distances between {group_words(group)}, {counts}")
    if not parts:
        return ""
    words = "; ".join(parts)
    return (
        " Too few starts agree on the alignment of some pairs, whose distances may be too long: "
        f"{words}."
    )


def _count(name: str, one: Mapping[str, Any]) -> str:
    excess = f" (by up to about {100 * one['excess']:.2g} %)" if one["excess"] else ""
    return f"{one['doubtful']} at {matrix_words(name)}{excess}"
