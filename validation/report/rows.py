"""A claim and its finding as one row: what ``claims.json`` has, and what lists of claims show."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import hopflow
from validation.display.finding_rows import Picture
from validation.display.svg import drawn, size
from validation.display.texts import plain
from validation.judgements.labels import SIMULATORS
from validation.judgements.recording import TITLES, Recorded, differences
from validation.judgements.running import key_of
from validation.judgements.verdicts import Claim, Finding, Part, Sides, Threshold, Verdict
from validation.records import OWN, group_of, headline_of, paraphrases, unstated

Row: TypeAlias = dict[str, Any]
"""Strings, numbers, lists and dicts, as in JSON; verdicts are their texts."""

IN_CSV = (
    "id", "paper", "where", "claim", "model", "simulation", "as_recorded", "summary", "cases",
    "same_process", "packet_level",
)  # fmt: skip

NEEDED = {"made_from", "simulators", "packet_level", "paraphrase", "place", "contradicted_by_all"}
"""Entries without which a row is one of another version, which pages cannot show."""


def row_of(claim: Claim, finding: Finding, recorded: Mapping[str, Recorded]) -> Row:
    """Return the row of a claim; ``recorded`` is what `validation.judgements.recording.recorded` returns."""
    changed = list(differences(finding, recorded.get(claim.id, Recorded())))
    return {
        "id": claim.id,
        "paper": claim.paper,
        "where": claim.where,
        "setting": claim.setting,
        "claim": claim.text,
        **_said(claim),
        "headline": headline_of(claim.id, Sides(finding.model, finding.simulation)) or plain(finding.headline),
        "model": str(finding.model),
        "simulation": str(finding.simulation),
        "simulators": {name: str(verdict) for name, verdict in _simulators(finding).items()},
        "in_words": {name: finding.words(name) for name in ("model", "simulation")},
        "statements_hold": {
            name: list(finding.held(name)) for name in ("model", "simulation", *finding.simulators, "level")
        },
        "deciding": finding.judged("model")[1],
        "judged": {name: finding.judged(name)[0] for name in ("model", *finding.simulators, "level")},
        "contradicted_by_all": list(finding.surprising),
        "own_programs": dict(finding.own_programs),
        "as_recorded": not changed,
        "changed": changed,
        "summary": plain(finding.summary),
        "cases": list(finding.cases),
        "same_process": str(finding.process),
        "packet_level": str(finding.level),
        "default": {side: str(verdict) for side, verdict in finding.default.items()},
        "depends_on": {side: list(names) for side, names in finding.turning.items()},
        "statements": [_statement(part) for part in finding.parts],
        "robustness": [_robustness(threshold) for threshold in finding.thresholds],
        "experiments": [
            {name: plain(text) for name, text in vars(experiment).items()} for experiment in finding.experiments
        ],
        "pictures": [_picture(claim.id, n, each) for n, each in enumerate(finding.pictures, 1)],
        "version": hopflow.__version__,
        "made_from": key_of(claim)[:16],
    }


def group_of_row(row: Row) -> str:
    """Return with which claims a row is counted: "papers", "fabrics", "own", or "unstated" (`validation.records.unstated`).

    Examples
    --------
    >>> group_of_row({"id": "Y05", "paper": "yang2001"}), group_of_row({"id": "Y06", "paper": "yang2001"})
    ('papers', 'unstated')
    """
    return "unstated" if row.get("id") in unstated() else group_of(row["paper"])


def part_judged(row: Row, source: str) -> str:
    """Return how many of the deciding statements a source judges, as "1/3"; "" if it judges all or none.

    Examples
    --------
    >>> row = {"deciding": 3, "judged": {"model": 3, "ns-2": 1}}
    >>> part_judged(row, "ns-2"), part_judged(row, "model"), part_judged(row, "ns-3")
    ('1/3', '', '')
    """
    judged, deciding = row["judged"].get(source, 0), row["deciding"]
    return f"{judged}/{deciding}" if 0 < judged < deciding else ""


def verdict_of(row: Row, source: str) -> str:
    """Return the verdict of a source in a row: "model", a simulator, or "level".

    Examples
    --------
    >>> from validation.report.rows import verdict_of
    >>> verdict_of({"model": "holds", "simulators": {}, "packet_level": "depends"}, "ns-3")
    'not applicable'
    """
    names = {"model": "model", "level": "packet_level"}
    if source in names:
        return str(row[names[source]])
    return str(row["simulators"].get(source, Verdict.NOT_APPLICABLE))


def sources_of(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """Return the sources that judge any of some claims, with the headings of their columns.

    Examples
    --------
    >>> from validation.report.rows import sources_of
    >>> row = {"model": "holds", "simulators": {"ns-2": "holds"}, "packet_level": "not applicable"}
    >>> sources_of([row])
    [('model', 'Model'), ('ns-2', 'ns-2')]
    """
    titles = {"model": "Model", **{n: n for n in SIMULATORS}, "level": "hopflow's packets"}
    known = list(rows)
    return [
        (source, title)
        for source, title in titles.items()
        if any(verdict_of(row, source) != Verdict.NOT_APPLICABLE for row in known)
    ]


def _said(claim: Claim) -> Row:
    """Return what the paper says, in our words; of hopflow's own comparisons, the text of the claim."""
    said = paraphrases().get(claim.id)
    if said is None or claim.paper == OWN:
        return {"place": claim.where, "paraphrase": claim.text, "modality": "", "scope": ""}
    return {
        "place": said.place,
        "paraphrase": said.text,
        "modality": said.modality,
        "scope": said.scope,
    }


def _simulators(finding: Finding) -> dict[str, Verdict]:
    """Return the verdicts of the simulators that judge the claim, beyond its minor statements."""
    found = {name: finding.verdict(name) for name in finding.simulators}
    return {name: v for name, v in found.items() if v is not Verdict.NOT_APPLICABLE}


def _statement(part: Part) -> Row:
    sides = {
        "model": part.model, "simulation": part.simulation, "same_process": part.process,
        "packet_level": part.level,
    }  # fmt: skip
    apart = {name: str(verdict) for name, verdict in part.simulators.items()}
    about = {"statement": plain(part.statement), "minor": part.minor, "simulators": apart}
    return about | {side: str(v) for side, v in sides.items()}


def _robustness(threshold: Threshold) -> Row:
    at = {"half": threshold.half, "twice": threshold.twice}
    verdicts = {k: {TITLES.get(s, s): str(v) for s, v in by.items()} for k, by in at.items()}
    meaning = plain(threshold.meaning)
    return {"threshold": threshold.name, "meaning": meaning, "value": threshold.value} | verdicts


def _picture(id: str, n: int, picture: Picture) -> Row:
    width, height = size(drawn(picture).svg)
    words = {"caption": plain(picture.caption), "alt": plain(picture.alt)}
    return {"file": f"figures/{id}-{n}.svg", "width": width, "height": height} | words


def verdicts(row: Row) -> Sides[Verdict]:
    """Return the verdicts of a row."""
    return Sides(Verdict(row["model"]), Verdict(row["simulation"]))


def as_json(rows: Iterable[Row]) -> str:
    """Return rows as a JSON list."""
    return json.dumps(list(rows), indent=1) + "\n"


def as_csv(rows: Iterable[Row]) -> str:
    """Return rows as CSV, without what is nested."""
    table = io.StringIO()
    writer = csv.DictWriter(table, IN_CSV, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "cases": " ".join(row["cases"])} for row in rows)
    return table.getvalue()


def load(place: Path) -> dict[str, Row]:
    """Return the rows of a JSON file by id; none where it is missing or of another kind."""
    try:
        rows = json.loads(place.read_text(encoding="utf-8"))
        return {row["id"]: row for row in rows if set(row) >= NEEDED}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
