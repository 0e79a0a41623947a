"""Centred kernel alignment (CKA): the cosine between centred Gram matrices."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform

from repshape._arrays import FloatArray
from repshape.baselines._common import centred_means, check_pair, separation, unit
from repshape.errors import InputError, check_boolean, check_choice, check_real
from repshape.responses import NetworkLike

KERNELS = ("linear", "rbf")


def cka(
    x: NetworkLike,
    y: NetworkLike,
    *,
    kernel: str = "linear",
    debiased: bool = False,
    few_neurons: bool = False,
    angular: bool = False,
    bandwidth: float = 1.0,
) -> float:
    r"""Centred kernel alignment: compare similarities between conditions.

    With Gram matrices :math:`K_{ab} = k(\mu_a, \mu_b)` of the M mean responses, centred to
    :math:`\bar K = H K H`, :math:`H = I - 11'/M`,

    .. math:: 1 - \frac{\langle \bar K_x, \bar K_y \rangle}{|\bar K_x|_F |\bar K_y|_F}

    or the arccos of the fraction.

    Parameters
    ----------
    x, y : networks
        They must have the same conditions, at least 3, or 4 if ``debiased``. Numbers of neurons
        may differ.
    kernel : {"linear", "rbf"}
        :math:`k(\mu, \nu) = \mu' \nu`, or :math:`\exp(-|\mu - \nu|^2 / 2 s^2)`.
    debiased : bool
        Whether to replace H K H by the U-centred matrix of Szekely and Rizzo, whose inner products
        are unbiased estimates of HSIC (Song et al. 2012). Without this, the result is close to 0
        for any two networks with many neurons and few conditions.
    few_neurons : bool
        Whether to estimate CKA of the populations that the recorded neurons are drawn from. The
        norms then leave out the products of each neuron with itself, which make the networks look
        more different than they are:

        .. math:: |\bar K|_F^2 \to \frac{n}{n - 1} \Big(|\bar K|_F^2 -
                  \sum_i |\bar k_i|_F^2\Big), \qquad K = \sum_i k_i,
                  \quad k_i = \mu_{\cdot i}\, \mu_{\cdot i}'

        It assumes that the neurons of x and y are different samples. It needs
        ``kernel="linear"``, ``debiased=True`` and at least 2 neurons in each network.
    angular : bool
        Whether to return the angle, in radians. Not with ``few_neurons``.
    bandwidth : float
        For "rbf": s as a multiple of the median distance between the mean responses of the network
        to distinct conditions.

    Returns
    -------
    float
        In [0, 1], or in [0, 2] if ``debiased``. The angle is in [0, pi/2], or in [0, pi]. With
        ``few_neurons``, estimates for similar networks scatter about the value of their
        populations, and may be negative.

    Notes
    -----
    **Metric**: the angle is one, between Gram matrices up to scale (Williams et al. 2021), with
    either kernel, debiased or not; 1 - CKA violates the triangle inequality. **Invariant to**:
    orthogonal maps of the neurons, shifts and scale of the responses (with "rbf", because s is
    relative to the distances).

    The linear kernel without debiasing needs memory for min(M, n_x + n_y)^2 numbers, and all others
    need M^2.

    References
    ----------
    Kornblith, Norouzi, Lee and Hinton, "Similarity of Neural Network Representations Revisited",
    ICML 2019. Nguyen, Raghu and Kornblith, ICLR 2021 (debiased). Chun, Canatar, Chung and Lee,
    arXiv 2502.15104, 2025 (few neurons).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    >>> y = x[:, ::-1] * 3 + 1
    >>> cka(x, y) < 1e-15
    True
    >>> round(1 - cka(x, x[:, :1]), 6)  # K has eigenvalues 2 and 8; the neuron kept gives the 2
    0.242536
    """
    check_choice("kernel", kernel, KERNELS, owner="cka")
    check_boolean("debiased", debiased, owner="cka")
    check_boolean("angular", angular, owner="cka")
    check_real("bandwidth", bandwidth, 0, closed="neither", owner="cka")
    _check_few_neurons(few_neurons, kernel, debiased, angular)
    measure = "Debiased CKA" if debiased else "CKA"
    networks = check_pair(x, y, measure=measure, at_least=4 if debiased else 3)
    X, Y = (
        centred_means(network, name, measure=measure)
        for network, name in zip(networks, "xy", strict=True)
    )
    if few_neurons:
        return _few_neurons(X, Y)
    if kernel == "linear" and not debiased:
        X, Y = _joint_coordinates(unit(X), unit(Y))
        return separation(unit(X @ X.T), unit(Y @ Y.T), angular=angular)
    u, v = (
        _centred_gram(Z, name, kernel, bandwidth, debiased)
        for Z, name in zip((X, Y), "xy", strict=True)
    )
    return separation(u, v, angular=angular)


def _check_few_neurons(few_neurons: bool, kernel: str, debiased: bool, angular: bool) -> None:
    check_boolean("few_neurons", few_neurons, owner="cka")
    if few_neurons and (kernel != "linear" or not debiased or angular):
        raise InputError(
            "The 'few_neurons' parameter of cka needs kernel='linear', debiased=True and "
            f"angular=False. Got {kernel!r}, {debiased} and {angular}."
        )


def _few_neurons(X: FloatArray, Y: FloatArray) -> float:
    """Return 1 - CKA of the populations that the neurons of centred means X, Y are drawn from."""
    X, Y = unit(X), unit(Y)
    U, V = u_centred(X @ X.T), u_centred(Y @ Y.T)
    norms = [_population_norm(*one) for one in ((X, U, "x"), (Y, V, "y"))]
    return 1.0 - float((U * V).sum() / norms[0] / norms[1])


def _population_norm(X: FloatArray, U: FloatArray, name: str) -> float:
    """Return the root of the unbiased estimate of |U|^2, from products of different neurons.

    Of one neuron x, the U-centred Gram matrix has the square norm t + s^2 / ((M - 1)(M - 2)) -
    2 |r|^2 / (M - 2), with the squares t, the rows r and the sum s of x x' without its diagonal.
    """
    M, n = X.shape
    if n < 2:
        raise InputError(
            f"The correction of CKA for few neurons needs at least 2 neurons. Got {n} in {name}."
        )
    power, total = (X**2).sum(axis=0), X.sum(axis=0)
    t = power**2 - (X**4).sum(axis=0)
    s = total**2 - power
    r = (X * total - X**2) ** 2
    own = t + s**2 / ((M - 1) * (M - 2)) - 2 * r.sum(axis=0) / (M - 2)
    squared = float((U**2).sum() - own.sum()) * n / (n - 1)
    if squared <= 0:
        raise InputError(
            "CKA cannot be corrected for few neurons: different neurons share no geometry in "
            f"{name}, whose estimated squared norm is {squared:.3g}."
        )
    return float(np.sqrt(squared))


def _joint_coordinates(X: FloatArray, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return X and Y in an orthonormal basis of their columns, if there are few columns.

    With [X, Y] = Q [R, S], the distance between X X' = Q R R' Q' and Y Y' = Q S S' Q' is that
    between R R' and S S', which are smaller.
    """
    n_x = X.shape[1]
    if n_x + Y.shape[1] >= len(X):
        return X, Y
    triangle: FloatArray = np.asarray(np.linalg.qr(np.hstack([X, Y]), mode="r"))
    return triangle[:, :n_x], triangle[:, n_x:]


def _centred_gram(
    X: FloatArray, name: str, kernel: str, bandwidth: float, debiased: bool
) -> FloatArray:
    """Return the centred or U-centred Gram matrix of centred means, scaled to norm 1."""
    K = X @ X.T if kernel == "linear" else _rbf(X, bandwidth, name)
    centred = u_centred(K) if debiased else K - row_means(K)
    if np.linalg.norm(centred) <= 1e-12 * np.linalg.norm(K):
        raise InputError(
            "CKA needs conditions that are not all equally similar. "
            f"The centred Gram matrix of {name} is zero."
        )
    return unit(centred)


def _rbf(X: FloatArray, bandwidth: float, name: str) -> FloatArray:
    distances = pdist(X)
    scale = bandwidth * float(np.median(distances))
    if scale == 0:
        raise InputError(
            "The median distance, which is the unit of 'bandwidth', must not be zero. "
            f"Most pairs of conditions have equal mean responses in {name}."
        )
    return np.asarray(np.exp(-(squareform(distances / scale) ** 2) / 2))


def row_means(K: FloatArray) -> FloatArray:
    """Return what HKH subtracts from K: row means plus column means minus the grand mean."""
    means = K.mean(axis=0)
    return np.asarray(means[:, None] + means - means.mean())


def u_centred(K: FloatArray) -> FloatArray:
    """Return the U-centred K, which has a zero diagonal and rows that sum to zero.

    Off the diagonal it is K_ab - r_a / (M - 2) - r_b / (M - 2) + t / ((M - 1)(M - 2)), where r are
    the sums of rows and t is the sum of all entries, both without the diagonal of K. Then
    <U(K), U(L)> = M (M - 3) HSIC_1(K, L).
    """
    M = len(K)
    hollow = K - np.diag(np.diag(K))
    rows = hollow.sum(axis=0)
    U = hollow - (rows[:, None] + rows) / (M - 2) + rows.sum() / ((M - 1) * (M - 2))
    np.fill_diagonal(U, 0.0)
    return np.asarray(U)
