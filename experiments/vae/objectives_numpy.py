"""The six objectives once more, in plain NumPy and in loops: what the tests compare PyTorch with.

Arguments are arrays: means ``mu``, log-variances ``lv`` and samples ``z`` of shape (B, n).
"""

from __future__ import annotations

import numpy as np

from experiments.vae.sprites import FloatArray


def reconstruction_loss(logits: FloatArray, images: FloatArray) -> float:
    """Return - mean_b sum_p [ x log s + (1 - x) log(1 - s) ] with s = 1 / (1 + exp(-logit))."""
    s = 1 / (1 + np.exp(-logits))
    pixels = images * np.log(s) + (1 - images) * np.log(1 - s)
    return float(-pixels.reshape(len(images), -1).sum(1).mean())


def kl_divergence(mu: FloatArray, lv: FloatArray) -> float:
    """Return the mean over images of KL(N(mu, exp lv) || N(0, 1)), latent by latent."""
    total = 0.0
    for row in range(len(mu)):
        for m, v in zip(mu[row], np.exp(lv[row]), strict=True):
            total += 0.5 * (m * m + v - np.log(v) - 1)
    return float(total / len(mu))


def log_normal(z: float, mu: float, lv: float) -> float:
    """Return the log-density of N(mu, exp lv) at z."""
    return float(-0.5 * np.log(2 * np.pi) - 0.5 * lv - 0.5 * (z - mu) ** 2 / np.exp(lv))


def total_correlation_sampled(z: FloatArray, mu: FloatArray, lv: FloatArray) -> float:
    """Return mean_j [ log sum_i prod_l q(z_jl | x_i) - sum_l log sum_i q(z_jl | x_i) ]."""
    count, latents = z.shape
    total = 0.0
    for j in range(count):
        log_q = np.array(
            [
                [log_normal(z[j, k], mu[i, k], lv[i, k]) for k in range(latents)]
                for i in range(count)
            ]
        )
        joint = np.log(np.exp(log_q.sum(1)).sum())
        total += joint - np.log(np.exp(log_q).sum(0)).sum()
    return float(total / count)


def discriminator_logits(
    z: FloatArray, weights: list[FloatArray], biases: list[FloatArray], slope: float = 0.2
) -> FloatArray:
    """Apply dense layers, each but the last followed by a leaky ReLU."""
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        z = z @ weight.T + bias
        if number < len(weights) - 1:
            z = np.where(z > 0, z, slope * z)
    return z


def discriminator_loss(logits: FloatArray, permuted: FloatArray) -> float:
    """Return - 1/2 mean log p_0(z) - 1/2 mean log p_1(z_permuted), clipped at 1e-6."""
    p0 = 1 / (1 + np.exp(logits[:, 1] - logits[:, 0]))
    p1 = 1 / (1 + np.exp(permuted[:, 0] - permuted[:, 1]))
    clipped = [np.log(np.clip(p, 1e-6, 1 - 1e-6)).mean() for p in (p0, p1)]
    return float(-0.5 * sum(clipped))


def beta_vae(mu: FloatArray, lv: FloatArray, beta: float) -> float:
    """Return beta KL."""
    return beta * kl_divergence(mu, lv)


def factor_vae(mu: FloatArray, lv: FloatArray, logits: FloatArray, gamma: float) -> float:
    """Return KL + gamma mean_b (logit_0 - logit_1)."""
    return kl_divergence(mu, lv) + gamma * float(np.mean(logits[:, 0] - logits[:, 1]))


def beta_tc_vae(z: FloatArray, mu: FloatArray, lv: FloatArray, beta: float) -> float:
    """Return KL + (beta - 1) TC."""
    return kl_divergence(mu, lv) + (beta - 1) * total_correlation_sampled(z, mu, lv)


def _covariance_penalty(covariance: FloatArray, off_diagonal: float, diagonal: float) -> float:
    total = 0.0
    for i in range(len(covariance)):
        for j in range(len(covariance)):
            value = covariance[i, j]
            total += diagonal * (value - 1) ** 2 if i == j else off_diagonal * value**2
    return float(total)


def dip_vae_i(mu: FloatArray, lv: FloatArray, strength: float) -> float:
    """Return KL plus the penalty of cov(mu), with lambda_d = 10 lambda_od."""
    covariance = np.cov(mu.T, bias=True)
    return kl_divergence(mu, lv) + _covariance_penalty(covariance, strength, 10 * strength)


def dip_vae_ii(mu: FloatArray, lv: FloatArray, strength: float) -> float:
    """Return KL plus the penalty of cov(mu) + mean diag(exp lv), with lambda_d = lambda_od."""
    covariance = np.cov(mu.T, bias=True) + np.diag(np.exp(lv).mean(0))
    return kl_divergence(mu, lv) + _covariance_penalty(covariance, strength, strength)


def annealed_vae(
    mu: FloatArray, lv: FloatArray, c_max: float, gamma: float, step: int, ramp: int
) -> float:
    """Return gamma |KL - min(c_max, c_max step / ramp)|."""
    return gamma * abs(kl_divergence(mu, lv) - min(c_max, c_max * step / ramp))
