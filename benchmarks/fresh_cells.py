"""A second set of populations to confirm intervals, written down before any of it was simulated.

Networks of the family "latent" respond to three latent variables of the conditions through a
saturating nonlinearity. The eigenvalues of their noise fall as a power law, along directions that
are the same in all conditions, and its scale varies with the condition. Noise is Gaussian or
skewed, counts are Poisson, or have a gain with a gamma distribution. No estimator, constant or
threshold was chosen on these populations or seeds.

The cells cross all differences, with and without PCA, with 10, 20 and 50 trials; kinds of noise,
alpha and numbers of conditions vary over them. All are small, so that many simulations are cheap.
"""

from __future__ import annotations

import numpy as np

from benchmarks.interval_cells import FAMILIES, Cell, Population, count_pair, make_cells

LATENTS = 3
# Exponent of the eigenvalues of noise, as square roots.
POWER = 0.75
# How much larger the noise of y is, and how far its means move.
SCALE, MOVE = 1.8, 0.7


def _latent(cell: Cell, rng: np.random.Generator) -> tuple[Population, Population]:
    M, n = cell.conditions, cell.neurons
    latents = rng.normal(size=(M, LATENTS))
    loads, change = rng.normal(size=(2, LATENTS, n))
    drive = latents @ loads
    moved = drive + MOVE * (cell.differ in ("means", "both")) * latents[:, ::-1] @ change
    means, other = (2 * np.tanh(one / 2) for one in (drive, moved))
    if "counts" in cell.kind:
        return count_pair(cell, *(np.exp(0.9 + 0.4 * one) for one in (means, other)))
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0] * np.arange(1, n + 1) ** -POWER
    level = 0.6 + 0.4 * np.abs(latents[:, 0])
    first = level[:, None, None] * basis
    second = {"scale": SCALE * first, "both": 1.3 * first[:, ::-1]}.get(cell.differ, first)
    return Population(means, first, cell.kind), Population(other, second, cell.kind)


FAMILIES["latent"] = _latent

FRESH = make_cells(
    "latent",
    # 20 trials, without and with PCA
    ("skewed", "equal", 9, 20, 5, None, 1.0),
    ("Gaussian", "scale", 14, 20, 4, None, 1.0),
    ("gamma counts", "means", 8, 20, 6, None, 2.0),
    ("counts", "both", 11, 20, 5, None, 0.0),
    ("counts", "equal", 7, 20, 15, 4, 0.0),
    ("skewed", "scale", 9, 20, 14, 3, 0.0),
    ("counts", "means", 13, 20, 18, 4, 1.0),
    ("Gaussian", "both", 6, 20, 12, 3, 1.0),
    # 50 trials, without and with PCA
    ("gamma counts", "equal", 10, 50, 6, None, 2.0),
    ("counts", "scale", 7, 50, 7, None, 0.0),
    ("skewed", "means", 30, 50, 4, None, 1.0),
    ("Gaussian", "both", 5, 50, 8, None, 1.0),
    ("Gaussian", "equal", 12, 50, 16, 5, 1.0),
    ("gamma counts", "scale", 8, 50, 12, 4, 1.0),
    ("Gaussian", "means", 16, 50, 20, 3, 2.0),
    ("skewed", "both", 10, 50, 13, 6, 0.0),
    # 10 trials, without and with PCA
    ("counts", "equal", 13, 10, 4, None, 1.0),
    ("gamma counts", "scale", 6, 10, 5, None, 1.0),
    ("Gaussian", "means", 20, 10, 6, None, 2.0),
    ("skewed", "both", 9, 10, 4, None, 0.0),
    ("gamma counts", "equal", 11, 10, 18, 3, 2.0),
    ("Gaussian", "scale", 5, 10, 12, 3, 0.0),
    ("skewed", "means", 8, 10, 16, 4, 1.0),
    ("counts", "both", 15, 10, 14, 5, 1.0),
)
# Cells of ratios d_0 / d_2 and of differences. The means of the last ratio are equal, so that it is
# infinite: an interval covers it if it has no upper end.
RATIOS = tuple(FRESH[k] for k in (3, 7, 11, 1))
DIFFERENCES = tuple(FRESH[k] for k in (5, 6, 9, 15))
