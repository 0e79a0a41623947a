"""What all networks have in common: they are immutable, and conditions are found by label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from repshape._arrays import IntArray, Labels
from repshape._labels import find_label, find_labels
from repshape.errors import InputError
from repshape.responses.drawing import draw_part


class Network(ABC):
    """Attributes are set once, by the constructor. Cached properties still work."""

    conditions: Labels
    neurons: Labels
    n_conditions: int
    n_neurons: int

    # `network[label]` would otherwise make Python try positions 0, 1, 2, ... as labels.
    __iter__: ClassVar[None] = None

    def _set(self, **values: Any) -> None:
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one instead.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one instead.")

    def select(self, conditions: Any) -> Self:
        """Return the network with some of its conditions, in the order given.

        Parameters
        ----------
        conditions : sequence of labels
            Distinct labels. The conditions of a network without labels are numbered from 0.
        """
        return self._take(np.array(find_labels(conditions, self._names, "condition")))

    def draw(
        self,
        neurons: int | None = None,
        trials: int | npt.ArrayLike | None = None,
        *,
        random_state: int = 0,
    ) -> Self:
        """Return a random part of the network, drawn without replacement.

        Networks of different sizes differ in their distances for that reason alone. To give all
        networks of a cohort the same size, call `repshape.draw_matched`.

        Parameters
        ----------
        neurons : int, optional
            Number of neurons to keep.
        trials : int or sequence of int, optional
            Number of trials to keep in every condition, or in each.
        random_state : int
            Seed.

        Examples
        --------
        >>> from repshape import Trials
        >>> network = Trials(np.arange(24.0).reshape(2, 3, 4))
        >>> network.draw(neurons=2, trials=2)
        Trials(2 conditions, 2 trials each, 2 neurons)
        """
        return draw_part(self, neurons, trials, random_state)  # type: ignore[no-any-return]

    @abstractmethod
    def _take(self, index: IntArray) -> Self:
        """Return the network with the conditions at distinct positions."""

    @abstractmethod
    def _take_neurons(self, index: IntArray) -> Self:
        """Return the network with the neurons ``index``; a repeated neuron is a copy."""

    @abstractmethod
    def _take_trials(self, index: Sequence[IntArray]) -> Self:
        """Return the network with the trials ``index[m]`` of each condition m."""

    @property
    @abstractmethod
    def _trials(self) -> Any:
        """The responses trial by trial, or an error if the network is given by its moments."""

    def _unnamed(self) -> Self:
        """Return the network without labels of its conditions."""
        if self.conditions is None:
            return self
        made = object.__new__(type(self))
        made._set(**{key: value for key, value in vars(self).items() if key != "fingerprint"})
        made._set(conditions=None)
        return made

    @property
    def _names(self) -> tuple[str, ...]:
        if self.conditions is not None:
            return self.conditions
        return tuple(str(m) for m in range(self.n_conditions))

    def _position(self, label: Any) -> int:
        return find_label(label, self._names, "condition")

    def _labels_at(self, index: IntArray) -> Labels:
        return None if self.conditions is None else tuple(self.conditions[m] for m in index)


def refuse_slices(key: Any, kind: str, array: str) -> None:
    """Raise if a key of ``network[key]`` is that of an array, with the attribute that is one."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, slice) or part is Ellipsis for part in parts):
        raise InputError(
            f"{kind} are indexed by the labels of conditions. For slices, use an array: "
            f"{array}. select keeps conditions."
        )


def is_one_label(key: Any) -> bool:
    """Whether a key of ``network[key]`` is one label, not several."""
    return isinstance(key, str | bytes) or not np.iterable(key)
