"""Reports of conformance: JUnit XML for CI systems, and an HTML page with the first event outside of each case."""

from __future__ import annotations

import base64
import html
import io
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

from dfcmodel.sharing.suites.judging import FAILED, KNOWN, PASSED
from hopflow.results import figure
from hopflow.whole_files import replacing

if TYPE_CHECKING:
    from dfcmodel.sharing.suites.judging import SuiteVerdict
    from dfcmodel.sharing.suites.results import SuiteConformance

__all__ = ["write_junit", "write_page"]

STYLE = """
body { font-family: sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
td, th { border-bottom: 1px solid #ccc; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; }
.failed { background: #f6d5cf; } .known { background: #f8ecc6; }
"""


def write_junit(result: SuiteConformance, path: Path) -> None:
    """Write the verdicts as JUnit XML.

    Failed cases are failures. Undecided and unjudged cases and known deviations are skipped, with the reason.
    """
    root = ET.Element("testsuites", name=f"hopflow conform {result.rule!r}")
    for judged in result.suites:
        suite = ET.SubElement(root, "testsuite", name=judged.suite.label, tests=str(len(judged.verdicts)))
        suite.set("failures", str(judged.count(FAILED)))
        suite.set("errors", "0")
        suite.set("skipped", str(len(judged.verdicts) - judged.count(FAILED) - judged.count(PASSED)))
        for verdict in judged.verdicts:
            case = ET.SubElement(suite, "testcase", classname=judged.suite.label, name=verdict.case.id)
            text = _sentence(verdict)
            if verdict.verdict == FAILED:
                ET.SubElement(case, "failure", message=text).text = verdict.case.source
            elif verdict.verdict != PASSED:
                ET.SubElement(case, "skipped", message=f"{verdict.verdict}: {text}")
    ET.indent(root)
    with replacing(path) as scratch:
        ET.ElementTree(root).write(scratch, encoding="utf-8", xml_declaration=True)


def _sentence(verdict: SuiteVerdict) -> str:
    """Return the event with the expected and the found value, and the reason."""
    parts = [f"{verdict.event}: expected {verdict.expected}, found {verdict.found}"] if verdict.event else []
    return "; ".join([*parts, *([verdict.reason] if verdict.reason else [])])


def write_page(result: SuiteConformance, path: Path) -> None:
    """Write an HTML page: by case the source, its requirement, the first event outside, expected and found value.

    A case that failed or deviates has a figure of what was found and expected at each event.
    """
    title = html.escape(f"Conformance of {result.rule!r}")
    parts = [f"<h1>{title}</h1>", f"<p>It claims to be: {html.escape(result.rule.claims)}.</p>"]
    for judged in result.suites:
        parts.append(f"<h2>{html.escape(judged.suite.label)}</h2>")
        parts.append(f"<p>{html.escape(judged.suite.source)}: {html.escape(judged.headline)}.</p>")
        if judged.verdicts:
            parts.append(_table(judged.verdicts))
        parts += [_figure(verdict) for verdict in judged.verdicts if verdict.verdict in (FAILED, KNOWN)]
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    text = f"{head}<style>{STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def _table(verdicts: tuple[SuiteVerdict, ...]) -> str:
    """Return the table of the cases of a suite."""
    names = ("case", "verdict", "requirement", "source", "quantity", "first event outside, or nearest", "expected",
             "found", "tolerance from", "reason")  # fmt: skip
    rows = ["<tr>" + "".join(f'<th scope="col">{name}</th>' for name in names) + "</tr>"]
    for verdict in verdicts:
        case = verdict.case
        cells = (case.id, verdict.verdict, case.expectation, case.source, case.quantity, verdict.event,
                 verdict.expected, verdict.found, case.about_tolerance, verdict.reason)  # fmt: skip
        row = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr class="{verdict.verdict.partition(" ")[0]}">{row}</tr>')
    return "<table>" + "\n".join(rows) + "</table>"


def _figure(verdict: SuiteVerdict) -> str:
    """Return a figure of the expected and found values of a case; "" without values."""
    rows = [row for row in verdict.observations if math.isfinite(row.expected) and math.isfinite(row.found)]
    if not rows:
        return ""
    picture, axes = figure(7.0, 2.6)
    marker = "o" if len(rows) < 20 else ""
    axes.plot([row.expected for row in rows], "--", marker=marker, label="expected")
    axes.plot([row.found for row in rows], marker=marker, label="found")
    axes.set(title=verdict.name, xlabel="event", ylabel=verdict.case.unit or "ratio")
    axes.legend(fontsize=7)
    data = io.BytesIO()
    picture.savefig(data, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
    code = base64.b64encode(data.getvalue()).decode()
    return f'<img alt="expected and found values of {html.escape(verdict.name)}" src="data:image/png;base64,{code}">'
