"""The report: one self-contained page, and the same verdicts as JSON and CSV."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hopflow
from validation import tally
from validation.evidence import provenance
from validation.manifest import MANIFEST_SHA256
from validation.records import recorded_verdicts
from validation.texts import plain
from validation.verdicts import Claim, Finding, Picture, Sides, Threshold, Verdict

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

__all__ = ["drawn", "write"]

HERE = Path(__file__).parent
PAPERS = {
    "takano2006": "Takano et al. 2006: diffusion-type flow control and TCP",
    "malhotra2005": "Malhotra et al. 2005: IEEE 802.3x pause and TCP",
    "zheng2002": "Zheng and Wen 2002: TFRC and TCP(a, b)",
    "yang2001": "Yang and Fu 2001: source-based control",
    "kaneko2007": "Kaneko et al. 2007: TCP-Fusion",
    "hopflow": "hopflow's own comparisons",
}
MARKS = {
    Verdict.REPRODUCED: "✓",
    Verdict.CONTRADICTED: "✗",
    Verdict.DEPENDS: "±",
    Verdict.NOT_REPRODUCED: "≈",
    Verdict.OPEN: "○",
    Verdict.UNDECIDABLE: "?",
    Verdict.NOT_APPLICABLE: "–",
}
MEANINGS = {
    Verdict.REPRODUCED: "the statement holds at the stated confidence or tolerance",
    Verdict.CONTRADICTED: "its opposite does",
    Verdict.DEPENDS: "another documented reading of the paper turns it; the text names the reading",
    Verdict.NOT_REPRODUCED: "neither the statement nor its opposite can be shown",
    Verdict.OPEN: "there is no model of it yet",
    Verdict.UNDECIDABLE: "the text names the data that would decide it",
    Verdict.NOT_APPLICABLE: "this side has nothing to say on it, such as a simulation on algebra",
}
COLUMNS = (
    ("quantity", "Quantity"),
    ("model", "Model"),
    ("simulation", "Packet simulation"),
    ("paper", "Paper"),
    ("tolerance", "Tolerance and its reason"),
)


def write(findings: Mapping[Claim, Finding], folder: Path, seconds: float) -> Path:
    """Write ``index.html``, ``claims.json`` and ``claims.csv`` to ``folder``; return the page.

    Everything is made before the first file is touched.
    """
    rows = [_row(claim, finding) for claim, finding in findings.items()]
    page = _page(findings, seconds)
    table = io.StringIO()
    flat = [name for name, value in rows[0].items() if not isinstance(value, dict)]
    flat = [name for name in flat if name not in ("robustness", "experiments")]
    writer = csv.DictWriter(table, flat, extrasaction="ignore")
    writer.writeheader()
    writer.writerows({**row, "cases": " ".join(row["cases"])} for row in rows)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "claims.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (folder / "claims.csv").write_text(table.getvalue(), encoding="utf-8")
    target = folder / "index.html"
    target.write_text(page, encoding="utf-8")
    return target


def _row(claim: Claim, finding: Finding) -> dict[str, Any]:
    return {
        "id": claim.id,
        "paper": claim.paper,
        "where": claim.where,
        "claim": claim.text,
        "model": str(finding.model),
        "simulation": str(finding.simulation),
        "as_recorded": recorded_verdicts().get(claim.id)
        == Sides(finding.model, finding.simulation),
        "summary": plain(finding.summary),
        "cases": list(finding.cases),
        "same_process": str(finding.process),
        "default": {side: str(verdict) for side, verdict in finding.default.items()},
        "depends_on": {side: list(names) for side, names in finding.turning.items()},
        "robustness": [_robustness(threshold) for threshold in finding.thresholds],
        "experiments": [
            {name: plain(text) for name, text in vars(experiment).items()}
            for experiment in finding.experiments
        ],
    }


def _robustness(threshold: Threshold) -> dict[str, Any]:
    at = {"half": threshold.half, "twice": threshold.twice}
    verdicts = {k: {side: str(v) for side, v in sides.items()} for k, sides in at.items()}
    meaning = plain(threshold.meaning)
    return {"threshold": threshold.name, "meaning": meaning, "value": threshold.value} | verdicts


def _page(findings: Mapping[Claim, Finding], seconds: float) -> str:
    by_paper = {title: [c for c in findings if c.paper == paper] for paper, title in PAPERS.items()}
    cases = sorted({case for finding in findings.values() for case in finding.cases})
    return (
        _environment()
        .get_template("report.html")
        .render(
            findings=findings,
            seconds=seconds,
            tables=tally.tables(findings),
            headline=tally.headline(findings),
            papers={title: claims for title, claims in by_paper.items() if claims},
            records={case: _record(case) for case in cases},
            marks=MARKS,
            meanings=MEANINGS,
            style=(HERE / "report.css").read_text(encoding="utf-8"),
            version=hopflow.__version__,
            manifest=MANIFEST_SHA256,
        )
    )


def _environment() -> jinja2.Environment:
    import jinja2
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    markdown = MarkdownIt("commonmark", {"html": False})
    new = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    new.filters |= {
        "markdown": lambda text: Markup(markdown.render(text)),
        "inline": lambda text: Markup(markdown.renderInline(text)),
        "columns": _columns,
        "svg": _svg,
    }
    return new


def _columns(finding: Finding) -> list[tuple[str, str]]:
    """Return the columns of the evidence that any row fills."""
    return [
        (name, title)
        for name, title in COLUMNS
        if any(getattr(number, name) for number in finding.numbers)
    ]


def drawn(picture: Picture) -> str:
    """Return a picture as the text of an SVG element, drawn now unless it was before."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    if picture.svg:
        return picture.svg
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hopflow"}):
        figure = picture.draw()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _svg(picture: Picture, prefix: str) -> Markup:
    """Return a picture as inline SVG, its ids made unique, with its alternative text."""
    from markupsafe import Markup

    text = drawn(picture)
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = re.sub(r'href="#', f'href="#{prefix}', text)
    text = re.sub(r"url\(#", f"url(#{prefix}", text)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    label = html.escape(plain(picture.alt), quote=True)
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))


def _record(case: str) -> dict[str, Any]:
    """Return the title of a case and its provenance, by the headings of the report's rows."""
    record = provenance(case)
    parameters = (
        f"{name} = {about['value']} {about['unit']}".strip()
        for name, about in record["parameters"].items()
    )
    files = (
        f"{file} ({about['rows']} rows, SHA-256 {about['sha256'][:16]}…)"
        for file, about in record["files"].items()
    )
    programs = (f"{name} (SHA-256 {hash[:16]}…)" for name, hash in record["programs"].items())
    rows = {
        "Simulator": f"{record['tool']} {record['version']}",
        "Program": "; ".join(programs),
        "First command": record["command"],
        "Parameters": "; ".join(parameters),
        "Runs and seeds": f"{record['runs']} runs, seeds {record['seeds']}",
        "Time": f"{record['simulated_seconds']:g} s simulated, {record['cpu_seconds']:g} s of CPU",
        "Made on": record["date"],
        "Notes": " ".join(record["notes"]),
        "Files": "; ".join(files),
    }
    return {"title": record["title"], "rows": rows}
