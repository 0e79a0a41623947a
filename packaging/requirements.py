"""Print what the package and its extras need, one requirement a line, for pip.

    python packaging/requirements.py        # what a user needs
    python packaging/requirements.py test   # the same, and what the tests need

pip installs the dependencies of a package only together with it. With them apart, the compiler
runs while pip downloads them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SETTINGS = Path(__file__).parents[1] / "pyproject.toml"


def requirements(project: Mapping[str, Any], extras: list[str]) -> list[str]:
    """Return the dependencies of a project and of its extras, each once and in their order.

    An extra may name others of the same project:

    >>> extras = {"fast": ["numba"], "test": ["tool[fast]", "pytest>=8"]}
    >>> project = {"name": "tool", "dependencies": ["numpy"], "optional-dependencies": extras}
    >>> requirements(project, ["test"])
    ['numpy', 'numba', 'pytest>=8']
    """
    found = [*project["dependencies"]]
    for extra in extras:
        found += _of_extra(project, extra)
    return list(dict.fromkeys(found))


def _of_extra(project: Mapping[str, Any], extra: str) -> Iterator[str]:
    for one in project["optional-dependencies"][extra]:
        own = re.fullmatch(rf"{re.escape(project['name'])}\[(.*)\]", one)
        if own is None:
            yield one
        else:
            for name in own[1].split(","):
                yield from _of_extra(project, name.strip())


if __name__ == "__main__":
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    print("\n".join(requirements(settings["project"], sys.argv[1:])))
