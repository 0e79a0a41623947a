"""Settings of PyTorch are restored, and weights are told apart."""

from __future__ import annotations

import numpy as np
import torch
from experiments.common.reproducible import deterministic, seeded, weights_hash


def test_settings_of_pytorch_are_restored() -> None:
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with deterministic():
        assert torch.get_num_threads() == 1
        assert torch.are_deterministic_algorithms_enabled()
    assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == before


def test_a_seed_decides_what_is_drawn_and_nothing_after_it() -> None:
    state = torch.random.get_rng_state()
    draws = []
    for seed in (1, 1, 2):
        with seeded(seed):
            draws.append(float(torch.rand(1)))
    assert draws[0] == draws[1] != draws[2]
    assert torch.equal(torch.random.get_rng_state(), state)


def test_hash_depends_on_values_names_and_shapes_alone() -> None:
    ones = np.ones((2, 3))
    first = weights_hash({"a": ones, "b": ones})
    assert first == weights_hash({"b": np.asfortranarray(ones), "a": ones.copy()})
    others = [{"a": ones, "c": ones}, {"a": ones, "b": ones.T}, {"a": ones, "b": 2 * ones}]
    assert len({first, *map(weights_hash, others)}) == 4
