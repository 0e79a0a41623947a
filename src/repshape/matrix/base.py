"""What a matrix and a block between two sets have in common: arrays that stay as they are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._arrays import converted


class Distances:
    """Distances in a frozen dataclass: an array to NumPy, and a table in notebooks."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    values: npt.NDArray[np.float64]

    def to_frame(self) -> pd.DataFrame:
        """Return the distances as a DataFrame with labels."""
        raise NotImplementedError

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
