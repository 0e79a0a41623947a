"""A MkDocs hook that converts TeX to MathML when the site is built, so pages need no script for it.

`pymdownx.arithmatex` marks the formulas, and this hook replaces each of them with MathML. A command
that the converter does not know stops the build.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">(?:\\\((?P<inline>.*?)\\\)|\\\[(?P<block>.*?)\\\])'
    r"</(?P=tag)>",
    re.DOTALL,
)
# Names that the converter would set letter by letter, or not at all.
SPELLINGS = {
    r"\arg\min": r"\operatorname{argmin}",
    r"\arg\max": r"\operatorname{argmax}",
    r"\mathrm{tr}": r"\operatorname{tr}",
    r"\tr": r"\operatorname{tr}",
}
# In a displayed formula the subscript of a minimum is set below it.
BELOW = re.compile(r"\\(?:operatorname\{arg(min|max)\}|(min|max))_(\{[^{}]*\}|\w)")
# Bars, slashes and primes are set without the gaps that browsers put around operators.
TIGHT = 'lspace="0" rspace="0"'
BAR = re.compile(r'<mo(?: stretchy="false")?>(&#x0007C;|&#x02016;|&#x0002F;)</mo>')
PRIME = re.compile(r"<msup>(<mi>[^<]*</mi>)<mi>&#x02032;</mi></msup>")
UNKNOWN = re.compile(r">\\(\w+)<")


def to_mathml(tex: str, *, block: bool = False) -> str:
    r"""Return the MathML of a formula in TeX.

    >>> to_mathml("x")
    '<math display="inline"><mrow><mi>x</mi></mrow></math>'
    >>> to_mathml(r"\nonsense")
    Traceback (most recent call last):
        ...
    ValueError: The formula '\\nonsense' has a command that cannot be shown: nonsense.
    """
    spelled = tex
    for known, written in SPELLINGS.items():
        pattern = re.escape(known) + r"(?![a-zA-Z])"
        spelled = re.sub(pattern, written.replace("\\", r"\\"), spelled)
    if block:
        spelled = BELOW.sub(_below, spelled)
    markup = convert(spelled, display="block" if block else "inline")
    markup = BAR.sub(lambda bar: f'<mo stretchy="false" {TIGHT}>{bar[1]}</mo>', markup)
    markup = PRIME.sub(rf"<mrow>\1<mo {TIGHT}>&#x02032;</mo></mrow>", markup)
    if unknown := UNKNOWN.search(markup):
        raise ValueError(
            f"The formula {tex!r} has a command that cannot be shown: {unknown.group(1)}."
        )
    return markup.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")


def _below(found: re.Match[str]) -> str:
    name = f"arg{found[1]}" if found[1] else found[2]
    under = found[3] if found[3].startswith("{") else f"{{{found[3]}}}"
    return rf"\underset{under}{{\operatorname{{{name}}}}}"


def replace_formulas(page: str) -> str:
    r"""Return a page with every marked formula as MathML.

    >>> replace_formulas(r'<p><span class="arithmatex">\(n\)</span></p>')
    '<p><math display="inline"><mrow><mi>n</mi></mrow></math></p>'
    """

    def show(found: re.Match[str]) -> str:
        if found["block"] is None:
            return to_mathml(html.unescape(found["inline"]))
        markup = to_mathml(html.unescape(found["block"]), block=True)
        return f'<div class="math-display" tabindex="0">{markup}</div>'

    return FORMULA.sub(show, page)


def on_page_content(html: str, **_: Any) -> str:
    """Replace the formulas of a page. MkDocs calls this after converting Markdown."""
    return replace_formulas(html)
