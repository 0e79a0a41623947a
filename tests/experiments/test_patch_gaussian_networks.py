"""Networks have the planned sizes, and a seed alone decides their weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from experiments.patch_gaussian.networks import (
    REPRESENTATION,
    ResNet,
    build_network,
    get_weights,
    set_weights,
)
from experiments.patch_gaussian.settings import PAPER, SMALL, Architecture
from torch import Tensor, nn

TINY = Architecture(8, (1, 1), units=5)
MEAN, SCALE = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def convolution_work(network: ResNet, side: int) -> int:
    """Multiplications of all convolutions for one image."""
    work = []

    def note(module: nn.Module, inputs: object, output: Tensor) -> None:
        assert isinstance(module, nn.Conv2d)
        work.append(output[0].numel() * module.weight[0].numel())

    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_hook(note)
    network.eval()(torch.zeros(1, 3, side, side))
    return sum(work)


def test_paper_network_is_resnet_18_with_a_layer_of_100_units() -> None:
    network = build_network(PAPER.architecture, MEAN, SCALE, 0)
    # The well-known ResNet-18 for CIFAR-10 has 11 173 962 parameters, 5130 of them in its readout.
    assert count(network) == 11_173_962 - 5130 + (512 + 1) * 100 + (100 + 1) * 10
    layers = [m for m in network.modules() if isinstance(m, nn.Conv2d) and m.kernel_size == (3, 3)]
    assert len(layers) == 17  # and the fully connected one is the 18th


def test_small_network_is_resnet_8() -> None:
    network = build_network(SMALL.architecture, MEAN, SCALE, 0)
    layers = [m for m in network.modules() if isinstance(m, nn.Conv2d) and m.kernel_size == (3, 3)]
    assert [layer.out_channels for layer in layers] == [16, 16, 16, 32, 32, 64, 64]
    convolutions = 9 * (3 * 16 + 2 * 16 * 16 + 16 * 32 + 32 * 32 + 32 * 64 + 64 * 64)
    shortcuts = 16 * 32 + 32 * 64
    norms = 2 * (3 * 16 + 3 * 32 + 3 * 64)
    assert count(network) == convolutions + shortcuts + norms + 65 * 100 + 101 * 10
    assert convolution_work(network, 16) == 256 * 9 * (48 + 512) + 64 * (9 * 1536 + 512) + 16 * (
        9 * 6144 + 2048
    )


def test_representation_is_reachable_by_name() -> None:
    network = build_network(TINY, MEAN, SCALE, 0).eval()
    seen: list[Tensor] = []
    layer = network.get_submodule(REPRESENTATION)
    layer.register_forward_hook(lambda module, inputs, output: seen.append(output))
    images = torch.rand(3, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        scores = network(images)
        responses = network.represent(images)
    assert seen[0].shape == (3, 5)
    torch.testing.assert_close(seen[0], responses, rtol=0, atol=0)
    torch.testing.assert_close(scores, network.readout(responses), rtol=0, atol=0)


def test_images_are_normalised_first() -> None:
    network = build_network(TINY, MEAN, SCALE, 0)
    images = torch.tensor(MEAN)[None, :, None, None] + torch.zeros(1, 3, 2, 2)
    assert network.normalise(images).abs().max() < 1e-6
    shifted = images + torch.tensor(SCALE)[:, None, None]
    torch.testing.assert_close(network.normalise(shifted), torch.ones(1, 3, 2, 2))


def test_seed_alone_decides_the_weights() -> None:
    state = torch.random.get_rng_state()
    first = get_weights(build_network(TINY, MEAN, SCALE, 3))
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.rand(5)
    again, other = (get_weights(build_network(TINY, MEAN, SCALE, seed)) for seed in (3, 4))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["stem.0.weight"], other["stem.0.weight"])
    torch.random.set_rng_state(state)


def test_weights_make_the_round_trip() -> None:
    source, target = (build_network(TINY, MEAN, SCALE, seed) for seed in (0, 1))
    images = torch.rand(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        source(images)  # in training mode: also changes the statistics of the norms
        kept = get_weights(source)
        set_weights(target, kept)
        expected = source.eval()(images)
        torch.testing.assert_close(target.eval()(images), expected, rtol=0, atol=0)


def test_weights_are_copies() -> None:
    network = build_network(TINY, MEAN, SCALE, 0)
    kept = get_weights(network)
    before = {name: value.copy() for name, value in kept.items()}
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1.0)
    assert all(np.array_equal(kept[name], before[name]) for name in kept)


@pytest.mark.parametrize("architecture", [SMALL.architecture, TINY])
def test_stages_halve_the_side(architecture: Architecture) -> None:
    network = build_network(architecture, MEAN, SCALE, 0).eval()
    maps = network.blocks(network.stem(torch.zeros(1, 3, 16, 16)))
    stages = len(architecture.blocks)
    width = architecture.width << (stages - 1)
    assert maps.shape == (1, width, 16 >> (stages - 1), 16 >> (stages - 1))
