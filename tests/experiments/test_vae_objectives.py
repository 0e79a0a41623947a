"""Each objective in PyTorch equals its statement in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from experiments.vae import objectives, objectives_numpy
from experiments.vae.networks import build_discriminator
from experiments.vae.objectives import REGULARISERS, Context, Latents
from experiments.vae.scales import SCALES
from experiments.vae.settings import Discriminator
from scipy.stats import multivariate_normal, norm

BATCH, LATENTS = 7, 4


@pytest.fixture
def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    mu, lv = rng.normal(size=(BATCH, LATENTS)), rng.normal(-1, 0.5, size=(BATCH, LATENTS))
    return mu, lv, mu + np.exp(lv / 2) * rng.normal(size=mu.shape)


@pytest.fixture
def latents(arrays: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Latents:
    return Latents(*map(torch.from_numpy, arrays))


def test_reconstruction_loss() -> None:
    rng = np.random.default_rng(0)
    logits, images = rng.normal(size=(3, 1, 4, 4)), rng.random((3, 1, 4, 4))
    found = objectives.reconstruction_loss(torch.from_numpy(logits), torch.from_numpy(images))
    assert float(found) == pytest.approx(objectives_numpy.reconstruction_loss(logits, images))


def test_kl_is_zero_at_the_prior_and_known_elsewhere(latents: Latents) -> None:
    zeros = torch.zeros(2, 3)
    assert float(objectives.kl_divergence(Latents(zeros, zeros, zeros))) == 0
    shifted = Latents(zeros + 2, zeros, zeros)
    assert float(objectives.kl_divergence(shifted)) == 3 * 2**2 / 2


def test_beta(latents: Latents, arrays: tuple[np.ndarray, ...]) -> None:
    mu, lv, _ = arrays
    found = REGULARISERS["beta"](latents, 4.0, Context())
    assert float(found) == pytest.approx(objectives_numpy.beta_vae(mu, lv, 4.0))


def test_beta_tc(latents: Latents, arrays: tuple[np.ndarray, ...]) -> None:
    mu, lv, z = arrays
    found = REGULARISERS["beta_tc"](latents, 6.0, Context())
    assert float(found) == pytest.approx(objectives_numpy.beta_tc_vae(z, mu, lv, 6.0))
    plain = REGULARISERS["beta_tc"](latents, 1.0, Context())
    assert float(plain) == pytest.approx(objectives_numpy.beta_vae(mu, lv, 1.0))


def test_sampled_total_correlation_from_densities(
    latents: Latents, arrays: tuple[np.ndarray, ...]
) -> None:
    """With scipy's densities of the joint and of the marginals, summed over the batch."""
    mu, lv, z = arrays
    sd = np.exp(lv / 2)
    joint = [
        sum(multivariate_normal.pdf(row, mu[i], np.diag(sd[i] ** 2)) for i in range(BATCH))
        for row in z
    ]
    marginals = norm.pdf(z[:, None], mu[None], sd[None]).sum(axis=1).prod(axis=1)
    expected = np.mean(np.log(joint) - np.log(marginals))
    assert float(objectives.total_correlation_sampled(latents)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "twin"),
    [("dip_i", objectives_numpy.dip_vae_i), ("dip_ii", objectives_numpy.dip_vae_ii)],
)
def test_dip(latents: Latents, arrays: tuple[np.ndarray, ...], name: str, twin: object) -> None:
    mu, lv, _ = arrays
    found = REGULARISERS[name](latents, 5.0, Context())
    assert float(found) == pytest.approx(twin(mu, lv, 5.0))  # type: ignore[operator]


def test_dip_penalty_vanishes_for_the_identity() -> None:
    signs = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    latents = Latents(signs, torch.zeros_like(signs), signs)
    kl = objectives.kl_divergence(latents)
    assert float(REGULARISERS["dip_i"](latents, 5.0, Context())) == float(kl)
    # Noise of variance 1 makes the diagonal 2, one too much for each of two latents.
    assert float(REGULARISERS["dip_ii"](latents, 5.0, Context())) == float(kl) + 5 * 2


@pytest.mark.parametrize(("step", "capacity"), [(0, 0.0), (50, 5.0), (100, 10.0), (250, 10.0)])
def test_annealed(
    latents: Latents, arrays: tuple[np.ndarray, ...], step: int, capacity: float
) -> None:
    """Of 300 steps, the capacity grows during the first 100."""
    mu, lv, _ = arrays
    found = REGULARISERS["annealed"](latents, 10.0, Context(step / 300, 7.0))
    twin = objectives_numpy.annealed_vae(mu, lv, 10.0, 7.0, step, 100)
    assert float(found) == pytest.approx(twin)
    kl = objectives_numpy.kl_divergence(mu, lv)
    assert float(found) == pytest.approx(7 * abs(kl - capacity))


def test_factor(latents: Latents, arrays: tuple[np.ndarray, ...]) -> None:
    mu, lv, z = arrays
    module = build_discriminator(LATENTS, Discriminator(3, 8, 1e-3), 0).double()
    dense = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
    weights = [layer.weight.detach().numpy() for layer in dense]
    biases = [layer.bias.detach().numpy() + 0.1 for layer in dense]
    for layer in dense:
        layer.bias.data += 0.1
    logits = objectives_numpy.discriminator_logits(z, weights, biases)
    found = REGULARISERS["factor"](latents, 20.0, Context(discriminator=module))
    expected = objectives_numpy.factor_vae(mu, lv, logits, 20.0)
    assert float(found.detach()) == pytest.approx(expected)


def test_factor_needs_a_discriminator(latents: Latents) -> None:
    with pytest.raises(ValueError, match="discriminator"):
        REGULARISERS["factor"](latents, 20.0, Context())


def test_discriminator_loss_is_clipped() -> None:
    rng = np.random.default_rng(1)
    logits, permuted = rng.normal(size=(2, 6, 2))
    logits[0] = -40, 40  # p_0 is below the floor of 1e-6
    found = objectives.discriminator_loss(torch.from_numpy(logits), torch.from_numpy(permuted))
    assert float(found) == pytest.approx(objectives_numpy.discriminator_loss(logits, permuted))
    alone = objectives.discriminator_loss(torch.tensor([[-40.0, 40.0]]), torch.zeros(1, 2))
    assert float(alone) == pytest.approx(-(np.log(1e-6) + np.log(0.5)) / 2, rel=1e-5)


def test_permuted_latents_keep_their_marginals(latents: Latents) -> None:
    generator = torch.Generator().manual_seed(0)
    permuted = objectives.permute_latents(latents.samples, generator)
    assert torch.equal(permuted.sort(0).values, latents.samples.sort(0).values)
    assert not torch.equal(permuted, latents.samples)


def test_samples_follow_the_latent_distribution() -> None:
    means, lv = torch.tensor([[1.0, -2.0]]), torch.log(torch.tensor([[4.0, 0.25]]))
    drawn = Latents.draw(means, lv, torch.tensor([[1.0, 2.0]])).samples
    torch.testing.assert_close(drawn, torch.tensor([[1.0 + 2.0, -2.0 + 1.0]]))


def test_every_scale_names_known_objectives() -> None:
    for datasets in SCALES.values():
        assert set(datasets["dsprites"].strengths) == set(REGULARISERS)
        assert set(datasets["mnist"].strengths) == {"beta"}
