"""Claims of all studies in one table: verdicts of both rounds, and what decided them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.common.intervals import Interval, units_for_test, units_needed
from experiments.common.verdicts import Criterion, Verdict

# Of the two ways in which studies name an estimate and its interval.
NAMES = (("estimate", "value"), ("lower", "low"), ("upper", "high"), ("units", "n_units"))


class Decided(NamedTuple):
    """What decided a claim, and how many units would decide it if it is inconclusive."""

    words: str
    units: str


def is_measured(claim: Mapping[str, Any]) -> bool:
    """Return whether any number of a claim has been measured, in the names of either study."""
    return any(normalised(row)["estimate"] is not None for row in claim["criteria"])


def normalised(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a criterion with the names of the network studies.

    >>> found = normalised({"name": "d_2", "value": 1.0, "low": None, "high": None, "n_units": 4})
    >>> found["estimate"], found["lower"], found["units"]
    (1.0, None, 4)
    """
    return dict(row) | {name: row[name] if name in row else row.get(other) for name, other in NAMES}


def decided(claim: Mapping[str, Any]) -> Decided:
    """Return what decided a claim: the criterion that refutes it, or that is hardest to meet.

    >>> row = {"name": "d_2", "value": 0.5, "low": 0.25, "high": 1, "n_units": 8, "above": 0}
    >>> row |= {"verdict": "holds"}
    >>> decided({"verdict": "holds", "criteria": [row]}).words
    'the interval is above its threshold: d_2 (0.5 [0.25, 1], above 0)'
    """
    rows = [normalised(row) for row in claim["criteria"]]
    if claim.get("note"):
        return Decided(claim["note"], "-")
    chosen = [row for row in rows if row["verdict"] == claim["verdict"]]
    if claim["verdict"] == Verdict.OPEN:
        return Decided(_open_words(chosen, len(rows)), _most([_units(row) for row in chosen]))
    closest = _numbers(min(chosen, key=_room))
    several = len(chosen) > 1
    if claim["verdict"] == Verdict.HOLDS:
        verb = "are above their thresholds" if several else "is above its threshold"
        how = "; closest: " if several else ": "
    else:
        verb = "refute it" if several else "refutes it"
        how = ", most clearly " if several else ": "
    return Decided(f"{_counted(len(chosen), len(rows), 'interval')} {verb}{how}{closest}", "-")


def _counted(some: int, every: int, noun: str) -> str:
    """Return how many of all criteria are meant.

    >>> [_counted(some, 2, "interval") for some in (1, 2)]
    ['1 of 2 intervals', 'both intervals']
    >>> _counted(1, 1, "interval"), _counted(6, 6, "interval")
    ('the interval', 'all 6 intervals')
    """
    if every == 1:
        return f"the {noun}"
    if some < every:
        return f"{some} of {every} {noun}s"
    return f"both {noun}s" if every == 2 else f"all {every} {noun}s"


def _room(row: Mapping[str, Any]) -> float:
    """Return how far the interval is from its threshold, relative to its width."""
    width = max(row["upper"] - row["lower"], 1e-12)
    if row["verdict"] == Verdict.HOLDS:
        return float((row["lower"] - row["above"]) / width)
    return float((row["refuted_below"] - row["upper"]) / width) * -1  # the clearest refutation


def _numbers(row: Mapping[str, Any]) -> str:
    """Return a criterion that was decided, with its threshold."""
    side = f"above {row['above']:.3g}"
    if row["verdict"] != Verdict.HOLDS:
        matters = ", the smallest effect that matters"
        side = f"below {row['refuted_below']:.3g}"
        side += matters if row["refuted_below"] > row["above"] else ""
    return f"{row['name']} ({_interval(row)}, {side})"


def _interval(row: Mapping[str, Any]) -> str:
    ends = f" [{row['lower']:.3g}, {row['upper']:.3g}]" if row["lower"] is not None else ""
    return f"{row['estimate']:.3g}{ends}"


def _open_words(rows: Sequence[Mapping[str, Any]], every: int) -> str:
    """Return why criteria are inconclusive; those with the same reason are listed together."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        *reason, numbers = _why_open(row)
        found.setdefault(tuple(reason), []).append(f"{row['name']} ({numbers})")
    return "; ".join(
        f"{_counted(len(names), every, noun)} {one if len(names) == 1 else many}: "
        f"{', '.join(names)}"
        for (noun, one, many), names in found.items()
    )


def _why_open(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Return why a criterion is inconclusive: a noun, its verb for one and for many, numbers."""
    if row["estimate"] is None:
        known = "not a number" if row["units"] else "not measured"
        return "number", "is not known", "are not known", str(row.get("why") or known)
    if row["lower"] is None:
        return "number", "has no interval", "have no interval", _interval(row)
    if _waits_for_test(row):
        largest = f"{row['largest_p']:g}"
        numbers = f"{_interval(row)}, p = {row['p_value']:.2g}"
        return "p-value", f"exceeds {largest}", f"exceed {largest}", numbers
    threshold = f"the threshold {row['above']:.3g}"
    return "interval", f"includes {threshold}", f"include {threshold}", _interval(row)


def _waits_for_test(row: Mapping[str, Any]) -> bool:
    """Return whether the interval of an open criterion decides it, and its test does not."""
    return row.get("p_value") is not None and bool(row["lower"] > row["above"])


def _units(row: Mapping[str, Any]) -> int | None:
    if row["estimate"] is None or row["lower"] is None or not row["units"]:
        return None
    criterion = Criterion(row["name"], "", row["above"], row["refuted_below"])
    interval = Interval(row["estimate"], row["lower"], row["upper"])
    if not _waits_for_test(row):
        return units_needed(criterion, interval, row["units"], row["level"])
    return units_for_test(row["p_value"], row["largest_p"], row["units"])


def _most(needed: Sequence[int | None]) -> str:
    """Return the number of units that decides all open criteria, in words.

    >>> _most([14, 30]), _most([14, None]), _most([None])
    ('30', '14 for some', 'not known')
    """
    known = [one for one in needed if one is not None]
    if not known:
        return "not known"
    return f"{max(known)}" if len(known) == len(needed) else f"{max(known)} for some"


# Returns the groups of networks that a claim is about, by the name of the claim.
GroupsOf = Callable[[str], Collection[str]]


class Round(NamedTuple):
    """The claims of one round of a study, by name; empty if it has not been measured.

    Attributes
    ----------
    claims : mapping
    seeds : mapping of str to str
        "4 of 6 seeds" for each claim about networks of which not all planned seeds were measured.
    """

    claims: Mapping[str, Mapping[str, Any]]
    seeds: Mapping[str, str] = {}

    @classmethod
    def of(cls, results: Mapping[str, Any] | None, groups: GroupsOf | None = None) -> Round:
        """Return the claims of some results of which any number was measured.

        ``groups`` is needed where a study has several groups of networks.
        """
        claims = results["claims"] if results else ()
        found = {one["name"]: one for one in claims if is_measured(one)}
        networks = (results or {}).get("networks", {})
        seeds = {name: seeds_words(networks, groups(name) if groups else ()) for name in found}
        return cls(found, {name: words for name, words in seeds.items() if words})

    def after(self, earlier: Round) -> Round:
        """Return the claims of two rounds, of an earlier one where this has none."""
        kept = {name: one for name, one in earlier.seeds.items() if name not in self.claims}
        return Round({**earlier.claims, **self.claims}, {**kept, **self.seeds})

    def verdict(self, name: str) -> str:
        """Return the verdict on a claim, with its seeds if some are missing, or a dash."""
        if name not in self.claims:
            return "-"
        seeds = f" ({self.seeds[name]})" if name in self.seeds else ""
        return f"{self.claims[name]['verdict']}{seeds}"


def seeds_words(networks: Mapping[str, Any], groups: Collection[str]) -> str:
    """Return how many of the planned seeds were measured; empty if all were.

    Of several groups, the one with the smallest share counts. A study with one group has its
    numbers in ``networks`` itself.

    >>> seeds_words({"seeds": 4, "seeds_planned": 6}, ())
    '4 of 6 seeds'
    >>> both = {"a": {"seeds": 5, "seeds_planned": 10}, "b": {"seeds": 4, "seeds_planned": 4}}
    >>> seeds_words(both, ["a", "b"]), seeds_words(both, ["b"])
    ('5 of 10 seeds', '')
    """
    chosen = [networks[name] for name in groups if name in networks] if groups else [networks]
    some = [one for one in chosen if 0 < one.get("seeds", 0) < one.get("seeds_planned", 0)]
    if not some:
        return ""
    fewest = min(some, key=lambda one: float(one["seeds"] / one["seeds_planned"]))
    return f"{fewest['seeds']} of {fewest['seeds_planned']} seeds"


def study_rows(title: str, names: Sequence[str], rounds: Sequence[Round]) -> list[list[str]]:
    """Return a row for each claim: study, claim, verdicts, what decided the last one, units."""
    rows = []
    for name in names:
        last = next((one for one in reversed(rounds) if name in one.claims), None)
        found = decided(last.claims[name]) if last else Decided("not measured yet", "-")
        rows.append([title, name, *(one.verdict(name) for one in rounds), *found])
    return rows


def counts(rounds: Mapping[str, Round]) -> list[list[str]]:
    """Return how many claims of each study hold, do not hold and are inconclusive."""
    rows = []
    for title, one in rounds.items():
        verdicts = [claim["verdict"] for claim in one.claims.values()]
        share = verdicts.count(Verdict.OPEN.value) / len(verdicts) if verdicts else np.nan
        numbers = [str(verdicts.count(kind.value)) for kind in Verdict]
        rows.append([title, str(len(verdicts)), *numbers, f"{share:.0%}" if verdicts else "-"])
    return rows
