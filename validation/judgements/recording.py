"""What was found for each claim, written to ``published/`` and compared with what is found now.

``verdicts.csv`` has a row for each claim, ``thresholds.csv`` one for each threshold, and ``readings.csv`` one for each
statement in each reading of the paper: a changed constant of a reading that turns no claim shows there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hopflow.csv_tables import write_rows
from validation.claims import ledger
from validation.judgements.labels import SIMULATORS
from validation.judgements.verdicts import Claim, Finding, Sides, Threshold, Verdict
from validation.manifest import PUBLISHED
from validation.records import (
    recorded_levels,
    recorded_readings,
    recorded_simulators,
    recorded_thresholds,
    recorded_verdicts,
    rows,
)

SOURCES = ("model", *SIMULATORS, "process", "level")
"""The sources of evidence that judge statements, each by itself."""
HEADS = {"process": "same process", "level": "packet level"}
Statements = Mapping[tuple[str, int], tuple[str, ...]]
"""The verdicts of `SOURCES` by reading ("" for the default one) and number of the statement, from 1."""


@dataclass(frozen=True)
class Recorded:
    """What is recorded of a claim.

    Attributes
    ----------
    verdicts, simulators, level
        Of the claim: of model and packets, of each simulator that judges it, and of hopflow's packet level.
    turning
        The readings that turn the verdicts.
    thresholds
        By name.
    statements
        The verdicts of all sources by reading and statement.
    """

    verdicts: Sides[Verdict] | None = None
    simulators: Mapping[str, Verdict] = field(default_factory=dict)
    level: Verdict = Verdict.NOT_APPLICABLE
    turning: Sides[tuple[str, ...]] | None = None
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    statements: Statements = field(default_factory=dict)


def recorded() -> dict[str, Recorded]:
    """Return what is recorded, by claim.

    Examples
    --------
    >>> from validation.judgements.recording import recorded
    >>> recorded()["K06"].thresholds["margin"].value
    0.17
    """
    simulators, levels, turning = recorded_simulators(), recorded_levels(), recorded_readings()
    thresholds: dict[str, dict[str, Threshold]] = {}
    for (id, name), threshold in recorded_thresholds().items():
        thresholds.setdefault(id, {})[name] = threshold
    statements: dict[str, dict[tuple[str, int], tuple[str, ...]]] = {}
    for row in rows("readings.csv"):
        own = statements.setdefault(row["id"], {})
        own[row["reading"], int(row["statement"])] = tuple(
            row[HEADS.get(name, name)] for name in SOURCES
        )
    return {
        id: Recorded(
            verdicts, simulators[id], levels[id], turning[id], thresholds.get(id, {}),
            statements.get(id, {}),
        )
        for id, verdicts in recorded_verdicts().items()
    }  # fmt: skip


def _statements(finding: Finding) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the verdicts of all sources on each statement in each reading."""
    readings = {"": finding.parts} | {each.name: each.parts for each in finding.readings}
    return {
        (name, number): tuple(str(part.by(source)) for source in SOURCES)
        for name, parts in readings.items()
        for number, part in enumerate(parts, 1)
    }


def differences(finding: Finding, known: Recorded) -> Iterator[str]:
    """Yield what of a finding is not as recorded.

    Parameters
    ----------
    finding
        What was found.
    known
        What is recorded of the same claim.

    Examples
    --------
    >>> from validation.claims import find
    >>> from validation.judgements.recording import differences, recorded
    >>> list(differences(find("M02").check(), recorded()["M02"]))
    []
    """
    none = Verdict.NOT_APPLICABLE
    simulators = {name: finding.verdict(name) for name in finding.simulators}
    simulators = {name: verdict for name, verdict in simulators.items() if verdict is not none}
    for what, now, before in (
        ("model and packets", Sides(finding.model, finding.simulation), known.verdicts),
        ("simulators", simulators, known.simulators),
        ("packet level", finding.level, known.level),
        ("readings that turn it", finding.turning, known.turning),
    ):
        if now != before:
            yield what
    thresholds = {each.name: each for each in finding.thresholds}
    for name in {**known.thresholds, **thresholds}:
        pair = [each.get(name) for each in (known.thresholds, thresholds)]
        if None in pair or len({(f"{t.value:g}", t.half, t.twice) for t in pair if t}) > 1:
            yield f"threshold {name}"
    now_said = _statements(finding)
    for reading, number in {**known.statements, **now_said}:
        if now_said.get((reading, number)) != known.statements.get((reading, number)):
            yield f"statement {number}" + (f" in the reading {reading!r}" if reading else "")


def record(findings: Mapping[Claim, Finding]) -> None:
    """Write verdicts, thresholds and readings of claims to ``published``; rows of other claims of the ledger stay."""
    sources = ("model", "simulation", *SIMULATORS, "process", "level")
    _write("verdicts.csv",
        [
            "id", *(HEADS.get(name, name) for name in sources), "model: hold", "packets: hold",
            "model depends on", "simulation depends on",
        ],
        (
            (
                c.id,
                *(f.verdict(name) for name in sources),
                *("{} of {}".format(*f.held(name)) for name in ("model", "simulation")),
                *("; ".join(names) for names in f.turning),
            )
            for c, f in findings.items()
        ),
    )  # fmt: skip
    _write("thresholds.csv",
        ["id", "threshold", "value", "model at half", "packets at half", "model at twice", "packets at twice"],
        (
            (c.id, t.name, f"{t.value:g}", *t.half, *t.twice)
            for c, f in findings.items()
            for t in f.thresholds
        ),
    )  # fmt: skip
    _write(
        "readings.csv",
        ["id", "reading", "statement", *(HEADS.get(name, name) for name in SOURCES)],
        (
            (c.id, reading, number, *verdicts)
            for c, f in findings.items()
            for (reading, number), verdicts in _statements(f).items()
        ),
    )


def _write(name: str, header: Iterable[str], table: Iterable[tuple[object, ...]]) -> None:
    """Replace the rows of the claims in a table, in the order of the ledger."""
    heads = list(header)
    of_claims: dict[str, list[tuple[object, ...]]] = {}
    for row in rows(name):
        of_claims.setdefault(row["id"], []).append(tuple(row.get(head, "") for head in heads))
    found: dict[str, list[tuple[object, ...]]] = {}
    for entry in table:
        found.setdefault(str(entry[0]), []).append(entry)
    of_claims |= found
    lines = [line for id in ledger() for line in of_claims.get(id, ())]
    write_rows(PUBLISHED / name, heads, lines)
