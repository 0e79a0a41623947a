"""Shape metrics: a ground metric between distributions, minimised over a group.

The classes are imported when they are first used, so that the list of metrics can be read quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from repshape.metrics.registry import METRICS as _METRICS

if TYPE_CHECKING:
    from repshape.metrics.base import Alignment, ShapeMetric
    from repshape.metrics.prepared import Prepared
    from repshape.metrics.registry import *  # noqa: F403 (its `__all__`: the metrics)

__all__ = ["Alignment", "Prepared", "ShapeMetric"]
_HOMES = {"Alignment": "base", "Prepared": "prepared", "ShapeMetric": "base"}
__all__ += _METRICS.values()
__all__.sort()


if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used, and keep it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = _HOMES.get(name, "registry")
        value = getattr(import_module(f"repshape.metrics.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return list(__all__)
