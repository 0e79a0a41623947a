"""All layers of kept networks, and those that ship as `repshape.datasets.load_layers`.

python -m experiments.patch_gaussian.layers --images DIR
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
import typer
from rich.console import Console

from experiments.common.archives import archive_name, open_archive
from experiments.common.cifar10 import CHANNELS
from experiments.common.command import reported
from experiments.common.files import WEIGHTS
from experiments.common.rounds import PILOT
from experiments.patch_gaussian.data import balanced_choice, load_data
from experiments.patch_gaussian.networks import build_network, set_weights
from experiments.patch_gaussian.run import KEPT
from experiments.patch_gaussian.settings import SMALL
from repshape.datasets import layers as shipped

FloatArray = npt.NDArray[np.float64]
LAYERS = ("stem", "block 1", "block 2", "block 3", "100 units")
N_IMAGES = 40


def layers_of(name: str, images: npt.ArrayLike) -> dict[str, FloatArray]:
    """Return the responses (images, units) of each layer of a kept network, first to last.

    Images have pixels in [0, 1] and the shape (images, channels, side, side).
    """
    network = build_network(SMALL.architecture, [0.0] * CHANNELS, [1.0] * CHANNELS, 0)
    archive = open_archive(KEPT / archive_name("small", "cifar10", PILOT))
    set_weights(network, archive.arrays(name, WEIGHTS))  # with the moments of its images
    network.eval()
    x = torch.from_numpy(np.asarray(images, dtype=np.float32))
    found: list[Any] = []
    with torch.no_grad():
        x = network.stem(network.normalise(x))
        found.append(x)
        for block in network.blocks:
            x = block(x)
            found.append(x)
        found.append(network.representation(x.mean(dim=(2, 3))))
    flat = [one.reshape(len(one), -1).numpy().astype(np.float64) for one in found]
    return dict(zip(LAYERS, flat, strict=True))


def rotated(responses: FloatArray) -> FloatArray:
    """Return centred responses in their principal components: all of them, so none is lost.

    >>> x = np.array([[1.0, 0, 0, 0], [0.0, 2, 0, 0]])
    >>> found = rotated(x)
    >>> found.shape, round(float(np.linalg.norm(found[0] - found[1])), 6)
    ((2, 2), 2.236068)
    """
    U, S, _ = np.linalg.svd(responses - responses.mean(axis=0), full_matrices=False)
    components: FloatArray = U * S
    return components


def write_layers(images: Path | None, target: Path) -> Path:
    """Write the layers of two networks of different seeds."""
    data = load_data(images, SMALL.side, SMALL.train_per_class, SMALL.test_per_class)
    chosen = balanced_choice(data.test.labels, N_IMAGES)
    pixels = data.test.pixels(chosen)
    rows, responses = [], []
    for seed in range(2):
        for depth, (layer, found) in enumerate(layers_of(f"none-seed{seed}", pixels).items()):
            units = found.shape[1]
            rows.append({"seed": seed, "layer": layer, "depth": depth, "units": units})
            responses.append(rotated(found))
    names = [f"seed {row['seed']}: {row['layer']}" for row in rows]
    classes = [shipped.CLASSES[k] for k in data.test.labels[chosen]]
    conditions = [f"{name} {number}" for name, number in zip(classes, chosen, strict=True)]
    shipped.write_layers(target, responses, pd.DataFrame(rows, index=names), conditions)
    return target


def main(
    images: Annotated[Path | None, typer.Option(help="Folder of CIFAR-10.")] = None,
    target: Annotated[Path, typer.Option(help="The file to write.")] = shipped.FILE,
) -> None:
    """Write the layers that ship with the package."""
    with reported(Console(stderr=True)):
        path = write_layers(images, target)
    typer.echo(f"wrote {path} ({path.stat().st_size / 1e3:.0f} kB)", err=True)


if __name__ == "__main__":
    typer.run(main)
