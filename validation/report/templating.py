"""Templates of the report, filled in and escaped by Jinja, with the filters that they use."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hopflow
from validation.judgements.labels import SIMULATORS
from validation.judgements.verdicts import Verdict
from validation.manifest import MANIFEST_SHA256
from validation.report.families import common_caption, page_of
from validation.report.papers import PAPERS
from validation.report.rows import part_judged, sources_of, verdict_of
from validation.report.tally import judging

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).parent / "templates"
MARKS = {
    Verdict.HOLDS: "✓",
    Verdict.CONTRADICTED: "✗",
    Verdict.DEPENDS: "±",
    Verdict.MARGIN: "±",
    Verdict.DISAGREE: "≠",
    Verdict.INCONCLUSIVE: "≈",
    Verdict.UNDECIDABLE: "?",
    Verdict.NOT_APPLICABLE: "–",
}
ROWS_UNFOLDED = 15
"""Quantities of a claim that its page shows without a click."""
MARKUP = re.compile(r"[`*_\[\]\\!|~#]|https?:")
"""What Markdown may turn into anything but itself within a line."""


def filled(template: str, **values: Any) -> str:
    """Return a page: a template with these values."""
    return _environment().get_template(template).render({"root": "", **values})


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2
    from markdown_it import MarkdownIt
    from markupsafe import Markup, escape

    markdown = MarkdownIt("commonmark", {"html": False})

    def inline(text: str) -> Markup:
        return Markup(markdown.renderInline(text)) if MARKUP.search(text) else escape(text)

    new = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        auto_reload=False,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    new.filters |= {
        "markdown": lambda text: Markup(markdown.render(text)),
        "inline": inline,
        "common_caption": common_caption,
        "anchor": lambda case: case.replace("/", "-"),
        "page": page_of,
    }
    new.filters |= {"sources": sources_of, "written_out": written_out, "judging": judging}
    new.globals |= {
        "part_judged": part_judged,
        "verdict_of": verdict_of,
        "marks": {str(verdict): mark for verdict, mark in MARKS.items()},
        "papers": PAPERS,
        "rows_unfolded": ROWS_UNFOLDED,
        "simulators": SIMULATORS,
        "version": hopflow.__version__,
        "manifest": MANIFEST_SHA256,
    }
    return new


def written_out(text: str) -> str:
    """Return a text whose powers of ten, and whole numbers of six digits and more, are written with commas.

    Examples
    --------
    >>> from validation.report.templating import written_out
    >>> written_out("7.76e+05 (2e-05 to 1e+07)")
    '776,000 (2e-05 to 10,000,000)'
    """
    large = r"\d+(?:\.\d+)?e\+\d+|(?<![\d.])\d{6,}\b"
    return re.sub(large, lambda found: f"{float(found[0]):,.0f}", text)
