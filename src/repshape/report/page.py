"""The page of a report: its text, and one self-contained file with all data, styles and code."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from repshape._arrays import count
from repshape._version import package_version
from repshape.io.cohort import Cohort
from repshape.io.json import json_text
from repshape.metrics.base import ShapeMetric
from repshape.plots.captions import preprocess_steps
from repshape.preprocess import Preprocess
from repshape.report.data import NEIGHBOURS, page_data
from repshape.report.info import count_windows
from repshape.report.predictions import prediction_rows, unpredicted_words
from repshape.report.quality import FULL, MOST_COLUMNS, PERMUTATIONS, many, part_of
from repshape.report.sources import Inputs
from repshape.report.study import Studied

TEMPLATE = "report.html.j2"
STYLE = "report.css"
# Joined in this order, these files make one script: those of every page first.
HELPERS = ("helpers.js", "pens.js", "maps.js", "saving.js")
SCRIPTS = (
    *HELPERS,
    "base.js",
    "heatmap.js",
    "embedding.js",
    "pair.js",
    "tables.js",
    "downloads.js",
    "main.js",
)
# Characters that could end a script element, or that JavaScript treats as the end of a line.
ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
INVARIANCES = {
    "orthogonal": "The distance ignores rotations and reflections of the neurons.",
    "rotation": "The distance ignores rotations of the neurons, but not reflections.",
    "permutation": "The distance ignores the order of the neurons, but not rotations.",
    "identity": "There is no alignment: neuron k of one network is compared with neuron k of the "
    "other.",
}
ESTIMATORS = {
    "mle": "maximum likelihood",
    "unbiased": "the unbiased estimator",
    "ledoit-wolf": "Ledoit-Wolf shrinkage",
    "oas": "oracle approximating shrinkage",
    "shrinkage-cv": "cross-validated shrinkage",
    "ridge": "maximum likelihood with a ridge",
}


def render_page(
    inputs: Inputs, studied: Sequence[Studied], notes: Sequence[str], title: str | None
) -> str:
    """Return the page about matrices."""
    return render(
        TEMPLATE, SCRIPTS, _text(inputs, studied, notes, title), page_data(inputs, studied)
    )


def render(
    template: str, scripts: Sequence[str], text: Mapping[str, Any], data: Mapping[str, Any]
) -> str:
    """Return a page. All text is escaped, and the data become JSON that cannot be executed."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # slow to import
    from markupsafe import Markup

    style = read_static(STYLE)
    script = "'use strict';\n(() => {\n" + "\n".join(map(read_static, scripts)) + "\n})();\n"
    environment = Environment(
        loader=FunctionLoader(read_static),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        **text,
        version=package_version(),
        style=Markup(style),  # our own, and its hash is in the policy
        script=Markup(script),
        data=Markup(inert_json(data)),
        policy=_policy(style, script),
    )


def simplifications(inputs: Inputs, n_drawn: int | None) -> tuple[str, ...]:
    """Return a sentence for everything that the page leaves out or simplifies.

    ``n_drawn`` is the number of pairs that are drawn, or None if there are no responses to draw.
    """
    pairs = inputs.sources[0].distances.size
    notes = []
    if len(inputs.labels) > FULL:
        notes.append(
            f"There are more than {FULL} networks. Therefore the table of pairs lists only the "
            f"{NEIGHBOURS} nearest neighbours of each network, the map shows distances rounded to "
            "1/254 of their range, the embedding is by classical scaling, no matrix is repaired, "
            "and groups, gain and noise are not measured."
        )
    if n_drawn is not None and n_drawn < pairs:
        notes.append(f"{part_of(n_drawn, pairs, 'pair')} can be shown before and after alignment.")
    if len(inputs.metadata.columns) > MOST_COLUMNS:
        notes.append(
            f"Only the first {MOST_COLUMNS} columns of the metadata are predicted from neighbours."
        )
    return tuple(notes)


def _text(
    inputs: Inputs, studied: Sequence[Studied], notes: Sequence[str], title: str | None
) -> dict[str, Any]:
    """Return the variables of the template that are text."""
    networks = many(len(inputs.labels), "network")
    predictions = [one.quality.predictions for one in studied]
    scored = [one.found for row in predictions for one in row if one.found is not None]
    return {
        "title": title or f"Shape distances of {networks}",
        "networks": networks,
        "pairs": many(inputs.sources[0].distances.size, "pair"),
        "matrices": [
            {
                "name": one.source.name,
                "headline": one.headline,
                "badges": one.badges,
                "measured": [
                    *_response_words(one.source.cohort),
                    *what_was_measured(one.source.metric, one.source.matrix.description),
                ],
                "settings": settings_table(one.source.matrix.description),
                "checks": one.checks,
                "predictions": prediction_rows(predictions, k),
                "unpredicted": unpredicted_words(one.quality.predictions),
            }
            for k, one in enumerate(studied)
        ],
        "protocol": scored[0].method if scored else "",
        "permutations": PERMUTATIONS,
        "smallest_p": f"{1 / (PERMUTATIONS + 1):.2g}",
        "left_out": notes,
    }


def _response_words(cohort: Cohort | None) -> list[tuple[str, str]]:
    """Say in which windows spikes were counted, if any were."""
    windows = {} if cohort is None else count_windows(cohort)
    if not windows:
        return []
    if len(windows) == 1:
        return [("Responses", f"Spikes were counted {next(iter(windows))} after the onset.")]
    listed = ", ".join(f"{words} ({many(k, 'network')})" for words, k in windows.items())
    return [("Responses", f"Spikes were counted in different windows after the onset: {listed}.")]


def what_was_measured(
    metric: ShapeMetric[Any] | None, description: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return (topic, sentence) for everything that a reader must know about a matrix.

    >>> from repshape import GaussianShapeMetric
    >>> metric = GaussianShapeMetric(2.0)
    >>> dict(what_was_measured(metric, metric.describe()))["Preprocessing"]
    'None: the responses are compared as they are.'
    """
    made = description.get("repshape")
    version = [("Version", f"Computed with repshape {made}.")]
    repair = [("Repair", "These are the nearest distances that violate no triangle inequality.")]
    last = [
        *(repair if description.get("repaired") else []),
        *(version if made and made != "unknown" else []),
    ]
    if metric is None:
        name = description.get("metric")
        words = f"Distances by {name}." if name else "The file does not name the metric."
        return [("Distance", words), *last]
    parameters = metric.get_params(deep=False)
    return [
        ("Distance", metric._sentence()),
        *_invariance_words(parameters),
        ("Preprocessing", _preprocess_words(metric.preprocess)),
        (
            "Conditions",
            "All conditions have the same weight."
            if metric.weights is None
            else "Conditions have the weights listed under 'All settings'.",
        ),
        *_covariance_words(parameters),
        *_search_words(parameters),
        *last,
    ]


def _preprocess_words(preprocess: Preprocess | None) -> str:
    if preprocess is None:
        return "None: the responses are compared as they are."
    steps = preprocess_steps(preprocess)
    return f"Each network was {', '.join(steps)}." if steps else "None."


def _invariance_words(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "group" not in parameters:
        return []
    group = str(parameters["group"])
    return [("Invariances", INVARIANCES.get(group, f"Alignment over the group {group!r}."))]


def _covariance_words(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "covariance" not in parameters:
        return []
    name = str(getattr(parameters["covariance"], "name", parameters["covariance"]))
    how = ESTIMATORS.get(name, name)
    return [("Covariances", f"Estimated by {how} for networks given as trials.")]


def _search_words(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "group" not in parameters:
        return []
    if "n_starts" not in parameters:
        return [("Search", "Solved in closed form.")]
    starts = parameters["n_starts"]
    tried = count(starts, "start") if isinstance(starts, int) else "As many starts as a pair needs"
    tolerance = str(parameters.get("tol")).replace("e-0", "e-")
    words = (
        f"{tried}, seed {parameters.get('random_state')}, tolerance {tolerance}, at most "
        f"{parameters.get('max_iter')} iterations per start."
    )
    return [("Search", words)]


def settings_table(description: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the name and value of every setting that the matrix records."""
    rows = [("metric", description.get("metric", "unknown"))]
    rows += sorted(dict(description.get("parameters") or {}).items())
    rows.append(("repshape", description.get("repshape", "unknown")))
    return [(str(name), str(value)) for name, value in rows]


def inert_json(value: Any) -> str:
    r"""Return JSON that is safe inside a script element, whatever text it contains.

    >>> inert_json({"label": "</script>"})
    '{"label": "\\u003c/script\\u003e"}'
    """
    text = json_text(value)
    for character, escape in ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _policy(style: str, script: str) -> str:
    """Return a content security policy that loads nothing and runs our script only."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def read_static(name: str) -> str:
    """Return the text of one of the template, style and script files."""
    return (files("repshape.report") / "static" / name).read_text(encoding="utf-8")
