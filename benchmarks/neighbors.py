"""Neighbour searches against the whole matrix: share of pairs solved, and processor time.

    python -m benchmarks.neighbors [--cohorts [toy vae v1]] [--images 64]

--cohorts alone measures nothing, and writes the tables from the saved results.

Cohorts: the toy networks; the VAEs of the package; and V1 populations of which four parts of the
trials are networks of their own (in the directory that REPSHAPE_DATA names). Saves
benchmarks/results/neighbors.json and replaces the tables in docs/evidence/neighbors.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import repshape as rs
from benchmarks import markers, stamps
from benchmarks.markers import write
from benchmarks.workloads import macaque_populations

ROOT = Path(__file__).parent
RESULTS = ROOT / "results" / "neighbors.json"
SCALE = ROOT / "results" / "neighbors_scale.json"
MEMBERS = ROOT / "results" / "neighbors_members.json"
PAGE = ROOT.parent / "docs" / "evidence" / "neighbors.md"
ALPHAS, KS = (0.0, 1.0, 2.0), (1, 5, 10)
COMPONENTS, PARTS = 10, 4


def toy(images: int) -> list[Any]:
    """The toy networks, as sampled trials: their means differ, which exact ones do not."""
    del images
    return list(rs.datasets.toy_networks(n_trials=50, random_state=0))


def vae(images: int) -> list[Any]:
    """The VAEs of the package, trained and untrained, for evenly spaced images."""
    networks = rs.datasets.load_vaes()
    step = max(1, networks.n_conditions // images)
    return [rs.Gaussians(one.means[::step], one.variances[::step]) for one in networks]


def v1(images: int) -> list[Any]:
    """Parts of the trials of V1 populations, with ten principal components each."""
    del images
    phi, networks = rs.Preprocess(n_components=COMPONENTS), []
    for trials in macaque_populations("natural", COMPONENTS).values():
        reduced = phi.fit(trials).apply(trials)
        for part in range(PARTS):
            some = rs.Trials([one[part::PARTS] for one in reduced.responses])
            networks.append(rs.estimate_moments(some, "ledoit-wolf"))
    return networks


COHORTS: dict[str, Callable[[int], list[Any]]] = {"toy": toy, "vae": vae, "v1": v1}


def processor_time(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = function()
    return found, time.process_time() - start


def least_share(values: np.ndarray, bounds: np.ndarray, k: int) -> float:
    """Return the share of pairs whose bounds do not exceed the k-th distance of either network."""
    limit = np.sort(values + np.diag(np.full(len(values), np.inf)), axis=1)[:, k - 1]
    needed = bounds <= np.maximum(limit[:, None], limit[None])
    return float(needed[np.triu_indices(len(values), 1)].mean())


def study(name: str, networks: list[Any], alpha: float) -> list[dict[str, Any]]:
    """Compare searches with the whole matrix at one alpha."""
    metric = rs.GaussianShapeMetric(alpha)
    D, whole = processor_time(lambda: rs.pairwise(networks, metric, polish=False, workers=1))
    values, upper = D.values, np.triu_indices(len(D), 1)
    ratio = D.lower_bounds[upper] / np.maximum(values[upper], 1e-300)
    rows = []
    for k in KS:
        found, spent = processor_time(
            lambda k=k: rs.analysis.neighbor_graph(networks, metric, k, workers=1)
        )
        order = np.argsort(values + np.diag(np.full(len(values), np.inf)), axis=1, kind="stable")
        distances = np.take_along_axis(values, order[:, :k], axis=1)
        rows.append(
            {
                "cohort": name,
                "networks": len(networks),
                "alpha": alpha,
                "k": k,
                "solved_%": 100 * found.share_solved,
                "least_%": 100 * least_share(values, D.lower_bounds, k),
                "search_s": spent,
                "matrix_s": whole,
                "ratio": whole / spent,
                "bound_10": float(np.quantile(ratio, 0.1)),
                "bound_50": float(np.quantile(ratio, 0.5)),
                "equal": bool(
                    np.array_equal(found.indices, order[:, :k])
                    and np.array_equal(found.distances, distances)
                ),
            }
        )
        print(rows[-1], flush=True)
    return rows


COLUMNS = {
    "cohort": "cohort",
    "networks": "K",
    "alpha": "alpha",
    "k": "k",
    "solved_%": "solved, %",
    "least_%": "not excluded, %",
    "search_s": "search, s",
    "matrix_s": "matrix, s",
    "ratio": "ratio",
    "bound_10": "bound / distance, 10 %",
    "bound_50": "median",
    "equal": "equal",
}


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table."""
    shown = [row | {"equal": "yes" if row["equal"] else "no"} for row in rows]
    return markers.table(shown, COLUMNS).split("\n")


def scale_table(found: dict[str, Any]) -> list[str]:
    """Return the lines of a Markdown table of `benchmarks.neighbors_scale`."""
    pairs = {part: found[f"pairs_of_{part}"] for part in ("neighbours", "landmarks", "queries")}
    totals = dict.fromkeys(("neighbours", "landmarks"), found["pairs"])
    totals["queries"] = found["queries"] * found["networks"]
    lines = ["| networks | part | pairs solved | of all, % | wall, s | processor, s |"]
    lines.append("|---|---|---|---|---|---|")
    for part, solved in pairs.items():
        times = found["times"][part]
        share = 100 * solved / totals[part]
        lines.append(
            f"| {found['networks']} | {part} | {solved} | {share:.3g} | {times['wall_s']:.0f} | "
            f"{times['cpu_s']:.0f} |"
        )
    return lines


def members_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table of `benchmarks.neighbors_scale --compare`."""
    lines = [
        "| members | networks | families | k | pairs solved | of all, % | within families, % |"
    ]
    lines[0] += " bounds with a decomposition | processor, s |"
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        solved, within = (
            100 * row[key] / row["pairs"] for key in ("pairs_solved", "pairs_within_families")
        )
        lines.append(
            f"| {row['members']} | {row['networks']} | {row['families']} | {row['k']} | "
            f"{row['pairs_solved']} | {solved:.3g} | {within:.3g} | {row['tight_bounds']} | "
            f"{row['cpu_s']:.0f} |"
        )
    return lines


def tables() -> dict[str, list[str]]:
    """Return the tables of docs/evidence/neighbors.md, of the results that are saved."""
    rows = json.loads(RESULTS.read_text())["rows"]
    rows.sort(key=lambda row: (list(COHORTS).index(row["cohort"]), row["alpha"], row["k"]))
    return {
        "cohorts": table(rows),
        "scale": scale_table(json.loads(SCALE.read_text())),
        "members": members_table(json.loads(MEMBERS.read_text())["rows"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cohorts", nargs="*", choices=COHORTS, default=list(COHORTS))
    parser.add_argument("--images", type=int, default=64, help="conditions of the VAEs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of doubtful pairs
    saved = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": []}
    rows = [row for row in saved["rows"] if row["cohort"] not in options.cohorts]
    for name in options.cohorts:
        networks = COHORTS[name](options.images)
        for alpha in ALPHAS:
            rows += study(name, networks, alpha)
            content = {"images": options.images, "rows": rows}
            stamps.write(RESULTS, content, continues=True)
    for name, lines in tables().items():
        write(PAGE, name, lines)


if __name__ == "__main__":
    main()
