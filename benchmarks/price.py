"""What the paper's two largest jobs cost, from measured pairs.

    python -m benchmarks.price [--other PYTHON]

1800 VAEs are priced on latents of trained VAEs (REPSHAPE_DATA), at 512 images and at 2048. The
latter are averages of two images each, because only 512 were kept. 339 ResNets are priced on random
layers with 100 units and 2000 images. PYTHON is an interpreter with another version of repshape.
Seconds are processor seconds of one pair on one core, without polish; preparation is that of one
network. Saves benchmarks/results/price.json, and writes the table of docs/evidence/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks import stamps
from benchmarks.markers import write
from benchmarks.optimum import run_child
from benchmarks.search_families import layer_like, pilot

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "price.json"
PAGE = ROOT / "docs" / "evidence" / "scale.md"
ALPHAS = (0.0, 0.5, 1.0, 2.0)
VAE_PAIRS = 12
VAES, RESNETS = 1800, 339
CORES = (2, 64)


def latents(n_images: int) -> list[rs.Gaussians]:
    """Return networks with the latents of trained VAEs, two for each pair."""
    rng = np.random.default_rng(0)
    with np.load(str(pilot("vae_pilot.npz"))) as file:
        means, variances = (file[key].astype(float) for key in ("means", "variances"))
    chosen = rng.choice(len(means), 2 * VAE_PAIRS, replace=False)
    if n_images > means.shape[1]:
        images = rng.choice(means.shape[1], (2, n_images))
        means, variances = (part[:, images].mean(axis=1) for part in (means, variances))
    return [rs.Gaussians(means[k, :n_images], variances[k, :n_images]) for k in chosen]


def layers(n_images: int) -> list[rs.Gaussians]:
    """Return two networks with random layers."""
    rng = np.random.default_rng(0)
    return [layer_like(rng, n_images) for _ in range(2)]


JOBS = {
    "VAEs, 512 images": (latents, 512, VAES, ALPHAS),
    "VAEs, 2048 images": (latents, 2048, VAES, ALPHAS),
    "ResNets, 2000 images": (layers, 2000, RESNETS, (1.0, 2.0)),
}


def measure() -> list[dict[str, Any]]:
    """Return a row for each job and alpha."""
    rows = []
    for name, (make, n_images, count, alphas) in JOBS.items():
        networks = make(n_images)
        for alpha in alphas:
            metric = rs.GaussianShapeMetric(alpha)
            begin = time.process_time()
            prepared = [metric.prepare(one) for one in networks]
            ready = time.process_time()
            seconds = []
            for x, y in zip(prepared[::2], prepared[1::2], strict=True):
                start = time.process_time()
                metric.align_prepared(x, y)
                seconds.append(time.process_time() - start)
            rows.append(
                {
                    "job": name,
                    "alpha": alpha,
                    "networks": count,
                    "prepare_s": (ready - begin) / len(networks),
                    "pair_s": float(np.mean(seconds)),
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    return rows


def hours(row: dict[str, Any], cores: int) -> float:
    """Return the hours that all pairs take on this number of cores."""
    count = row["networks"]
    return (count * (count - 1) / 2 * row["pair_s"] + count * row["prepare_s"]) / cores / 3600


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table."""
    headings = [
        "job",
        "alpha",
        "preparation, s",
        "a pair, s",
        *(f"hours, {c} cores" for c in CORES),
    ]
    lines = ["| " + " | ".join([*headings, "times 0.1"]) + " |", "|" + "---|" * (len(headings) + 1)]
    for row in rows:
        prices = [f"{hours(row, cores):.2g}" for cores in CORES]
        faster = f"{row['other_pair_s'] / row['pair_s']:.2g}" if "other_pair_s" in row else ""
        cells = [row["job"], f"{row['alpha']:g}", f"{row['prepare_s']:.2g}", f"{row['pair_s']:.2g}"]
        lines.append("| " + " | ".join([*cells, *prices, faster]) + " |")
    return lines


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", help="an interpreter with another version of repshape")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rows = measure()
    if options.child:
        Path(options.child).write_text(json.dumps(rows))
        return
    if options.other:
        for row, other in zip(rows, run_child(options.other, "benchmarks.price"), strict=True):
            row["other_pair_s"] = other["pair_s"]
    stamps.write(RESULTS, {"rows": rows})
    write(PAGE, "price", table(rows))


if __name__ == "__main__":
    main()
