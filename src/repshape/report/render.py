"""From data to one file: template, styles and code inlined, and nothing that could run but ours."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from repshape.io.json import json_text

STATIC = "static"
TEMPLATE = "report.html.j2"
STYLE = "report.css"
# In this order they make one script.
SCRIPTS = (
    "base.js",
    "pens.js",
    "heatmap.js",
    "embedding.js",
    "pair.js",
    "tables.js",
    "downloads.js",
    "main.js",
)
# Characters that could end a script element, or that JavaScript takes for the end of a line.
ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def render(context: dict[str, Any], data: dict[str, Any]) -> str:
    """Return the page. Whatever is in ``context`` is escaped; ``data`` becomes inert JSON."""
    from jinja2 import Environment, StrictUndefined  # slow to import: not with the package
    from markupsafe import Markup

    style = _static(STYLE)
    script = "'use strict';\n(() => {\n" + "\n".join(map(_static, SCRIPTS)) + "\n})();\n"
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_static(TEMPLATE))
    return template.render(
        **context,
        style=Markup(style),  # ours, and pinned by its hash in the policy
        script=Markup(script),
        data=Markup(inert_json(data)),
        policy=_policy(style, script),
    )


def inert_json(value: Any) -> str:
    r"""Return JSON that can stand inside a script element, whatever the text in it.

    >>> inert_json({"label": "</script>"})
    '{"label": "\\u003c/script\\u003e"}'
    """
    text = json_text(value)
    for character, escape in ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _policy(style: str, script: str) -> str:
    """Return a content security policy under which nothing is loaded and only our code runs."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _static(name: str) -> str:
    return (files("repshape.report") / STATIC / name).read_text(encoding="utf-8")
