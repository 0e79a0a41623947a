"""Pictures of networks: planes, ellipses, responses, alignments, transport."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs
from repshape.plots import AlignmentPicture, Ellipses, ResponsesPicture, TransportPicture
from repshape.plots.planes import Plane, projected
from repshape.reference.gaussian import bures_squared, symmetric_root

Pair = tuple[rs.Trials, rs.Trials]


def random_covariances(rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    A = rng.normal(size=(count, n, n))
    return A @ np.swapaxes(A, 1, 2)


@pytest.mark.parametrize("n_std", [1.0, 2.5])
def test_points_of_an_ellipse_are_so_many_deviations_away(n_std: float) -> None:
    """(y - c)' S^-1 (y - c) = n_std^2 at both ends of both axes, and the box is tight."""
    rng = np.random.default_rng(0)
    S, centres = random_covariances(rng, 5, 2), rng.normal(size=(5, 2))
    found = Ellipses.of(centres, S, n_std)
    turn = np.radians(found.angles)
    t = np.linspace(0, 2 * np.pi, 2001)
    for m in range(5):
        u = np.array([np.cos(turn[m]), np.sin(turn[m])])
        v = np.array([-u[1], u[0]])
        rim = np.outer(np.cos(t), u) * found.widths[m] / 2
        rim += np.outer(np.sin(t), v) * found.heights[m] / 2
        length = np.einsum("ti,ij,tj->t", rim, np.linalg.inv(S[m]), rim)
        np.testing.assert_allclose(length, n_std**2, rtol=1e-9)
        np.testing.assert_allclose(np.abs(rim).max(axis=0), found.reaches[m], rtol=1e-5)


@pytest.mark.parametrize("kind", ["full", "diagonal", "factors"])
def test_projection_is_the_dense_one_for_every_kind(kind: str) -> None:
    rng = np.random.default_rng(0)
    means, linear = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    network = {
        "full": rs.Gaussians(means, random_covariances(rng, 3, 4)),
        "diagonal": rs.Gaussians(means, rng.uniform(size=(3, 4))),
        "factors": rs.Gaussians.from_factors(means, rng.normal(size=(3, 4, 2))),
    }[kind]
    assert network.kind == kind
    flat, covariances = projected(network, linear, np.array([1.0, 2.0]))
    np.testing.assert_allclose(flat, means @ linear - [1, 2])
    np.testing.assert_allclose(covariances, linear.T @ network.covariances @ linear)


def test_plane_is_that_of_the_pooled_trials(pair: Pair) -> None:
    x = pair[0].pooled
    values = np.linalg.eigvalsh(np.cov(x.T, ddof=0))[::-1]
    plane = Plane.of(pair[0])
    np.testing.assert_allclose(plane.shares, values[:2] / values.sum())
    spread = ((x - plane.offset) @ plane.basis).var(axis=0)
    np.testing.assert_allclose(spread, values[:2])


def test_one_neuron_has_a_plane_too(ax: Axes) -> None:
    x = np.random.default_rng(0).normal(size=(3, 10, 1))
    found = ResponsesPicture.of(x)
    assert found.plane.shares == pytest.approx((1.0, 0.0))
    assert (found.ellipses.heights == 0).all()
    found.draw(ax)
    ax.figure.draw_without_rendering()


def test_responses_hold_trials_and_window(pair: Pair) -> None:
    found = ResponsesPicture.of(pair[0], n_std=2.0)
    (left, right), (bottom, top) = found.limits
    assert found.trials.shape == (90, 2)
    assert found.trial_conditions.tolist() == np.repeat(np.arange(6), 15).tolist()
    low, high = found.trials.min(axis=0), found.trials.max(axis=0)
    assert left < low[0] < high[0] < right
    assert bottom < low[1] < high[1] < top
    means = found.trials.reshape(6, 15, 2).mean(axis=1)
    np.testing.assert_allclose(found.ellipses.centres, means, atol=1e-12)
    for part in ("4 neurons, 6 conditions", "2 standard deviations", "15 trials each"):
        assert part in found.caption


def test_moments_have_no_trials_and_many_conditions_are_thinned() -> None:
    network = rs.Gaussians(np.random.default_rng(0).normal(size=(500, 3)), np.ones((500, 3)))
    found = ResponsesPicture.of(network)
    assert len(found.trials) == 0
    assert len(found.ellipses) == 120
    assert "120, evenly spaced, are shown" in found.caption
    with pytest.raises(ValueError, match="an entry for each of 500 conditions"):
        ResponsesPicture.of(network, colour=[1, 2])


def test_drawing_responses(pair: Pair, ax: Axes) -> None:
    rs.plots.plot_responses(pair[0], colour=list("aabbcc"), connect=True, ax=ax)
    assert len(ax.lines) == 1
    assert len(ax.collections) == 1 + 2 + 3  # trials; fill and rim; a marker for each level
    assert len(ax.get_legend().get_texts()) == 3


def test_after_alignment_a_rotated_copy_lies_on_the_network(pair: Pair) -> None:
    x = pair[0].stacked
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0]
    found = AlignmentPicture.of(x, x @ Q, rs.GaussianShapeMetric().align(x, x @ Q))
    np.testing.assert_allclose(found.after.second.centres, found.after.first.centres, atol=1e-6)
    np.testing.assert_allclose(found.after.second.widths, found.after.first.widths, atol=1e-6)
    gap = np.abs(found.before.second.centres - found.before.first.centres).max()
    assert gap > 0.1  # it did not lie there before


@pytest.mark.parametrize("preprocess", [None, rs.Preprocess(n_components=2), rs.Preprocess()])
@pytest.mark.parametrize("swap", [False, True])
def test_aligned_means_are_those_of_the_transform(
    pair: Pair, preprocess: rs.Preprocess | None, swap: bool
) -> None:
    """Against the dense formula, for either network the larger one."""
    x, y = pair[::-1] if swap else pair
    alignment = rs.GaussianShapeMetric(preprocess=preprocess).align(x, y)
    found = AlignmentPicture.of(x, y, alignment)
    seen = [one if preprocess is None else preprocess.fit(one).apply(one) for one in (x, y)]
    means = (seen[1].means @ alignment.transform - found.plane.offset) @ found.plane.basis
    np.testing.assert_allclose(found.after.second.centres, means, atol=1e-10)
    assert found.before.limits == found.after.limits
    lower = f"proven lower bound {alignment.lower_bound:.4g}"
    assert f"Distance: {alignment.distance:.4g}; {lower}" in found.caption
    told = AlignmentPicture.of(x, y, alignment, rs.GaussianShapeMetric(0.5)).caption
    assert "alpha = 0.5, group = orthogonal" in told


def test_alignment_of_other_networks_is_refused(pair: Pair) -> None:
    alignment = rs.GaussianShapeMetric().align(*pair)
    with pytest.raises(ValueError, match="maps 3 neurons onto 4, but y has 4 and x has 3"):
        AlignmentPicture.of(*pair[::-1], alignment)
    with pytest.raises(ValueError, match="same conditions"):
        AlignmentPicture.of(pair[0], np.zeros((5, 9, 3)), alignment)
    with pytest.raises(ValueError, match="must hold two axes"):
        rs.plots.plot_alignment(*pair, alignment, axes=[Figure().subplots()])


def test_drawing_alignment(pair: Pair) -> None:
    axes = Figure(layout="constrained").subplots(1, 2)
    alignment = rs.GaussianShapeMetric().align(*pair)
    drawn = rs.plots.plot_alignment(*pair, alignment, names=("$a", "b"), axes=axes, caption=True)
    assert drawn == tuple(axes)
    for ax in drawn:
        assert len(ax.lines) == 6  # a line for each condition
        assert len(ax.collections) == 6  # fill, rim and means of two networks
    assert drawn[1].get_legend().get_texts()[0].get_text() == r"\$a"
    drawn[0].figure.draw_without_rendering()


def test_transport_is_the_closed_form_map() -> None:
    """Particles go to mu_y + G (u - mu_x) with G from roots and inverses, the textbook formula."""
    rng = np.random.default_rng(0)
    (S, R), means = random_covariances(rng, 2, 2), rng.normal(size=(2, 2))
    found = TransportPicture.of((means[:1], S[None]), (means[1:], R[None]), n_particles=30)
    half = symmetric_root(S)
    inverse = np.linalg.inv(half)
    G = inverse @ symmetric_root(half @ R @ half) @ inverse
    back = found.plane.basis.T  # two neurons: the plane is all of space
    starts, ends = (one @ back + found.plane.offset for one in (found.starts, found.ends))
    np.testing.assert_allclose(ends, means[1] + (starts - means[0]) @ G, atol=1e-9)
    squared = ((means[0] - means[1]) ** 2).sum() + bures_squared(S, R)
    assert found.distance**2 == pytest.approx(float(squared))


@pytest.mark.parametrize("ranks", [(1, 3), (3, 1), (2, 2), (0, 2)])
def test_transport_needs_no_full_rank(ranks: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x, y = (rs.Gaussians.from_factors(np.zeros((1, 3)), rng.normal(size=(1, 3, r))) for r in ranks)
    found = TransportPicture.of(x, y)
    squared = bures_squared(x.covariances[0], y.covariances[0])
    assert found.covariance_distance**2 == pytest.approx(float(squared), rel=1e-6)
    assert found.mean_distance == 0


def test_particles_have_the_covariances_of_both_ends() -> None:
    rng = np.random.default_rng(1)
    (S, R), means = random_covariances(rng, 2, 2), np.zeros((1, 2))
    found = TransportPicture.of((means, S[None]), (means, R[None]), n_particles=20_000)
    flat = found.plane.basis
    for cloud, covariance in ((found.starts, S), (found.ends, R)):
        expected = flat.T @ covariance @ flat
        np.testing.assert_allclose(np.cov(cloud.T), expected, atol=0.05 * np.trace(expected))


@pytest.mark.parametrize("swap", [False, True])
def test_transport_of_all_conditions_adds_up_to_the_distance(pair: Pair, swap: bool) -> None:
    """At alpha = 1 the squared distance is the mean over conditions of squared transport costs."""
    x, y = pair[::-1] if swap else pair  # for either network the larger one
    alignment = rs.GaussianShapeMetric(alpha=1.0).align(x, y)
    costs = [TransportPicture.of(x, y, m, alignment).distance ** 2 for m in range(6)]
    assert np.mean(costs) == pytest.approx(alignment.distance**2)


def test_bad_conditions(pair: Pair) -> None:
    alignment = rs.GaussianShapeMetric().align(*pair)
    with pytest.raises(ValueError, match=r"There are 6 conditions\. Got index 6"):
        TransportPicture.of(*pair, 6, alignment)
    with pytest.raises(ValueError, match="no condition named 'left'"):
        TransportPicture.of(*pair, "left", alignment)
    with pytest.raises(ValueError, match=r"'alignment' parameter is required .* 4 and 3"):
        TransportPicture.of(*pair)


def test_drawing_transport(pair: Pair, ax: Axes) -> None:
    alignment = rs.GaussianShapeMetric().align(*pair)
    rs.plots.plot_transport(*pair, 1, alignment, n_particles=7, ax=ax, caption=True)
    sizes = [len(one.get_offsets()) for one in ax.collections]
    assert sizes == [3, 1, 1, 7, 1, 1, 1, 7, 1, 7]  # on the way; fill, rim, cloud, mean; arrows
    ax.figure.draw_without_rendering()
