"""The result of comparing models with brains, in tables, sentences and pictures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from repshape._arrays import count
from repshape._compact import compact_repr
from repshape.inference.ceilings import Chance
from repshape.inference.factors import LEVEL
from repshape.inference.model_file import read_comparison, write_comparison
from repshape.matrix.cross import CrossDistances
from repshape.matrix.distances import DistanceMatrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# At most this many pairs of models are listed in sentences.
MOST_PAIRS = 10


@dataclass(frozen=True)
class Neurons:
    """Numbers of neurons, and whether distances depend on them.

    Attributes
    ----------
    fewest, most : int
        Neurons of the brains.
    smallest, largest : int
        Dimensions of brains and models after preprocessing.
    correlation, p_value : float
        Rank correlation, over brains, of the number of neurons and the mean squared distance to the
        models; NaN if all have the same number.
    related : bool
        Whether the correlation is significant at level 0.01.
    """

    fewest: int
    most: int
    smallest: int
    largest: int
    correlation: float
    p_value: float
    related: bool

    @property
    def words(self) -> str:
        """What to bear in mind; empty if there is nothing."""
        out = []
        if self.smallest != self.largest:
            out.append(
                f"Networks are compared in {self.smallest} to {self.largest} dimensions, which "
                "alone makes distances differ: reduce all to the same number of components, "
                "preprocess=Preprocess(n_components=k)."
            )
        if self.related:
            out.append(
                "Distances depend on the number of neurons of a brain "
                f"({self.fewest} to {self.most}; rank correlation {self.correlation:.2f}, "
                f"p = {self.p_value:.2g}): compare brains with the same number of neurons, as "
                "repshape.draw_matched draws them."
            )
        return " ".join(out)


@compact_repr
@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Models compared with brains: distances, ceilings and tests.

    Attributes
    ----------
    distances : CrossDistances
        Corrected distance from each brain (rows) to each model (columns); negative where the
        squared estimate is.
    between_brains : DistanceMatrix
        Corrected distances between brains.
    scores : pandas.DataFrame
        A row per model: ``distance``, the root mean square over brains, ``low`` and ``high`` of its
        interval, ``squared_distance`` and its standard error ``squared_error``, ``plug_in``;
        ``ratio`` to the distance between brains, ``close_p_value`` and ``close_enough``;
        ``deterministic`` and ``missing_noise``, the share of the squared distance that is noise
        which the model lacks (NaN if the metric does not separate it); ``neurons``.
    ceilings : pandas.DataFrame
        The rows "pairs", the distance between two brains, and "mean", approximately that to the
        Frechet mean of the others (NaN if the metric has none), with columns as in ``scores``.
    differences : pandas.DataFrame
        A row per pair of models: ``difference`` of distances; ``squared_difference`` of squared
        distances with its interval; ``p_value``, ``holm_p_value`` and ``max_p_value`` (corrected
        for the number of pairs), and ``smallest_p_value``.
    chance : Chance
        Test of whether brains are nearer to each other than with permuted conditions.
    neurons : Neurons
    over : str
    level, margin : float
    n_blocks : int
        Number of brains, or of blocks of them.
    blocked : bool
    n_conditions : int
    method : str
        How distances were corrected.
    random_state : int
    """

    distances: CrossDistances
    between_brains: DistanceMatrix
    scores: pd.DataFrame
    ceilings: pd.DataFrame
    differences: pd.DataFrame
    chance: Chance
    neurons: Neurons
    over: str
    level: float
    margin: float
    n_blocks: int
    blocked: bool
    n_conditions: int
    method: str
    random_state: int

    @property
    def best(self) -> str:
        """The model with the smallest distance."""
        return str(self.scores["squared_distance"].idxmin())

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each model, and then for each ceiling."""
        models = self.scores.assign(kind="model")
        ceilings = self.ceilings.assign(kind="ceiling")
        table = pd.concat([models, ceilings])
        return table[["kind", *(name for name in table.columns if name != "kind")]]

    def plot(self, ax: Axes | None = None, *, caption: bool = False) -> Axes:
        """Draw distances with intervals, ceilings and differences; see `plots.plot_models`."""
        from repshape.plots.models import plot_models

        return plot_models(self, ax=ax, caption=caption)

    def summary(self) -> dict[str, Any]:
        """Return the result as JSON can hold it."""
        return {
            "models": _records(self.scores),
            "ceilings": _records(self.ceilings),
            "differences": self.differences.to_dict("records"),
            "best": self.best,
            "chance": vars(self.chance),
            "neurons": vars(self.neurons),
            "over": self.over,
            "level": self.level,
            "margin": self.margin,
            "brains": len(self.between_brains),
            "blocks": self.n_blocks if self.blocked else None,
            "conditions": self.n_conditions,
            "method": self.method,
            "random_state": self.random_state,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a ``.json`` file, whole or not at all.

        It has the entries of `summary`, and the distances; `load` and `repshape.write_report` read
        it.
        """
        write_comparison(path, self.summary(), self.distances, self.between_brains)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ModelComparison:
        """Read what `save` wrote."""
        found = read_comparison(path)
        return cls(
            distances=found["distances"],
            between_brains=found["between_brains"],
            scores=found["models"].set_index("name"),
            ceilings=found["ceilings"].set_index("name"),
            differences=found["differences"],
            chance=Chance(**found["chance"]),
            neurons=Neurons(**found["neurons"]),
            n_blocks=found["brains"] if found["blocks"] is None else found["blocks"],
            blocked=found["blocks"] is not None,
            n_conditions=found["conditions"],
            **{name: found[name] for name in ("over", "level", "margin", "method", "random_state")},
        )

    def __str__(self) -> str:
        return "\n".join(self.words())

    def words(self) -> list[str]:
        """Return the result in sentences."""
        return [one for sentences in self.topics().values() for one in sentences]

    def topics(self) -> dict[str, list[str]]:
        """Return the sentences by topic, without topics about which there is nothing to say."""
        found = {
            "Distances": self._about(),
            "Ceilings": self._ceiling_words(),
            "Differences": self._difference_words(),
            "Close enough": self._close_words(),
            "Missing noise": self._noise_words(),
            "Neurons": [self.neurons.words] if self.neurons.words else [],
        }
        return {topic: sentences for topic, sentences in found.items() if sentences}

    def _about(self) -> list[str]:
        blocks = f" in {self.n_blocks} blocks" if self.blocked else ""
        over = "brains and conditions" if self.over == "both" else self.over
        order = self.scores.sort_values("squared_distance")
        listed = ", ".join(f"{name} {_interval(row)}" for name, row in order.iterrows())
        return [
            f"{count(len(self.between_brains), 'brain')}{blocks}, {count(len(order), 'model')}, "
            f"{count(self.n_conditions, 'condition')}. Distances are corrected for noise "
            f"({self.method}); {100 * self.level:g} % intervals are over {over}.",
            f"Distances from the brains: {listed}.",
        ]

    def _ceiling_words(self) -> list[str]:
        pairs, mean = (row for _, row in self.ceilings.iterrows())
        words = f"Brains are at {_interval(pairs)} from each other"
        if np.isfinite(mean["distance"]):
            words += f", and at about {_interval(mean)} from the mean of the others"
        p = self.chance.p_value
        known = "nearer than chance" if p <= LEVEL else "There is no evidence that this is nearer"
        if p <= LEVEL:
            return [f"{words}: {known} ({self.chance.distance:.3g}, p = {p:.2g})."]
        return [f"{words}. {known} than chance ({self.chance.distance:.3g}, p = {p:.2g})."]

    def _difference_words(self) -> list[str]:
        out = []
        table = self.differences
        for row in table.sort_values("p_value").head(MOST_PAIRS).to_dict("records"):
            first, second = row["first"], row["second"]
            if row["squared_difference"] > 0:
                first, second = second, first
            p = f"p = {row['p_value']:.2g}"
            if len(table) > 1:
                p += f", {row['max_p_value']:.2g} corrected for {len(table)} pairs"
            if row["max_p_value"] <= LEVEL:
                out.append(f"{first} is nearer to the brains than {second} ({p}).")
            else:
                out.append(f"There is no evidence that {first} is nearer than {second} ({p}).")
        if len(table) > MOST_PAIRS:
            out.append(f"Further pairs of models: {len(table) - MOST_PAIRS}, in `differences`.")
        smallest = float(table["smallest_p_value"].max()) if len(table) else 0.0
        if smallest > 0:
            what = "blocks" if self.blocked else "brains"
            words = (
                f"Signs of {self.n_blocks} {what} were flipped; the smallest possible p-value is "
            )
            words += f"{smallest:.2g}"
            cannot = ", so that no difference can be significant at 0.05"
            out.append(f"{words}{cannot if smallest > LEVEL else ''}.")
        return out

    def _close_words(self) -> list[str]:
        near = f"within {100 * self.margin:g} % of the distance between brains"
        close = self.scores[self.scores["close_enough"]]
        out = [
            f"{name} is close enough: {near} ({row['ratio']:.2f} times it, "
            f"p = {row['close_p_value']:.2g})."
            for name, row in close.iterrows()
        ]
        rest = [f"{name} ({row['ratio']:.2f} times)" for name, row in self.scores.iterrows()]
        rest = [one for one, ok in zip(rest, self.scores["close_enough"], strict=True) if not ok]
        if rest:
            out.append(f"Not shown to be {near}: {', '.join(rest)}.")
        return out

    def _noise_words(self) -> list[str]:
        silent = self.scores[self.scores["deterministic"]]
        shares = silent["missing_noise"].dropna()
        if silent.empty or shares.empty:
            return []
        if not shares.any():
            return ["Models without noise are compared with the means of the brains (alpha = 2)."]
        listed = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
        return [
            "Models without noise lack that of the brains, which is part of their squared "
            f"distance: {listed}. Compare means alone with alpha = 2."
        ]


def _interval(row: Any) -> str:
    return f"{row['distance']:.3g} {ends_words(row)}"


def ends_words(row: Any) -> str:
    """Return the ends of an interval."""
    return f"[{row['low']:.3g}, {row['high']:.3g}]"


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows = frame.reset_index().to_dict("records")
    return [{str(name): value for name, value in one.items()} for one in rows]
