"""Bad input of `rs.pytorch.collect` and `collect_gaussian` ends in one clear sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_support import dense, some_inputs

import repshape as rs
from repshape.errors import InputError, InputTypeError, RepshapeError

INPUTS = some_inputs()


def refused(words: str, error: type[Exception] = RepshapeError, **change: Any) -> None:
    given = {"model": dense(), "layer": "second", "inputs": INPUTS, "n_trials": 3, "noise": 0.1}
    with pytest.raises(error, match=words):
        rs.pytorch.collect(**(given | change))


class TestLayers:
    def test_a_wrong_name_lists_near_ones(self) -> None:
        refused("There is no layer named 'secnd'. Did you mean 'second'?", layer="secnd")
        refused(r"The layers are '', 'first', 'relu', 'drop', 'second'\.", layer="zzz")

    def test_wrong_kinds_of_names(self) -> None:
        refused("the name of a layer, as text, or a module .* Got 3", InputTypeError, layer=[3])
        refused("must be distinct. Got 'first' more than once", layer=["first", "first"])
        refused("At least one layer must be collected. Got none", layer=[])
        refused("counted from 1. Got 'relu@0'", layer="relu@0")

    def test_a_layer_that_does_not_run(self) -> None:
        model = dense()
        model.register_module("spare", nn.Linear(6, 2))
        model.forward = lambda x: model.get_submodule("first")(x)  # type: ignore[method-assign]
        refused("does not run the layer 'spare'", model=model, layer="spare")

    def test_readouts(self) -> None:
        maps = {"model": nn.Conv2d(1, 2, 3).double(), "layer": ""}
        maps["inputs"] = torch.zeros(3, 1, 5, 5, dtype=torch.float64)
        refused(r"shape \(inputs, 2, 3, 3\). Choose with 'readout' .* 'flatten'", **maps)
        refused("must be one of 'flatten', .* Got 'mean' instead", readout="mean", **maps)
        refused(r"is for tensors of shape \(inputs, tokens", readout="first-token", **maps)
        refused("function of layer '' must return a tensor", readout=lambda x: 3, **maps)
        refused(
            r"one dimension for the inputs. Got shape \(2, 2\) for 2 inputs and \(2, 2\) for 3",
            readout=lambda x: x[:2, :, 0, 0],
            **maps,
        )
        refused(
            r"\(inputs, neurons\). Got shape \(inputs, 2, 3\)", readout=lambda x: x[..., 0], **maps
        )
        refused("There is no layer named 'frst'", readout={"frst": "flatten"})


class TestModels:
    def test_not_a_model(self) -> None:
        refused("must be a torch.nn.Module. Got a function", InputTypeError, model=dense)

    def test_batch_normalisation_in_train_mode(self) -> None:
        model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4)).double()
        given = {"model": model, "layer": "1"}
        refused(r"batch normalisation '1' uses the statistics of each batch.*model\.eval", **given)
        model.eval()
        mean = model[1].running_mean.clone()
        rs.pytorch.collect(model, "1", INPUTS, 3, noise=0.1)
        assert torch.equal(model[1].running_mean, mean)
        model[1] = nn.BatchNorm1d(4, track_running_stats=False).double().eval()
        refused("keeps no running statistics", **given)

    def test_devices(self) -> None:
        refused("The model is on the device 'meta'", model=dense().to("meta"))
        refused(
            "must be on the device of the model, cpu, or on the CPU. Got a tensor on meta",
            inputs=INPUTS.to("meta"),
        )


class TestNoNoise:
    def test_equal_trials_are_warned_of(self) -> None:
        words = "All trials of layer 'second' are equal, as if there were no noise. Pass 'noise'"
        with pytest.warns(rs.pytorch.EqualTrialsWarning, match=words) as caught:
            found = rs.pytorch.collect(dense(), "second", INPUTS, 3)
        assert caught[0].filename == __file__
        assert found.total_variance.max() < 1e-20
        with pytest.warns(rs.pytorch.EqualTrialsWarning, match="the layers 'first', 'relu' are"):
            rs.pytorch.collect(dense(), ["first", "relu", "drop"], INPUTS, 3, noise="dropout")

    def test_rounding_is_not_noise(self) -> None:
        """In single precision, rows of a batch may be rounded differently."""
        model = nn.Sequential(nn.Linear(6, 300), nn.Linear(300, 7))
        with pytest.warns(rs.pytorch.EqualTrialsWarning):
            rs.pytorch.collect(model, "1", INPUTS, 37, batch_size=53)

    def test_a_model_without_dropout(self) -> None:
        refused(
            "needs a model with a dropout layer.*The Linear has none",
            model=nn.Linear(6, 2),
            layer="",
            noise="dropout",
        )
        refused("needs a model with a dropout layer", model=dense(dropout=0.0), noise="dropout")


class TestNumbers:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"n_trials": 1}, "at least two trials of every condition.*moments=False"),
            ({"n_trials": 0}, "'n_trials' parameter must be an integer of at least 1"),
            ({"n_trials": 2.0}, "'n_trials' parameter must be an integer"),
            ({"n_trials": 2**40}, "must be below"),
            ({"batch_size": 0}, "'batch_size' parameter"),
            ({"random_state": -1}, "'random_state' parameter"),
            ({"random_state": 2**63}, "must be below"),
            ({"moments": 1}, "'moments' parameter must be True or False"),
            ({"covariance": "oas"}, "one of 'mle', 'unbiased'"),
            ({"noise": -0.1}, "'noise' parameter must be a float in"),
            ({"noise": "drop"}, "'noise' parameter must be 'dropout', the standard deviation"),
            ({"noise": lambda x, rng: 3}, "must return a tensor, the input with noise"),
            ({"noise": lambda x, rng: x[: int(rng.integers(1, 6))]}, "tensors of one shape"),
            ({"inputs": torch.zeros(0, 6)}, "at least one. Got shape"),
            ({"inputs": torch.tensor(1.0)}, "conditions as their first dimension"),
            ({"inputs": ["a", "b"]}, "must be a tensor or an array of numbers"),
            ({"inputs": INPUTS * np.nan}, "must be finite. Got NaN or infinity at condition 0"),
            ({"name": "net"}, "need a 'cohort' to add the network to"),
            ({"conditions": ["a", "b"]}, "one label per condition. Got 2 labels for 5"),
            ({"conditions": ["a", "b", "a", "c", "d"]}, "distinct. Got 'a' more than once"),
        ],
    )
    def test_refused(self, change: dict[str, Any], words: str) -> None:
        refused(words, **change)

    def test_noise_needs_real_inputs(self) -> None:
        model = nn.Sequential(nn.Embedding(9, 4), nn.Flatten())
        refused(
            "The inputs must be real numbers to add noise",
            model=model,
            layer="1",
            inputs=torch.ones(2, 3, dtype=torch.int64),
        )

    def test_one_trial_of_each_condition_is_possible_without_moments(self) -> None:
        """A metric says then that a single trial has no noise."""
        found = rs.pytorch.collect(dense(), "second", INPUTS, 1, noise=0.1, moments=False)
        with pytest.warns(UserWarning, match="have a single trial"):
            rs.estimate_moments(found)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread = nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Any:
        return self.mean(x), self.spread(x)


class Sampling(Encoder):
    def forward(self, x: Tensor) -> Any:
        mean, logvar = super().forward(x)
        return mean + torch.exp(logvar / 2) * torch.randn_like(mean)


class TestEncoders:
    def test_variances_are_exponentials(self) -> None:
        model = Encoder().double()
        found = rs.pytorch.collect_gaussian(model, INPUTS, batch_size=2, conditions=list("abcde"))
        with torch.no_grad():
            mean, logvar = model(INPUTS)
        np.testing.assert_allclose(found.means, mean.numpy(), atol=1e-14)
        np.testing.assert_allclose(found.stored, np.exp(logvar.numpy()), rtol=1e-13)
        assert found.kind == "diagonal"
        assert found.conditions == tuple("abcde")

    def test_samples_have_these_moments(self) -> None:
        """The mean of 4000 samples has a standard error of a 63rd of the deviation."""
        model = Sampling().double()
        exact = rs.pytorch.collect_gaussian(model, INPUTS, ("mean", "spread"))
        sampled = rs.pytorch.collect(model, "", INPUTS, 4000, batch_size=1000)
        errors = (sampled.means - exact.means) / np.sqrt(exact.variances / 4000)
        assert np.abs(errors).max() < 4.5
        assert np.abs(sampled.variances / exact.variances - 1).max() < 4.5 * np.sqrt(2 / 4000)

    def test_into_a_cohort(self, tmp_path: Any) -> None:
        model, path = Encoder(), tmp_path / "c.zarr"
        first = rs.pytorch.collect_gaussian(
            model, INPUTS, cohort=path, name="vae", metadata={"b": 1}
        )
        again = rs.pytorch.collect_gaussian(
            model, INPUTS, cohort=path, name="vae", metadata={"b": 1}
        )
        assert first.fingerprint == again.fingerprint
        assert rs.Cohort.open(path).metadata["b"].tolist() == [1]
        with pytest.raises(InputError, match="with weights="):
            rs.pytorch.collect_gaussian(Encoder(), INPUTS, cohort=path, name="vae")
        with pytest.raises(InputTypeError, match="must be text"):
            rs.pytorch.collect_gaussian(model, INPUTS, cohort=path)

    @pytest.mark.parametrize(
        ("model", "layers", "words"),
        [
            (Sampling(), None, r"must return two tensors, \(mean, logvar\). Got Tensor"),
            (Encoder(), ("mean",), "must be two names"),
            (Encoder(), ("mean", "sprad"), "Did you mean 'spread'"),
            (Encoder(), "mean", "must be two names"),
            (nn.LSTM(6, 3), None, "Got 2 values|must return two tensors"),
        ],
    )
    def test_refused(self, model: nn.Module, layers: Any, words: str) -> None:
        with pytest.raises(RepshapeError, match=words):
            rs.pytorch.collect_gaussian(model, INPUTS, layers)

    def test_inputs_are_not_changed_and_dropout_is_off(self) -> None:
        given = INPUTS.clone()
        first = nn.ReLU(inplace=True)
        rs.pytorch.collect_gaussian(nn.Sequential(first, Encoder().double()), given)
        assert torch.equal(given, INPUTS)
        with pytest.raises(InputError, match="dropout of the model must be off"):
            rs.pytorch.collect_gaussian(nn.Sequential(nn.Dropout(0.1), Encoder()), INPUTS)

    def test_shapes(self) -> None:
        model = Encoder()
        model.spread = nn.Linear(6, 2)
        with pytest.raises(InputError, match="must have the same shape"):
            rs.pytorch.collect_gaussian(model, INPUTS)
        with pytest.raises(InputError, match=r"must have shape \(inputs, neurons\)"):
            rs.pytorch.collect_gaussian(Encoder(), INPUTS[:, None])


def test_without_pytorch_one_sentence_says_what_to_install() -> None:
    code = (
        "import sys, json; sys.modules['torch'] = None\n"
        "import repshape as rs\n"
        "found = []\n"
        "for name in rs.pytorch.__all__:\n"
        "    try: getattr(rs.pytorch, name)\n"
        "    except rs.errors.MissingDependencyError as error: found.append(str(error))\n"
        "print(json.dumps(found))"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert json.loads(ended.stdout) == [
        f"repshape.pytorch.{name} needs PyTorch: pip install 'repshape[torch]'."
        for name in rs.pytorch.__all__
    ]


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        rs.pytorch.nonsense  # noqa: B018
    assert dir(rs.pytorch) == sorted(rs.pytorch.__all__)
