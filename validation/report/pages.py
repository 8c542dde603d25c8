"""The pages of the report: what each template needs. `templating` fills them in."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from validation.display.finding_rows import Number
from validation.evidence import provenance
from validation.inference.recording import recorded_parameters, sentence
from validation.judgements.settings import is_settled, settings_of
from validation.judgements.verdicts import Claim, Finding, Verdict
from validation.records import (
    Entry,
    deciding_seeds,
    entries,
    group_of,
    statements_of_papers,
    unstated,
    without_explanation,
    without_packet_level,
)
from validation.report import tally
from validation.report.families import Family, grouped, panels
from validation.report.papers import PAPERS
from validation.report.rows import Row, group_of_row
from validation.report.series import arranged
from validation.report.surprises import RULE, contradicted_by_all, counted
from validation.report.templating import TEMPLATES, filled

ASSETS = ("report.css", "report.js")
"""Files that lie beside the start page."""
MEANINGS = {
    Verdict.HOLDS: "the statement holds at the stated confidence or tolerance",
    Verdict.CONTRADICTED: "its opposite does",
    Verdict.DEPENDS: "it holds in one documented reading of the paper and is contradicted in another, both judged",
    Verdict.MARGIN: "it is another verdict with half or twice of a margin that is ours, not the paper's",
    Verdict.DISAGREE: "it holds in one simulator and is contradicted in another",
    Verdict.INCONCLUSIVE: "the runs show neither the statement nor its opposite",
    Verdict.UNDECIDABLE: "the text names the data that would decide it",
    Verdict.NOT_APPLICABLE: "this source does not bear on it, such as a simulation on algebra",
}
COLUMNS = (
    ("quantity", "Quantity"),
    ("model", "Model"),
    ("simulation", "Packet simulation"),
    ("level", "hopflow's packet level"),
    ("paper", "Paper"),
    ("tolerance", "Tolerance and its reason"),
)


class Progress(NamedTuple):
    """How far the call has come that writes the pages: claims checked, claims to check, seconds."""

    done: int
    total: int
    seconds: float


def start_page(
    rows: Sequence[Row],
    outdated: Sequence[str],
    progress: Progress,
    recomputed: Mapping[str, Any] | None = None,
) -> str:
    """Return the page with the tally, the claims that all evidence contradicts and the list of claims.

    Parameters
    ----------
    rows
        The claims of the list.
    outdated
        The ids of those that an earlier call found with other sources.
    progress
        Of this call.
    recomputed
        What the packet level computed again of the bundled runs of ns-2 (`validation.networks.recomputing.about`).
    """
    papers, own, fabrics, others = (
        [row for row in rows if group_of_row(row) == name] for name in ("papers", "own", "fabrics", "unstated")
    )
    return filled(
        "index.html",
        rows=papers,
        more={
            "hopflow's own comparisons": (
                [row for row in own if not tally.of_linux(row)],
                "Comparisons of models and simulators",
            ),
            "Linux against papers and RFCs": (
                [row for row in own if tally.of_linux(row)],
                "Linux compared with what the papers and RFCs of its rules and queues say",
            ),
            "Claims of papers on fabrics": (
                fabrics,
                "Published claims on fabrics, judged by hopflow's models and packets",
            ),
            "Read off tables": (others, "What no sentence of a paper states, not counted above"),
        },
        shown=len(rows),
        of_papers=len({entry.paper for entry in entries().values() if group_of(entry.paper) == "papers"}),
        fabrics=tally.on_fabrics(rows),
        fabric_rows=[row | {"judged_as": tally.fabric_verdict(row)} for row in fabrics],
        outdated=outdated,
        progress=progress,
        recomputed=recomputed or {},
        tallies=tally.bars(rows),
        own=tally.own_models(rows),
        linux=tally.on_linux(rows),
        own_rows=[row | {"judged_as": tally.own_verdict(row)} for row in own if not tally.of_linux(row)],
        linux_rows=[row | {"judged_as": tally.own_verdict(row)} for row in own if tally.of_linux(row)],
        tables=tally.tables(rows),
        surprises=[row | {"counted": counted(row)} for row in contradicted_by_all(rows)],
        rule=RULE,
        fields=tally.fields(papers),
        claims=sum(group_of(entry.paper) == "papers" for entry in entries().values()) - len(unstated()),
        meanings=MEANINGS,
    )


def paper_page(paper: str, rows: Sequence[Row]) -> str:
    """Return the page of a paper: its findings, similar claims as one figure with panels."""
    return filled(
        "paper.html",
        root="../",
        paper=paper,
        citation=PAPERS[paper].citation,
        rows=rows,
        sides={title: tally.in_words(rows, side) for title, side in tally.SIDES.items()},
        families=[(family, panels(family)) for family in grouped(rows)],
        parameters=recorded_parameters(paper),
    )


def claim_page(claim: Claim, finding: Finding, row: Row, ids: Sequence[str]) -> str:
    """Return the page of a claim, whose row is `row_of` it, between those of its paper in ``ids``."""
    before, after = _beside((claim.id,), ids)
    about = _evidence(claim, finding, row)
    return filled("claim.html", before=before, after=after, **about)


def member_section(claim: Claim, finding: Finding, row: Row) -> str:
    """Return the section of a claim on the page of its family."""
    return filled("member.html", **_evidence(claim, finding, row))


def family_page(family: Family, rows: Sequence[Row], sections: Mapping[str, str], ids: Sequence[str]) -> str:
    """Return the page of a family of claims from the rows and the sections of its members, by id.

    A member without a section has not been checked yet.
    """
    unchecked = {id: filled("unchecked_member.html", claim=entries()[id]) for id in family.ids}
    before, after = _beside(family.ids, ids)
    return filled(
        "family.html",
        root="../",
        paper=entries()[family.ids[0]].paper,
        family=family,
        rows=rows,
        members={id: Markup(text) for id, text in (unchecked | dict(sections)).items()},
        figures=panels(list(rows)),
        before=before,
        after=after,
    )


def _beside(own: Sequence[str], ids: Sequence[str]) -> tuple[str, str]:
    """Return the claims of the paper in ``ids`` before and after some; "" where there is none."""
    paper = entries()[own[0]].paper
    known = [id for id in ids if entries()[id].paper == paper]
    at = [n for n, id in enumerate(known) if id in own]
    before = known[at[0] - 1] if at[0] > 0 else ""
    return before, known[at[-1] + 1] if at[-1] + 1 < len(known) else ""


def _evidence(claim: Claim, finding: Finding, row: Row) -> dict[str, Any]:
    """Return what the template of the evidence on a claim needs."""
    numbers, series = arranged(finding.numbers)
    sources = _sources(finding)
    judging = [(name, title) for name, title in sources if finding.held(name)[1]]
    process = [("process", "Packets of the model's own process")]
    return {
        "root": "../",
        "claim": claim,
        "finding": finding,
        "row": row,
        "numbers": numbers,
        "columns": _columns(numbers),
        "series": series,
        "not_applicable": Verdict.NOT_APPLICABLE,
        "sources": sources,
        "columns_of_sources": [
            *(each for each in judging if each[0] != "simulation"),
            *(process if finding.process is not Verdict.NOT_APPLICABLE else []),
        ],
        "sources_of_readings": _of_readings(finding, judging),
        "without_level": without_packet_level().get(claim.id, ""),
        "without_explanation": without_explanation().get(claim.id, ""),
        "inferred": sentence(claim.id),
        "settings": list(settings_of(claim.paper, finding)),
        "settled": is_settled(finding),
        "more_seeds": [
            (statements_of_papers()[claim.id][key].text, source, factor)
            for (key, source), factor in deciding_seeds().get(claim.id, {}).items()
        ],
    }


def _of_readings(finding: Finding, judging: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the sources that judge any reading, or the default one where none judges others."""
    parts = [part for reading in finding.readings for part in reading.parts]
    level = any(part.level is not Verdict.NOT_APPLICABLE for part in parts)
    others = [each for each in judging if each[0] != "level"]
    return [*others, LEVEL] if level else others


LEVEL = ("level", "hopflow's packet level")


def _sources(finding: Finding) -> list[tuple[str, str]]:
    """Return the sources of evidence of a claim with their titles."""
    apart = finding.simulators
    named = [("model", "Model"), *((name, name) for name in apart)]
    both = [("simulation", "Both simulators")] if len(apart) > 1 else []
    return [*named, *both, LEVEL]


def unchecked_page(entry: Entry) -> str:
    """Return the page of a claim that has not been checked yet."""
    return filled("unchecked.html", root="../", claim=entry)


def data_page(cases: Sequence[str]) -> str:
    """Return the page of the bundled simulations: how each case was made."""
    return filled("data.html", records={case: record_of(case) for case in cases})


def asset(name: str) -> str:
    """Return the text of one of `ASSETS`."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _columns(numbers: Sequence[Number]) -> list[tuple[str, str]]:
    """Return the columns of the evidence that any row fills."""
    return [(name, title) for name, title in COLUMNS if any(getattr(each, name) for each in numbers)]


@functools.cache
def record_of(case: str) -> dict[str, Any]:
    """Return the title of a case and its provenance, by the headings of the report's rows."""
    record = provenance(case)
    rows: Mapping[str, object] = {
        "Simulator": f"{record['tool']} {record['version']}",
        "Program": "; ".join(f"{name} ({_short(sha)})" for name, sha in record["programs"].items()),
        "First command": record["command"],
        "Parameters": "; ".join(
            f"{name} = {about['value']} {about['unit']}".strip() for name, about in record["parameters"].items()
        ),
        "Runs and seeds": f"{record['runs']} runs, seeds {record['seeds']}",
        "Time": f"{record['simulated_seconds']:g} s simulated, {record['cpu_seconds']:g} s of CPU",
        "Made on": record["date"],
        "Notes": " ".join(record["notes"]),
        "Files": "; ".join(
            f"{file} ({about['rows']} rows, {_short(about['sha256'])})" for file, about in record["files"].items()
        ),
    }
    return {"title": record["title"], "rows": rows}


def _short(sha: str) -> str:
    return f"SHA-256 {sha[:16]}…"
