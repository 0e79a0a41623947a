"""Claims are complete and decided as they say; the manipulation check computes what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from experiments.common.verdicts import Verdict
from experiments.patch_gaussian.claims import (
    ALPHAS,
    CLAIMS,
    HALVED_TAUS,
    MANIPULATION,
)
from experiments.patch_gaussian.manipulation import (
    ManipulationCheck,
    best_cheap_gain,
    check_manipulation,
    is_robust,
    order_of_widths,
)
from experiments.patch_gaussian.settings import (
    MEASURE_SCALES,
    PAPER,
    SCALES,
    SMALL,
    TAUS,
    MeasureSettings,
    plan_networks,
)

Accuracy = Callable[[int | None, float | None, int], dict[str, float]]


def test_claims_cover_what_the_paper_says() -> None:
    names = [claim.name for claim in CLAIMS]
    assert names == [
        "alpha",
        "position",
        "grid",
        "seeds",
        "nearest network",
        "tau",
        "alpha 1",
        "prediction",
        "spread",
    ]
    assert set(HALVED_TAUS) <= set(TAUS)
    assert ALPHAS == (0.0, 1.0, 2.0)


def test_every_criterion_names_its_folds() -> None:
    folds = ("seeds: ", "pairs of seeds: ", "seeds left out: ")
    for claim in (MANIPULATION, *CLAIMS):
        assert claim.sentence.endswith(".")
        names = [criterion.name for criterion in claim.criteria]
        assert len(set(names)) == len(names) > 0
        for criterion in claim.criteria:
            assert criterion.statistic.startswith(folds)


# The manipulation check


def records(accuracy: Accuracy) -> list[dict[str, Any]]:
    """Records of the small study with accuracies from a function of W, sigma and seed."""
    found = []
    for plan in plan_networks(SMALL):
        width = None if plan.patch is None else plan.patch.width
        sigma = None if plan.patch is None else plan.patch.sigma
        found.append(
            {
                "width": width,
                "sigma": sigma,
                "seed": plan.seed,
                "accuracy": accuracy(width, sigma, plan.seed),
                "settings": asdict(SMALL),
            }
        )
    return found


def planted(width: int | None, sigma: float | None, seed: int) -> dict[str, float]:
    """Accuracies under tau = 0.3 that grow with W, by 0.01 a pixel, and with the seed."""
    gain = 0.0 if width is None else 0.01 * width
    return {"clean": 0.7 - gain / 10, "0.1": 0.4 + gain, "0.3": 0.15 + gain * (1 + seed)}


def test_manipulation_statistics_are_those_of_the_plan() -> None:
    found = check_manipulation(records(planted)[::-1])
    # Robust cells have W of 8, 12 and 16, twelve on average.
    np.testing.assert_allclose(found.folds["gain at tau = 0.3"], [0.12, 0.24, 0.36])
    np.testing.assert_allclose(found.folds["gain at tau = 0.1"], [0.12] * 3)
    np.testing.assert_allclose(found.folds["clean loss"], [-0.012] * 3)
    np.testing.assert_allclose(found.folds["trade-off"], [0.16, 0.32, 0.48])
    np.testing.assert_allclose(found.folds["order of W"], [1.0] * 3)
    assert found.verdict is Verdict.HOLDS


def test_manipulation_fails_without_an_effect() -> None:
    found = check_manipulation(records(lambda *_: {"clean": 0.7, "0.1": 0.4, "0.3": 0.15}))
    assert found.verdicts["gain at tau = 0.3"] is Verdict.FAILS
    assert found.verdicts["clean loss"] is Verdict.HOLDS
    assert found.verdicts["order of W"] is Verdict.OPEN  # not a number
    assert found.verdict is Verdict.FAILS


@pytest.mark.parametrize("name", [criterion.name for criterion in MANIPULATION.criteria])
def test_every_criterion_of_the_check_can_refute_it(name: str) -> None:
    good = check_manipulation(records(planted)).folds
    bad = ManipulationCheck(good | {name: [-1.0] * 3})
    assert [n for n, v in bad.verdicts.items() if v is not Verdict.HOLDS] == [name]
    assert bad.verdict is Verdict.FAILS


def test_trade_off_leaves_out_cells_that_cost_much() -> None:
    def accuracy(width: int | None, sigma: float | None, seed: int) -> dict[str, float]:
        """Each pixel of W costs 0.005 on clean images: up to W = 8 this is below 0.05."""
        return {"clean": 0.7 - 0.005 * (width or 0), "0.3": 0.2 + 0.02 * (width or 0)}

    one_seed = records(accuracy)[:16]
    assert best_cheap_gain(one_seed, "0.3") == pytest.approx(0.02 * 8)
    costly = [r for r in one_seed if r["width"] is None or r["width"] > 8]
    assert best_cheap_gain(costly, "0.3") == 0


def test_order_of_widths_averages_over_sigma() -> None:
    def accuracy(width: int | None, sigma: float | None, seed: int) -> dict[str, float]:
        return {"0.3": 0.0 if width is None else -width + 100 * (sigma == 1.0)}

    assert order_of_widths(records(accuracy), "0.3") == pytest.approx(-1)


def test_robust_cells() -> None:
    robust = {(r["width"], r["sigma"]) for r in records(planted) if is_robust(r)}
    assert robust == {(width, sigma) for width in (8, 12, 16) for sigma in (0.3, 1.0)}


# The plan


def test_paper_scale_is_that_of_the_appendix() -> None:
    assert PAPER.widths == (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32)
    assert PAPER.sigmas == (0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0)
    assert (PAPER.epochs, PAPER.halve_every, PAPER.learning_rate) == (200, 60, 0.1)
    assert (PAPER.momentum, PAPER.weight_decay, PAPER.batch_size) == (0.9, 1e-4, 128)
    assert (PAPER.share, PAPER.side, PAPER.seeds, PAPER.padding) == (1.0, 32, 3, 4)
    assert PAPER.taus == (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
    assert MEASURE_SCALES["paper"] == MeasureSettings(2000, 1000, keep_trials=False, ridge=1e-4)


@pytest.mark.parametrize(("scale", "total"), [("small", 48), ("paper", 339)])
def test_plans_are_whole_grids_seed_by_seed(scale: str, total: int) -> None:
    plans = plan_networks(SCALES[scale])
    assert len({plan.name for plan in plans}) == len(plans) == total
    size = total // 3
    for seed in range(3):
        part = plans[seed * size : (seed + 1) * size]
        assert {plan.seed for plan in part} == {seed}
        assert part[0].patch is None
        assert len({plan.cell for plan in part}) == size


def test_share_is_that_of_the_settings() -> None:
    plans = plan_networks(replace(SMALL, share=0.25))
    assert {plan.patch.share for plan in plans if plan.patch} == {0.25}
