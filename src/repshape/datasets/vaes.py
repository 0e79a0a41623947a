"""Variational autoencoders that were trained for this package, and their distances.

The files beside this module are written by ``python -m experiments.vae.cohort``, from the output of
``python -m experiments.vae``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial.distance import squareform

from repshape.datasets.files import read_dataset, write_dataset
from repshape.errors import InputError
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.responses import Gaussians

NETWORKS = Path(__file__).with_name("vaes.npz")
DISTANCES = Path(__file__).with_name("vae_distances.npz")
HOW = "train the networks (python -m experiments.vae) and run python -m experiments.vae.cohort"
ALPHAS = (0.0, 1.0, 2.0)
# Means keep seven digits. Log-variances keep three: relative errors of a variance below 0.5 %.
MEANS_DTYPE, LOG_VARIANCES_DTYPE = np.float32, np.float16

# The disentanglement scores, columns of the metadata in the order of the paper.
SCORES = {
    "A": "beta-VAE accuracy",
    "B": "DCI disentanglement",
    "C": "DCI completeness",
    "D": "DCI informativeness",
    "E": "FactorVAE accuracy",
    "F": "logistic regression accuracy",
    "G": "boosted trees accuracy",
    "H": "mutual information gap",
    "I": "modularity",
    "J": "explicitness",
    "K": "SAP",
    "L": "Gaussian total correlation",
    "M": "Gaussian Wasserstein correlation",
    "N": "normalised Gaussian Wasserstein correlation",
    "O": "mutual information of codes",
}


def load_vaes() -> Cohort:
    """Return variational autoencoders: their latents for 256 images of sprites.

    The networks were trained with six objectives at three strengths and ten seeds each. For every
    seed there are also two untrained networks, one for each way of drawing the initial weights.
    A condition is an image, a neuron is a latent, and the noise of the latents is independent.

    Returns
    -------
    Cohort
        With the metadata ``objective``, ``strength``, ``seed``, ``initialisation``, ``trained``,
        ``reconstruction`` (loss on held-out images), ``kl``, ``active_latents``, ``failed``, and
        the disentanglement scores ``A`` to ``O`` in the paper's order, which untrained networks
        do not have.

    See Also
    --------
    load_vae_distances : Distances between the trained networks, computed beforehand.

    Notes
    -----
    Means are stored in single precision and log-variances in half precision, so distances differ
    from those of the study in the fourth digit.

    Examples
    --------
    >>> networks = load_vaes()
    >>> print(networks)
    Cohort(200 networks, 256 conditions, 10 neurons, in memory)
    >>> weak = networks.select(objective="beta", strength=1.0)
    >>> len(weak), weak[0].conditions[0]
    (10, 'square, scale 0, orientation 0, x 3, y 15')
    """
    return read_vaes(NETWORKS)


def load_vae_distances(alpha: float = 1.0) -> DistanceMatrix:
    """Return the distances between the trained networks of `load_vaes`, computed beforehand.

    They come from the study itself, which took hours. The networks, their order and their metadata
    are those of ``load_vaes().select(trained=True)``.

    Parameters
    ----------
    alpha : {0, 1, 2}
        0 compares covariances only, 2 means only, and 1 both.

    Returns
    -------
    DistanceMatrix

    Examples
    --------
    >>> D = load_vae_distances(alpha=1)
    >>> D.shape
    (180, 180)
    """
    if alpha not in ALPHAS:
        raise InputError(f"The 'alpha' parameter must be 0, 1 or 2. Got {alpha!r} instead.")
    return read_distances(DISTANCES, float(alpha))


def write_vaes(
    path: Path,
    means: npt.ArrayLike,
    log_variances: npt.ArrayLike,
    metadata: pd.DataFrame,
    conditions: list[str],
) -> None:
    """Write networks with arrays (K, M, n) to a file that `read_vaes` reads."""
    arrays = {
        "means": np.asarray(means, dtype=MEANS_DTYPE),
        "log_variances": np.asarray(log_variances, dtype=LOG_VARIANCES_DTYPE),
    }
    write_dataset(path, arrays, metadata, conditions=conditions)


def read_vaes(path: Path) -> Cohort:
    """Return the cohort of a file that `write_vaes` wrote."""
    arrays, metadata, header = read_dataset(path, HOW)
    cohort = Cohort()
    rows = metadata.to_dict("records")
    for k, name in enumerate(header["labels"]):
        variances = np.exp(arrays["log_variances"][k].astype(np.float64))
        network = Gaussians(arrays["means"][k], variances, conditions=header["conditions"])
        cohort.add(name, network, **{str(key): value for key, value in rows[k].items()})
    return cohort


def write_distances(path: Path, condensed: dict[float, Any], metadata: pd.DataFrame) -> None:
    """Write the distances of all pairs at each alpha to a file that `read_distances` reads."""
    arrays = {_entry(alpha): np.asarray(one, np.float32) for alpha, one in condensed.items()}
    write_dataset(path, arrays, metadata)


def read_distances(path: Path, alpha: float) -> DistanceMatrix:
    """Return one matrix of a file that `write_distances` wrote."""
    arrays, metadata, header = read_dataset(path, HOW)
    metadata.index = pd.Index(header["labels"])
    return DistanceMatrix(
        squareform(arrays[_entry(alpha)].astype(np.float64)),
        labels=header["labels"],
        metadata=metadata,
        description=GaussianShapeMetric(alpha=alpha).describe(),
    )


def _entry(alpha: float) -> str:
    return f"alpha_{alpha:g}"
