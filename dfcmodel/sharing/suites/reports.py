"""Reports of conformance: JUnit XML for CI systems, and an HTML page with the first event outside of each case."""

from __future__ import annotations

import base64
import html
import io
import math
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.endpoints.native_rules import full_name
from dfcmodel.sharing.suites.judging import ERROR, FAILED, KNOWN, NOT_JUDGED, PASSED, UNDECIDED
from hopflow.results import figure
from hopflow.whole_files import replacing

if TYPE_CHECKING:
    from dfcmodel.sharing.suites.judging import SuiteVerdict
    from dfcmodel.sharing.suites.results import SuiteConformance

__all__ = ["write_junit", "write_page"]

STYLE = """
body { font-family: system-ui, sans-serif; line-height: 1.4; max-width: 64rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
h3 { font-size: 1.05rem; margin: 0 0 0.4rem; } a { color: #0b5394; }
article { border: 1px solid #bbb; border-left: 0.4rem solid #777; padding: 0.7rem 1rem; margin: 1rem 0; }
article.failed { border-left-color: #b3261e; } article.known { border-left-color: #b07d00; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; margin: 0.6rem 0; }
dt { color: #555; } dd { margin: 0; overflow-wrap: anywhere; }
img { width: 40rem; max-width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
td, th { border-bottom: 1px solid #ccc; padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top; }
th { color: #555; font-weight: 600; }
@media (max-width: 45rem) {
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 0.4rem; }
  thead { display: none; } td { display: block; border: 0; padding: 0; } td:empty { display: none; }
  tr { display: block; border-bottom: 1px solid #ccc; padding: 0.5rem 0; }
  td[title]::before { content: attr(title) ": "; color: #555; }
}
"""
ORDER = (FAILED, ERROR, KNOWN, UNDECIDED, NOT_JUDGED)
"""Verdicts with an article of their own on the page; passed cases have a row of a table."""


def write_junit(result: SuiteConformance, path: Path) -> None:
    """Write the verdicts to a file as JUnit XML.

    Failed cases are failures, and cases that could not be run errors. Undecided and unjudged cases and known deviations
    are skipped, with the reason.
    """
    root = ET.Element("testsuites", name=f"hopflow conform {full_name(result.rule)}")
    for judged in result.suites:
        suite = ET.SubElement(root, "testsuite", name=judged.suite.label, tests=str(len(judged.verdicts)))
        suite.set("failures", str(judged.count(FAILED)))
        suite.set("errors", str(judged.count(ERROR)))
        suite.set("skipped", str(sum(judged.count(name) for name in (KNOWN, UNDECIDED, NOT_JUDGED))))
        for verdict in judged.verdicts:
            case = ET.SubElement(suite, "testcase", classname=judged.suite.label, name=verdict.case.id)
            text = _sentence(verdict)
            if verdict.verdict == FAILED:
                ET.SubElement(case, "failure", message=text).text = verdict.case.source
            elif verdict.verdict == ERROR:
                ET.SubElement(case, "error", message=text)
            elif verdict.verdict != PASSED:
                ET.SubElement(case, "skipped", message=f"{verdict.verdict}: {text}")
    ET.indent(root)
    with replacing(path) as scratch:
        ET.ElementTree(root).write(scratch, encoding="utf-8", xml_declaration=True)


def _sentence(verdict: SuiteVerdict) -> str:
    """Return "event: expected, found; reason" for a verdict, without parts that it lacks."""
    parts = [f"{verdict.event}: expected {verdict.expected}, found {verdict.found}"] if verdict.event else []
    return "; ".join([*parts, *([verdict.reason] if verdict.reason else [])])


def write_page(result: SuiteConformance, path: Path) -> None:
    """Write the verdicts to a file as an HTML page.

    A case that did not pass has its source with section, the requirement, the first event out of tolerance, the
    expected and the found value, and a figure of both at each event. Passed cases have a row of a table.
    """
    title = html.escape(f"Conformance of {full_name(result.rule)}")
    parts = [f"<h1>{title}</h1>", f"<p>It claims to be: {html.escape(result.rule.claims)}.</p>"]
    if result.failures:
        links = "".join(f"<li>{_link(verdict)}: {html.escape(verdict.found)}</li>" for verdict in result.failures)
        parts.append(f"<p>Failed cases:</p><ul>{links}</ul>")
    for judged in result.suites:
        parts.append(f"<h2>{html.escape(judged.suite.label)}</h2>")
        parts.append(f"<p>{html.escape(judged.suite.source)}: {html.escape(judged.headline)}.</p>")
        for kind in ORDER:
            parts += [_article(verdict) for verdict in judged.verdicts if verdict.verdict == kind]
        passed = [verdict for verdict in judged.verdicts if verdict.verdict == PASSED]
        if passed:
            parts.append(_table(passed))
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
    )
    text = f"{head}<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def _link(verdict: SuiteVerdict) -> str:
    """Return an HTML link to the article of a case, with the case's name."""
    name = html.escape(verdict.name)
    return f'<a href="#{name}">{name}</a>'


def _article(verdict: SuiteVerdict) -> str:
    """Return the HTML article on a case that did not pass, with a figure if it failed."""
    case, name = verdict.case, html.escape(verdict.name)
    facts = {
        "requirement": case.expectation,
        "source": case.source,
        "quantity": f"{case.quantity}, {case.unit}" if case.unit else case.quantity,
        "first event outside": verdict.event,
        "expected": verdict.expected,
        "found": verdict.found,
        "tolerance": case.about_tolerance if verdict.event else "",
        "reason": verdict.reason,
    }
    rows = "".join(f"<dt>{label}</dt><dd>{html.escape(text)}</dd>" for label, text in facts.items() if text)
    parts = [
        f'<article id="{name}" class="{verdict.verdict.partition(" ")[0]}"><h3>{name}: {verdict.verdict}</h3>',
        f"<dl>{rows}</dl>",
        _figure(verdict) if verdict.verdict in (FAILED, KNOWN) else "",
        "</article>",
    ]
    return "".join(parts)


def _table(verdicts: list[SuiteVerdict]) -> str:
    """Return the HTML table of passed cases, a row per case."""
    names = ("passed case", "requirement", "source", "nearest event", "expected", "found")
    head = "<thead><tr>" + "".join(f'<th scope="col">{name}</th>' for name in names) + "</tr></thead>"
    rows = []
    for verdict in verdicts:
        case = verdict.case
        cells = (case.id, case.expectation, case.source, verdict.event, verdict.expected, verdict.found)
        row = "".join(f'<td title="{name}">{html.escape(cell)}</td>' for name, cell in zip(names, cells, strict=True))
        rows.append(f"<tr>{row}</tr>")
    return f"<table>{head}<tbody>" + "\n".join(rows) + "</tbody></table>"


def _figure(verdict: SuiteVerdict) -> str:
    """Return an HTML image of a case's expected and found values by event; "" if no values are finite."""
    case = verdict.case
    rows = [row for row in verdict.observations if math.isfinite(row.expected) and math.isfinite(row.found)]
    if not rows:
        return ""
    picture, axes = figure(5.5, 2.6)
    marker, x = "o" if len(rows) < 20 else "", range(1, len(rows) + 1)
    expected = np.array([row.expected for row in rows])
    if rows[0].expected_text:
        axes.set_yticks([0.0, 1.0], ["does not hold", "holds"])
        axes.set_ylim(-0.3, 1.3)
    else:
        width = np.array([case.tolerance.width(value) for value in expected])
        bottom, top = _limits([*expected, *(row.found for row in rows), *(expected - width), *(expected + width)])
        low = expected - width if case.relation != "<=" else np.full(len(rows), bottom)
        high = expected + width if case.relation != ">=" else np.full(len(rows), top)
        axes.fill_between(x, low, high, color="C0", alpha=0.2, label="allowed")
        axes.set_ylim(bottom, top)
        axes.set_ylabel(textwrap.fill(f"{case.quantity} ({case.unit or 'ratio'})", 32), fontsize=7)
    axes.plot(x, expected, "--", marker=marker, label="expected")
    axes.plot(x, [row.found for row in rows], marker=marker, color="C3", label="found")
    outside = next((n for n, row in enumerate(rows, 1) if not case.holds(row)), None)
    if outside is not None:
        axes.axvline(outside, color="0.4", linestyle=":", label=f"first outside: event {outside}")
    axes.set(xlabel=f"event, 1 to {len(rows)}", xlim=(0.5, len(rows) + 0.5))
    if len(rows) <= 10:
        axes.set_xticks(x)
    axes.legend(fontsize=7)
    data = io.BytesIO()
    picture.savefig(data, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None})
    code = base64.b64encode(data.getvalue()).decode()
    return f'<img alt="expected and found values of {html.escape(verdict.name)}" src="data:image/png;base64,{code}">'


def _limits(values: list[float]) -> tuple[float, float]:
    """Return (low, high) limits of an axis: the range of the values, and a tenth of it on either side."""
    low, high = min(values), max(values)
    margin = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin
