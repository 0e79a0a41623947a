"""Native kernels compared with the reference in plain NumPy, for many shapes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repshape import _native
from repshape.coordinates.factors import factorise
from repshape.reference import gaussian as reference
from repshape.responses import Gaussians

BACKENDS = [*_native.instruction_sets(), "blas"]
fuzz = settings(derandomize=True, deadline=None, max_examples=150)


def make_side(rng, M, n, kind, conditioning):
    """Covariances of unit scale: full or thin factors, ragged ranks, or diagonal."""
    deviations = conditioning ** (-0.5 * np.linspace(0, 1, n)) if n > 1 else np.ones(1)
    means = rng.normal(size=(M, n))
    if kind == "diagonal":
        spread = np.array([rng.permutation(deviations) for _ in range(M)])
        return Gaussians(means, spread**2)
    A = np.linalg.qr(rng.normal(size=(M, n, n)))[0] * deviations
    if kind == "ragged":
        return Gaussians.from_factors(means, [a[:, : rng.integers(0, n + 1)] for a in A])
    rank = {"full": n, "rank 0": 0, "rank 1": 1, "low": (n + 1) // 2}[kind]
    return Gaussians.from_factors(means, A[:, :, :rank])


class Pair:
    """One problem, for the native kernels and for the reference."""

    def __init__(self, seed, M, n_x, n_y, kinds, conditioning):
        rng = np.random.default_rng(seed)
        nets = [
            factorise(make_side(rng, M, n, kind, conditioning))
            for n, kind in zip((n_x, n_y), kinds, strict=True)
        ]
        self.x, self.y = (
            _native.make_network(net.means, net.factors, net.spectrum, diagonal=net.diagonal)
            for net in nets
        )
        self.A, self.C = (net.dense for net in nets)
        self.mu, self.nu = (net.means for net in nets)
        self.T = np.linalg.qr(rng.normal(size=(n_x, n_x)))[0][:, :n_y].copy()
        w = rng.random(M)
        self.w = w / w.sum()

    def expected(self):
        if min(self.A.shape[2], self.C.shape[2]) == 0:
            return 0.0, np.zeros_like(self.T)
        return reference.covariance_objective(self.A, self.C, self.T, self.w)

    def power(self):
        return float(self.w @ ((self.A**2).sum((1, 2)) + (self.C**2).sum((1, 2))))


def check_double(pair, backends=BACKENDS, tolerance=1e-10):
    value, gradient = pair.expected()
    for isa in backends:
        found = _native.gradient(pair.x, pair.y, pair.T, pair.w, isa=isa)
        assert found.value == pytest.approx(value, rel=tolerance, abs=1e-300)
        assert np.linalg.norm(found.gradient - gradient) <= tolerance * np.linalg.norm(gradient)
    parts = _native.evaluate(pair.x, pair.y, pair.T.T, pair.w)
    gap = reference.covariance_gap(pair.A, pair.C, pair.T, pair.w)
    # A gap far below the power of the networks is affected by rounding.
    assert parts.covariances == pytest.approx(gap, rel=tolerance, abs=1e-14 * pair.power())
    assert parts.means == pytest.approx(
        reference.mean_gap(pair.mu, pair.nu, pair.T, pair.w), rel=1e-12
    )


KINDS = st.sampled_from(["full", "diagonal", "low", "rank 1", "rank 0", "ragged"])
shapes = {
    "seed": st.integers(0, 10_000),
    "M": st.sampled_from([1, 2, 7, 8, 9, 16, 17]),
    "sizes": st.tuples(st.integers(1, 14), st.integers(1, 14)),
    "kinds": st.tuples(KINDS, KINDS),
    "conditioning": st.sampled_from([1.0, 1e3, 1e6, 1e12]),
}


@fuzz
@given(**shapes)
def test_double_precision_equals_the_reference_to_1e_10(seed, M, sizes, kinds, conditioning):
    """Value, gradient and residual; every instruction set, and BLAS."""
    check_double(Pair(seed, M, max(sizes), min(sizes), kinds, conditioning))


@fuzz
@given(**shapes)
def test_single_precision_equals_the_reference_to_1e_5(seed, M, sizes, kinds, conditioning):
    """The closer a cross product is to a singular matrix, the less accurate is the gradient."""
    pair = Pair(seed, M, max(sizes), min(sizes), kinds, conditioning)
    value, gradient = pair.expected()
    for isa in _native.instruction_sets():
        found = _native.gradient(pair.x, pair.y, pair.T, pair.w, isa=isa, single=True)
        assert found.value == pytest.approx(value, rel=1e-5, abs=1e-30)
        assert np.linalg.norm(found.gradient - gradient) <= 1e-4 * np.linalg.norm(gradient)


@pytest.mark.parametrize("isa", _native.instruction_sets())
@pytest.mark.parametrize("n", [1, 2, 3, 10, 19, 32])
def test_single_precision_gradients_of_full_covariances_are_good_to_1e_5(isa, n):
    pair = Pair(0, 20, n, n, ("full", "full"), 10.0)
    _, gradient = pair.expected()
    found = _native.gradient(pair.x, pair.y, pair.T, pair.w, isa=isa, single=True)
    assert np.linalg.norm(found.gradient - gradient) <= 1e-5 * np.linalg.norm(gradient)


@pytest.mark.parametrize("kinds", [("full", "full"), ("low", "diagonal"), ("ragged", "low")])
@pytest.mark.parametrize("shape", [(3, 33, 33), (3, 40, 5), (9, 57, 20), (8, 130, 130), (2, 70, 1)])
def test_sizes_beyond_the_lanes_equal_the_reference(shape, kinds):
    """Few conditions of many neurons, and more neurons than a lane takes."""
    check_double(Pair(1, *shape, kinds, 1e4), ["", *BACKENDS])


@pytest.mark.parametrize("sizes", [(13, 13), (21, 21), (21, 13)])
def test_triangular_factors_equal_the_reference(sizes):
    """Half of each product is skipped, for one factor, the other, or both."""
    rng = np.random.default_rng(3)
    w = np.full(11, 1 / 11)
    T = np.linalg.qr(rng.normal(size=(sizes[0], sizes[0])))[0][:, : sizes[1]].copy()
    roots = [np.linalg.cholesky(make_side(rng, 11, n, "full", 1e2).covariances) for n in sizes]
    turned = [a @ np.linalg.qr(rng.normal(size=a.shape[1:]))[0] for a in roots]
    for left, right in [(roots, roots), (roots, turned), (turned, roots)]:
        A, C = left[0], right[1]
        x, y = (_native.make_network(np.zeros(a.shape[:2]), a, np.linalg.svd(a)[1]) for a in (A, C))
        value, gradient = reference.covariance_objective(A, C, T, w)
        for isa in BACKENDS:
            found = _native.gradient(x, y, T, w, isa=isa)
            assert found.value == pytest.approx(value, rel=1e-11)
            assert np.linalg.norm(found.gradient - gradient) <= 1e-11 * np.linalg.norm(gradient)


@pytest.mark.parametrize("seed", range(5))
def test_full_covariances_of_condition_number_1e12(seed):
    """From the eigenvalues of dense covariances, of which small ones are least accurate."""
    rng = np.random.default_rng(seed)
    S = [make_side(rng, 9, 8, "full", 1e12).covariances for _ in range(2)]
    nets = [factorise(Gaussians(np.zeros((9, 8)), s)) for s in S]
    x, y = (_native.make_network(n.means, n.factors, n.spectrum) for n in nets)
    T, w = np.linalg.qr(rng.normal(size=(8, 8)))[0], np.full(9, 1 / 9)
    value, gradient = reference.covariance_objective(nets[0].factors, nets[1].factors, T, w)
    for isa in BACKENDS:
        found = _native.gradient(x, y, T, w, isa=isa)
        assert found.value == pytest.approx(value, rel=1e-10)
        assert np.linalg.norm(found.gradient - gradient) <= 1e-10 * np.linalg.norm(gradient)
    bures = w @ reference.bures_squared(S[0], T @ S[1] @ T.T)
    assert _native.evaluate(x, y, T.T, w).covariances == pytest.approx(bures, rel=1e-6)


@pytest.mark.parametrize("smallest", [1e-3, 1e-6, 1e-9, 1e-11, 1e-12, 3e-13])
@pytest.mark.parametrize("kind", ["one", "spread", "deficient"])
def test_factors_of_condition_number_beyond_1e12(smallest, kind):
    """A direction with small responses must not reduce the precision of the others."""
    rng = np.random.default_rng(6)
    n = 5
    deviations = np.ones(n) if kind == "one" else np.geomspace(1, smallest, n)
    deviations[-1] = smallest
    width = n - 1 if kind == "deficient" else n
    A, C = (np.linalg.qr(rng.normal(size=(9, n, n)))[0] * deviations for _ in range(2))
    A = np.ascontiguousarray(A[:, :, n - width :])
    T, w, mu = np.linalg.qr(rng.normal(size=(n, n)))[0], np.full(9, 1 / 9), np.zeros((9, n))
    x, y = (_native.make_network(mu, F, np.linalg.svd(F, compute_uv=False)) for F in (A, C))
    value, gradient = reference.covariance_objective(A, C, T, w)
    for isa in BACKENDS:
        found = _native.gradient(x, y, T, w, isa=isa)
        assert found.value == pytest.approx(value, rel=1e-10)
        assert np.linalg.norm(found.gradient - gradient) <= 1e-10 * np.linalg.norm(gradient)
    gap = reference.covariance_gap(A, C, T, w)
    assert _native.evaluate(x, y, T.T, w).covariances == pytest.approx(gap, rel=1e-10)


@pytest.mark.parametrize("isa", BACKENDS)
def test_the_native_gradient_is_that_of_finite_differences(isa):
    pair = Pair(2, 5, 4, 3, ("full", "full"), 10.0)
    found = _native.gradient(pair.x, pair.y, pair.T, pair.w, isa=isa)
    for index in np.ndindex(pair.T.shape):
        step = np.zeros_like(pair.T)
        step[index] = 1e-6
        ahead, behind = (
            _native.gradient(pair.x, pair.y, pair.T + s, pair.w, isa=isa).value
            for s in (step, -step)
        )
        assert found.gradient[index] == pytest.approx((ahead - behind) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("isa", BACKENDS)
@pytest.mark.parametrize("size", [1e-100, 1e-40, 1e-10, 1e10, 1e40, 1e100])
def test_kernels_are_homogeneous(isa, size):
    """Factors c A and c C give c^2 times the value and the gradient."""
    pair = Pair(3, 9, 4, 4, ("full", "full"), 10.0)
    value, gradient = pair.expected()
    A, C = size * pair.A, size * pair.C
    x, y = (
        _native.make_network(mu, F, np.linalg.svd(F, compute_uv=False))
        for mu, F in ((pair.mu, A), (pair.nu, C))
    )
    found = _native.gradient(x, y, pair.T, pair.w, isa=isa)
    assert found.value == pytest.approx(size**2 * value, rel=1e-10)
    np.testing.assert_allclose(found.gradient / size**2, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("isa", BACKENDS)
def test_a_copy_in_other_coordinates_has_a_residual_far_below_rounding_of_traces(isa):
    """|A - T C P'|^2 is a sum of squares: 1e-28 of the scale, not 1e-16."""
    pair = Pair(4, 9, 6, 6, ("full", "full"), 1e3)
    C = np.ascontiguousarray(np.swapaxes(pair.T, 0, 1) @ pair.A)
    y = _native.make_network(pair.nu, C, np.linalg.svd(C, compute_uv=False))
    parts = _native.evaluate(pair.x, y, pair.T.T, pair.w)
    assert parts.covariances < 1e-24 * pair.power()
