"""Responses of PyTorch models, and the distance between networks as a function to train with.

PyTorch is imported when one of these names is first used, and not before.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from repshape.errors import MissingDependencyError

if TYPE_CHECKING:
    from repshape.pytorch.collecting import EqualTrialsWarning, SkippedNoiseWarning, collect
    from repshape.pytorch.differentiable import distance
    from repshape.pytorch.encoders import collect_gaussian
    from repshape.pytorch.pairs import pairwise
    from repshape.pytorch.tensors import TensorGaussians

__all__ = [
    "EqualTrialsWarning",
    "SkippedNoiseWarning",
    "TensorGaussians",
    "collect",
    "collect_gaussian",
    "distance",
    "pairwise",
]
_HOMES = {
    "EqualTrialsWarning": "collecting",
    "SkippedNoiseWarning": "collecting",
    "TensorGaussians": "tensors",
    "collect": "collecting",
    "collect_gaussian": "encoders",
    "distance": "differentiable",
    "pairwise": "pairs",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name, and with it PyTorch, when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            import_module("torch")
        except ModuleNotFoundError:
            raise MissingDependencyError(
                f"repshape.pytorch.{name} needs PyTorch: pip install 'repshape[torch]'."
            ) from None
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return list(__all__)
