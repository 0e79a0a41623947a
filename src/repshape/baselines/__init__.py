"""The classical measures of representational dissimilarity, on the same networks.

Every function takes two networks and returns one float, 0 for networks that it cannot tell apart.
All but Mahalanobis RSA see mean responses only: of trials, their averages. They plug into
`repshape.pairwise` as they are, and with options through `functools.partial`.

============ ============ =================================================== ==================
function     metric       invariant to                                        range
============ ============ =================================================== ==================
`rsa`        if angular   orthogonal maps, shifts, scale (by dissimilarity)   [0, 2]
`cka`        if angular   orthogonal maps, shifts, scale                      [0, 1]; [0, 2] [1]
`cca`        no           invertible affine maps                              [0, 1]
`svcca`      no           orthogonal maps, shifts, scale                      [0, 1]
`pwcca`      no           permutations, signs, shifts, scale                  [0, 1]
`riemannian` yes          orthogonal maps                                     [0, infinity)
============ ============ =================================================== ==================

[1] debiased. "Metric" is meant between networks up to what the measure is invariant to.
"""

from repshape.baselines.canonical import cca, pwcca, svcca
from repshape.baselines.dissimilarities import rsa
from repshape.baselines.kernel_alignment import cka
from repshape.baselines.second_moments import riemannian

__all__ = ["cca", "cka", "pwcca", "riemannian", "rsa", "svcca"]
