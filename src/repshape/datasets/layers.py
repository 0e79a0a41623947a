"""Layers of small networks that were trained for this package.

The file beside this module is written by ``python -m experiments.patch_gaussian.layers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.datasets.files import read_dataset, write_dataset
from repshape.io.cohort import Cohort
from repshape.responses import Gaussians

FILE = Path(__file__).with_name("layers.npz")
HOW = "run python -m experiments.patch_gaussian.layers with the images of CIFAR-10"
CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)


def load_layers() -> Cohort:
    """Return the layers of two small networks: their responses to 40 images.

    The two residual networks were trained to classify CIFAR-10 at 16 x 16 pixels, with different
    seeds. Their five layers, from the first convolution to the 100 units before the readout,
    respond without noise to four test images of each class. Layers of up to 4096 units are stored
    in their principal components, of which 40 images leave at most 39 of any variance: distances
    between layers are the same as those of the units.

    Returns
    -------
    Cohort
        With the metadata ``seed``, ``layer``, ``depth`` (from 0) and ``units`` (before the
        rotation).

    Examples
    --------
    >>> layers = load_layers()
    >>> print(layers)
    Cohort(10 networks, 40 conditions, 40 neurons, in memory)
    >>> layers.select(seed=0).labels[:2]
    ('seed 0: stem', 'seed 0: block 1')
    >>> layers["seed 0: stem"].conditions[0]
    'airplane 3'
    """
    arrays, metadata, header = read_dataset(FILE, HOW)
    cohort = Cohort()
    for name, means, row in zip(
        header["labels"], arrays["means"], metadata.to_dict("records"), strict=True
    ):
        network = Gaussians.points(means.astype(np.float64), conditions=header["conditions"])
        cohort.add(name, network, **{str(key): value for key, value in row.items()})
    return cohort


def write_layers(
    path: Path,
    means: Sequence[npt.NDArray[np.float64]],
    metadata: pd.DataFrame,
    conditions: list[str],
) -> None:
    """Write layers, each with an array (M, n), to the file that `load_layers` reads."""
    arrays = {"means": np.asarray(means, dtype=np.float32)}
    write_dataset(path, arrays, metadata, conditions=conditions)
