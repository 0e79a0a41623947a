"""Classical measures of representational similarity, for the same networks.

`MEASURES` lists the functions that compare two networks, with the kind and range of their values,
what they are invariant to and what they need. Distances can be passed to `repshape.pairwise`, with
options through `functools.partial`; ``MEASURES[name].as_distance(...)`` does both for any measure.
All but Mahalanobis and crossnobis RSA use only mean responses; trials are averaged.

Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repshape.baselines.bures import nbs
    from repshape.baselines.calibration import CalibratedScore, calibrated
    from repshape.baselines.canonical import cca, pwcca, svcca
    from repshape.baselines.dissimilarities import rsa
    from repshape.baselines.distance_correlations import distance_correlation
    from repshape.baselines.few_stimuli import ProcrustesEstimate, procrustes_moments
    from repshape.baselines.kernel_alignment import cka
    from repshape.baselines.measures import MEASURES, Measure
    from repshape.baselines.neighborhoods import cknna, mutual_knn
    from repshape.baselines.rdms import RDM, RDMCeiling, rdm, rdm_ceiling
    from repshape.baselines.regression import Predictivity, predictivity
    from repshape.baselines.second_moments import riemannian

_HOMES = {
    "CalibratedScore": "calibration",
    "MEASURES": "measures",
    "Measure": "measures",
    "Predictivity": "regression",
    "ProcrustesEstimate": "few_stimuli",
    "RDM": "rdms",
    "RDMCeiling": "rdms",
    "calibrated": "calibration",
    "cca": "canonical",
    "cka": "kernel_alignment",
    "cknna": "neighborhoods",
    "distance_correlation": "distance_correlations",
    "mutual_knn": "neighborhoods",
    "nbs": "bures",
    "predictivity": "regression",
    "procrustes_moments": "few_stimuli",
    "pwcca": "canonical",
    "rdm": "rdms",
    "rdm_ceiling": "rdms",
    "riemannian": "second_moments",
    "rsa": "dissimilarities",
    "svcca": "canonical",
}

__all__ = [
    "MEASURES",
    "RDM",
    "CalibratedScore",
    "Measure",
    "Predictivity",
    "ProcrustesEstimate",
    "RDMCeiling",
    "calibrated",
    "cca",
    "cka",
    "cknna",
    "distance_correlation",
    "mutual_knn",
    "nbs",
    "predictivity",
    "procrustes_moments",
    "pwcca",
    "rdm",
    "rdm_ceiling",
    "riemannian",
    "rsa",
    "svcca",
]

if not TYPE_CHECKING:  # type checkers would accept any name

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used, and keep it."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return list(__all__)
