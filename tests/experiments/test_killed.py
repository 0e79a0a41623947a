"""The program that kills a training on purpose, with commands that only pretend to train."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from experiments.common import files
from experiments.common.archives import write_archive
from experiments.common.rounds import CONFIRMATION

from experiments import killed

NAME = "none-seed3"
# Trains for ever in the first run, and finishes in the second.
PRETEND = """
import json, sys, time
from pathlib import Path
out = Path(sys.argv[1])
folder = out / "networks" / "none-seed3"
again = folder.exists()
folder.mkdir(parents=True, exist_ok=True)
if again:
    (folder / "record.json").write_text(json.dumps({"loss": 0.5, "seconds": 7.0}))
while True:
    sum(range(100_000))
"""


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> killed.Case:
    """A study whose archive has one network."""
    original: Any = subprocess.Popen

    def pretend(command: list[str], **options: Any) -> Any:
        out = command[command.index("--out") + 1]
        return original([sys.executable, "-c", PRETEND, out], **options)

    monkeypatch.setattr(subprocess, "Popen", pretend)
    return killed.Case("patch_gaussian", tmp_path / "kept", NAME, ("--seeds", "3"))


def keep(case: killed.Case, record: dict[str, Any]) -> None:
    contents = {NAME: {files.RECORD: json.dumps(record).encode()}}
    write_archive(case.archives / "kept.zip", contents, {"round": CONFIRMATION})


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor times are of Linux")
@pytest.mark.parametrize(("loss", "differs"), [(0.5, []), (0.25, ["loss"])])
def test_the_record_of_a_repeated_run_is_compared_with_the_kept_one(
    case: killed.Case, tmp_path: Path, loss: float, differs: list[str]
) -> None:
    """Times may differ; everything else must not."""
    keep(case, {"loss": loss, "seconds": 3.0})
    assert killed.check(case, None, tmp_path / "out", after=0.5) == differs


def test_a_network_that_is_not_kept_is_reported(case: killed.Case) -> None:
    keep(case, {"loss": 0.5})
    other = killed.Case(case.study, case.archives, "none-seed99", ())
    with pytest.raises(typer.BadParameter, match="No archive has none-seed99"):
        killed.kept_record(other)


def test_the_networks_that_are_killed_are_kept() -> None:
    for one in killed.CASES.values():
        assert killed.kept_record(one)["name"] == one.network
