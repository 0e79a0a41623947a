"""Small models that the tests of repshape.pytorch share."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def dense(seed: int = 0, *, dropout: float = 0.3, inplace: bool = False) -> nn.Sequential:
    """A small network in double precision with named layers and dropout, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = {
            "first": nn.Linear(6, 9),
            "relu": nn.ReLU(inplace=inplace),
            "drop": nn.Dropout(dropout),
            "second": nn.Linear(9, 4),
        }
        model = nn.Sequential()
        for name, layer in layers.items():
            model.add_module(name, layer)
    return model.double().eval()


def some_inputs(count: int = 5, size: int = 6) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randn(count, size, generator=generator, dtype=torch.float64)
