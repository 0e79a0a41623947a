"""Measure the figures one by one, and draw them from what was stored.

A run can be stopped at any time: every file is written completely or not at all.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import repshape as rs
from experiments.common.results import analysis_versions
from experiments.toy import figure1, figure2, supplement1, supplement2, supplement3, supplement4
from experiments.toy.data import CHOSEN, Settings, ToyData
from experiments.toy.result import Arrays, FigureResult
from repshape.errors import InputError, check_choice
from repshape.io.writing import open_output


@dataclass(frozen=True)
class Steps:
    """The two steps that make a figure."""

    measure: Callable[[ToyData], FigureResult]
    draw: Callable[[Arrays, Settings], Figure]


FIGURES = {
    "fig1": Steps(figure1.measure, figure1.draw),
    "fig2": Steps(figure2.measure, figure2.draw),
    "supp1": Steps(supplement1.measure, supplement1.draw),
    "supp2": Steps(supplement2.measure, supplement2.draw),
    "supp3": Steps(supplement3.measure, supplement3.draw),
    "supp4": Steps(supplement4.measure, supplement4.draw),
}
RESULTS = "results.json"
# Dates and versions would make equal figures differ.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200, "metadata": {"Software": None}},
    "pdf": {"dpi": 300, "metadata": {"CreationDate": None}},
}
PACKAGES = ("pandas", "matplotlib")


def measure(
    out: Path,
    settings: Settings,
    only: Iterable[str] = (),
    on_step: Callable[[str], None] = lambda name: None,
) -> dict[str, Any]:
    """Measure figures and write ``results.json`` and one ``.npz`` file of arrays for each.

    ``results.json`` is written after each figure, so that an interrupted run leaves what it has
    finished. The same settings give the same results, except for ``seconds``.

    Parameters
    ----------
    out : Path
        Folder for the files. It is created if it does not exist.
    settings : Settings
        Sizes and seed.
    only : iterable of str
        Names of figures; by default all.
    on_step : callable
        Called with the name of each figure before it is measured.

    Returns
    -------
    dict
        The content of ``results.json``.
    """
    names = chosen(only)
    out.mkdir(parents=True, exist_ok=True)
    data = ToyData(settings)
    results = header(settings)
    for name in names:
        on_step(name)
        start = time.process_time()
        found = FIGURES[name].measure(data)
        arrays: dict[str, Any] = dict(found.arrays)
        with open_output(out / f"{name}.npz") as handle:
            np.savez_compressed(handle, **arrays)
        results["figures"][name] = found.summary()
        results["seconds"][name] = round(time.process_time() - start, 2)
        with open_output(out / RESULTS) as handle:
            handle.write((json.dumps(results, indent=2, allow_nan=False) + "\n").encode())
    return results


def draw_figures(
    out: Path, only: Iterable[str] = (), on_step: Callable[[str], None] = lambda name: None
) -> dict[str, Any]:
    """Draw the figures that `measure` stored in a folder, and return its results."""
    wanted = chosen(only)
    results = read_results(out)
    sizes = dict(results["settings"])
    settings = Settings(**sizes | {"fewer_trials": tuple(sizes["fewer_trials"])})
    for name in wanted if only else results["figures"]:
        if name not in results["figures"]:
            raise InputError(f"{out} has no results for {name}. Run the step 'measure' first.")
        on_step(name)
        with np.load(out / f"{name}.npz", allow_pickle=False) as stored, rs.plots.style():
            figure = FIGURES[name].draw(stored, settings)
            for suffix, options in FORMATS.items():
                with open_output(out / f"{name}.{suffix}") as handle:
                    figure.savefig(handle, format=suffix, **options)
    return results


def chosen(only: Iterable[str]) -> list[str]:
    """Return the names of the chosen figures, in order; by default all."""
    names = [check_choice("only", name, FIGURES) for name in only]
    return [name for name in FIGURES if name in names or not names]


def read_results(out: Path) -> dict[str, Any]:
    """Read what `measure` wrote."""
    try:
        text = (out / RESULTS).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{out} has no {RESULTS}. Run the step 'measure' first.") from None
    found: dict[str, Any] = json.loads(text)
    return found


def header(settings: Settings) -> dict[str, Any]:
    """Return the part of the results that is known before anything is measured."""
    return {
        "settings": asdict(settings) | {"fewer_trials": list(settings.fewer_trials)},
        "versions": analysis_versions() | {name: version(name) for name in PACKAGES},
        "chosen": dict(CHOSEN),
        "figures": {},
        "seconds": {},
    }


def all_claims(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the claims of all figures of a run."""
    return [claim for figure in results["figures"].values() for claim in figure["claims"]]
