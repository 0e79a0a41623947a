"""Parameters by name, as scikit-learn's estimators have them.

`sklearn.base.clone` copies metrics too. They do not inherit from its `BaseEstimator`: importing
scikit-learn would take half of the time in which a command starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, Self

import numpy.typing as npt

from repshape.errors import InputError
from repshape.groups import Group
from repshape.preprocess import Preprocess


class Parameters:
    """Base of classes whose constructor stores what it is given, under the same names.

    Examples
    --------
    >>> from repshape import EnergyShapeMetric
    >>> metric = EnergyShapeMetric(q=0.5)
    >>> metric.get_params()["q"], metric.set_params(group="identity")
    (0.5, EnergyShapeMetric(group='identity', q=0.5))
    """

    # Parameters whose attribute has another name than they have.
    _attributes: ClassVar[Mapping[str, str]] = {}

    def _parameter(self, name: str) -> Any:
        """Return a parameter by its name."""
        return getattr(self, self._attributes.get(name, name))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name. No parameter has parameters of its own (``deep``)."""
        return {name: self._parameter(name) for name in defaults(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = defaults(type(self))
        for name, value in params.items():
            if name not in known:
                raise InputError(
                    f"{type(self).__name__} has no parameter '{name}'. It has: {', '.join(known)}."
                )
            setattr(self, self._attributes.get(name, name), value)
        return self

    def with_parameters(self, **values: Any) -> Self:
        """Return a copy with some parameters changed."""
        return type(self)(**deepcopy(self.get_params())).set_params(**values)

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        usual, given = defaults(type(self)), self.get_params()
        changed = [f"{k}={v!r}" for k, v in given.items() if repr(v) != repr(usual[k])]
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclass(eq=False, repr=False, kw_only=True)
class SearchParameters:
    """The parameters that every search over a group has."""

    group: str | Group = "orthogonal"
    preprocess: Preprocess | None = None
    weights: npt.ArrayLike | None = None
    n_starts: int | str = "auto"
    tol: float = 1e-6
    max_iter: int = 500
    random_state: int = 0


def defaults(cls: type) -> Mapping[str, Any]:
    """Return the parameters of a class in alphabetical order, with their defaults."""
    found = signature(cls).parameters
    return {name: found[name].default for name in sorted(found)}
