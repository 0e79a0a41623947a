"""Every pass is a trial, whatever kind of noise a model has."""

from __future__ import annotations

import random
import warnings
from collections import OrderedDict
from typing import Any

import noisy_models as models
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_support import some_inputs

import repshape as rs
from repshape.pytorch import passes, planning
from repshape.pytorch.sharing import permutation_test

INPUTS = some_inputs(2, models.N_INPUTS)
TRIALS = 600

DROPOUT = {"noise": "dropout"}
# Each with what `collect` is given, and whether trials need a pass of their own.
MATRIX: dict[str, tuple[Any, dict[str, Any], str]] = {
    "dropout layer": (lambda: models.DropoutLayer(nn.Dropout(0.3)), DROPOUT, "per-example"),
    "alpha dropout": (lambda: models.DropoutLayer(nn.AlphaDropout(0.3)), DROPOUT, "per-example"),
    "dropout of rows": (lambda: models.DropoutLayer(nn.Dropout1d(0.5)), DROPOUT, "per-example"),
    "functional dropout": (models.FunctionalDropout, DROPOUT, "per-example"),
    "guarded dropout": (models.GuardedDropout, DROPOUT, "per-example"),
    "train mode": (lambda: models.FunctionalDropout().train(), {}, "per-example"),
    "own drop path": (
        lambda: models.DropoutLayer(models.DropPath(batch=False)),
        DROPOUT,
        "per-example",
    ),
    "depth of a batch": (
        lambda: models.DropoutLayer(models.DropPath(batch=True)),
        DROPOUT,
        "per-pass",
    ),
    "noise in train mode": (
        lambda: models.DropoutLayer(models.GaussianNoise()),
        DROPOUT,
        "per-example",
    ),
    "batch normalisation": (models.BatchNormOfTraining, {}, "per-pass"),
    "noisy weights": (models.NoisyWeights, {}, "per-pass"),
    "noisy weights, dropout": (models.NoisyWeightsAndDropout, DROPOUT, "per-pass"),
    "shared mask": (models.SharedMask, {}, "per-pass"),
    "sampling": (models.Sampler, {}, "per-example"),
    "Python's generator": (models.PythonDepth, {}, "per-pass"),
    "NumPy's generator": (models.NumpyNoise, {}, "per-pass"),
    "own generator": (models.OwnGenerator, {}, "per-pass"),
    "one row for all": (models.SharedByAverage, {}, "per-pass"),
    "row by row": (models.RowByRow, {}, "per-example"),
    "dropout of positions": (models.DropoutOfPositions, DROPOUT, "per-pass"),
    "noise of inputs": (models.Noisy, {"noise": 0.5}, "per-example"),
}


def make(kind: str) -> tuple[nn.Module, dict[str, Any], str]:
    build, options, passes = MATRIX[kind]
    model = build()
    return (model if kind == "train mode" else model.eval()), options, passes


_loops: dict[str, Any] = {}


def plain_variances(kind: str) -> Any:
    """Total variance of each condition over a plain loop of single passes, in train mode."""
    if kind not in _loops:
        model, options, _ = make(kind)
        model.train(options == DROPOUT or kind == "train mode")
        scale = options.get("noise", 0.0) if options != DROPOUT else 0.0
        generator = torch.Generator().manual_seed(99)
        found = np.empty((len(INPUTS), TRIALS, models.N_UNITS))
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(11)
            for m, one in enumerate(INPUTS):
                for trial in range(TRIALS):
                    noise = torch.randn(one.shape, generator=generator, dtype=one.dtype)
                    found[m, trial] = model((one + scale * noise)[None])[0].numpy()
        _loops[kind] = found.var(axis=1).sum(axis=1)
    return _loops[kind]


# Batches of one are slow, and take the path of the plain loop: a few kinds of noise show it.
SINGLE = ("noisy weights", "dropout layer", "batch normalisation")
assert set(SINGLE) <= set(MATRIX)
CELLS = [
    pytest.param(
        kind, size, marks=[pytest.mark.nightly] if size == 1 and kind not in SINGLE else []
    )
    for kind in MATRIX
    for size in (1, 16, 256)
]


@pytest.mark.parametrize(("kind", "batch_size"), CELLS)
def test_variances_are_those_of_a_loop_of_single_passes(kind: str, batch_size: int) -> None:
    """Noise of 128 units has 128 x 600 draws: a ratio of two variances has an error of 0.7 %."""
    model, options, passes = make(kind)
    cohort = rs.Cohort()
    rs.pytorch.collect(
        model, "", INPUTS, TRIALS, batch_size=batch_size, cohort=cohort, name="net", **options
    )
    np.testing.assert_allclose(
        cohort["net"].total_variance, plain_variances(kind), rtol=0.03, err_msg=kind
    )
    if batch_size > 1:
        assert cohort.metadata.loc["net", "passes"] == passes


class TestAuto:
    def test_independent_of_the_batch_size_if_all_noise_is_shared(self) -> None:
        found = [
            rs.pytorch.collect(models.NoisyWeights(), "", some_inputs(5, 64), 6, batch_size=size)
            for size in (2, 3, 256)
        ]
        for one in found[1:]:
            np.testing.assert_allclose(one.means, found[0].means, rtol=0, atol=1e-12)

    def test_all_conditions_of_a_trial_have_one_draw(self) -> None:
        x = rs.pytorch.collect(models.SharedByAverage(), "", INPUTS, 4, moments=False).stacked
        shift = x - x.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(shift[0], shift[1], atol=1e-12)
        assert len(np.unique(shift[0, :, 0])) == 4

    def test_long_trials_of_one_condition_are_handed_over_in_parts(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = rs.pytorch.collect(models.NoisyWeights(), "", INPUTS, 20, moments=False)
        for module in (passes, planning):
            monkeypatch.setattr(module, "HELD_BYTES", 3 * 8 * models.N_UNITS)
        parts = rs.pytorch.collect(models.NoisyWeights(), "", INPUTS, 20, moments=False)
        np.testing.assert_allclose(parts.stacked, whole.stacked, rtol=0, atol=1e-12)

    def test_a_small_share_of_the_noise_is_enough(self) -> None:
        """All random numbers are counted, so that 0.001 % of the variance is found too."""
        model = models.NoisyWeightsAndDropout(shared=1e-3).eval()
        assert settings(model)["passes"] == "per-pass"

    def test_layers_before_the_noise_are_not_concerned(self) -> None:
        model = nn.Sequential(nn.Linear(64, 5).double(), models.DropPath(batch=True).train())
        assert settings(model, layer="0", noise=0.1)["passes"] == "per-example"
        assert settings(model, layer="0", noise=0.1)["batch_size"] is None
        assert settings(model, layer="1", noise=0.1)["passes"] == "per-pass"

    def test_passes_that_repeat_their_noise(self) -> None:
        """A single pass is the same each time, whatever differs between rows of a batch."""
        with pytest.warns(rs.pytorch.EqualTrialsWarning, match="does it set a seed"):
            found = rs.pytorch.collect(models.Reseeding(), "", INPUTS, 5)
        assert found.total_variance.max() == 0
        assert settings(models.Reseeding(extra=1.0))["passes"] == "per-pass"

    def test_a_choice_is_obeyed(self) -> None:
        shared = settings(models.NoisyWeightsAndDropout(), passes="per-example")
        single = settings(models.Sampler(), passes="per-pass")
        assert (shared["passes"], single["passes"]) == ("per-example", "per-pass")
        with pytest.warns(rs.pytorch.EqualTrialsWarning, match="pass passes='per-pass'"):
            settings(models.NoisyWeights(), passes="per-example")
        with pytest.raises(rs.errors.InputError, match="one of 'auto', 'per-example', 'per-pass'"):
            settings(models.Sampler(), passes="single")

    def test_generators_are_left_as_they_were(self) -> None:
        random.seed(3)
        before = random.getstate(), np.random.get_state()[2]  # noqa: NPY002
        first, again = (settings(models.PythonDepth(), moments=False) for _ in range(2))
        assert first == again
        assert (random.getstate(), np.random.get_state()[2]) == before  # noqa: NPY002
        x, y = (rs.pytorch.collect(models.NumpyNoise(), "", INPUTS, 3) for _ in range(2))
        np.testing.assert_array_equal(x.means, y.means)


def settings(model: nn.Module, layer: str = "", n_trials: int = 40, **options: Any) -> Any:
    cohort = rs.Cohort()
    rs.pytorch.collect(model, layer, INPUTS, n_trials, cohort=cohort, name="net", **options)
    row = cohort.metadata.loc["net"]
    return {key: row[key] for key in ("passes", "switched_on", "batch_size")}


class TestPermutationTest:
    """Ten passes with sixteen rows of three columns."""

    @staticmethod
    def p_values(shared: float, count: int, axis: int = 1) -> Any:
        rng = np.random.default_rng(0)
        shape = (10, 1, 3) if axis == 1 else (1, 16, 3)
        heavy = rng.standard_t(3, size=(count, 10, 16, 3))
        both = heavy + shared * rng.standard_normal((count, *shape))
        return np.array([permutation_test([one]) for one in both])

    def test_its_level(self) -> None:
        """Noise with heavy tails; 300 tests at 0.1 find 30 and have an error of 5.2."""
        found = (self.p_values(0.0, 300) <= 0.1).sum()
        assert abs(found - 30) < 4 * 5.2

    @pytest.mark.parametrize("axis", [0, 1])
    def test_its_power(self, axis: int) -> None:
        """Shared noise with a fifth of the variance, which is 3 here, is found."""
        assert (self.p_values(np.sqrt(0.75), 50, axis) <= 0.01).mean() > 0.95


class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(x, 0.3, training=False)


class Auxiliary(models.Noisy):
    """Returns something else in train mode, as networks with auxiliary classifiers do."""

    def forward(self, x: Tensor) -> Any:
        rows = functional.dropout(self.clean(x), 0.3, training=self.training)
        return rows[:, :1] if self.training else rows


class OwnNormalisation(models.Noisy):
    """Batch normalisation by hand, with noise in train mode."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.register_buffer("running", torch.zeros(models.N_UNITS, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        rows = self.clean(x)
        if self.training:
            self.steps += 1
            self.running += 0.1 * (rows.mean(0) - self.running)
            rows = rows + torch.randn_like(rows)
        return rows - self.running


class TestSwitchedOn:
    def test_the_modules_are_named(self) -> None:
        found = settings(models.DropoutLayer(models.GaussianNoise()).eval(), noise="dropout")
        assert found["switched_on"] == "'drop'"
        assert settings(dense_64(), noise="dropout")["switched_on"] == "'drop'"
        assert settings(models.Sampler())["switched_on"] is None

    def test_modes_are_left_as_they_were(self) -> None:
        model = models.DropoutLayer(models.GaussianNoise()).eval()
        settings(model, noise="dropout")
        assert not any(one.training for one in model.modules())
        assert not any(one._forward_pre_hooks or one._forward_hooks for one in model.modules())

    def test_functional_dropout_that_stays_off_is_named(self) -> None:
        model = nn.Sequential(nn.Dropout(0.1), Inner()).eval()
        words = r"could not switch on dropout in '1'\. The responses lack this noise"
        with pytest.warns(rs.pytorch.SkippedNoiseWarning, match=words) as caught:
            rs.pytorch.collect(model, "1", INPUTS, 3, noise="dropout")
        assert caught[0].filename == __file__
        with pytest.raises(rs.errors.InputError, match="cannot switch on dropout in '',"):
            rs.pytorch.collect(Inner(), "", INPUTS, 3, noise="dropout")

    @pytest.mark.parametrize("kind", [Auxiliary, OwnNormalisation])
    def test_modules_that_do_more_in_train_mode_stay_off(self, kind: Any) -> None:
        model = nn.Sequential(kind(), nn.Dropout(0.2)).eval()
        before = {name: one.clone() for name, one in model.state_dict().items()}
        with pytest.warns(rs.pytorch.SkippedNoiseWarning, match=f"noise of {kind.__name__} '0'"):
            rs.pytorch.collect(model, "1", INPUTS, 3, noise="dropout")
        after = model.state_dict()
        assert getattr(model[0], "steps", 0) == 0
        assert all(torch.equal(one, after[name]) for name, one in before.items())

    def test_no_warning_without_dropout(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rs.pytorch.collect(models.FunctionalDropout().eval(), "", INPUTS, 3, noise=0.1)


def dense_64() -> nn.Module:
    return nn.Sequential(OrderedDict(first=nn.Linear(64, 9), drop=nn.Dropout(0.3))).double().eval()


class FunctionalNormalisation(models.Noisy):
    def forward(self, x: Tensor) -> Tensor:
        return functional.batch_norm(self.clean(x), None, None, training=True)


def test_statistics_of_batches_in_a_function_are_refused() -> None:
    words = "module '' calls batch_norm with training=True, which uses the statistics of each batch"
    with pytest.raises(rs.errors.InputError, match=words):
        rs.pytorch.collect(FunctionalNormalisation(), "", INPUTS, 3, noise=0.1)
    model = nn.BatchNorm1d(64).double()
    with pytest.raises(rs.errors.InputError, match="Monte Carlo batch normalisation"):
        rs.pytorch.collect(model, "", INPUTS, 3, noise=0.1)
