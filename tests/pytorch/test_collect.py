"""`rs.pytorch.collect`: what it returns equals a plain loop over passes."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_support import dense, some_inputs

import repshape as rs
from repshape.pytorch.noise import trial_stream
from repshape.pytorch.sinks import MomentSink, Shape

INPUTS = some_inputs()


def responses(model: nn.Module, layer: str, n_trials: int, **options: Any) -> Any:
    found = rs.pytorch.collect(model, layer, INPUTS, n_trials, moments=False, **options)
    assert isinstance(found, rs.Trials)
    return found.stacked


def plain_loop(model: nn.Module, n_trials: int, scale: float, seed: int = 0) -> Any:
    """Trials of the output of a model with noise of its inputs, one pass at a time."""
    found = np.empty((len(INPUTS), n_trials, 4))
    for m, one in enumerate(INPUTS):
        for trial in range(n_trials):
            noise = trial_stream(seed, m, trial).standard_normal(6)
            with torch.no_grad():
                found[m, trial] = model(one + scale * torch.from_numpy(noise)).numpy()
    return found


def test_trials_equal_a_plain_loop() -> None:
    found = responses(dense(), "second", 7, noise=0.5)
    np.testing.assert_allclose(found, plain_loop(dense(), 7, 0.5), rtol=0, atol=1e-12)


@pytest.mark.parametrize("covariance", ["mle", "unbiased"])
@pytest.mark.parametrize("n_trials", [3, 4, 5, 40])
@pytest.mark.parametrize("batch_size", [1, 7, 256])
def test_moments_equal_a_plain_loop(n_trials: int, covariance: str, batch_size: int) -> None:
    options = {"noise": 0.5, "covariance": covariance, "batch_size": batch_size}
    found = rs.pytorch.collect(dense(), "second", INPUTS, n_trials, **options)
    loop = plain_loop(dense(), n_trials, 0.5)
    expected = [np.cov(one, rowvar=False, bias=covariance == "mle") for one in loop]
    np.testing.assert_allclose(found.means, loop.mean(axis=1), rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.covariances, expected, rtol=0, atol=1e-10)
    assert found.kind == ("factors" if n_trials <= 4 else "full")
    assert found.estimator == covariance


def test_thin_factors_are_those_of_the_trials() -> None:
    few = rs.pytorch.collect(dense(), "first", INPUTS, 4, noise=0.5)
    trials = rs.Trials(responses(dense(), "first", 4, noise=0.5))
    assert few.factors.shape == (5, 9, 3)
    np.testing.assert_allclose(few.factors, rs.estimate_moments(trials).factors, atol=1e-14)


def test_merging_is_exact_far_from_zero() -> None:
    """With a mean of 1e8 the sum of squares itself would lose every digit of the variance."""
    rows = np.random.default_rng(0).integers(-3, 4, size=(64, 2)).astype(float)
    sink = MomentSink("layer", Shape(1, 64, 2), "mle")
    for start in range(0, 64, 5):
        sink.add(0, start, rows[start : start + 5] + 1e8)
    expected = np.cov(rows, rowvar=False, bias=True)
    np.testing.assert_allclose(sink.network(None).covariances[0], expected, atol=1e-7)


class TestNoise:
    @pytest.mark.parametrize("noise", ["dropout", 0.3, lambda x, rng: x * rng.uniform()])
    def test_trials_differ_and_repeat_with_the_seed(self, noise: Any) -> None:
        found = responses(dense(), "second", 6, noise=noise)
        assert len(np.unique(found[0], axis=0)) > 3  # few units are active: masks may be equal
        np.testing.assert_array_equal(found, responses(dense(), "second", 6, noise=noise))
        other = responses(dense(), "second", 6, noise=noise, random_state=1)
        assert not np.allclose(found, other)

    @pytest.mark.parametrize("noise", ["dropout", 0.3])
    def test_noise_does_not_depend_on_the_batch_size(self, noise: Any) -> None:
        whole = responses(dense(), "second", 6, noise=noise)
        for batch_size in (1, 4, 13):
            parts = responses(dense(), "second", 6, noise=noise, batch_size=batch_size)
            np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-12)

    def test_more_trials_begin_with_the_same_ones(self) -> None:
        few, more = (responses(dense(), "second", L, noise="dropout") for L in (3, 8))
        np.testing.assert_allclose(more[:, :3], few, rtol=0, atol=1e-12)

    def test_dropout_keeps_each_unit_with_its_probability(self) -> None:
        """A kept unit is divided by the probability; 4500 draws have an error of 0.007."""
        model = dense(dropout=0.3)
        dropped = responses(model, "drop", 100, noise="dropout", batch_size=31)
        with torch.no_grad():
            rows = torch.relu(model.get_submodule("first")(INPUTS)).numpy()
        clean = np.repeat(rows[:, None], 100, axis=1)
        active = clean > 0
        kept = dropped[active] != 0
        np.testing.assert_allclose(dropped[active][kept], clean[active][kept] / 0.7)
        assert abs(kept.mean() - 0.7) < 4 * np.sqrt(0.21 / kept.size)

    def test_channels_are_dropped_together(self) -> None:
        model = nn.Sequential(nn.Dropout2d(0.5)).double().eval()
        maps = torch.ones(1, 6, 4, 4, dtype=torch.float64)
        found = rs.pytorch.collect(
            model, "0", maps, 20, noise="dropout", moments=False, readout="flatten"
        )
        channels = found.pooled.reshape(20, 6, 16)
        assert set(np.unique(channels)) == {0.0, 2.0}
        assert (channels == channels[:, :, :1]).all()
        assert 0 < channels.mean() < 2

    @pytest.mark.parametrize(
        ("kind", "distinct"), [(nn.AlphaDropout(0.4), 9), (nn.Dropout1d(0.4), 2)]
    )
    def test_other_kinds_of_dropout_are_seeded(self, kind: nn.Module, distinct: int) -> None:
        """Dropout1d takes a tensor of two dimensions for one input, and drops whole rows."""
        model = nn.Sequential(nn.Linear(6, 8).double(), kind).eval()
        first, again = (responses(model, "1", 9, noise="dropout") for _ in range(2))
        np.testing.assert_array_equal(first, again)
        assert len(np.unique(first[0], axis=0)) == distinct

    def test_attention_drops_in_an_evaluated_transformer(self) -> None:
        """PyTorch's fast path would skip both the hooks and the dropout."""
        block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2, batch_first=True)
        model = nn.TransformerEncoder(block, 1, enable_nested_tensor=False).eval()
        tokens = torch.randn(3, 4, 8, generator=torch.Generator().manual_seed(0))
        found = rs.pytorch.collect(
            model, "layers.0", tokens, 6, noise="dropout", readout="first-token", moments=False
        )
        assert len(np.unique(found["0"], axis=0)) == 6
        assert torch.backends.mha.get_fastpath_enabled()

    def test_a_model_that_samples_is_seeded(self) -> None:
        class Sampler(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                return x + torch.randn_like(x)

        found = rs.pytorch.collect(Sampler(), "", INPUTS, 400, moments=True)
        again = rs.pytorch.collect(Sampler(), "", INPUTS, 400, moments=True)
        np.testing.assert_array_equal(found.means, again.means)
        # 150 variances whose standard errors are sqrt(2 / 400) = 0.07
        assert abs(found.variances.mean() - 1) < 4 * 0.07 / np.sqrt(30)

    def test_train_mode_dropout_counts_without_asking(self) -> None:
        model = dense().train()
        np.testing.assert_array_equal(
            responses(model, "second", 5), responses(dense(), "second", 5, noise="dropout")
        )
        assert model.training
        assert model.get_submodule("drop").training


class TestModelIsLeftAsItWas:
    def test_modes_hooks_and_generators(self) -> None:
        model = dense()
        torch.manual_seed(3)
        expected = torch.random.get_rng_state()
        rs.pytorch.collect(model, "second", INPUTS, 3, noise="dropout")
        assert torch.equal(torch.random.get_rng_state(), expected)
        assert not any(module.training for module in model.modules())
        assert not any(module._forward_hooks for module in model.modules())

    def test_also_after_a_failure(self) -> None:
        model = dense()
        with pytest.raises(RuntimeError, match="no pass"):
            rs.pytorch.collect(model, "second", INPUTS, 3, noise=_fail)
        assert not any(module._forward_hooks for module in model.modules())
        assert torch.is_grad_enabled()


def _fail(x: Tensor, rng: np.random.Generator) -> Tensor:
    raise RuntimeError("no pass")


class TestLayers:
    def test_a_relu_in_place_does_not_change_what_was_taken(self) -> None:
        kept = responses(dense(inplace=False), "first", 3, noise=0.5)
        overwritten = responses(dense(inplace=True), "first", 3, noise=0.5)
        np.testing.assert_array_equal(kept, overwritten)
        assert (kept < 0).any()

    def test_several_layers_come_from_the_same_passes(self) -> None:
        model = dense()
        cohort = rs.pytorch.collect(
            model, ["drop", "second"], INPUTS, 4, noise="dropout", moments=False
        )
        assert cohort.labels == ("drop", "second")
        weight, bias = (p.detach().numpy() for p in model.get_submodule("second").parameters())
        drop, second = cohort["drop"].stacked, cohort["second"].stacked
        np.testing.assert_allclose(second, drop @ weight.T + bias, atol=1e-13)
        row = cohort.metadata.loc["drop"]
        assert (row["model"], row["layer"], row["n_trials"]) == ("Sequential", "drop", 4)
        assert (row["noise"], row["seed"]) == ("dropout", 0)

    def test_readouts(self) -> None:
        maps = torch.arange(2 * 3 * 4 * 5, dtype=torch.float64).reshape(2, 3, 4, 5)
        array = maps.numpy()
        tokens = maps[:, :, :, 0]
        expected = {
            "flatten": (maps, array.reshape(2, -1)),
            "spatial-mean": (maps, array.mean((2, 3))),
            "spatial-max": (maps, array.max((2, 3))),
            "first-token": (tokens, array[:, 0, :, 0]),
            "last-token": (tokens, array[:, -1, :, 0]),
            "token-mean": (tokens, array[..., 0].mean(1)),
        }
        for readout, (given, rows) in expected.items():
            found = rs.pytorch.collect(nn.Identity(), "", given, 1, moments=False, readout=readout)
            np.testing.assert_allclose(found.pooled, rows)
        own = rs.pytorch.collect(
            nn.Identity(), "", maps, 1, moments=False, readout=lambda x: x[:, :, 1, 2]
        )
        np.testing.assert_array_equal(own.pooled, array[:, :, 1, 2])

    def test_a_layer_that_runs_twice(self) -> None:
        class Twice(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.relu = nn.ReLU()

            def forward(self, x: Tensor) -> Any:
                return self.relu(self.relu(x) - 1)

        with pytest.raises(rs.errors.InputError, match=r"runs 2 times .* 'relu@1' for the first"):
            responses(Twice(), "relu", 2, noise=0.1)
        first, second = (
            rs.pytorch.collect(Twice(), f"relu@{k}", INPUTS, 1, moments=False) for k in (1, 2)
        )
        np.testing.assert_array_equal(first.pooled, INPUTS.clamp(min=0).numpy())
        np.testing.assert_array_equal(second.pooled, (INPUTS.clamp(min=0) - 1).clamp(min=0).numpy())
        with pytest.raises(rs.errors.InputError, match="as often as 3 times"):
            responses(Twice(), "relu@3", 2, noise=0.1)

    def test_half_precision_is_widened(self) -> None:
        model = nn.Linear(6, 3).to(torch.bfloat16)
        found = rs.pytorch.collect(model, "", INPUTS, 3, noise=0.5)
        assert found.means.dtype == np.float64


def test_arrays_and_labels() -> None:
    names = [f"image {m}" for m in range(5)]
    from_array = rs.pytorch.collect(
        dense(), "second", INPUTS.numpy().astype(np.float32), 3, noise=0.1, conditions=names
    )
    assert from_array.conditions == tuple(names)
    from_tensor = rs.pytorch.collect(dense(), "second", INPUTS.float(), 3, noise=0.1)
    np.testing.assert_array_equal(from_array.means, from_tensor.means)


def peak(n_trials: int, n_neurons: int = 40) -> int:
    """Bytes that a collection of moments allocates at most, of NumPy and of live tensors."""
    model = nn.Linear(6, n_neurons)
    live: list[int] = []
    calls = itertools.count()

    def count(module: nn.Module, arguments: Any, output: Any) -> None:
        if next(calls) % 8 == 4:  # looking at every object takes time
            objects = gc.get_objects()
            live.append(sum(one.nbytes for one in objects if issubclass(type(one), Tensor)))

    handle = model.register_forward_hook(count)
    inputs = INPUTS.float()
    gc.collect()
    tracemalloc.start()
    try:
        rs.pytorch.collect(model, "", inputs, n_trials, noise=0.1, batch_size=50)
        return tracemalloc.get_traced_memory()[1] + max(live)
    finally:
        tracemalloc.stop()
        handle.remove()


def test_memory_does_not_grow_with_the_number_of_trials() -> None:
    """300 more trials of 40 neurons and 5 conditions would be 480 kB in double precision."""
    few, many = peak(100), peak(400)
    assert many - few < 300 * 40 * 5 * 8 / 20
