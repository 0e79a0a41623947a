"""Tests that compare two matrices of distances between the same networks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from scipy.stats import t as student

from repshape._compact import compact_repr
from repshape.errors import InputError, check_boolean, check_choice, check_integer, check_real
from repshape.inference.columns import text_column
from repshape.inference.permutations import N_PERMUTATIONS, ROUNDING
from repshape.matrix.columns import ValuesLike
from repshape.matrix.distances import DistanceMatrix, as_complete

FloatArray = npt.NDArray[np.float64]
MatrixLike = DistanceMatrix | npt.ArrayLike

CAVEAT = (
    "A partial Mantel test does not remove a confound that acts on the networks, such as gain: "
    "its p-values are often too small."
)


@compact_repr
@dataclass(frozen=True)
class MantelTest:
    """Result of a Mantel test.

    Attributes
    ----------
    correlation : float
        Correlation of the distances of the two matrices, over pairs; partial if a third is given.
    p_value : float
        Two-sided: fraction of permutations, including the data, with at least this correlation in
        absolute value.
    smallest_p_value : float
    method : str
    n_networks, n_permutations, random_state : int
    caveat : str
        What to bear in mind; empty unless the test is partial.
    """

    correlation: float
    p_value: float
    smallest_p_value: float
    method: str
    n_networks: int
    n_permutations: int
    random_state: int
    caveat: str = ""

    def __str__(self) -> str:
        words = f"r = {self.correlation:.3f}, p = {self.p_value:.3g} ({self.method})."
        return f"{words} {self.caveat}".strip()


def mantel(
    D1: MatrixLike,
    D2: MatrixLike,
    given: MatrixLike | None = None,
    *,
    method: str = "pearson",
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> MantelTest:
    """Test whether two matrices of distances between the same networks are correlated.

    Pairs share networks, so the distances of one matrix are not independent. The Mantel test
    permutes the networks of the first matrix, rows and columns together.

    Parameters
    ----------
    D1, D2 : DistanceMatrix or array of shape (K, K)
        Matrices with the same labels are put in the same order.
    given : DistanceMatrix or array of shape (K, K), optional
        Correlate what a linear regression on these distances leaves of the other two (partial
        Mantel test). Do not use it to rule out a confound: it removes only what is linear in the
        given distances, and its p-values are too small if those are measured with noise or depend
        on properties of the networks. Use `confounds` to account for gain.
    method : {"pearson", "spearman"}
        "spearman" correlates ranks.
    n_permutations : int
        Number of random permutations.
    random_state : int
        Seed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(size=(10, 3))
    >>> noisy = points + 0.5 * rng.normal(size=points.shape)
    >>> D1, D2 = (np.linalg.norm(p[:, None] - p, axis=2) for p in (points, noisy))
    >>> mantel(D1, D2, n_permutations=199).p_value
    0.005
    """
    check_choice("method", method, ("pearson", "spearman"))
    check_integer("n_permutations", n_permutations, 1)
    check_integer("random_state", random_state, 0)
    matrices = same_networks(D1, D2, *(() if given is None else (given,)))
    values = [_ranked(one.values) if method == "spearman" else one.values for one in matrices]
    K = len(values[0])
    if K < 4:
        raise InputError(f"A Mantel test needs at least four networks. Got {K}.")
    upper = np.triu_indices(K, 1)
    other = None if given is None else values[2][upper]
    rng = np.random.default_rng(random_state)
    orders = [np.arange(K), *(rng.permutation(K) for _ in range(n_permutations))]
    first = (values[0][np.ix_(order, order)][upper] for order in orders)
    found = np.array([abs(_correlation(one, values[1][upper], other)) for one in first])
    correlation = _correlation(values[0][upper], values[1][upper], other)
    words = f"{'partial ' * (given is not None)}Mantel test, {method} correlation"
    return MantelTest(
        correlation=correlation,
        p_value=float(np.mean(found >= found[0] - ROUNDING)),
        smallest_p_value=1 / (n_permutations + 1),
        method=words,
        n_networks=K,
        n_permutations=n_permutations,
        random_state=random_state,
        caveat="" if given is None else CAVEAT,
    )


def _ranked(values: FloatArray) -> FloatArray:
    upper = np.triu_indices(len(values), 1)
    out = np.zeros_like(values)
    out[upper] = rankdata(values[upper])
    return out + out.T


def _correlation(x: FloatArray, y: FloatArray, z: FloatArray | None) -> float:
    """Return the correlation of x and y, partial if z is given; 0 if one of them is constant."""
    x, y = x - x.mean(), y - y.mean()
    if z is not None:
        z = z - z.mean()
        scale = float(z @ z)
        if scale > 0:
            x, y = x - (x @ z / scale) * z, y - (y @ z / scale) * z
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y / norm) if norm > 0 else 0.0


def same_networks(*given: MatrixLike) -> list[DistanceMatrix]:
    """Return complete matrices in the order of the first one's labels, or raise."""
    matrices = [as_complete(one) for one in given]
    first = matrices[0].labels
    out = []
    for matrix in matrices:
        if set(matrix.labels) != set(first):
            raise InputError(
                "The matrices must have the same networks. "
                f"Got {len(first)} and {len(matrix)} networks with different labels."
            )
        order = np.array([matrix.labels.index(label) for label in first])
        out.append(
            matrix.replace(
                values=matrix.values[np.ix_(order, order)],
                labels=first,
                metadata=matrix.metadata.iloc[order],
                lower_bounds=None,
                converged=None,
            )
        )
    return out


@compact_repr
@dataclass(frozen=True)
class PairedTest:
    """Result of a comparison of two matrices of distances between the same networks.

    Attributes
    ----------
    estimate : float
        Mean over pairs of D1 - D2, or of log(D1 / D2).
    interval : tuple of two floats
        Jackknife interval over blocks (or networks), each left out with all of its pairs.
    level : float
        Nominal coverage of the interval.
    p_value, smallest_p_value : float
        Of the sign-flip test.
    n_blocks : int
        Number of blocks, or of networks without blocks.
    method : str
    n_permutations, random_state : int
    """

    estimate: float
    interval: tuple[float, float]
    level: float
    p_value: float
    smallest_p_value: float
    n_blocks: int
    method: str
    n_permutations: int
    random_state: int

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.estimate:.4g} [{low:.4g}, {high:.4g}] ({100 * self.level:g} %), "
            f"p = {self.p_value:.3g} ({self.method}; the smallest possible p-value is "
            f"{self.smallest_p_value:.2g})"
        )


def paired(
    D1: MatrixLike,
    D2: MatrixLike,
    blocks: ValuesLike | None = None,
    *,
    relative: bool = False,
    level: float = 0.9,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> PairedTest:
    r"""Test whether networks are farther apart in one matrix than in another, on average.

    For example, the distances between the same animals for natural images (D1) and for artificial
    ones (D2). Pairs share networks, so K (K - 1) / 2 pairs are not as many independent
    observations. The differences :math:`\Delta_{ij} = D1_{ij} - D2_{ij}` are therefore described by
    a part for each network, :math:`\Delta_{ij} = u_i + u_j + e_{ij}`, with the least-squares
    estimates

    .. math:: u_i = \frac{1}{K - 2} \Big(\sum_{j \ne i} \Delta_{ij} - \sum_k u_k\Big), \quad
              \sum_k u_k = \frac{1}{K - 1} \sum_{i < j} \Delta_{ij}.

    The test flips the signs of the :math:`u_i`, those of a block together, and compares the
    absolute mean with that of the data.

    Parameters
    ----------
    D1, D2 : DistanceMatrix or array of shape (K, K)
        Matrices with the same labels are put in the same order.
    blocks : str, sequence of K, Series or dict by name, optional
        The animal of each network, or the name of a column of the metadata of D1. Signs are
        flipped for whole blocks.
    relative : bool
        Whether to compare logarithms, log(D1 / D2). All distances must then be positive.
    level : float
        Nominal coverage of the interval.
    n_permutations : int
        Number of random sign flips. If at most that many exist, all are used.
    random_state : int
        Seed.

    Notes
    -----
    The test is exact if networks (or blocks) are independent, their parts have a distribution that
    is symmetric about 0 under the null hypothesis, and there is no further noise e. Independent
    noise of the pairs makes it conservative: the variance of the mean of the :math:`u_i` is then
    about half of what the test allows for. With B blocks no p-value is below :math:`2^{1 - B}`, so
    at least six are needed for p < 0.05.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(size=(8, 3))
    >>> D = np.linalg.norm(points[:, None] - points, axis=2)
    >>> found = paired(1.2 * D, D)
    >>> found.p_value, found.smallest_p_value
    (0.0078125, 0.0078125)
    >>> round(paired(1.2 * D, D, relative=True).estimate, 3)  # log(1.2)
    0.182
    """
    check_boolean("relative", relative)
    check_real("level", level, 0, 1, closed="neither")
    check_integer("n_permutations", n_permutations, 1)
    check_integer("random_state", random_state, 0)
    first, second = same_networks(D1, D2)
    names = list(first.labels) if blocks is None else text_column(first, blocks, "blocks")
    units, places = np.unique(np.array(names), return_inverse=True)
    if len(units) < 3:
        raise InputError(
            f"A paired comparison needs at least three networks or blocks. Got {len(units)}."
        )
    gaps = _gaps(first, second, relative)
    parts = np.bincount(places, network_parts(gaps))
    flips, exact = sign_flips(len(units), n_permutations, random_state)
    found = np.abs(flips @ parts)
    margin = ROUNDING * float(found.max(initial=0.0))
    estimate, interval = _left_out(gaps, places, level)
    what = "networks" if blocks is None else "blocks"
    return PairedTest(
        estimate=estimate,
        interval=interval,
        level=level,
        p_value=float(np.mean(found >= found[0] - margin)),
        smallest_p_value=max(2.0 ** (1 - len(units)), 0.0 if exact else 1 / len(flips)),
        n_blocks=len(units),
        method=f"signs of {len(units)} {what} flipped",
        n_permutations=len(flips) - 1,
        random_state=random_state,
    )


def _gaps(first: DistanceMatrix, second: DistanceMatrix, relative: bool) -> FloatArray:
    if not relative:
        return first.values - second.values
    out = np.zeros(first.shape)
    upper = np.triu_indices(len(out), 1)
    values = [matrix.values[upper] for matrix in (first, second)]
    if min(float(one.min()) for one in values) <= 0:
        raise InputError("Logarithms need positive distances. Use relative=False instead.")
    out[upper] = np.log(values[0] / values[1])
    return out + out.T


def network_parts(gaps: FloatArray) -> FloatArray:
    """Return u of the least-squares fit gaps[i, j] = u_i + u_j over the pairs i < j.

    >>> u = np.array([1.0, -2.0, 0.5, 3.0])
    >>> gaps = u[:, None] + u
    >>> np.fill_diagonal(gaps, 0.0)
    >>> network_parts(gaps)
    array([ 1. , -2. ,  0.5,  3. ])
    """
    K = len(gaps)
    rows = gaps.sum(axis=1)
    return np.asarray((rows - rows.sum() / (2 * (K - 1))) / (K - 2))


def sign_flips(count: int, n_permutations: int, random_state: int) -> tuple[FloatArray, bool]:
    """Return signs (B, count), the data's first, and whether these are all that exist."""
    if 2**count <= n_permutations + 1:
        return np.array(list(product((1.0, -1.0), repeat=count))), True
    rng = np.random.default_rng(random_state)
    signs = rng.choice((1.0, -1.0), size=(n_permutations + 1, count))
    signs[0] = 1.0
    return signs, False


def _left_out(
    gaps: FloatArray, places: npt.NDArray[np.intp], level: float
) -> tuple[float, tuple[float, float]]:
    """Return the mean over pairs, and its jackknife interval over blocks."""
    count = int(places.max()) + 1
    means = []
    for unit in range(count):
        kept = np.flatnonzero(places != unit)
        if len(kept) < 2:
            raise InputError("A paired comparison needs at least two networks outside any block.")
        means.append(float(gaps[np.ix_(kept, kept)].sum() / (len(kept) * (len(kept) - 1))))
    centre = float(gaps.sum() / (len(gaps) * (len(gaps) - 1)))
    error = float(np.sqrt((count - 1) / count * np.sum((np.array(means) - np.mean(means)) ** 2)))
    half = float(student.ppf((1 + level) / 2, count - 1)) * error
    return centre, (centre - half, centre + half)
