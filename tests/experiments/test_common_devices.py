"""Training and collecting run on any device: nothing is tied to the processor.

The device "meta" has shapes but no numbers, and refuses to mix with tensors of the processor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from experiments.common.devices import check_device, device_of
from experiments.patch_gaussian.__main__ import app as patch_app
from experiments.patch_gaussian.networks import build_network, get_weights
from experiments.vae import training
from experiments.vae.__main__ import app as vae_app
from experiments.vae.networks import Vae
from experiments.vae.objectives import REGULARISERS
from experiments.vae.scales import SPRITES_SMALL
from experiments.vae.settings import NetworkPlan
from patch_support import TINY
from torch.nn import functional
from typer.testing import CliRunner

from repshape.errors import InputError


@pytest.fixture
def plain_adam(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fused kernel of Adam is not there for meta tensors."""
    original: Any = torch.optim.Adam
    monkeypatch.setattr(
        torch.optim, "Adam", lambda *arguments, fused, **options: original(*arguments, **options)
    )


@pytest.mark.usefixtures("plain_adam")
@pytest.mark.parametrize("objective", list(REGULARISERS))
def test_a_step_of_every_objective_stays_on_its_device(objective: str) -> None:
    vae = Vae.build(SPRITES_SMALL.architecture, 0, "kaiming", "meta")
    plan = NetworkPlan("dsprites", objective, 4.0, 0, "kaiming")
    step = training._Step(plan, SPRITES_SMALL, vae)
    side = SPRITES_SMALL.architecture.side
    loss = step.take(torch.zeros(8, 1, side, side, device="meta"), 0.5)
    assert loss.device.type == "meta"
    for parameter in vae.parameters():
        assert parameter.grad is not None
        assert parameter.grad.device.type == "meta"


def test_a_residual_network_stays_on_its_device() -> None:
    network = build_network(TINY.architecture, [0.0] * 3, [1.0] * 3, 0).to("meta")
    images = torch.zeros(4, 3, TINY.side, TINY.side, device="meta")
    loss = functional.cross_entropy(network(images), torch.zeros(4, dtype=int, device="meta"))
    torch.autograd.backward(loss)
    assert device_of(network).type == loss.device.type == "meta"
    assert {one.device.type for one in network.state_dict().values()} == {"meta"}


def test_the_processor_is_a_device() -> None:
    assert check_device("cpu") == "cpu"
    network = build_network(TINY.architecture, [0.0] * 3, [1.0] * 3, 0)
    weights = get_weights(network.to("cpu"))
    assert weights.keys() == network.state_dict().keys()


@pytest.mark.parametrize("name", ["nonsense", "cuda:99"])
def test_other_devices_are_refused_in_a_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    with pytest.raises(InputError, match=rf"must be available. Got '{name}'"):
        check_device(name)
    for app in (vae_app, patch_app):
        done = CliRunner().invoke(app, ["train", "--out", str(tmp_path), "--device", name])
        assert done.exit_code == 1
        assert "The device must be available." in " ".join(done.output.split())
        assert not list(tmp_path.iterdir())
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
