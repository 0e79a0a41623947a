"""What a matrix and a block between two sets have in common: arrays that stay as they are."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._arrays import converted
from repshape._doubt import is_doubtful, possible_excess
from repshape.errors import InputError

FloatArray = npt.NDArray[np.float64]


class Distances(ABC):
    """Distances in a frozen dataclass: an array to NumPy, and a table in notebooks."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    values: FloatArray
    lower_bounds: FloatArray | None
    converged: npt.NDArray[np.bool_] | None
    n_starts: npt.NDArray[np.int64] | None
    n_agreeing: npt.NDArray[np.int64] | None
    gaps: FloatArray | None

    @abstractmethod
    def _pairs(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the entries of an array in the shape of the distances, once for each pair."""

    @property
    def n_missing(self) -> int:
        """Number of pairs that have not been computed yet."""
        return int(np.count_nonzero(np.isnan(self._pairs(self.values))))

    @property
    def complete(self) -> bool:
        """Whether every pair has been computed."""
        return self.n_missing == 0

    @property
    def n_unconverged(self) -> int:
        """Number of pairs whose solver stopped before it converged."""
        if self.converged is None:
            return 0
        return int(self._pairs(~self.converged & ~np.isnan(self.values)).sum())

    @property
    def agreement(self) -> FloatArray | None:
        """Share of each pair's independent starts that ended in its best optimum.

        It has the shape of the distances. 1 for a network and itself, NaN for pairs that have not
        been computed yet, and 0 if the alignment was composed from those of other pairs. None if
        the numbers of starts are not known.
        """
        if self.n_starts is None or self.n_agreeing is None:
            return None
        shares = np.full(self.values.shape, np.nan)
        np.divide(self.n_agreeing, self.n_starts, out=shares, where=self.n_starts > 0)
        return shares

    @property
    def n_doubtful(self) -> int:
        """Number of pairs that may be longer than necessary; see `possible_excess`.

        Too few starts ended in the best optimum, and the lower bound does not prove that the
        distance is minimal; `repshape.Alignment.doubtful` has the rule.
        """
        found = self._search()
        return 0 if found is None else int(self._pairs(is_doubtful(*found)).sum())

    @property
    def possible_excess(self) -> FloatArray | None:
        """By about what share each distance may be longer than necessary.

        It has the shape of the distances. 0 unless the search leaves doubt; then five times the
        gap between the best and the second-best optimum that it found, or NaN if the gap is not
        known. None if the numbers of starts are not known.
        """
        found = self._search()
        return None if found is None else possible_excess(*found)

    def _search(self) -> tuple[Any, ...] | None:
        """Return what tells how surely the search found the best optima, or None."""
        if self.n_starts is None or self.n_agreeing is None:
            return None
        shape, composed = self.values.shape, getattr(self, "n_composed", None)
        composed = np.zeros(shape) if composed is None else composed
        gaps = np.full(shape, np.nan) if self.gaps is None else self.gaps
        return self.values, self.lower_bounds, self.n_starts, self.n_agreeing, composed, gaps

    @classmethod
    def _made(cls, fields: dict[str, Any], path: str | os.PathLike[str], what: str) -> Self:
        """Return the distances of a file, or raise one sentence if it holds something else."""
        try:
            return cls(**fields | {"missing": True})
        except (TypeError, ValueError) as error:
            reason = str(error).rstrip(".")
            raise InputError(f"{path} holds no {what}: {reason}.") from None

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the distances as a DataFrame with labels."""

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return converted(self.values, dtype, copy)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickle and copy do not keep arrays read-only.
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.values)

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(max_rows=12, max_cols=12, float_format="{:.4g}".format)
        return f"<p>{repr(self).replace('<', '&lt;')}</p>{table}"
