"""Long tables of evidence are folded below what they show, under the name of their section."""

from __future__ import annotations

import re
from collections.abc import Iterator

SHORT = 4  # rows that stay open
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+?)(?: \{.*\})?$", re.MULTILINE)


def folded(markdown: str) -> str:
    r"""Return a page whose long tables are closed blocks that a reader can open.

    >>> rows = "".join(f"| {k} |\n" for k in range(5))
    >>> print(folded("## Speed\n\n| n |\n|---|\n" + rows).splitlines()[2])
    ??? note "Table: speed (5 rows)"
    """
    return "".join(_parts(markdown))


def _parts(markdown: str) -> Iterator[str]:
    end, seen = 0, dict[str, int]()
    for table in TABLE.finditer(markdown):
        lines = table.group().rstrip("\n").split("\n")
        yield markdown[end : table.start()]
        end = table.end()
        if len(lines) - 2 <= SHORT:
            yield table.group()
            continue
        heading = HEADING.findall(markdown[: table.start()])[-1]
        seen[heading] = seen.get(heading, 0) + 1
        which = f", {seen[heading]}" if seen[heading] > 1 else ""
        name = heading[0].lower() + heading[1:] if heading[:2].istitle() else heading
        title = f'??? note "Table: {name}{which} ({len(lines) - 2} rows)"'
        yield "\n".join([title, "", *(f"    {line}" for line in lines), "", ""])
    yield markdown[end:]
