"""Types of the native kernels."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

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
        alpha: float,
        weights: FloatArray,
        tolerance: float,
        max_iterations: int,
        starts: FloatArray,
        n_starts: int,
        use_means: bool,
        screen: bool,
    ) -> None: ...

def align(
    x: Network, y: Network, options: Options
) -> tuple[float, float, float, float, bool, int, int, int, FloatArray]: ...
def align_pairs(
    networks: list[Network],
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
