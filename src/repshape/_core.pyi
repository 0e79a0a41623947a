"""Types of the native kernels.

M conditions, n neurons, S transforms; x and y are the two networks of a pair.
"""

from typing import overload

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...

class Options:
    def __init__(
        self,
        group: int,
        weights: FloatArray,
        tolerance: float,
        max_iterations: int,
        starts: FloatArray,
        n_starts: int,
        screen: bool,
        seed: int,
        pad_to: int = 0,
        alpha: float = 1.0,
        q: float = 1.0,
        unbiased: bool = True,
    ) -> None: ...
    def shorten(self, starts: int) -> None: ...

class Solution:
    distance: float
    lower_bound: float
    mean_distance: float
    covariance_distance: float
    converged: bool
    n_iterations: int
    n_starts: int
    n_agreeing: int
    gap: float
    transform: FloatArray  # (n_y, n_x)

class PairSolutions:
    distance: FloatArray  # (P,), as the others
    lower_bound: FloatArray
    converged: npt.NDArray[np.bool_]
    n_starts: IndexArray
    n_agreeing: IndexArray
    gap: FloatArray
    transforms: list[FloatArray]  # (n_y, n_x) each, if they are kept

class Slope:
    value: float
    gradient: FloatArray  # (n_x, n_y)

class Network:
    conditions: int
    neurons: int
    rank: int
    diagonal: bool
    def __init__(
        self,
        means: FloatArray,
        factors: FloatArray,
        spectrum: FloatArray,
        diagonal: bool,
        reduced: bool = False,
    ) -> None: ...
    def __lt__(self, other: Network) -> bool: ...

class Parts:
    means: float
    covariances: float

def make_positions(
    means: FloatArray,
    factors: FloatArray,
    spectrum: FloatArray,
    bounds: list[FloatArray],
    reduced: bool = False,
) -> Network: ...
def evaluate(x: Network, y: Network, transform: FloatArray, weights: FloatArray) -> Parts: ...
def gradient(
    x: Network,
    y: Network,
    transform: FloatArray,
    weights: FloatArray,
    alpha: float = 1.0,
    isa: str = "",
    single: bool = False,
    repeats: int = 1,
) -> Slope: ...
def rate(
    networks: list[Network],
    pairs: IndexArray,
    transforms: list[FloatArray],
    weights: FloatArray,
    alpha: float,
) -> FloatArray: ...

class Samples:
    conditions: int
    neurons: int
    within: FloatArray  # (1, M)
    def __init__(self, rows: FloatArray, trials: IndexArray, space: int, q: float) -> None: ...
    def __lt__(self, other: Samples) -> bool: ...

def energy_loss(
    x: Samples, y: Samples, transform: FloatArray, weights: FloatArray, q: float
) -> float: ...
def energy_gradient(
    x: Samples,
    y: Samples,
    transform: FloatArray,
    weights: FloatArray,
    q: float,
    isa: str = "",
    repeats: int = 1,
) -> Slope: ...
def energy_rate(
    networks: list[Samples],
    pairs: IndexArray,
    transforms: list[FloatArray],
    weights: FloatArray,
    q: float,
) -> FloatArray: ...
@overload
def align(x: Network, y: Network, options: Options, starts: list[FloatArray]) -> Solution: ...
@overload
def align(x: Samples, y: Samples, options: Options, starts: list[FloatArray]) -> Solution: ...
@overload
def align_pairs(
    networks: list[Network],
    pairs: IndexArray,
    options: dict[int, Options],
    starts: list[FloatArray],
    keep: bool,
) -> PairSolutions: ...
@overload
def align_pairs(
    networks: list[Samples],
    pairs: IndexArray,
    options: dict[int, Options],
    starts: list[FloatArray],
    keep: bool,
) -> PairSolutions: ...
