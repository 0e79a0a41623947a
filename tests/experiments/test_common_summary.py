"""The table of all verdicts: what decided a claim, and how many units would."""

from __future__ import annotations

from typing import Any

import pytest
from experiments.brain import claims as brain_claims
from experiments.brain import page_text as brain_text
from experiments.common.sections import Section, finding, sections_text
from experiments.common.summary import Round, counts, decided, study_rows
from experiments.patch_gaussian import claims as patch_claims
from experiments.patch_gaussian import page_text as patch_text
from experiments.patch_gaussian.draw import FIGURES as PATCH_FIGURES
from experiments.standard import stored_rounds, verdicts_text
from experiments.vae import claims as vae_claims
from experiments.vae import page_text as vae_text
from experiments.vae.draw import FIGURES as VAE_FIGURES
from test_stored_pages import DOCS


def row(name: str, verdict: str, ends: tuple[float, float] | None, **more: Any) -> dict[str, Any]:
    lower, upper = ends or (None, None)
    middle = None if ends is None else sum(ends) / 2
    numbers = {"estimate": middle, "lower": lower, "upper": upper, "units": 10, "level": 0.95}
    limits = {"above": 0.0, "refuted_below": 0.02, "p_value": None, "largest_p": 0.01}
    return {"name": name, "verdict": verdict} | numbers | limits | more


def claim(verdict: str, *rows: dict[str, Any], note: str = "") -> dict[str, Any]:
    return {"name": "gain", "verdict": verdict, "note": note, "criteria": list(rows)}


def test_a_claim_that_holds_names_its_weakest_number() -> None:
    rows = row("far", "holds", (1.0, 2.0)), row("near", "holds", (0.1, 2.0))
    words = "both intervals are above their thresholds; closest: near (1.05 [0.1, 2], above 0)"
    assert decided(claim("holds", *rows)) == (words, "-")


def test_a_refuted_claim_names_the_clearest_refutation() -> None:
    rows = (
        row("fine", "holds", (1.0, 2.0)),
        row("small", "does not hold", (-0.01, 0.01)),
        row("gone", "does not hold", (-2.0, -1.0)),
    )
    matters = "below 0.02, the smallest effect that matters"
    words = f"2 of 3 intervals refute it, most clearly gone (-1.5 [-2, -1], {matters})"
    assert decided(claim("does not hold", *rows)).words == words
    words = f"1 of 2 intervals refutes it: small (0 [-0.01, 0.01], {matters})"
    assert decided(claim("does not hold", *rows[:2])).words == words
    margin = row("gone", "does not hold", (-2.0, -1.0), refuted_below=0.0)
    words = "the interval refutes it: gone (-1.5 [-2, -1], below 0)"
    assert decided(claim("does not hold", margin)).words == words


def test_an_open_claim_says_why_and_how_many_units_decide() -> None:
    open_one = row("wide", "inconclusive", (-0.01, 0.11))
    found = decided(claim("inconclusive", open_one, row("fine", "holds", (1.0, 2.0))))
    assert found == ("1 of 2 intervals includes the threshold 0: wide (0.05 [-0.01, 0.11])", "14")
    tested = row("tested", "inconclusive", (0.1, 0.2), p_value=0.04)
    assert decided(claim("inconclusive", tested)) == (
        "the p-value exceeds 0.01: tested (0.15 [0.1, 0.2], p = 0.04)",
        "18",  # 10 times the square of 2.326 / 1.751, the normal quantiles of both p-values
    )
    missing = row("none", "inconclusive", None, units=0)
    assert decided(claim("inconclusive", open_one, missing)).units == "14 for some"
    words = "the number is not known: none (not measured)"
    assert decided(claim("inconclusive", missing)).words == words
    unknown = row("none", "inconclusive", None)
    words = "the number is not known: none (not a number)"
    assert decided(claim("inconclusive", unknown)).words == words
    single = row("one seed", "inconclusive", None, estimate=0.5)
    words = "the number has no interval: one seed (0.5)"
    assert decided(claim("inconclusive", single)).words == words
    assert decided(claim("inconclusive", open_one, note="too many failed")).words == (
        "too many failed"
    )


def test_criteria_that_are_open_for_the_same_reason_are_listed_together() -> None:
    first, second = (row(name, "inconclusive", (-0.01, 0.11)) for name in "ab")
    tested = row("c", "inconclusive", (0.1, 0.2), p_value=0.04)
    assert decided(claim("inconclusive", first, tested, second)).words == (
        "2 of 3 intervals include the threshold 0: a (0.05 [-0.01, 0.11]), b (0.05 [-0.01, 0.11]); "
        "1 of 3 p-values exceeds 0.01: c (0.15 [0.1, 0.2], p = 0.04)"
    )


def test_brain_criteria_have_other_names() -> None:
    """Studies name an estimate and its interval in two ways; both give the same row."""
    own = row("wide", "inconclusive", (-0.01, 0.11))
    names = {"estimate": "value", "lower": "low", "upper": "high", "units": "n_units"}
    other = {names.get(key, key): value for key, value in own.items()}
    assert decided(claim("inconclusive", own)) == decided(claim("inconclusive", other))


def test_the_last_round_decides() -> None:
    pilot = Round.of({"claims": [claim("holds", row("a", "holds", (1.0, 2.0)))]})
    later = Round.of({"claims": [claim("inconclusive", row("a", "inconclusive", (-1.0, 2.0)))]})
    (found,) = study_rows("study", ["gain"], [pilot, later])
    assert found[:4] == ["study", "gain", "holds", "inconclusive"]
    assert found[4] == "the interval includes the threshold 0: a (0.5 [-1, 2])"
    (found,) = study_rows("study", ["gain"], [pilot, Round.of(None)])
    assert found[2:4] == ["holds", "-"]
    (found,) = study_rows("study", ["other"], [pilot, later])
    assert found[2:] == ["-", "-", "not measured yet", "-"]
    assert counts({"study": later}) == [["study", "1", "0", "0", "1", "100%"]]


def test_a_round_that_was_measured_in_part_leaves_the_rest_to_the_pilot() -> None:
    known = claim("holds", row("a", "holds", (1.0, 2.0)))
    other = {**known, "name": "other"}
    pilot = Round.of({"claims": [known, other]})
    unknown = claim("inconclusive", row("a", "inconclusive", None, units=0))
    refuted = claim("does not hold", row("a", "does not hold", (-2.0, -1.0)))
    later = Round.of({"claims": [{**refuted, "name": "other"}, unknown]})
    assert list(later.claims) == ["other"]
    both = later.after(pilot)
    assert {name: one["verdict"] for name, one in both.claims.items()} == {
        "gain": "holds",
        "other": "does not hold",
    }
    assert counts({"study": both}) == [["study", "2", "1", "1", "0", "0%"]]


def test_findings_say_what_was_decided_when() -> None:
    sure = claim("holds", row("a", "holds", (1.0, 2.0))) | {"sentence": "It grows."}
    wide = claim("inconclusive", row("a", "inconclusive", (-0.01, 0.11)))
    wide |= {"sentence": "It grows.", "source": "Figure 1"}
    rounds = [Round.of({"claims": [sure]}), Round.of({"claims": [wide]})]
    assert finding("gain", rounds) == (
        "- **Inconclusive in the confirmation (pilot: holds).** *It grows.* (Figure 1) "
        "The interval includes the threshold 0: a (0.05 [-0.01, 0.11]). "
        "At this spread, 14 units would decide it."
    )
    assert finding("gain", rounds[:1]) == (
        "- **Holds.** *It grows.* The interval is above its threshold: a (1.5 [1, 2], above 0)."
    )
    assert finding("other", rounds) == ""


def test_sections_have_claims_tables_and_figures_in_this_order() -> None:
    sure = claim("holds", row("a", "holds", (1.0, 2.0))) | {"sentence": "It grows."}
    sections = [Section("Does it?", "We ask.", ("gain",), ("b", "c")), Section("Else", "")]
    found = sections_text(
        sections, [Round.of({"claims": [sure]})], {"b": "figure b"}, {"Does it?": "a table"}
    )
    words = [part.strip().partition(" ")[0] for part in found]
    assert words == ["##", "We", "-", "a", "figure", "##"]


@pytest.mark.parametrize(
    ("sections", "claims", "pictures"),
    [
        (vae_text.SECTIONS, vae_claims.CLAIMS, VAE_FIGURES.known),
        (patch_text.SECTIONS, patch_claims.CLAIMS, PATCH_FIGURES.known),
        (brain_text.SECTIONS, brain_claims.CLAIMS, brain_text.CAPTIONS),
    ],
)
def test_every_claim_and_figure_is_in_one_section(
    sections: Any, claims: Any, pictures: Any
) -> None:
    names = [name for section in sections for name in section.claims if name != "Abstract"]
    assert sorted(names) == sorted(claim.name for claim in claims)
    figures = [name for section in sections for name in section.figures]
    assert sorted(figures) == sorted(pictures)


@pytest.mark.parametrize("study", list(stored_rounds(DOCS)))
def test_every_claim_has_a_row(study: str) -> None:
    text = verdicts_text(DOCS)
    for one in stored_rounds(DOCS)[study][0]:
        assert f"| {study} | {one.name} | " in text


def test_a_verdict_from_some_of_the_seeds_says_so() -> None:
    """Of several groups of networks, only those that the claim is about count."""
    sure = claim("holds", row("a", "holds", (1.0, 2.0))) | {"sentence": "It grows."}
    pilot = Round.of({"claims": [sure], "networks": {"seeds": 3}})
    networks = {"seeds": 4, "seeds_planned": 6}
    later = Round.of({"claims": [sure], "networks": networks})
    (found,) = study_rows("study", ["gain"], [pilot, later])
    assert found[2:4] == ["holds", "holds (4 of 6 seeds)"]
    assert "**Holds in the confirmation, with 4 of 6 seeds (pilot: holds).**" in finding(
        "gain", [pilot, later]
    )
    both = {"claims": [sure], "networks": {"some": networks, "all": {"seeds": 2}}}
    for group, words in (("some", "holds (4 of 6 seeds)"), ("all", "holds")):
        assert Round.of(both, lambda name, group=group: [group]).verdict("gain") == words
    assert later.after(pilot).seeds == {"gain": "4 of 6 seeds"}
    assert pilot.after(later).seeds == {}
    assert counts({"study": later}) == [["study", "1", "1", "0", "0", "0%"]]
