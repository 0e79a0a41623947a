"""The table of processes that share one cohort and one store.

    python -m tests.stateful --shared 2000 --seed 200 --tally build/two-writers.json --save

runs them, and saves how often each thing was done, refused or killed.
"""

from __future__ import annotations

from typing import Any

from benchmarks.markers import markdown
from benchmarks.stamps import RESULTS

RESULT = RESULTS / "two_writers.json"
ENDS = ("done", "killed", "refused", "lost")
KINDS = {
    "add": "add a network to the cohort",
    "replace": "replace a network of the cohort",
    "remove": "remove a network from the cohort",
    "import": "import several, some in place of others",
    "twice": "change one network twice",
    "compute": "compute and polish what the store lacks",
    "shard": "compute one of two shards",
    "read": "read the cohort and the store",
}


def worlds_table(counts: dict[str, Any]) -> list[str]:
    """Return how the steps of each kind ended, as a table in Markdown."""
    rows = [
        [words, *(str(counts.get(f"{kind} {end}", 0)) for end in ENDS)]
        for kind, words in KINDS.items()
    ]
    sums = [sum(counts.get(f"{kind} {end}", 0) for kind in KINDS) for end in ENDS]
    rows.append([f"all {counts['steps']} steps", *map(str, sums)])
    return markdown(["step", *ENDS[:-1], "of these because another process was faster"], rows)
