"""The results of a study in words: a section for each question, with the claims that answer it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.common.summary import GroupsOf, Round, decided

ROUNDS = ("pilot", "confirmation")


@dataclass(frozen=True)
class Section:
    """A question of a study.

    Attributes
    ----------
    title : str
    words : str
        What was asked, and what a reader must know to judge the answer.
    claims : tuple of str
        Names of the claims that answer it.
    figures : tuple of str
        Names of the figures that show it.
    """

    title: str
    words: str
    claims: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()


def sections_text(
    sections: Iterable[Section],
    rounds: Sequence[Round],
    figures: Mapping[str, str],
    more: Mapping[str, str],
) -> list[str]:
    """Return all sections, in Markdown.

    Parameters
    ----------
    sections : iterable of Section
    rounds : sequence of Round
        The pilot, and the confirmation if there is one. The last that has a claim decides it.
    figures : mapping of str to str
        Figures with their captions, by name.
    more : mapping of str to str
        Tables and texts that follow the claims of a section, by its title.
    """
    found = []
    for section in sections:
        parts = [f"## {section.title}\n", f"{section.words}\n" if section.words else ""]
        findings = [finding(name, rounds) for name in section.claims]
        parts.append("\n".join(line for line in findings if line) + "\n" if findings else "")
        parts.append(more.get(section.title, ""))
        parts += [figures[name] for name in section.figures if name in figures]
        found += [part for part in parts if part.strip()]
    return found


def finding(name: str, rounds: Sequence[Round]) -> str:
    """Return one claim after its verdict, and what decided it; empty if it was not measured.

    >>> row = {"name": "d_2", "value": 0.5, "low": 0.25, "high": 1, "n_units": 8, "above": 0}
    >>> row |= {"verdict": "holds"}
    >>> claim = {"name": "D", "sentence": "It grows.", "verdict": "holds", "criteria": [row]}
    >>> print(finding("D", [Round({"D": claim})]))
    - **Holds.** *It grows.* The interval is above its threshold: d_2 (0.5 [0.25, 1], above 0).
    """
    known = [k for k, one in enumerate(rounds) if name in one.claims]
    if not known:
        return ""
    claim = rounds[known[-1]].claims[name]
    verdict = str(claim["verdict"]).capitalize()
    if len(known) > 1:
        before = rounds[known[0]].claims[name]["verdict"]
        seeds = rounds[known[-1]].seeds.get(name)
        with_seeds = f", with {seeds}" if seeds else ""
        verdict += f" in the {ROUNDS[known[-1]]}{with_seeds} ({ROUNDS[known[0]]}: {before})"
    source = f" ({claim['source']})" if claim.get("source") else ""
    why = decided(claim)
    words = f"{why.words[:1].upper()}{why.words[1:]}."
    return f"- **{verdict}.** *{claim['sentence']}*{source} {words}{units_words(why.units)}"


def units_words(units: str) -> str:
    """Return how many units would decide a claim, as a sentence; empty if that is not known.

    >>> units_words("14"), units_words("not known")
    (' At this spread, 14 units would decide it.', '')
    >>> units_words("14 for some")
    ' At this spread, 14 units would settle some of these numbers.'
    """
    count, _, some = units.partition(" ")
    if not count.isdigit():
        return ""
    decide = "settle some of these numbers" if some else "decide it"
    return f" At this spread, {count} units would {decide}."


def claims_of(
    results: Mapping[str, Any],
    confirmation: Mapping[str, Any] | None,
    groups: GroupsOf | None = None,
) -> list[Round]:
    """Return the rounds of some results; ``groups`` as in `Round.of`."""
    later = [] if confirmation is None else [Round.of(confirmation, groups)]
    return [Round.of(results, groups), *later]
