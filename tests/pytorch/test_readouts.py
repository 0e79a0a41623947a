"""Readouts: the dimensions of inputs, channels and positions, and outputs of several tensors."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import repshape as rs
from repshape.errors import InputError, InputTypeError
from repshape.pytorch.readouts import channels_of


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def collected(model: nn.Module, inputs: Any, readout: Any, layer: Any = "", **options: Any) -> Any:
    """One trial of each input, without noise."""
    return rs.pytorch.collect(model, layer, inputs, 1, moments=False, readout=readout, **options)


class TokensFirst(nn.Module):
    """Takes (inputs, tokens, channels) and returns (tokens, inputs, channels)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.movedim(1, 0)


class TestDimensionOfTheInputs:
    """As many tokens as inputs in the batch: sizes alone do not tell them apart."""

    INPUTS = some(6, 6, 4)
    EXPECTED: ClassVar = {
        "first-token": INPUTS[:, 0],
        "last-token": INPUTS[:, -1],
        "token-mean": INPUTS.mean(1),
        "flatten": INPUTS.flatten(1),
    }

    @pytest.mark.parametrize("model", [TokensFirst(), nn.Identity()])
    @pytest.mark.parametrize("readout", EXPECTED)
    @pytest.mark.parametrize("batch_size", [1, 4, 6, 256])
    def test_tokens_may_come_first(self, model: nn.Module, readout: str, batch_size: int) -> None:
        found = collected(model, self.INPUTS, readout, batch_size=batch_size)
        np.testing.assert_allclose(found.pooled, self.EXPECTED[readout].numpy(), atol=1e-14)

    @pytest.mark.parametrize("batch_first", [True, False])
    def test_an_encoder_in_both_conventions(self, batch_first: bool) -> None:
        """Its responses to one input do not depend on the other inputs, nor on their number."""

        class Encoder(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                torch.manual_seed(0)
                self.block = nn.TransformerEncoderLayer(4, 2, 8, batch_first=batch_first)

            def forward(self, x: Tensor) -> Any:
                return self.block(x if batch_first else x.movedim(1, 0))

        model = Encoder().double().eval()
        found = collected(model, self.INPUTS, "token-mean", "block", batch_size=6)
        with torch.no_grad():
            expected = [model(one[None]).reshape(6, 4).mean(0).numpy() for one in self.INPUTS]
        np.testing.assert_allclose(found.pooled, expected, atol=1e-12)

    def test_a_function_that_mixes_up_dimensions_is_refused(self) -> None:
        with pytest.raises(InputError, match=r"shape \(6, 4\) for 2 inputs and \(6, 4\) for 3"):
            collected(TokensFirst(), self.INPUTS, lambda x: x[:, -1], batch_size=6)

    def test_inputs_and_positions_in_one_dimension_are_refused(self) -> None:
        model = nn.Flatten(0, 1)
        with pytest.raises(InputError, match=r"\(12, 4\) for 2 inputs and \(18, 4\) for 3 inputs"):
            collected(model, self.INPUTS, None)

    def test_a_model_for_one_size_of_batches_says_why_it_ran(self) -> None:
        class Fixed(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                return x.reshape(6, 24)

        with pytest.raises(RuntimeError) as caught:
            collected(Fixed(), self.INPUTS, None, batch_size=6)
        assert "runs a model on 2 and on 3 inputs first" in caught.value.__notes__[0]


class LayerNormOfChannels(nn.LayerNorm):
    """A class derived from LayerNorm whose channels come first, as in several model libraries."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


class TestPlaceOfTheChannels:
    @pytest.mark.parametrize(
        ("module", "place"),
        [
            (nn.Conv1d(2, 2, 1), "first"),
            (nn.ConvTranspose2d(2, 2, 1), "first"),
            (nn.BatchNorm2d(2), "first"),
            (nn.GroupNorm(1, 2), "first"),
            (nn.AdaptiveAvgPool2d(2), "first"),
            (nn.MaxPool2d(2), "first"),
            (nn.Linear(2, 2), "last"),
            (nn.LayerNorm(2), "last"),
            (nn.LayerNorm((2, 2)), None),
            (LayerNormOfChannels(2), None),
            (nn.LSTM(2, 2), "last"),
            (nn.ReLU(), None),
            (nn.Identity(), None),
        ],
    )
    def test_by_the_kind_of_the_layer(self, module: nn.Module, place: str | None) -> None:
        assert channels_of(module) == place

    def test_maps(self) -> None:
        """The same convolution, and a linear layer on what it returns with the channels last."""

        class Both(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.conv, self.relu = nn.Conv2d(1, 3, 2), nn.ReLU()
                self.linear, self.gelu = nn.Linear(3, 5), nn.GELU()

            def forward(self, x: Tensor) -> Tensor:
                maps = self.relu(self.conv(x))
                return self.gelu(self.linear(maps.movedim(1, -1)))

        model, inputs = Both().double(), some(4, 1, 5, 6)
        found = collected(model, inputs, "map", ["conv", "relu", "linear", "gelu"])
        with torch.no_grad():
            conv = model.conv(inputs)
            linear = model.linear(conv.relu().movedim(1, -1))
        expected = {
            "conv": conv.movedim(1, -1),
            "relu": conv.relu().movedim(1, -1),
            "linear": linear,
            "gelu": nn.functional.gelu(linear),
        }
        for name, maps in expected.items():
            network = found[name]
            assert isinstance(network, rs.PositionNetwork)
            assert network.positions == (4, 5)
            assert network.n_neurons == maps.shape[-1]
            np.testing.assert_allclose(network.means, maps.numpy().reshape(4, 20, -1), atol=1e-12)

    def test_channels_of_unknown_layers_are_asked_for(self) -> None:
        maps = some(2, 3, 4, 5)
        with pytest.raises(InputError, match=r"kind, Identity, .* readout='map-channels-first' or"):
            collected(nn.Identity(), maps, "map")
        first = collected(nn.Identity(), maps, "map-channels-first")
        last = collected(nn.Identity(), maps, "map-channels-last")
        assert (first.positions, first.n_neurons) == ((4, 5), 3)
        assert (last.positions, last.n_neurons) == ((3, 4), 5)
        np.testing.assert_array_equal(first.means, maps.movedim(1, -1).numpy().reshape(2, 20, 3))
        np.testing.assert_array_equal(last.means, maps.numpy().reshape(2, 12, 5))

    def test_a_cube_does_not_tell_where_channels_are(self) -> None:
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()).double()
        with pytest.raises(InputError, match="does not say whether channels come first"):
            collected(model, some(2, 1, 6, 6), "map", "1")
        assert collected(model, some(2, 1, 6, 6), "map", "0").positions == (4, 4)

    def test_spatial_means_and_tokens_follow_the_kind(self) -> None:
        linear, conv = nn.Linear(3, 5).double(), nn.Conv1d(3, 5, 2).double()
        maps, sequences = some(2, 4, 6, 3), some(2, 3, 8)
        with torch.no_grad():
            expected = linear(maps).mean((1, 2)), conv(sequences).mean(2)
        found = collected(linear, maps, "spatial-mean"), collected(conv, sequences, "token-mean")
        for one, rows in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.pooled, rows.numpy(), atol=1e-14)

    def test_sequences(self) -> None:
        tokens, conv = some(3, 6, 4), nn.Conv1d(6, 2, 1).double()
        plain = collected(nn.Identity(), tokens, "sequence")
        assert (plain.positions, plain.n_neurons) == ((6,), 4)
        np.testing.assert_array_equal(plain.means, tokens.numpy())
        swapped = collected(TokensFirst(), tokens, "sequence")
        np.testing.assert_array_equal(swapped.means, tokens.numpy())
        other = collected(nn.Identity(), tokens, "sequence-channels-first")
        np.testing.assert_array_equal(other.means, tokens.movedim(1, 2).numpy())
        time = collected(nn.Sequential(conv, nn.ReLU()), tokens, "sequence", "1")
        assert (time.positions, time.n_neurons) == ((4,), 2)

    def test_shapes_that_do_not_fit(self) -> None:
        with pytest.raises(InputError, match=r"'map' is for .* Got shape \(inputs, 6, 4\)"):
            collected(nn.Identity(), some(3, 6, 4), "map")
        with pytest.raises(InputError, match=r"'sequence' is for .* Got shape \(inputs, 6\)"):
            collected(nn.Identity(), some(3, 6), "sequence")


class TestNetworksWithPositions:
    MODEL = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU()).double()
    IMAGES = some(4, 1, 6, 6)

    def test_moments_are_those_of_the_trials(self) -> None:
        for n_trials in (5, 60):  # thin factors, and full covariances of 48 columns
            options: dict[str, Any] = {"noise": 0.3, "readout": "map"}
            given = self.MODEL, "1", self.IMAGES, n_trials
            trials = rs.pytorch.collect(*given, moments=False, **options)
            moments = rs.pytorch.collect(*given, **options)
            assert trials.positions == moments.positions == (4, 4)
            np.testing.assert_allclose(moments.means, trials.means, atol=1e-12)
            expected = rs.estimate_moments(trials.flat).covariances
            np.testing.assert_allclose(moments.flat.covariances, expected, atol=1e-12)

    def test_the_metrics_take_them(self) -> None:
        """Channels in another order are the same network, and the means alone are not."""
        x = rs.pytorch.collect(self.MODEL, "0", self.IMAGES, 6, noise=0.3, readout="map")
        mixed = nn.Conv2d(1, 3, 3).double()
        with torch.no_grad():
            mixed.weight.copy_(self.MODEL[0].weight[[2, 0, 1]])
            mixed.bias.copy_(self.MODEL[0].bias[[2, 0, 1]])
        y = rs.pytorch.collect(mixed, "", self.IMAGES, 6, noise=0.3, readout="map")
        metric = rs.ConvShapeMetric(mode="joint", group="permutation")
        assert metric.distance(x, y) < 1e-6
        other = rs.pytorch.collect(mixed, "", self.IMAGES.flip(0), 6, noise=0.3, readout="map")
        assert metric.distance(x, other) > 0.1
        tokens = rs.pytorch.collect(
            TokensFirst(), "", some(3, 4, 2), 9, noise=1.0, readout="sequence"
        )
        assert rs.ProcessShapeMetric(mode="marginal").distance(tokens, tokens) < 1e-6

    @pytest.mark.parametrize("moments", [True, False])
    def test_cohorts_keep_positions(self, tmp_path: Path, moments: bool) -> None:
        path = tmp_path / "maps.zarr"
        options: dict[str, Any] = {"noise": 0.3, "readout": "map", "moments": moments}
        expected = rs.pytorch.collect(self.MODEL, "1", self.IMAGES, 5, **options)
        for _ in range(2):  # the second time, it is there already
            rs.pytorch.collect(self.MODEL, "1", self.IMAGES, 5, cohort=path, name="net", **options)
        cohort = rs.Cohort.open(path)
        assert cohort.verify() == (expected.fingerprint,)
        assert cohort["net"].positions == (4, 4)
        assert cohort.records[0].n_neurons == 3
        np.testing.assert_array_equal(cohort["net"].means, expected.means)


@dataclass
class Answer:
    logits: Tensor
    last_hidden_state: Tensor
    hidden_states: tuple[Tensor, ...]
    loss: Tensor | None = None


Pair = namedtuple("Pair", ["mean", "spread"])


class Several(nn.Module):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def forward(self, x: Tensor) -> Any:
        if self.form == "dataclass":
            return Answer(x[:, 0], x, (x + 1, x + 2))
        if self.form == "dict":
            return {"a": x, "b": x[:, 0] + 3, "none": None}
        if self.form == "pair":
            return Pair(x[:, 0], x[:, 1])
        return [x[:, 0]] if self.form == "list" else (3, "text")


class TestSeveralTensors:
    INPUTS = some(3, 5, 4)

    @pytest.mark.parametrize(
        ("form", "readout", "expected"),
        [
            ("dataclass", "token-mean", INPUTS.mean(1)),  # of the last hidden state
            ("dataclass", "logits:flatten", INPUTS[:, 0]),
            ("dataclass", "hidden_states.1:first-token", INPUTS[:, 0] + 2),
            ("dict", "b:flatten", INPUTS[:, 0] + 3),
            ("pair", "spread:flatten", INPUTS[:, 1]),
            ("list", None, INPUTS[:, 0]),
        ],
    )
    def test_one_is_chosen_by_its_key(self, form: str, readout: Any, expected: Tensor) -> None:
        found = collected(Several(form), self.INPUTS, readout)
        np.testing.assert_array_equal(found.pooled, expected.numpy())

    def test_an_error_lists_the_keys(self) -> None:
        with pytest.raises(InputError, match=r"a dict with the tensors 'a', 'b'. Choose .*'a:fla"):
            collected(Several("dict"), self.INPUTS, "flatten")
        with pytest.raises(InputError, match=r"tensors 'mean', 'spread'.* Got 'variance'"):
            collected(Several("pair"), self.INPUTS, "variance:flatten")
        with pytest.raises(InputError, match=r"which has no parts. Got the key 'x"):
            collected(nn.Identity(), self.INPUTS, "x:flatten")
        with pytest.raises(InputTypeError, match=r"dict or dataclass of tensors. Got a tu"):
            collected(Several("numbers"), self.INPUTS, None)
        with pytest.raises(InputError, match=r"one of 'flatten', .* Got 'tokens' instead"):
            collected(Several("dict"), self.INPUTS, "a:tokens")
        with pytest.raises(InputTypeError, match="'readout' parameter must be the name"):
            collected(Several("dict"), self.INPUTS, 3)

    @pytest.mark.parametrize("batch_first", [True, False])
    def test_recurrent_layers_return_responses_first(self, batch_first: bool) -> None:
        class Recurrent(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                torch.manual_seed(0)
                self.lstm = nn.LSTM(4, 2, batch_first=batch_first)

            def forward(self, x: Tensor) -> Any:
                return self.lstm(x if batch_first else x.movedim(1, 0))

        model = Recurrent().double()
        found = collected(model, self.INPUTS, "sequence", "lstm")
        assert (found.positions, found.n_neurons) == ((5,), 2)
        last = collected(model, self.INPUTS, "1.0:flatten", "lstm")  # the last hidden state
        np.testing.assert_allclose(last.means, found.means[:, -1], atol=1e-12)
