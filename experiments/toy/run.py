"""Make the figures one by one, and keep files complete whenever a run is stopped."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import repshape as rs
from experiments.toy import figure1, figure2, supplement1, supplement2, supplement3, supplement4
from experiments.toy.data import CHOSEN, Settings, ToyData
from experiments.toy.result import FigureResult
from repshape.errors import check_choice
from repshape.io.writing import atomic_write
from repshape.plots.style import style

FIGURES: dict[str, Callable[[ToyData], FigureResult]] = {
    "fig1": figure1.make_figure,
    "fig2": figure2.make_figure,
    "supp1": supplement1.make_figure,
    "supp2": supplement2.make_figure,
    "supp3": supplement3.make_figure,
    "supp4": supplement4.make_figure,
}
RESULTS = "results.json"
DOTS_PER_INCH = 200
# Dates would make equal figures differ.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": DOTS_PER_INCH, "metadata": {"Software": None}},
    "pdf": {"dpi": 300, "metadata": {"CreationDate": None}},
}
PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib")


def run_figures(
    out: Path,
    settings: Settings,
    only: Iterable[str] = (),
    on_step: Callable[[str], None] = lambda name: None,
) -> dict[str, Any]:
    """Make figures and write them to a folder, with their numbers; return what was written.

    ``results.json`` is written anew after each figure, so that a run that is stopped leaves what
    it has finished. Equal settings give equal results, but for ``seconds``.

    Parameters
    ----------
    out : Path
        Folder for the files; it is made if it is missing.
    settings : Settings
        How large, and which seed.
    only : iterable of str
        Names of figures; all if empty.
    on_step : callable
        Called with the name of a figure before it is made.
    """
    names = [check_choice("only", name, FIGURES) for name in only] or list(FIGURES)
    out.mkdir(parents=True, exist_ok=True)
    data = ToyData(settings)
    results = header(settings)
    for name in (name for name in FIGURES if name in names):
        on_step(name)
        start = time.perf_counter()
        with style():
            found = FIGURES[name](data)
            save_figure(found, out)
        results["figures"][name] = found.summary()
        results["seconds"][name] = round(time.perf_counter() - start, 2)
        with atomic_write(out / RESULTS) as handle:
            handle.write((json.dumps(results, indent=2, allow_nan=False) + "\n").encode())
    return results


def header(settings: Settings) -> dict[str, Any]:
    """Return what is known before anything is measured."""
    versions = {"repshape": rs.__version__, "python": platform.python_version()}
    return {
        "settings": asdict(settings) | {"fewer_trials": list(settings.fewer_trials)},
        "versions": versions | {name: version(name) for name in PACKAGES},
        "chosen": dict(CHOSEN),
        "figures": {},
        "seconds": {},
    }


def save_figure(found: FigureResult, out: Path) -> None:
    """Write a picture in every format, each whole or not at all."""
    for suffix, options in FORMATS.items():
        with atomic_write(out / f"{found.name}.{suffix}") as handle:
            found.figure.savefig(handle, format=suffix, **options)


def all_claims(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the claims of all figures in a run."""
    return [claim for figure in results["figures"].values() for claim in figure["claims"]]
