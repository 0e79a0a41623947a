"""Classical measures of representational dissimilarity, for the same networks.

Every function of the table takes two networks and returns a float, which is 0 for networks that
the measure does not distinguish. All but Mahalanobis RSA use only mean responses; trials are
averaged. Pass the functions to `repshape.pairwise`, with options through `functools.partial`.

============ ============ =================================================== ==================
function     metric       invariant to                                        range
============ ============ =================================================== ==================
`rsa`        if angular   orthogonal maps, shifts, scale (by dissimilarity)   [0, 2]
`cka`        if angular   orthogonal maps, shifts, scale                      [0, 1]; [0, 2] [1]
`cca`        no           invertible affine maps                              [0, 1]
`svcca`      no           orthogonal maps, shifts, scale                      [0, 1]
`pwcca`      no           permutations, signs, shifts, scale                  [0, 1]
`riemannian` yes          orthogonal maps                                     [0, infinity)
`nbs`        if angular   orthogonal maps, shifts, scale                      [0, 1]
============ ============ =================================================== ==================

[1] if debiased. "Metric" means a metric between networks up to the invariances of the measure.
"""

from repshape.baselines.bures import nbs
from repshape.baselines.canonical import cca, pwcca, svcca
from repshape.baselines.dissimilarities import rsa
from repshape.baselines.few_stimuli import ProcrustesEstimate, procrustes_moments
from repshape.baselines.kernel_alignment import cka
from repshape.baselines.second_moments import riemannian

__all__ = [
    "ProcrustesEstimate",
    "cca",
    "cka",
    "nbs",
    "procrustes_moments",
    "pwcca",
    "riemannian",
    "rsa",
    "svcca",
]
