"""Types of the native kernels."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Handle: TypeAlias = Network | Samples

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

def make_positions(
    means: FloatArray,
    factors: FloatArray,
    spectrum: FloatArray,
    bounds: list[FloatArray],
    reduced: bool = False,
) -> Network: ...
def rate(
    networks: list[Network],
    pairs: npt.NDArray[np.int64],
    transforms: list[FloatArray],
    weights: FloatArray,
    alpha: float,
) -> FloatArray: ...
def align(
    x: Handle, y: Handle, options: Options, starts: list[FloatArray]
) -> tuple[float, float, float, float, bool, int, int, int, FloatArray, float]: ...
def align_pairs(
    networks: list[Handle],
    pairs: npt.NDArray[np.int64],
    options: dict[int, Options],
    starts: list[FloatArray],
    keep: bool,
) -> tuple[FloatArray, list[FloatArray]]: ...
def evaluate(
    x: Network, y: Network, transform: FloatArray, weights: FloatArray
) -> tuple[float, float]: ...
def gradient(
    x: Network,
    y: Network,
    transform: FloatArray,
    weights: FloatArray,
    alpha: float = 1.0,
    isa: str = "",
    single: bool = False,
    repeats: int = 1,
) -> tuple[float, FloatArray]: ...
def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...

class Samples:
    conditions: int
    neurons: int
    within: FloatArray
    def __init__(
        self, rows: FloatArray, trials: npt.NDArray[np.int64], space: int, q: float
    ) -> None: ...
    def __lt__(self, other: Samples) -> bool: ...

def energy_rate(
    networks: list[Samples],
    pairs: npt.NDArray[np.int64],
    transforms: list[FloatArray],
    weights: FloatArray,
    q: float,
) -> FloatArray: ...
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
) -> tuple[float, FloatArray]: ...
