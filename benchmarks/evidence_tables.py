"""The tables of the pages of evidence, made from what is saved."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.stamps import load

SPEED, SCALE, NEIGHBORS = "evidence/benchmarks.md", "evidence/scale.md", "evidence/neighbors.md"


def _scale() -> dict[str, str]:
    from benchmarks import cohort_pairs, cohorts, price, scale_tables

    made = scale_tables.tables() | {
        "price": price.table(load("price")["rows"]),
        "cohort pairs": cohort_pairs.table(load("cohort_pairs")["rows"]),
        "cohorts": cohorts.table(load("cohorts")["rows"]),
    }
    return joined(made)


def _inference() -> dict[str, str]:
    from benchmarks import floors, heavy_tails, inference_speed, inference_tables

    results = load("inference")
    more = {
        "speed": inference_speed.speed_table(results),
        "floors": floors.table(load("floors")),
        "heavy tails": heavy_tails.table(load("heavy_tails")),
    }
    return inference_tables.tables(results) | more


def _confounds() -> dict[str, str]:
    from benchmarks import confounds

    return {"confounds": confounds.tables(load("confounds"))}


def _macaque_models() -> dict[str, str]:
    from benchmarks import macaque_models

    return joined(macaque_models.tables(load("macaque_models")))


def _models() -> dict[str, str]:
    from benchmarks import models

    return joined(models.tables(load("models_final")))


def _neighbors() -> dict[str, str]:
    from benchmarks import neighbors

    return joined(neighbors.tables())


def _speed() -> dict[str, str]:
    from benchmarks import tables

    return tables.tables()


def _baselines() -> dict[str, str]:
    from benchmarks import calibrated

    return calibrated.tables(load("calibrated"))


def _repair() -> dict[str, str]:
    from benchmarks import repair

    return repair.tables(load("repair"))


def _netrep() -> dict[str, str]:
    from benchmarks import netrep

    return joined(netrep.tables(load("netrep")))


def _processes() -> dict[str, str]:
    from benchmarks import process

    return joined(process.tables(load("process")))


def _trust() -> dict[str, str]:
    from benchmarks import hostile

    return joined(hostile.tables())


def joined(tables: dict[str, list[str]]) -> dict[str, str]:
    """Return tables as text."""
    return {name: "\n".join(lines) for name, lines in tables.items()}


# Tables between markers of pages, made from what is saved.
TABLES: dict[str, Callable[[], dict[str, str]]] = {
    "confounds.md": _confounds,
    "trust.md": _trust,
    "inference.md": _inference,
    SPEED: _speed,
    "evidence/baselines.md": _baselines,
    "evidence/repair.md": _repair,
    "evidence/families.md": lambda: joined(load("families")),
    "evidence/inference.md": _inference,
    "evidence/macaque-models.md": _macaque_models,
    "evidence/models.md": _models,
    "evidence/how.md": _inference,
    NEIGHBORS: _neighbors,
    "evidence/netrep.md": _netrep,
    "evidence/processes.md": _processes,
    SCALE: _scale,
}
