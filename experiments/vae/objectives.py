"""The six training objectives, in PyTorch.

Every loss is the reconstruction loss plus a regulariser of the latent distributions
q(z | x) = N(mu, diag exp(log_variance)) in a batch of B images with n latents. The formulas are
those of Locatello et al. (2019). `objectives_numpy` states each of them again in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

PROBABILITY_FLOOR = 1e-6
DIP_I_RATIO = 10.0  # lambda_d / lambda_od
DIP_II_RATIO = 1.0


@dataclass(frozen=True, eq=False)
class Latents:
    """What an encoder says about a batch: arrays of shape (B, n).

    Attributes
    ----------
    means, log_variances : Tensor
    samples : Tensor
        One draw z = mu + exp(log_variance / 2) epsilon for each image.
    """

    means: Tensor
    log_variances: Tensor
    samples: Tensor

    @classmethod
    def draw(cls, means: Tensor, log_variances: Tensor, epsilon: Tensor) -> Latents:
        """Draw one sample for each image, from standard normal numbers."""
        return cls(means, log_variances, means + torch.exp(log_variances / 2) * epsilon)


@dataclass(frozen=True, eq=False)
class Context:
    """What a regulariser may need besides the latents.

    Attributes
    ----------
    progress : float
        Share of the training that is done, from 0 to 1.
    annealed_gamma : float
        Weight of the annealed objective.
    discriminator : callable or None
        Maps samples (B, n) to two logits (B, 2): from q(z), or from the product of its marginals.
    """

    progress: float = 1.0
    annealed_gamma: float = 1000.0
    discriminator: Callable[[Tensor], Tensor] | None = None


def reconstruction_loss(logits: Tensor, images: Tensor) -> Tensor:
    """Return the Bernoulli cross-entropy, summed over pixels and averaged over the batch.

    mean_b sum_p [ log(1 + exp l_bp) - x_bp l_bp ]
    """
    total = functional.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    return total / len(images)


def kl_divergence(latents: Latents) -> Tensor:
    """Return the divergence from the prior: mean_b 1/2 sum_i (mu^2 + exp lv - lv - 1)."""
    terms = latents.means**2 + torch.exp(latents.log_variances) - latents.log_variances - 1
    return terms.sum(1).mean() / 2


def total_correlation_sampled(latents: Latents) -> Tensor:
    """Return the total correlation of q(z), estimated by minibatch weighted sampling.

    mean_j [ logsumexp_i sum_l log q(z_jl | x_i) - sum_l logsumexp_i log q(z_jl | x_i) ]

    Constants that do not depend on the latents (the size of the data set) are dropped.
    """
    lv = latents.log_variances[None]  # (1, B, n): the distributions i
    squared = (latents.samples[:, None] - latents.means[None]) ** 2
    log_q = -(squared * torch.exp(-lv) + lv + math.log(2 * math.pi)) / 2  # (j, i, l)
    joint = torch.logsumexp(log_q.sum(2), 1)
    marginals = torch.logsumexp(log_q, 1).sum(1)
    return (joint - marginals).mean()


def total_correlation_discriminated(logits: Tensor) -> Tensor:
    """Return the total correlation as a discriminator sees it: mean_b (logit_0 - logit_1)."""
    return (logits[:, 0] - logits[:, 1]).mean()


def discriminator_loss(logits: Tensor, logits_permuted: Tensor) -> Tensor:
    """Return - 1/2 mean log p_0(z) - 1/2 mean log p_1(z_permuted).

    p is the softmax of the logits, clipped to [1e-6, 1 - 1e-6]; z_permuted is z with every latent
    shuffled over the batch on its own (`permute_latents`).
    """
    low, high = PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR
    real = torch.softmax(logits, 1)[:, 0].clamp(low, high)
    permuted = torch.softmax(logits_permuted, 1)[:, 1].clamp(low, high)
    return -(torch.log(real).mean() + torch.log(permuted).mean()) / 2


def permute_latents(samples: Tensor, generator: torch.Generator) -> Tensor:
    """Shuffle each latent over the batch, independently of the others."""
    columns = [
        samples[torch.randperm(len(samples), generator=generator).to(samples.device), latent]
        for latent in range(samples.shape[1])
    ]
    return torch.stack(columns, 1)


def covariance_penalty(covariance: Tensor, strength: float, ratio: float) -> Tensor:
    """Return strength [ sum_{i != j} C_ij^2 + ratio sum_i (C_ii - 1)^2 ]."""
    diagonal = torch.diagonal(covariance)
    off_diagonal = (covariance**2).sum() - (diagonal**2).sum()
    return strength * (off_diagonal + ratio * ((diagonal - 1) ** 2).sum())


def covariance_of_means(latents: Latents) -> Tensor:
    """Return the covariance of the means over the batch, divided by B."""
    centred = latents.means - latents.means.mean(0)
    return centred.T @ centred / len(centred)


def beta_vae(latents: Latents, strength: float, context: Context) -> Tensor:
    """Return beta KL."""
    return strength * kl_divergence(latents)


def factor_vae(latents: Latents, strength: float, context: Context) -> Tensor:
    """Return KL + gamma TC, with the total correlation seen by the discriminator."""
    if context.discriminator is None:
        raise ValueError("The FactorVAE objective needs a discriminator.")
    correlation = total_correlation_discriminated(context.discriminator(latents.samples))
    return kl_divergence(latents) + strength * correlation


def beta_tc_vae(latents: Latents, strength: float, context: Context) -> Tensor:
    """Return KL + (beta - 1) TC, with the total correlation estimated from the batch."""
    return kl_divergence(latents) + (strength - 1) * total_correlation_sampled(latents)


def dip_vae_i(latents: Latents, strength: float, context: Context) -> Tensor:
    """Return KL + lambda_od sum_{i != j} C_ij^2 + 10 lambda_od sum (C_ii - 1)^2, C = cov(mu)."""
    covariance = covariance_of_means(latents)
    return kl_divergence(latents) + covariance_penalty(covariance, strength, DIP_I_RATIO)


def dip_vae_ii(latents: Latents, strength: float, context: Context) -> Tensor:
    """Return the same with C = cov(mu) + mean diag(exp lv), and lambda_d = lambda_od."""
    noise = torch.diag(torch.exp(latents.log_variances).mean(0))
    covariance = covariance_of_means(latents) + noise
    return kl_divergence(latents) + covariance_penalty(covariance, strength, DIP_II_RATIO)


def annealed_vae(latents: Latents, strength: float, context: Context) -> Tensor:
    """Return gamma |KL - C|; the capacity C grows to c_max in the first third of the training."""
    capacity = strength * min(1.0, 3 * context.progress)
    return context.annealed_gamma * torch.abs(kl_divergence(latents) - capacity)


Regulariser = Callable[[Latents, float, Context], Tensor]
REGULARISERS: dict[str, Regulariser] = {
    "beta": beta_vae,
    "factor": factor_vae,
    "beta_tc": beta_tc_vae,
    "dip_i": dip_vae_i,
    "dip_ii": dip_vae_ii,
    "annealed": annealed_vae,
}
