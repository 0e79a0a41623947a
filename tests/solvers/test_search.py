"""The search over starts: when it stops, which starts agree, and that it is never worse."""

from __future__ import annotations

import numpy as np
import pytest

from repshape.groups import nearest_orthogonal, nearest_permutation
from repshape.solvers.search import Policy, Search


class Procrustes:
    """|A - T B|^2, whose best T is the polar factor of A B': one step reaches it from anywhere."""

    bounded = True

    def __init__(self, A, B):
        self.A, self.B = A, B

    def at(self, T):
        return float(((self.A - T @ self.B) ** 2).sum()), self.A @ self.B.T


class Wells:
    """A function of one angle with two minima: 1 at the identity and 4 at the other permutation."""

    bounded = True

    def at(self, T):
        return (1.0, np.eye(2)) if T[0, 0] > 0.5 else (4.0, np.eye(2)[::-1])


def search(problem, oracle=nearest_orthogonal, **settings):
    return Search(problem, oracle, 1e-9, 100, Policy(**settings))


def random_starts(rng):
    while True:
        yield nearest_orthogonal(rng.normal(size=(3, 3)))


def test_a_search_stops_once_the_least_number_of_starts_agrees():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 3, 5))
    found = search(Procrustes(A, B), hits=4, fewest=7).solve(random_starts, "auto", [0])
    assert (found.n_starts, found.n_agreeing, found.gap) == (7, 7, 0.0)
    np.testing.assert_allclose(found.best.transform, nearest_orthogonal(A @ B.T), atol=1e-12)
    assert found.best.converged


def test_copies_agree_although_their_residuals_are_rounding():
    """Squared distances of 1e-30 and 1e-31 are one optimum, although their ratio is 10."""
    rng = np.random.default_rng(1)
    B = rng.normal(size=(3, 5))
    A = nearest_orthogonal(rng.normal(size=(3, 3))) @ B
    found = search(Procrustes(A, B), hits=4, fewest=8).solve(random_starts, "auto", [0])
    assert found.best.cost < 1e-28
    assert found.n_agreeing == found.n_starts == 8


def test_the_gap_is_that_to_the_other_minimum():
    """Squared distances 1 and 4: the other distance is twice as long, and 3 of 4 starts agree."""
    good, bad = np.eye(2), np.eye(2)[::-1]
    given = [good, bad, good, good]
    found = search(Wells(), nearest_permutation).solve(lambda _: (), 1, [0], given)
    assert (found.n_starts, found.n_agreeing) == (4, 3)
    assert found.gap == pytest.approx(1.0)


def test_moves_find_a_minimum_that_no_start_leads_to():
    bad = np.eye(2)[::-1]
    settings = {"hits": 9, "most": 3, "moves": 40}
    found = search(Wells(), nearest_permutation, **settings).solve(lambda _: [bad] * 9, "auto", [0])
    assert found.best.cost == 1.0
    assert (found.n_starts, found.n_agreeing) == (3, 1)


@pytest.mark.parametrize(
    ("n_starts", "n_agreeing", "moves"), [(24, 5, 64), (24, 8, 16), (24, 12, 0), (24, 24, 0)]
)
def test_moves_are_made_where_few_starts_agree(n_starts, n_agreeing, moves):
    """All if fewer than 8 hits, a quarter if less than half of the starts, else none."""
    assert Policy(hits=8, moves=64).moves_after(n_starts, n_agreeing) == moves
