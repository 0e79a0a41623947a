"""Networks have the published sizes, and a seed alone decides their weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from experiments.vae.networks import Vae, build_discriminator
from experiments.vae.scales import SCALES
from experiments.vae.settings import Architecture, Discriminator
from torch import nn

from repshape.errors import InputError

SMALL = SCALES["small"]["dsprites"].architecture
ARCHITECTURES = [settings.architecture for scale in SCALES.values() for settings in scale.values()]


def count(module: nn.Sequential) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_sprite_network_of_the_paper_has_the_published_parameters() -> None:
    vae = Vae.build(SCALES["paper"]["dsprites"].architecture, 0, "pytorch")
    assert count(vae.encoder) == 309_204
    assert count(vae.decoder) == 381_313


def test_networks_of_mnist_and_cifar10_follow_the_appendix() -> None:
    for name, layers, latents in (("mnist", 3, 10), ("cifar10", 4, 50)):
        vae = Vae.build(SCALES["paper"][name].architecture, 0, "kaiming")
        convolutions = [layer for layer in vae.encoder if isinstance(layer, nn.Conv2d)]
        assert [layer.out_channels for layer in convolutions] == [64] * layers
        assert {(layer.kernel_size, layer.stride) for layer in convolutions} == {((4, 4), (2, 2))}
        dense = [layer for layer in vae.encoder if isinstance(layer, nn.Linear)]
        assert [layer.out_features for layer in dense] == [256, 2 * latents]
        assert len([m for m in vae.decoder if isinstance(m, nn.ConvTranspose2d)]) == layers


def test_small_network_has_the_planned_parameters() -> None:
    vae = Vae.build(SMALL, 0, "kaiming")
    convolutions = (16 * 16 + 16) + (16 * 16 * 16 + 16) + (16 * 32 * 16 + 32)
    assert count(vae.encoder) == convolutions + (512 * 128 + 128) + (128 * 20 + 20)
    mirrored = (32 * 16 * 16 + 16) + (16 * 16 * 16 + 16) + (16 * 16 + 1)
    assert count(vae.decoder) == (10 * 128 + 128) + (128 * 512 + 512) + mirrored


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_shapes(architecture: Architecture) -> None:
    vae = Vae.build(architecture, 0, "kaiming")
    shape = (2, architecture.channels, architecture.side, architecture.side)
    images = np.random.default_rng(0).random(shape, dtype=np.float32)
    means, log_variances = vae.latents(images)
    assert means.shape == log_variances.shape == (2, architecture.latents)
    with torch.no_grad():
        decoded = vae.decode(torch.from_numpy(means))
    assert decoded.shape == shape
    assert 0 <= float(decoded.min()) <= float(decoded.max()) <= 1


def test_kaiming_weights_have_their_variance_and_no_biases() -> None:
    weights = Vae.build(SMALL, 0, "kaiming").weights()
    biases = [value for name, value in weights.items() if name.endswith("bias")]
    assert not any(bias.any() for bias in biases)
    assert weights["encoder.7.weight"].std() == pytest.approx(np.sqrt(2 / 512), rel=0.02)
    assert weights["encoder.2.weight"].std() == pytest.approx(np.sqrt(2 / (16 * 16)), rel=0.05)


def test_default_weights_are_bounded_and_have_biases() -> None:
    weights = Vae.build(SMALL, 0, "pytorch").weights()
    assert abs(weights["encoder.7.weight"]).max() <= 1 / np.sqrt(512)
    assert all(value.any() for name, value in weights.items() if name.endswith("bias"))


def test_glorot_weights_are_uniform_with_zero_biases() -> None:
    weights = Vae.build(SMALL, 0, "glorot").weights()
    dense = weights["encoder.7.weight"]
    bound = np.sqrt(6 / sum(dense.shape))
    assert 0.99 * bound < abs(dense).max() <= bound
    assert dense.std() == pytest.approx(bound / np.sqrt(3), rel=0.02)
    assert not any(value.any() for name, value in weights.items() if name.endswith("bias"))


@pytest.mark.parametrize("initialisation", ["kaiming", "pytorch", "glorot"])
def test_the_seed_decides_the_weights(initialisation: str) -> None:
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    first = Vae.build(SMALL, 3, initialisation).weights()
    assert torch.equal(torch.random.get_rng_state(), state)  # a user's generator is left alone
    torch.rand(5)
    again, other = (Vae.build(SMALL, seed, initialisation).weights() for seed in (3, 4))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["encoder.0.weight"], other["encoder.0.weight"])


def test_weights_are_restored() -> None:
    images = np.random.default_rng(0).random((3, 1, 32, 32), dtype=np.float32)
    one, other = (Vae.build(SMALL, seed, "pytorch") for seed in (0, 1))
    assert not np.array_equal(one.latents(images)[0], other.latents(images)[0])
    other.load(one.weights())
    for left, right in zip(one.latents(images), other.latents(images), strict=True):
        assert np.array_equal(left, right)
    assert all(np.array_equal(one.weights()[n], v) for n, v in other.weights().items())


def test_unknown_initialisation_is_refused() -> None:
    with pytest.raises(InputError, match="one of 'kaiming', 'pytorch', 'glorot'"):
        Vae.build(SMALL, 0, "orthogonal")


def test_discriminators_have_the_planned_layers() -> None:
    shapes = SCALES["paper"]["dsprites"].discriminator, SCALES["small"]["dsprites"].discriminator
    assert [(shape.layers, shape.width) for shape in shapes] == [(6, 1000), (3, 128)]
    module = build_discriminator(10, Discriminator(3, 128, 1e-3), 0)
    assert count(module) == (10 * 128 + 128) + 2 * (128 * 128 + 128) + (128 * 2 + 2)
    assert {m.negative_slope for m in module if isinstance(m, nn.LeakyReLU)} == {0.2}
