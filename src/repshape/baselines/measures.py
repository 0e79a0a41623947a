"""The table of classical measures: what each compares, and what it ignores.

The documentation, the help of the command line and the tests follow from `MEASURES`. Importing this
module loads nothing that is slow, so that ``--help`` can read the table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from repshape.errors import InputError, check_choice


@dataclass(frozen=True)
class Measure:
    """One classical measure. Call it on two networks to get a float.

    Attributes
    ----------
    name : str
        Name of the function in `repshape.baselines`, and on the command line.
    kind : {"distance", "similarity"}
        A distance is 0, and a similarity 1, for networks that the measure does not distinguish.
    range : str
        The values that are possible.
    invariances : tuple of str
        Maps of the responses of one network that do not change the value, with default options:
        "permutations" and "signs" of the neurons, "orthogonal maps" (which include both),
        "invertible maps" (which include all of these), "shifts" by one vector, and "scale".
    metric : str
        Whether the triangle inequality holds: "yes", "no" or "if angular".
    needs : str
        Requirements on the networks, beyond having the same conditions.
    """

    name: str
    kind: str
    range: str
    invariances: tuple[str, ...]
    metric: str
    needs: str
    _module: str

    @property
    def function(self) -> Callable[..., Any]:
        """The function of two networks and options."""
        module = import_module(f"repshape.baselines.{self._module}")
        return getattr(module, self.name)  # type: ignore[no-any-return]

    @property
    def perfect(self) -> float:
        """The value for networks that the measure does not distinguish."""
        return 0.0 if self.kind == "distance" else 1.0

    def __call__(self, x: Any, y: Any, **options: Any) -> float:
        """Return the value for two networks; options are those of the function."""
        return float(self.function(x, y, **options))

    def as_distance(self, **options: Any) -> Callable[[Any, Any], float]:
        """Return a function of two networks that `repshape.pairwise` takes, also with a store.

        Distances are as they are; a similarity s becomes 1 - s.

        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(20, 3))
        >>> MEASURES["mutual_knn"].as_distance(k=5)(x, x)
        0.0
        """
        takes = list(inspect.signature(self.function).parameters)[2:]
        for name in options:
            if name not in takes:
                listed = ", ".join(takes) or "none"
                raise InputError(
                    f"The measure {self.name!r} has no parameter {name!r}. It takes {listed}."
                )
        if self.kind == "distance":
            return partial(self.function, **options)
        return partial(one_minus, self.name, **options)


def one_minus(measure: str, x: Any, y: Any, **options: Any) -> float:
    """Return 1 minus the similarity of two networks by the measure of this name."""
    return 1.0 - MEASURES[measure](x, y, **options)


_GEOMETRY = ("orthogonal maps", "shifts", "scale")
_ROWS = [
    Measure(
        "rsa",
        "distance",
        "[0, 2]",
        _GEOMETRY,
        "if angular",
        "at least 3 conditions; trials for crossnobis",
        "dissimilarities",
    ),
    Measure(
        "cka",
        "distance",
        "[0, 1]; [0, 2] if debiased",
        _GEOMETRY,
        "if angular",
        "at least 3 conditions; 4 if debiased",
        "kernel_alignment",
    ),
    Measure(
        "cca",
        "distance",
        "[0, 1]",
        ("invertible maps", "shifts", "scale"),
        "no",
        "more conditions than neurons plus 1",
        "canonical",
    ),
    Measure(
        "svcca",
        "distance",
        "[0, 1]",
        _GEOMETRY,
        "no",
        "more conditions than components kept plus 1",
        "canonical",
    ),
    Measure(
        "pwcca",
        "distance",
        "[0, 1]",
        ("permutations", "signs", "shifts", "scale"),
        "no",
        "more conditions than neurons plus 1",
        "canonical",
    ),
    Measure(
        "riemannian",
        "distance",
        "[0, infinity)",
        ("orthogonal maps",),
        "yes",
        "responses that are not all zero",
        "second_moments",
    ),
    Measure("nbs", "distance", "[0, 1]", _GEOMETRY, "if angular", "at least 2 conditions", "bures"),
    Measure(
        "predictivity",
        "similarity",
        "(-infinity, about 1]",
        _GEOMETRY,
        "no",
        "at least 5 conditions; trials for the noise ceiling",
        "regression",
    ),
    Measure(
        "mutual_knn",
        "similarity",
        "[0, 1]",
        ("orthogonal maps", "scale"),
        "no",
        "more than k conditions (k = 10)",
        "neighborhoods",
    ),
    Measure(
        "cknna",
        "similarity",
        "about [-1, 1]",
        ("orthogonal maps", "scale"),
        "no",
        "more than k conditions (k = 10)",
        "neighborhoods",
    ),
    Measure(
        "distance_correlation",
        "similarity",
        "[0, 1]; [-1, 1] if debiased",
        _GEOMETRY,
        "no",
        "at least 3 conditions; 4 if debiased",
        "distance_correlations",
    ),
]
MEASURES: dict[str, Measure] = {one.name: one for one in _ROWS}
"""The classical measures by name."""


def find_measure(name: str, owner: str = "") -> Measure:
    """Return a measure by its name, or raise an error that lists the names."""
    return MEASURES[check_choice("measure", name, MEASURES, owner=owner)]


def table() -> str:
    """Return the table of measures in Markdown, for the documentation."""
    lines = [
        "| function | kind | range | invariant to | a metric? | needs |",
        "|---|---|---|---|---|---|",
    ]
    for one in MEASURES.values():
        cells = [f"`{one.name}`", one.kind, one.range, ", ".join(one.invariances)]
        lines.append("| " + " | ".join([*cells, one.metric, one.needs]) + " |")
    return "\n".join(lines)
