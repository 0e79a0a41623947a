"""Saving of simulations, and their tables in the documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom
from scipy.stats import t as student

from benchmarks import fresh_sizes, inference_v1, markers
from benchmarks.interval_cells import CONFIRM, FRESH
from benchmarks.interval_tables import CELL_HEAD, POOL_HEAD, cell_table, pooled_table
from benchmarks.intervals import COMPARISONS, OTHERS
from benchmarks.matched_cells import MATCHED
from benchmarks.stamps import record, replace_text

DOCS = Path(__file__).parent.parent / "docs" / "evidence" / "inference.md"
GUIDE = DOCS.parent.parent / "inference.md"
CELL_KEYS = ["fresh: README", *(f"fresh: {cell.name}" for cell in FRESH)]
OTHER_KEYS = [f"fresh {one.name}" for one in (*OTHERS, *COMPARISONS, *MATCHED)]
LEVEL = 0.05
# A cell holds if its count is within this central interval of the binomial distribution.
CONFIDENCE = 0.999
# Half the width of a 90 % interval in standard errors: of the jackknife with 10 groups of trials,
# and of halves if there are no unstable components.
QUANTILE, STABLE_QUANTILE = (float(student.ppf(0.95, df)) for df in (9, 5))
STABLE = ("G48 L20, equal", "G48 L20", "P12 L10, no PCA")


def load(path: Path) -> dict[str, Any]:
    """Return what was saved, or nothing."""
    return json.loads(path.read_text()) if path.exists() else {}


def save(path: Path, key: str, value: Any) -> None:
    """Set one entry of a JSON file, one line per entry."""
    kept = load(path)
    everything = kept | {key: value}
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in everything.items()]
    replace_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
    record(path, everything, kept=kept)


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Return every table whose simulations exist."""
    every = {
        "equality": equality_table(results),
        "groups": group_table(results),
        "networks": network_table(results),
        "neighbors": neighbor_table(results),
        "intervals": markdown(CELL_HEAD, cell_table(results, CELL_KEYS)),
        "comparisons": markdown(CELL_HEAD, cell_table(results, OTHER_KEYS)),
        "coverage": markdown(POOL_HEAD, pooled_table(results, FRESH, "fresh")),
        "first set": markdown(POOL_HEAD, pooled_table(results, CONFIRM, "calibrated")),
        "fresh sizes": size_table(results),
        "methods": interval_table(results),
        "macaque": inference_v1.tables(results),
    }
    return {name: table for name, table in every.items() if table.count("\n") > 1}


def write_tables(results: dict[str, Any]) -> None:
    """Write every table whose simulations exist."""
    for name, table in tables(results).items():
        replace_table(name, table)
        replace_table(name, table, GUIDE)


def replace_table(name: str, table: str, path: Path = DOCS) -> None:
    """Replace the table between the markers with this name, if the page has them."""
    if f"<!-- {name} -->" in path.read_text(encoding="utf-8"):
        markers.write(path, name, [table])


def rows_of(results: dict[str, Any], part: str) -> dict[str, np.ndarray]:
    """The simulations of each cell of a part."""
    prefix = f"{part}: "
    return {
        key.removeprefix(prefix): np.array(value)
        for key, value in results.items()
        if key.startswith(prefix)
    }


def markdown(head: list[str], rows: list[list[Any]]) -> str:
    return "\n".join(markers.markdown(head, rows))


def holds(count: int, total: int, level: float) -> bool:
    """Whether a count is within its binomial interval around the level."""
    low, high = binom.interval(CONFIDENCE, total, level)
    return bool(low <= count <= high)


def attainable(smallest: float) -> float:
    """The largest level up to 0.05 that multiples of the smallest p-value can reach."""
    return np.floor(LEVEL / smallest + 1e-9) * smallest


def equality_table(results: dict[str, Any]) -> str:
    from benchmarks.inference import EQUALITY_CELLS  # the cells belong to the simulations

    power = rows_of(results, "power")
    out, expected, rejected, total = [], 0.0, 0, 0
    for name, rows in rows_of(results, "size").items():
        kind, n, L_x, L_y, _ = EQUALITY_CELLS[name]
        count = int(np.sum(rows[:, 0] <= LEVEL + 1e-9))
        level = float(np.mean([attainable(p) for p in rows[:, 1]]))
        found = power.get(name)
        trials = str(L_x) if L_x == L_y else f"{L_x} and {L_y}"
        cells = [name, kind, n, trials, len(rows), f"{level:.4f}", f"{count / len(rows):.3f}"]
        cells += ["yes" if holds(count, len(rows), level) else "no"]
        cells += ["" if found is None else f"{np.mean(found[:, 0] <= LEVEL + 1e-9):.2f}"]
        out.append(cells)
        expected += level * len(rows)
        rejected, total = rejected + count, total + len(rows)
    if total:
        pooled = ["**all**", "", "", "", total, f"{expected / total:.4f}"]
        out.append([*pooled, f"{rejected / total:.3f}", "", ""])
    head = ["setting", "responses", "neurons", "trials", "simulations", "attainable level"]
    return markdown([*head, "rejected if equal", "holds", "rejected if different"], out)


def size_table(results: dict[str, Any]) -> str:
    out = []
    found = rows_of(results, "fresh size")
    for name in (*fresh_sizes.EQUALITY, *fresh_sizes.GROUPS):
        if name not in found:
            continue
        rows = found[name]
        count = int(np.sum(rows[:, 0] <= LEVEL + 1e-9))
        level = float(np.mean([attainable(p) for p in rows[:, 1]]))
        cells = [name, len(rows), f"{level:.4f}", f"{count / len(rows):.3f}"]
        out.append([*cells, "yes" if holds(count, len(rows), level) else "no"])
    return markdown(["design", "simulations", "attainable level", "rejected", "holds"], out)


def group_table(results: dict[str, Any]) -> str:
    out = []
    for name, rows in rows_of(results, "groups").items():
        shares = np.mean(rows <= LEVEL + 1e-9, axis=0)
        null = "shifted" not in name
        count = int(np.sum(rows[:, 0] <= LEVEL + 1e-9))
        level = attainable(rows[0, 2])
        verdict = ("yes" if holds(count, len(rows), level) else "no") if null else ""
        truth = "same centre" if null else "different"
        cells = [name, truth, len(rows), f"{level:.4f}", f"{shares[0]:.3f}", verdict]
        out.append([*cells, f"{shares[1]:.3f}"])
    head = ["groups", "truth", "simulations", "attainable level", "groups rejected", "holds"]
    return markdown([*head, "dispersion rejected"], out)


def network_table(results: dict[str, Any]) -> str:
    out = [
        [name, len(rows), *(f"{share:.3f}" for share in np.mean(rows <= LEVEL + 1e-9, axis=0))]
        for name, rows in rows_of(results, "networks").items()
    ]
    return markdown(["groups", "simulations", "distances", "angles", "norms", "dispersion"], out)


def interval_table(results: dict[str, Any]) -> str:
    out = []
    for method in ("halves", "jackknife"):
        for name, rows in rows_of(results, f"interval by {method}").items():
            truth = float(results[f"truth: {name}"])
            plug_in, estimate, low, high = rows.T
            error = estimate.std() / np.sqrt(len(rows))
            cells = [name, method, len(rows), f"{truth:.2f}", f"{plug_in.mean() - truth:+.2f}"]
            cells += [f"{estimate.mean() - truth:+.2f} ± {error:.2f}"]
            cells += [f"{np.sqrt(np.mean((estimate - truth) ** 2)):.2f}"]
            cells += [f"{np.mean((low <= truth) & (truth <= high)):.3f}"]
            cells += [f"{np.mean(low > truth):.3f}", f"{np.mean(high < truth):.3f}"]
            stable = method == "halves" and name in STABLE
            claimed = np.mean(high - low) / 2 / (STABLE_QUANTILE if stable else QUANTILE)
            out.append([*cells, f"{claimed / estimate.std():.2f}"])
    head = ["setting", "method", "simulations", "true d²", "plug-in bias", "bias", "RMS error"]
    return markdown([*head, "coverage", "wholly above", "wholly below", "error ratio"], out)


def neighbor_table(results: dict[str, Any]) -> str:
    out = [
        [name, len(rows), *(f"{share:.3f}" for share in np.mean(rows <= LEVEL + 1e-9, axis=0))]
        for name, rows in rows_of(results, "neighbors").items()
    ]
    return markdown(["groups", "simulations", "test of groups", "nearest neighbours"], out)
