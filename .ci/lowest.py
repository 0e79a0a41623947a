"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

    python .ci/lowest.py > lowest.txt
    python -m pip install --constraint lowest.txt --editable '.[all]'

Only what repshape, its build and its extra `all` need; tools of the developers are not constrained.
For the build, pip reads constraints from PIP_CONSTRAINT, and from version 25.3 on from
PIP_BUILD_CONSTRAINT.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?P<extras>\[[^\]]*\])?\s*>=\s*(?P<version>[0-9.]+)")


def lowest(settings: Path) -> list[str]:
    """Return `name==version` for all dependencies, of the build and optional ones included."""
    everything = tomllib.loads(settings.read_text(encoding="utf-8"))
    project = everything["project"]
    needed = [*everything["build-system"]["requires"], *project["dependencies"]]
    extras = project["optional-dependencies"]
    for entry in extras["all"]:
        for name in re.findall(r"[a-z0-9-]+", entry.partition("[")[2]):
            needed += extras[name]
    found = [BOUND.match(one) for one in needed]
    if unbounded := [one for one, match in zip(needed, found, strict=True) if match is None]:
        sys.exit(f"no lower bound: {', '.join(unbounded)}")
    return [f"{match['name']}=={match['version']}" for match in found if match]


if __name__ == "__main__":
    print("\n".join(lowest(Path(__file__).parents[1] / "pyproject.toml")))
