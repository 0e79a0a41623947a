"""The command that continues the confirmation: in which order, and what it does not do again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from experiments.common.archives import open_archive, write_archive
from experiments.common.rounds import CONFIRMATION
from experiments.patch_gaussian import run as patch_run
from experiments.vae import run as vae_run
from experiments.vae.settings import UNTRAINED
from rich.console import Console

from experiments import confirm

Calls = list[tuple[Any, ...]]


def pretend_to_keep(study: Any, part: str, target: Path) -> Path:
    """Add empty networks to the archive of a data set."""
    path = target / f"{getattr(study, 'only', 'cifar10')}.zip"
    names = [plan.name for plan in study.plans() if getattr(plan, "objective", "") != UNTRAINED]
    known = open_archive(path).networks if path.exists() else []
    write_archive(path, {name: {"record.json": b"{}"} for name in (*known, *names)}, {})
    return path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Calls:
    """What the commands were asked to do; nothing is trained or measured."""
    found: Calls = []

    def note(name: str) -> Any:
        def run(options: Any) -> None:
            found.append((name, str(getattr(options, "only", None)), options.seeds))

        return run

    for module, run in ((confirm.vae, vae_run), (confirm.patch_gaussian, patch_run)):
        monkeypatch.setattr(module, "train", note("train"))
        monkeypatch.setattr(module, "measure", note("measure"))
        monkeypatch.setattr(run, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(confirm.vae, "score", note("score"))
    for module in (confirm.vae_keep, confirm.patch_keep):
        monkeypatch.setattr(module, "keep_networks", pretend_to_keep)
    monkeypatch.setattr(confirm, "follow", lambda console, what, *rest: found.append((what,)))
    monkeypatch.setattr(confirm, "store_results", lambda out, to: found.append(("store", to.name)))
    (tmp_path / "kept").mkdir()
    return found


def run(out: Path, *, train: bool = True, seeds: str | None = None) -> confirm.Confirmation:
    return confirm.Confirmation(out, None, 1, train, Console(quiet=True), seeds)


def test_autoencoders_are_trained_seed_by_seed_once(calls: Calls, tmp_path: Path) -> None:
    run(tmp_path).autoencoders()
    seeds = [
        (only, seed) for name, only, seed in (c for c in calls if len(c) == 3) if name == "train"
    ]
    few = [str(seed) for seed in range(10, 14)]
    assert [seed for only, seed in seeds if only == "mnist"] == few
    assert [seed for only, seed in seeds if only == "cifar10"] == few
    assert [seed for only, seed in seeds if only == "dsprites"] == [str(s) for s in range(10, 20)]
    assert [only for only, _ in seeds] == sorted(
        (o for o, _ in seeds), key=["mnist", "cifar10", "dsprites"].index
    )
    assert sum(call[0] == "score" for call in calls) == 10
    assert [call[1] for call in calls if call[0] == "store"] == [CONFIRMATION, "paper"]
    calls.clear()
    run(tmp_path).autoencoders()
    assert [call[0] for call in calls] == ["untrained networks", "measure", "store"] * 2


def test_patch_networks_are_measured_once_all_are_trained(calls: Calls, tmp_path: Path) -> None:
    run(tmp_path, train=False).patch_networks()
    assert calls == []
    run(tmp_path).patch_networks()
    assert [call[2] for call in calls if call[0] == "train"] == [str(s) for s in range(3, 9)]
    assert [call[0] for call in calls[-2:]] == ["measure", "store"]
    calls.clear()
    run(tmp_path, train=False).patch_networks()
    assert [call[0] for call in calls] == ["measure", "store"]


def test_chosen_seeds_are_trained_and_measured_alone(calls: Calls, tmp_path: Path) -> None:
    run(tmp_path, seeds="3:5").patch_networks()
    assert [call[0::2] for call in calls if len(call) == 3] == [
        ("train", "3"),
        ("train", "4"),
        ("measure", "3:5"),
    ]
    calls.clear()
    run(tmp_path, train=False, seeds="3:6").patch_networks()
    assert calls == []  # seed 5 is missing
    run(tmp_path, seeds="10:12").autoencoders()
    trained = [call[1:] for call in calls if call[0] == "train"]
    assert trained == [(d, s) for d in ("mnist", "cifar10", "dsprites") for s in ("10", "11")]
    assert {call[2] for call in calls if call[0] == "measure"} == {"10:12"}


def test_results_are_copied(tmp_path: Path) -> None:
    for name in ("results.json", "arrays.npz"):
        (tmp_path / name).write_text(name)
    confirm.store_results(tmp_path, tmp_path / "a" / "b")
    assert {path.name: path.read_text() for path in (tmp_path / "a" / "b").iterdir()} == {
        "results.json": "results.json",
        "arrays.npz": "arrays.npz",
    }
