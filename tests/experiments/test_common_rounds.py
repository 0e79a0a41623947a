"""The confirmation has fresh seeds and the settings of the pilot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from experiments.common.rounds import read_seeds, settings_of_round
from experiments.patch_gaussian import settings as patch
from experiments.patch_gaussian.run import Study as PatchStudy
from experiments.vae import scales as vae
from experiments.vae.__main__ import app
from experiments.vae.run import Study as VaeStudy
from experiments.vae.settings import checkpoint_steps, plan_networks
from typer.testing import CliRunner

from repshape.errors import InputError


@pytest.mark.parametrize("scale", list(patch.CONFIRMATION))
def test_patch_networks_of_the_confirmation_are_new(scale: str) -> None:
    pilot, fresh = patch.SCALES[scale], patch.CONFIRMATION[scale]
    names = {plan.name for plan in patch.plan_networks(pilot)}
    assert names.isdisjoint(plan.name for plan in patch.plan_networks(fresh))
    assert replace(fresh, seeds=pilot.seeds, first_seed=0) == pilot


def test_six_fresh_seeds_of_the_patch_grid() -> None:
    plans = patch.plan_networks(patch.CONFIRMATION["small"])
    assert len(plans) == 96
    assert {plan.seed for plan in plans} == set(range(3, 9))


@pytest.mark.parametrize("scale", list(vae.CONFIRMATION))
@pytest.mark.parametrize("dataset", list(vae.SCALES["small"]))
def test_autoencoders_of_the_confirmation_are_new(scale: str, dataset: str) -> None:
    pilot, fresh = vae.SCALES[scale][dataset], vae.CONFIRMATION[scale][dataset]
    names = {plan.name for plan in plan_networks(dataset, pilot)}
    assert names.isdisjoint(plan.name for plan in plan_networks(dataset, fresh))
    assert (fresh.architecture, fresh.steps) == (pilot.architecture, pilot.steps)
    assert fresh.learning_rate == pilot.learning_rate


def test_autoencoders_of_the_confirmation_are_as_many_as_planned() -> None:
    fresh = vae.CONFIRMATION["small"]["dsprites"]
    plans = plan_networks("dsprites", fresh)
    trained = [plan for plan in plans if plan.objective != "untrained"]
    assert len(trained) == 180
    assert {plan.seed for plan in trained} == set(range(10, 20))
    assert len(plans) - len(trained) == 200 * 3  # three initialisations, Glorot's among them
    kept = [plan for plan in plans if checkpoint_steps(plan, fresh)]
    assert len(kept) == 20  # two cells, every seed
    mnist = plan_networks("mnist", vae.CONFIRMATION["small"]["mnist"])
    assert 16.0 not in {plan.strength for plan in mnist}


def test_seeds_limit_the_work() -> None:
    study = PatchStudy.of_scale("small", Path(), None, "confirmation", range(4, 6))
    assert {plan.seed for plan in study.plans()} == {4, 5}
    assert len(study.plans()) == 32
    one = VaeStudy.of_scale("small", Path(), None, "dsprites", "confirmation", range(10, 11))
    assert len(one.plans()) == 18 + 3


@pytest.mark.parametrize("text", ["", "a", "3:", ":4", "1:2:3", "-1"])
def test_bad_seeds_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="number or a range"):
        read_seeds(text)


def test_a_scale_without_confirmation_is_refused() -> None:
    with pytest.raises(InputError, match="scales tiny, small"):
        settings_of_round(patch.ROUNDS, "confirmation", "wide")


def test_the_command_reports_bad_seeds(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["train", "--out", str(tmp_path), "--seeds", "x"])
    assert result.exit_code == 1
    assert "number or a range" in " ".join(result.output.split())
    assert not list(tmp_path.iterdir())
