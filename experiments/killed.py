"""Kill the training of a kept network on purpose, repeat the command, and compare the records.

python -m experiments.killed --images DIR --out DIR [--study vae] [--after 20]

For each network study, the command ``train`` is killed in the middle of the first trained network
of the confirmation, and then repeated until that network is finished. Its record, with the
fingerprint of its weights, must be the one that is kept in the archive of the study.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.common import files
from experiments.common.archives import NetworkFiles, find_archives, open_archive
from experiments.common.options import Images
from experiments.common.rounds import CONFIRMATION
from experiments.confirm import Studies
from experiments.patch_gaussian import run as patch_run
from experiments.vae import run as vae_run

# What a repeated run need not have in common: how long it took, and the version of the package.
DIFFERS = ("seconds", "core_seconds", "versions")
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Case:
    """One network whose training is killed.

    Attributes
    ----------
    study : str
    archives : Path
        Folder of the archives of the study.
    network : str
    options : tuple of str
        Of the command, so that few other networks are trained before it.
    """

    study: str
    archives: Path
    network: str
    options: tuple[str, ...]


CASES = {
    Studies.VAE: Case(
        "vae", vae_run.KEPT, "cifar10-beta-1-kaiming-10", ("--only", "cifar10", "--seeds", "10")
    ),
    Studies.PATCH_GAUSSIAN: Case("patch_gaussian", patch_run.KEPT, "none-seed3", ("--seeds", "3")),
}


@contextmanager
def training(case: Case, images: Path | None, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command that trains, and kill it at the end."""
    command = [sys.executable, "-m", f"experiments.{case.study}", "train", "--workers", "1"]
    command += ["--round", CONFIRMATION, "--out", str(out), *case.options]
    command += ["--images", str(images)] if images else []
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def core_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the processor time of a running process (Linux only)."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check(case: Case, images: Path | None, out: Path, after: float) -> list[str]:
    """Return the entries in which the record of the repeated run differs from the kept one."""
    folder = out / files.NETWORKS / case.network
    with training(case, images, out) as process:
        while not (folder / files.RECORD).exists() and core_seconds(process) < after:
            _wait(process)
    if (folder / files.RECORD).exists():
        raise typer.BadParameter("The network was finished before it was killed.")
    with training(case, images, out) as process:
        while not (folder / files.RECORD).exists():
            _wait(process)
    found = NetworkFiles(folder).json(files.RECORD)
    kept = kept_record(case)
    return [name for name in kept if name not in DIFFERS and kept[name] != found.get(name)]


def kept_record(case: Case) -> Mapping[str, Any]:
    """Return the record that is kept of the network."""
    for path in find_archives(case.archives, round=CONFIRMATION):
        archive = open_archive(path)
        if case.network in archive.networks:
            found: Mapping[str, Any] = NetworkFiles(Path(case.network), path).json(files.RECORD)
            return found
    raise typer.BadParameter(f"No archive has {case.network}.")


def _wait(process: subprocess.Popen[bytes]) -> None:
    time.sleep(POLL_SECONDS)
    if process.poll() is not None:
        raise typer.BadParameter("The command ended by itself. Run it alone to see why.")


def main(
    out: Annotated[Path, typer.Option(help="Folder for the networks; it must be new.")],
    images: Images = None,
    study: Annotated[Studies | None, typer.Option(help="Only this study.")] = None,
    after: Annotated[
        float, typer.Option(min=1, help="Seconds of processor time after which it is killed.")
    ] = 20,
) -> None:
    """Kill the training of one network of each study, repeat it and compare the records."""
    different = False
    for name, case in CASES.items():
        if study not in (None, name):
            continue
        differs = check(case, images, out / case.study, after)
        words = f"differs in {', '.join(differs)}" if differs else "is the same"
        typer.echo(f"{case.network}: the record of the repeated run {words}")
        different |= bool(differs)
    raise typer.Exit(int(different))


if __name__ == "__main__":
    typer.run(main)
