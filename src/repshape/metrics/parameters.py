"""Parameters by name, as scikit-learn's estimators have them.

`sklearn.base.clone` copies metrics too. They do not inherit from its `BaseEstimator`: importing
scikit-learn would take half of the time in which a command starts.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Self

import numpy.typing as npt

from repshape.errors import (
    InputError,
    Rule,
    check_choice,
    check_integer,
    check_integer_or_auto,
    check_integer_or_none,
    check_parameters,
    check_real,
)
from repshape.groups import GROUPS, Group, check_group
from repshape.preprocess import Preprocess, check_preprocess

# Which values the parameters that several metrics share may have.
ALPHA_RULE: Rule = partial(check_real, low=0, high=2)
SOFT_RULE: Rule = partial(check_group, choices=(*GROUPS, "soft"))
PADDING_RULE: Rule = partial(check_integer_or_none, low=1)
SEARCH_RULES: Mapping[str, Rule] = {
    "group": check_group,
    "tol": partial(check_real, low=0, high=1, closed="neither"),
    "max_iter": partial(check_integer, low=1),
    "random_state": partial(check_integer, low=0),
    "n_starts": partial(check_integer_or_auto, low=1),
    "preprocess": check_preprocess,
    "pad_to": PADDING_RULE,
}
# The same for metrics that take the groups with a name only.
NAMED_GROUP_RULES: Mapping[str, Rule] = {
    **SEARCH_RULES,
    "group": partial(check_choice, choices=GROUPS),
}


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
    _rules: ClassVar[Mapping[str, Rule]] = {}

    def _parameter(self, name: str) -> Any:
        """Return a parameter by its name."""
        return getattr(self, self._attributes.get(name, name))

    def _validate_parameters(self) -> None:
        """Raise if a parameter is outside its range."""
        values = [self._parameter(name) for name in self._rules]
        known = self.__dict__.get("_validated", ())
        if len(known) == len(values) and all(map(operator.is_, known, values)):
            return  # the same objects as last time
        given = dict(zip(self._rules, values, strict=True))
        check_parameters(type(self).__name__, given, self._rules)
        self._check_combination()
        self._validated = tuple(values)

    def _check_combination(self) -> None:
        """Raise if parameters exclude each other."""

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
