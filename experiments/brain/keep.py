"""Keep the distances of a finished run in one file, from which its page is redrawn.

python -m experiments.brain.keep DIR [--coverage DIR]

Kept are all pieces of the run (distances between sessions, intervals, the multiverse, true values),
what the records say of the sessions, and the moments of the example of Figure 3; no spike counts.
Numbers are rounded to seven digits.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.brain.coverage import COVERAGE
from experiments.brain.settings import Settings, Source
from experiments.brain.study import PIECES, RECORDS, Study
from experiments.common.files import SETTINGS, write_whole
from repshape.errors import InputError

KEPT = Path(__file__).with_name("results")
RECORDED = ("name", "animal", "n_neurons", "left_out")  # of a session
DIGITS = 7


def kept_file(source: str) -> Path:
    """Return the file of a source."""
    return KEPT / f"{source}.json.gz"


def rounded(value: Any) -> Any:
    """Round all numbers.

    >>> rounded({"a": [1 / 3, 2]})
    {'a': [0.3333333, 2]}
    """
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def keep_run(study: Study, path: Path, coverage: Path | None = None) -> None:
    """Write what a finished run measured."""
    records = [{name: one[name] for name in RECORDED} for one in study.records]
    found = {
        "source": str(study.source),
        "settings": asdict(study.settings),
        RECORDS: records,
        PIECES: {name: study.read(name) for name in study.measured},
        "coverage": json.loads((coverage / COVERAGE).read_text()) if coverage else None,
    }
    text = json.dumps(rounded(found), allow_nan=False, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(path) as handle:
        handle.write(gzip.compress(text.encode(), mtime=0))


def open_kept(path: Path, out: Path) -> Study:
    """Return a finished run that was kept; figures and results go to another folder."""
    if not path.exists():
        raise InputError(f"{path} does not exist. Run python -m experiments.brain.keep first.")
    found = json.loads(gzip.decompress(path.read_bytes()))
    out.mkdir(parents=True, exist_ok=True)
    return Study(out, Source(found["source"]), settings_from(found["settings"]), stored=found)


def settings_from(stored: dict[str, Any]) -> Settings:
    """Return settings from JSON, where tuples are lists."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
    return Settings(**values)


def open_run(folder: Path) -> Study:
    """Return the run of a folder, with the settings that it was made with."""
    path = folder / SETTINGS
    if not path.exists():
        raise InputError(f"{folder} has no {SETTINGS}. Run the step 'measure' first.")
    stored = dict(json.loads(path.read_text())["settings"])
    return Study(folder, Source(stored.pop("source")), settings_from(stored))


def main(
    run: Annotated[Path, typer.Argument(help="Folder of a run of python -m experiments.brain.")],
    coverage: Annotated[
        Path | None, typer.Option(help="Folder of a run of python -m experiments.brain.coverage.")
    ] = None,
) -> None:
    """Keep the distances of a finished run."""
    study = open_run(run)
    path = kept_file(study.source)
    keep_run(study, path, coverage)
    typer.echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)", err=True)


if __name__ == "__main__":
    typer.run(main)
