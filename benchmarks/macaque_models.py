"""Which layer of the kept patch networks is nearest to macaque V1? An example, not a finding.

    REPSHAPE_DATA=FOLDER python -m benchmarks.macaque_models

FOLDER has the recordings of Henaff et al. (2021) as ``experiments.brain.macaque`` converts them,
and, anywhere below it, the images that the monkeys saw, which are in the authors' repository
(``stimSelected-zoom1x/movie1/natural01.png``, ...). The same images are shown to networks of the
Patch-Gaussian study, so that conditions correspond one to one.

Saved are distances, intervals and tests; no recordings and no images. An interrupted run resumes.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import repshape as rs
from benchmarks import workloads
from benchmarks.inference_v1 import CATEGORIES
from benchmarks.markers import markdown
from benchmarks.stamps import RESULTS, ROOT, write

RESULT = RESULTS / "macaque_models.json"
PARTS = ROOT / "build" / "macaque_models"
CELLS = {"without patches": "none", "with patches": "W16-sigma0.3"}
SEEDS = range(3)
SIDE = 16  # of the images that the networks were trained on
COMPONENTS = 16  # as in the study of these recordings: six populations have as many units
ZOOMS, MOVIES, FRAMES = ("zoom1x", "zoom2x"), range(1, 11), range(2, 11)
PIXELS, SHUFFLED = "pixels", "shuffled "
LAYERS = ("stem", "block 1", "block 2", "block 3", "100 units")  # as in the study
FloatArray = npt.NDArray[np.float64]


def image_folder(folder: Path) -> Path:
    """Return the folder of the images, somewhere below a folder; links are followed."""
    for path, names, _ in os.walk(folder, followlinks=True):
        if f"stimSelected-{ZOOMS[0]}" in names:
            return Path(path)
    raise SystemExit(f"{folder} must have the images, stimSelected-{ZOOMS[0]}. Got none.")


def read_images(folder: Path, category: str) -> FloatArray:
    """Return images in the order of the recordings (zoom, movie, frame), shrunk by averaging."""
    from matplotlib.image import imread

    names = [
        folder / f"stimSelected-{zoom}" / f"movie{movie}" / f"{category}{frame:02d}.png"
        for zoom in ZOOMS
        for movie in MOVIES
        for frame in FRAMES
    ]
    pixels = np.array([imread(name) for name in names], dtype=np.float64)
    step = pixels.shape[1] // SIDE
    shrunk: FloatArray = pixels.reshape(len(names), SIDE, step, SIDE, step).mean(axis=(2, 4))
    return shrunk


def scaled_model(responses: npt.NDArray[Any]) -> FloatArray:
    """Return responses of unit variance, rotated into as few dimensions as there are images."""
    from experiments.patch_gaussian.layers import rotated

    found = rotated(responses.reshape(len(responses), -1))
    return found / np.sqrt(found.var(axis=0).sum())


def scaled_brain(trials: rs.Trials) -> rs.Trials:
    """Return trials whose mean responses have unit variance, not counting that due to noise."""
    found = rs.estimate_moments(trials, covariance="unbiased")
    noise = float(np.mean(found.total_variance / trials.n_trials))
    signal = float(found.means.var(axis=0, ddof=1).sum()) - noise
    return rs.Trials([one / np.sqrt(signal) for one in trials.responses])


def all_models(pixels: FloatArray) -> dict[str, FloatArray]:
    """Return the pixels and all layers of all networks; those of the first also shuffled."""
    from experiments.patch_gaussian.layers import layers_of

    found = {PIXELS: scaled_model(pixels)}
    images = np.repeat(pixels[:, None], 3, axis=1)  # grey, for networks with three channels
    for cell in CELLS.values():
        for seed in SEEDS:
            for layer, responses in layers_of(f"{cell}-seed{seed}", images).items():
                found[f"{cell}-seed{seed}: {layer}"] = scaled_model(responses)
    order = np.random.default_rng(0).permutation(len(pixels))
    shuffled = {SHUFFLED + name: found[name][order] for name in (PIXELS, *map(first, LAYERS))}
    return found | shuffled


def first(layer: str) -> str:
    """Return the name of a layer of the first network."""
    return f"{CELLS['without patches']}-seed0: {layer}"


def compare(category: str, folder: Path) -> rs.inference.ModelComparison:
    """Compare all models with the recordings, for one class of images."""
    populations = workloads.macaque_populations(category, COMPONENTS)
    brains = {name: scaled_brain(trials) for name, trials in populations.items()}
    metric = rs.GaussianShapeMetric(2.0, preprocess=rs.Preprocess(n_components=COMPONENTS))
    return rs.inference.models(
        brains,
        all_models(read_images(folder, category)),
        metric,
        blocks=[name.split("_")[0] for name in brains],
        store=PARTS / category,
        progress=False,
    )


def numbers(found: rs.inference.ModelComparison) -> dict[str, Any]:
    """Return what is saved."""
    columns = ["distance", "low", "high", "plug_in"]
    tables = {"models": found.scores, "ceilings": found.ceilings}
    kept = {
        name: {
            str(row): [float(f"{value:.5g}") for value in values]
            for row, values in zip(table.index, table[columns].to_numpy(), strict=True)
        }
        for name, table in tables.items()
    }
    return kept | {
        "populations": list(found.between_brains.labels),
        "monkeys": found.n_blocks,
        "images": found.n_conditions,
        "chance": vars(found.chance),
        "smallest_p_value": float(found.differences["smallest_p_value"].max()),
        "method": found.method,
    }


def nearest_layers(models: dict[str, list[float]], cell: str) -> list[str]:
    """Return the nearest layer of each seed."""
    return [
        min(LAYERS, key=lambda layer, seed=seed: models[f"{cell}-seed{seed}: {layer}"][0])  # type: ignore[misc]
        for seed in SEEDS
    ]


def table(results: dict[str, Any]) -> list[str]:
    """Return the lines of the table: layers, pixels and ceilings, by class of images."""
    rows = [[layer, *_cells(results, layer)] for layer in LAYERS]
    pixels = [PIXELS]
    for models in (results[one]["models"] for one in CATEGORIES):
        pixels += [_interval(models[PIXELS]), f"{models[SHUFFLED + PIXELS][0]:.2f}", "", ""]
    rows.append(pixels)
    names = {"pairs": "*between brains*", "mean": "*to the mean of the other brains*"}
    for name, title in names.items():
        row = [title]
        for category in CATEGORIES:
            row += [_interval(results[category]["ceilings"][name]), "", "", ""]
        rows.append(row)
    head = ["model"]
    for category in CATEGORIES:
        head += [f"{category}: first network [90 %]", "its images shuffled"]
        head += ["three seeds without patches", "three seeds with patches"]
    return markdown(head, rows)


def _cells(results: dict[str, Any], layer: str) -> list[str]:
    out = []
    for models in (results[one]["models"] for one in CATEGORIES):
        out += [_interval(models[first(layer)]), f"{models[SHUFFLED + first(layer)][0]:.2f}"]
        for cell in CELLS.values():
            known = [models[f"{cell}-seed{seed}: {layer}"][0] for seed in SEEDS]
            out.append(f"{min(known):.2f} to {max(known):.2f}")
    return out


def _interval(values: list[float]) -> str:
    return "{:.2f} [{:.2f}, {:.2f}]".format(*values)


def words(results: dict[str, Any]) -> str:
    """Say which layers are nearest, and what that does not show."""
    found = results[CATEGORIES[0]]
    out = [
        f"{len(found['populations'])} populations of {found['monkeys']} monkeys, "
        f"{found['images']} images of each class, distances corrected by the method "
        f'"{found["method"]}".'
    ]
    for category in CATEGORIES:
        models = results[category]["models"]
        listed = [
            f"{', '.join(nearest_layers(models, cell))} ({title})" for title, cell in CELLS.items()
        ]
        out.append(f"Nearest layer of each seed, {category} images: {'; '.join(listed)}.")
        chance = results[category]["chance"]
        out.append(
            f"Brains are nearer to each other than with permuted images, when they are at "
            f"{chance['distance']:.2f} (p = {chance['p_value']:.2g})."
        )
    p = found["smallest_p_value"]
    out.append(
        f"With {found['monkeys']} monkeys no difference between two models can have a p-value "
        f"below {p:.3g}."
    )
    return " ".join(out)


def tables(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return the parts of the page that come from the result."""
    return {"macaque words": [words(results)], "macaque models": table(results)}


def main() -> None:
    """Compare both classes of images, and save each."""
    file = workloads.macaque_file()
    if file is None:
        raise SystemExit("Set REPSHAPE_DATA to the folder of the recordings and images.")
    folder = image_folder(file.parent)
    PARTS.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    for category in CATEGORIES:
        results[category] = numbers(compare(category, folder))
        print(f"{category}: {time.process_time():.0f} s of processor time so far", flush=True)
    write(RESULT, results)
    for lines in tables(results).values():
        print("\n".join(lines))


if __name__ == "__main__":
    main()
