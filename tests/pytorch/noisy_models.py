"""Small networks, each with another kind of noise."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

N_INPUTS, N_UNITS = 64, 128


class Noisy(nn.Module):
    """A linear layer with positive responses, and noise that a subclass adds."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(5)
            self.first = nn.Linear(N_INPUTS, N_UNITS).double()

    def clean(self, x: Tensor) -> Tensor:
        rows: Tensor = self.first(x)
        return functional.softplus(rows)

    def forward(self, x: Tensor) -> Tensor:
        return self.clean(x)


class DropoutLayer(Noisy):
    def __init__(self, kind: nn.Module) -> None:
        super().__init__()
        self.drop = kind

    def forward(self, x: Tensor) -> Any:
        return self.drop(self.clean(x))


class FunctionalDropout(Noisy):
    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(self.clean(x), 0.3, training=self.training)


class GuardedDropout(Noisy):
    def forward(self, x: Tensor) -> Tensor:
        rows = self.clean(x)
        if self.training:
            rows = functional.dropout(rows, 0.3)
        return rows


class DropPath(nn.Module):
    """Drops whole examples, or the whole batch at once, in train mode."""

    def __init__(self, batch: bool) -> None:
        super().__init__()
        self.batch = batch

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        count = 1 if self.batch else len(x)
        return 2 * x * torch.bernoulli(torch.full((count, 1), 0.5, dtype=x.dtype))


class GaussianNoise(nn.Module):
    """Adds noise in train mode."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 0.4 * torch.randn_like(x) if self.training else x


class NoisyWeights(Noisy):
    def forward(self, x: Tensor) -> Tensor:
        weight = self.first.weight
        return functional.linear(x, weight + 0.2 * torch.randn_like(weight))


class NoisyWeightsAndDropout(Noisy):
    """Noise of a batch and of single rows; by default, half of the variance each."""

    def __init__(self, shared: float = 0.2) -> None:
        super().__init__()
        self.shared, self.drop = shared, nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Any:
        weight = self.first.weight
        rows = functional.linear(x, weight + self.shared * torch.randn_like(weight))
        return self.drop(rows + 0.3 * torch.randn_like(rows))


class SharedMask(Noisy):
    def forward(self, x: Tensor) -> Tensor:
        rows = self.clean(x)
        return rows * (torch.rand(N_UNITS, dtype=rows.dtype) < 0.5)


class BatchNormOfTraining(Noisy):
    """Monte Carlo batch normalisation: statistics of a random batch of training data."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        data = torch.randn(200, N_INPUTS, generator=generator, dtype=torch.float64)
        self.register_buffer("data", data)

    def forward(self, x: Tensor) -> Tensor:
        chosen = self.first(self.data[torch.randint(len(self.data), (6,))])
        rows: Tensor = self.first(x)
        return (rows - chosen.mean(0)) / (chosen.std(0) + 1)


class Sampler(Noisy):
    """The encoder of a VAE, which samples."""

    def forward(self, x: Tensor) -> Tensor:
        mean = self.clean(x)
        return mean + 0.3 * mean * torch.randn_like(mean)


class PythonDepth(Noisy):
    """Stochastic depth that Python's generator decides."""

    def forward(self, x: Tensor) -> Tensor:
        return self.clean(x) * (2.0 if random.random() < 0.5 else 0.0)


class NumpyNoise(Noisy):
    def forward(self, x: Tensor) -> Tensor:
        rows = self.clean(x)
        return rows + torch.from_numpy(np.random.standard_normal(tuple(rows.shape)))  # noqa: NPY002


class SharedByAverage(Noisy):
    """Draws a number for each row and unit, and then uses one row of them for the whole batch."""

    def forward(self, x: Tensor) -> Tensor:
        rows = self.clean(x)
        return rows + torch.randn_like(rows)[:1]


class RowByRow(Noisy):
    """Draws for one row after the other."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([row + torch.randn_like(row) for row in self.clean(x)])


class DropoutOfPositions(Noisy):
    """Drops an embedding that all rows share."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.4)
        self.register_buffer("positions", torch.ones(1, N_UNITS, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        dropped: Tensor = self.drop(self.positions)
        return self.clean(x) + dropped


class OwnGenerator(Noisy):
    def __init__(self) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, x: Tensor) -> Tensor:
        rows = self.clean(x)
        noise = torch.randn(N_UNITS, generator=self.generator, dtype=rows.dtype)
        return rows + noise


class Reseeding(Noisy):
    """Sets the seed in every pass, so that all passes have the same noise."""

    def __init__(self, extra: float = 0.0) -> None:
        super().__init__()
        self.extra = extra

    def forward(self, x: Tensor) -> Tensor:
        rows = self.clean(x)
        rows = rows + self.extra * torch.randn_like(rows)
        torch.manual_seed(0)
        return rows + torch.randn_like(rows)
