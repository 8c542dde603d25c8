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
from validation.evidence import provenance
from validation.verdicts import Claim, Finding, Verdict, expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["write"]

STYLE = Path(__file__).with_name("report.css")
PAPERS = {
    "takano2006": "Takano et al. 2006: diffusion-type flow control and TCP",
    "malhotra2005": "Malhotra et al. 2005: IEEE 802.3x pause and TCP",
    "zheng2002": "Zheng and Wen 2002: TFRC and TCP(a, b)",
    "yang2001": "Yang and Fu 2001: source-based control",
    "kaneko2007": "Kaneko et al. 2007: TCP-Fusion",
    "hopflow": "hopflow's own comparisons",
}
MARK = {
    Verdict.REPRODUCED: "✓",
    Verdict.CONTRADICTED: "✗",
    Verdict.NOT_REPRODUCED: "≈",
    Verdict.NOT_APPLICABLE: "–",
    Verdict.UNDECIDABLE: "?",
}


def write(findings: Mapping[Claim, Finding], folder: Path, seconds: float) -> Path:
    """Write ``index.html``, ``claims.json`` and ``claims.csv`` to ``folder``; return the page.

    Everything is made before the first file is touched.
    """
    rows = [_row(claim, finding) for claim, finding in findings.items()]
    page = _page(findings, seconds)
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), extrasaction="ignore")
    writer.writeheader()
    writer.writerows({**row, "cases": " ".join(row["cases"])} for row in rows)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "claims.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (folder / "claims.csv").write_text(table.getvalue(), encoding="utf-8")
    target = folder / "index.html"
    target.write_text(page, encoding="utf-8")
    return target


def _row(claim: Claim, finding: Finding) -> dict[str, Any]:
    recorded = expected().get(claim.id)
    return {
        "id": claim.id,
        "paper": claim.paper,
        "where": claim.where,
        "claim": claim.text,
        "model": str(finding.model),
        "simulation": str(finding.simulation),
        "as_recorded": recorded == (finding.model, finding.simulation),
        "summary": finding.summary,
        "cases": list(finding.cases),
    }


def _e(text: object) -> str:
    return html.escape(str(text), quote=True)


def _badge(verdict: Verdict) -> str:
    kind = verdict.name.lower().replace("_", "-")
    return f'<span class="verdict {kind}"><span aria-hidden="true">{MARK[verdict]}</span> {verdict}</span>'


def _svg(figure: Figure, alt: str, prefix: str) -> str:
    """Return a figure as inline SVG, its ids made unique, with a text for those who cannot see it."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hopflow"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = re.sub(r'href="#', f'href="#{prefix}', text)
    text = re.sub(r"url\(#", f"url(#{prefix}", text)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{_e(alt)}"', 1)


def _summary_table(findings: Mapping[Claim, Finding]) -> str:
    lines = []
    for claim, finding in findings.items():
        lines.append(
            f'<tr><td><a href="#{claim.id}">{claim.id}</a></td><td>{_e(claim.paper)}<br>'
            f'<span class="where">{_e(claim.where)}</span></td><td>{_e(claim.text)}</td>'
            f"<td>{_badge(finding.model)}</td><td>{_badge(finding.simulation)}</td></tr>"
        )
    head = (
        "<tr><th>Claim</th><th>Source</th><th>What it says</th><th>Model</th><th>Packets</th></tr>"
    )
    return f'<div class="wide"><table class="summary"><thead>{head}</thead><tbody>{"".join(lines)}</tbody></table></div>'


def _numbers(finding: Finding) -> str:
    if not finding.numbers:
        return ""
    columns = [
        (title, name)
        for title, name in (
            ("Quantity", "quantity"),
            ("Model", "model"),
            ("Packet simulation", "simulation"),
            ("Paper", "paper"),
            ("Tolerance and its reason", "tolerance"),
        )
        if any(getattr(number, name) for number in finding.numbers)
    ]
    head = "".join(f"<th>{title}</th>" for title, _ in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_e(getattr(number, name))}</td>" for _, name in columns) + "</tr>"
        for number in finding.numbers
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _section(claim: Claim, finding: Finding) -> str:
    parts = "".join(
        f"<tr><td>{_e(part.statement)}</td><td>{_badge(part.model)}</td>"
        f"<td>{_badge(part.simulation)}</td></tr>"
        for part in finding.parts
    )
    pictures = "".join(
        f"<figure>{_svg(picture.draw(), picture.alt, f'{claim.id}-{n}-')}"
        f"<figcaption>{_e(picture.caption)}</figcaption></figure>"
        for n, picture in enumerate(finding.pictures)
    )
    sources = ", ".join(f'<a href="#{_anchor(case)}">{_e(case)}</a>' for case in finding.cases)
    explanation = (
        f"<p><strong>Why.</strong> {_e(finding.explanation)}</p>" if finding.explanation else ""
    )
    return f"""<section id="{claim.id}">
<h3>{claim.id} <span class="where">{_e(claim.paper)}, {_e(claim.where)}</span></h3>
<blockquote>{_e(claim.text)}<footer>{_e(claim.setting)}</footer></blockquote>
<p>{_e(finding.summary)}</p>{explanation}
<div class="wide"><table><thead><tr><th>Statement</th><th>Model</th><th>Packets</th></tr></thead>
<tbody>{parts}</tbody></table></div>
<div class="figures">{pictures}</div>
{_numbers(finding)}
{f"<p class='where'>Data: {sources}</p>" if sources else ""}
</section>"""


def _anchor(case: str) -> str:
    return "data-" + case.replace("/", "-")


def _provenance(cases: list[str]) -> str:
    blocks = []
    for case in cases:
        record = provenance(case)
        parameters = "; ".join(
            f"{name} = {about['value']} {about['unit']}".strip()
            for name, about in record["parameters"].items()
        )
        rows = {
            "Simulator": f"{record['tool']} {record['version']}",
            "First command": record["command"],
            "Parameters": parameters,
            "Runs and seeds": f"{record['runs']} runs, seeds {record['seeds']}",
            "Time": f"{record['simulated_seconds']:g} s simulated, {record['cpu_seconds']:g} s of CPU",
            "Made on": record["date"],
            "Notes": " ".join(record["notes"]),
            "Files": "; ".join(
                f"{file} ({about['rows']} rows, SHA-256 {about['sha256'][:16]}…)"
                for file, about in record["files"].items()
            ),
        }
        body = "".join(f"<tr><th>{_e(k)}</th><td>{_e(v)}</td></tr>" for k, v in rows.items() if v)
        blocks.append(
            f'<details id="{_anchor(case)}"><summary>{_e(case)}: {_e(record["title"])}</summary>'
            f'<div class="wide"><table class="record"><tbody>{body}</tbody></table></div></details>'
        )
    return "".join(blocks)


def _page(findings: Mapping[Claim, Finding], seconds: float) -> str:
    tally = dict.fromkeys(Verdict, 0)
    for finding in findings.values():
        tally[finding.model] += 1
    counts = ", ".join(f"{count} {verdict}" for verdict, count in tally.items() if count)
    decided = sum(
        finding.simulation not in (Verdict.NOT_APPLICABLE, Verdict.UNDECIDABLE)
        for finding in findings.values()
    )
    sections = []
    for paper, title in PAPERS.items():
        mine = {c: f for c, f in findings.items() if c.paper == paper}
        if mine:
            body = "".join(_section(claim, finding) for claim, finding in mine.items())
            sections.append(f"<h2>{_e(title)}</h2>{body}")
    cases = sorted({case for finding in findings.values() for case in finding.cases})
    meanings = "".join(
        f"<li>{_badge(verdict)} {text}</li>"
        for verdict, text in (
            (Verdict.REPRODUCED, "the statement holds at the stated confidence or tolerance"),
            (Verdict.CONTRADICTED, "its opposite does"),
            (Verdict.NOT_REPRODUCED, "neither can be shown"),
            (Verdict.NOT_APPLICABLE, "pure algebra has no simulation"),
            (Verdict.UNDECIDABLE, "the text says what would decide it"),
        )
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>hopflow: validation report</title><style>{STYLE.read_text()}</style></head><body>
<header><h1>Do the papers' claims hold?</h1>
<p>hopflow {hopflow.__version__} solved its models, loaded outputs of real packet simulators and
compared both with what the papers say: {len(findings)} claims, {decided} of them decided at packet
level, in {seconds:.0f} s. In the models: {counts}.</p></header>
<main>{_summary_table(findings)}
<details><summary>What the verdicts mean</summary><ul class="meanings">{meanings}</ul>
<p>A claim of several statements is reproduced when all of them are, and contradicted when one is.</p>
</details>
{"".join(sections)}
<h2>Where the packet data come from</h2>{_provenance(cases)}
</main></body></html>
"""
