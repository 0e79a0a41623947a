"""Tiny studies of Patch-Gaussian networks for the tests."""

from __future__ import annotations

import json
from typing import Any

from experiments.patch_gaussian.augment import PatchGaussian
from experiments.patch_gaussian.run import Study
from experiments.patch_gaussian.settings import (
    Architecture,
    MeasureSettings,
    NetworkPlan,
    Settings,
)

TINY = Settings(
    side=8,
    architecture=Architecture(8, (1, 1), units=5),
    widths=(4,),
    sigmas=(0.3,),
    seeds=1,
    share=0.5,
    epochs=2,
    schedule="one-cycle",
    batch_size=16,
    taus=(0.1, 0.5),
    train_per_class=5,
    test_per_class=1,
)
MEASURE = MeasureSettings(4, 6, keep_trials=True, permutations=19)
PATCHED, PLAIN = NetworkPlan(PatchGaussian(4, 0.3, 0.5), 0), NetworkPlan(None, 0)
TIMES = ("seconds", "core_seconds")


def contents(study: Study) -> dict[str, Any]:
    """All that a study has written, without the times."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in study.out.rglob("*") if path.is_file()):
        name = str(path.relative_to(study.out))
        if path.name == "record.json":
            record = json.loads(path.read_text())
            found[name] = {key: value for key, value in record.items() if key not in TIMES}
        else:
            found[name] = path.read_bytes()
    return found
