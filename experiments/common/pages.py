"""Parts of the documentation pages that studies share, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.common.drawing import Pictures
from experiments.common.results import COMMIT, TINY, Arrays
from experiments.common.summary import is_measured
from experiments.common.verdicts import FAMILY_LEVEL, Claim, Verdict
from repshape.io.writing import open_output

# How every study decides, in the words of its page; `common.verdicts` is what decides.
STANDARD = f"""How to read the verdicts: each number has a jackknife confidence interval, from
leaving out one independent unit at a time. Units are {{units}}.
Each claim rests on one or more numbers, and their intervals have a joint level of
{FAMILY_LEVEL:.0%}; those of shares and correlations stay within their limits. A claim
*{Verdict.HOLDS}* if every interval lies entirely above its threshold and all permutation tests are
passed. It *{Verdict.FAILS}* if any interval lies entirely below its threshold, or entirely below
the smallest effect that matters. Otherwise it is *{Verdict.OPEN}*. [How claims are
decided](standard.md) lists all thresholds and margins with their reasons, and what was known when
they were written."""


def versions_text(results: Mapping[str, Any]) -> str:
    """Say what measured the distances.

    >>> versions_text({"versions": {"repshape": "0.3.0", "commit": "0123456789"}})
    'Distances were measured with repshape 0.3.0, commit `0123456789`.'
    """
    found = results["versions"]
    commit = f", commit `{found[COMMIT]}`" if found.get(COMMIT) else ""
    return f"Distances were measured with repshape {found['repshape']}{commit}."


def pilot_versions_text(results: Mapping[str, Any]) -> str:
    """Say what measured the pilot, beside what measured the confirmation.

    >>> pilot_versions_text({"versions": {"repshape": "0.2.0"}})
    'The pilot was measured with repshape 0.2.0, before results recorded a commit.'
    """
    found = results["versions"]
    commit = (
        f"commit `{found[COMMIT]}`" if found.get(COMMIT) else "before results recorded a commit"
    )
    return f"The pilot was measured with repshape {found['repshape']}, {commit}."


SOME_SEEDS = """!!! note "Some seeds only"
    The confirmation has {groups}. Only these were selected, and all of their networks are finished.
    No number of the confirmation includes the other seeds."""


def seeds_text(networks: Mapping[str, Mapping[str, Any]], words: Callable[[str], str] = str) -> str:
    """Say which groups of networks have fewer seeds than planned; empty if none has.

    ``words`` returns what a group is called in a sentence.

    >>> seeds_text({"": {"seeds": 6, "seeds_planned": 6}, "cifar10": {"seeds": 0}})
    ''
    >>> seeds_text({"": {"seeds": 5, "seeds_planned": 6}}).splitlines()[1][:46]
    '    The confirmation has 5 of 6 planned seeds.'
    """
    fewer = [
        f"{one['seeds']} of {one['seeds_planned']} planned seeds"
        + (f" of {words(group)}" if group else "")
        for group, one in networks.items()
        if 0 < one["seeds"] < one.get("seeds_planned", 0)
    ]
    return SOME_SEEDS.format(groups="; ".join(fewer)) if fewer else ""


def table_text(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown.

    >>> print(table_text(["a", "b"], [["1", 2]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def count_verdicts(claims: Iterable[Mapping[str, Any]]) -> str:
    """Say how many claims hold.

    >>> count_verdicts([{"verdict": "holds"}, {"verdict": "inconclusive"}])
    '**Of 2 claims, 1 holds, 0 do not hold and 1 is inconclusive.**'
    """
    verdicts = [claim["verdict"] for claim in claims]
    holds, fails, unknown = (_count_words(verdicts.count(one.value), one) for one in Verdict)
    return f"**Of {len(verdicts)} claims, {holds}, {fails} and {unknown}.**"


PLURAL = {Verdict.HOLDS: "hold", Verdict.FAILS: "do not hold", Verdict.OPEN: "are inconclusive"}


def _count_words(count: int, verdict: Verdict) -> str:
    if count != 1:
        return f"{count} {PLURAL[verdict]}"
    return "1 is inconclusive" if verdict is Verdict.OPEN else f"1 {verdict.value}"


def claims_table(
    pilot: Iterable[Mapping[str, Any]], confirmation: Iterable[Mapping[str, Any]] = ()
) -> str:
    """Return the claims with numbers and verdicts, of one round or of both side by side."""
    later = {claim["name"]: claim for claim in confirmation}
    headings = ["claim", "pilot", "verdict"]
    headings += ["confirmation", "verdict of the confirmation"] if later else []
    rows = []
    for claim in pilot:
        cells = [claim_words(claim), *_round_cells(claim)]
        rows.append(cells + (_round_cells(later[claim["name"]]) if later else []))
    return table_text(headings, rows) + "\n"


def _round_cells(claim: Mapping[str, Any]) -> list[str]:
    """Return numbers and verdict of a claim in one round."""
    if not is_measured(claim):
        return ["not measured yet", "-"]
    verdict = claim["verdict"]
    verdict = verdict if verdict == Verdict.HOLDS else f"**{verdict}**"
    note = f"<br>*{claim['note']}*" if claim["note"] else ""
    return ["<br>".join(map(criterion_words, claim["criteria"])), f"{verdict}{note}"]


def criteria_table(claims: Iterable[Claim]) -> str:
    """Return the claims with what will decide them."""
    rule = "it holds if all of these are above the first number, and does not hold if one is below "
    lines = [f"| claim | {rule}the second |", "|---|---|"]
    for claim in claims:
        first = claim.criteria[0]
        others = len(claim.criteria) - 1
        more = f"<br>*and {others} more of this kind*" if others else ""
        words = f"{first.statistic}: {first.above:g} and {first.refuted_below:g}"
        if first.largest_p is not None:
            words += f"; p must be at most {first.largest_p:g}"
        known = {"name": claim.name, "sentence": claim.sentence, "source": claim.source}
        lines.append(f"| {claim_words(known)} | {words}{more} |")
    return "\n".join([*lines, ""])


def claim_words(claim: Mapping[str, Any]) -> str:
    """Return name, sentence and source of a claim."""
    return f"**{claim['name']}.** {claim['sentence']} *({claim['source']})*"


def criterion_words(criterion: Mapping[str, Any]) -> str:
    """Return a criterion in words.

    >>> numbers = {"estimate": 0.512, "lower": 0.4, "upper": 0.6, "p_value": 0.001}
    >>> criterion_words({"name": "alpha = 1", "above": 0.0, "verdict": "holds"} | numbers)
    'alpha = 1: 0.512 [0.4, 0.6], p = 0.001'
    """
    if criterion["estimate"] is None:
        return f"{criterion['name']}: not measured"
    words = f"{criterion['name']}: {criterion['estimate']:.3g}"
    if criterion["lower"] is not None:
        words += f" [{criterion['lower']:.3g}, {criterion['upper']:.3g}]"
    if criterion["p_value"] is not None:
        words += f", p = {criterion['p_value']:.3g}"
    verdict = criterion["verdict"]
    if verdict == Verdict.HOLDS:
        return words
    needed = criterion.get("units_needed")
    more = f" (at this spread, {needed} units would decide)" if needed else ""
    return f"{words}: {verdict}{more}"


def figure_texts(
    pictures: Pictures, results: Mapping[str, Any], captions: Mapping[str, str], images: Path
) -> dict[str, str]:
    """Return every figure that the results allow, with its caption, by name."""
    return {
        name: figure_text(pictures.known[name].title, captions[name], images, name)
        for name in pictures.drawable(results)
    }


def figure_text(title: str, caption: str, images: Path, name: str) -> str:
    """Return a figure with its caption, under a heading of its own."""
    return f"### {title}\n\n![{title}](../{images.as_posix()}/{name}.png)\n\n{caption}\n"


def differences_text(differences: Mapping[str, tuple[str, str]], chosen: Mapping[str, str]) -> str:
    """Return what differs from the paper, and what was chosen where it is silent."""
    lines = ["## What differs from the paper", "", "| | the paper | here |", "|---|---|---|"]
    lines += [f"| {name} | {theirs} | {ours} |" for name, (theirs, ours) in differences.items()]
    lines += ["", "Where the papers do not say, or our two scales differ:", "", "| | our choice |"]
    lines += ["|---|---|", *(f"| {name} | {words} |" for name, words in chosen.items()), ""]
    return "\n".join(lines)


def write_page(
    page: Path,
    text: str,
    pictures: Pictures,
    results: Mapping[str, Any],
    arrays: Arrays,
    images: Path,
) -> list[Path]:
    """Write a page and, unless the results are of the tiny scale, its figures; return the files."""
    page.parent.mkdir(parents=True, exist_ok=True)
    with open_output(page) as handle:
        handle.write(text.encode())
    if results["scale"] == TINY:
        return [page]
    images.mkdir(parents=True, exist_ok=True)
    names = pictures.drawable(results)
    for name in names:
        pictures.draw_one(name, results, arrays, images, ("png",))
    return [page, *(images / f"{name}.png" for name in names)]
