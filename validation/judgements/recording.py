"""What was found for each claim, written to ``published/`` and compared with what is found now.

``verdicts.csv`` has a row for each claim, ``thresholds.csv`` one for each threshold, ``readings.csv`` one for each
statement in each reading of the paper: a changed constant of a reading that turns no claim shows there. ``numbers.csv`` has the
numbers that the page of a claim prints, so that changes show that turn no verdict.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hopflow.text_files import write_rows
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
JUDGING = ("model", "simulation", *SIMULATORS, "process", "level")
"""The sources that judge claims: those of statements, and all simulators together."""
SIDES = ("model", "packets")
HEADS = {"process": "same process", "level": "packet level"}
TITLES = {"simulation": "packets"} | HEADS
"""Sources whose verdicts on the whole claim at a threshold have other names in tables."""
Statements = Mapping[tuple[str, int], tuple[str, ...]]
"""The verdicts of `SOURCES` by reading ("" for the default one) and number of the statement, from 1."""
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.ASCII)
"""A printed number."""
COORDINATES = ("x", "x_low", "x_high", "y", "y_low", "y_high", "value")
"""Columns of the points of a picture, of which sums of absolute values are recorded."""
WORDS = "words"
"""The place of a hash of the words of a page, without its numbers."""
PLACES_NAMED = 3
"""Places with other numbers that are named; the others are counted."""


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
    held
        How many statements hold in the model and in packets, as "1 of 2".
    numbers
        The numbers printed, by their place on the page, separated by spaces; of pictures how many points they have and
        the sums of the absolute values of their coordinates; a hash of the words.
    """

    verdicts: Sides[Verdict] | None = None
    simulators: Mapping[str, Verdict] = field(default_factory=dict)
    level: Verdict = Verdict.NOT_APPLICABLE
    turning: Sides[tuple[str, ...]] | None = None
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    statements: Statements = field(default_factory=dict)
    held: Sides[str] | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)


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
        own[row["reading"], int(row["statement"])] = tuple(row[HEADS.get(name, name)] for name in SOURCES)
    numbers: dict[str, dict[str, str]] = {}
    for row in rows("numbers.csv"):
        numbers.setdefault(row["id"], {})[row["place"]] = row["numbers"]
    held = {row["id"]: Sides(*(row[f"{side}: hold"] for side in SIDES)) for row in rows("verdicts.csv")}
    return {
        id: Recorded(
            verdicts, simulators[id], levels[id], turning[id], thresholds.get(id, {}),
            statements.get(id, {}), held[id], numbers.get(id, {}),
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


def _held(finding: Finding) -> Sides[str]:
    """Return how many statements hold in the model and in packets."""
    return Sides(*("{} of {}".format(*finding.held(name)) for name in ("model", "simulation")))


def _printed(finding: Finding) -> dict[str, str]:
    """Return the numbers that the page of a claim prints and draws, by their place, and a hash of its words.

    Of pictures that are not drawn yet there are no points.
    """
    texts = {"statements": [part.statement for part in finding.parts]}
    texts |= {"summary": [finding.summary], "explanation": [finding.explanation]}
    for name, entries in (("quantity", finding.numbers), ("cause", finding.experiments)):
        texts |= {f"{name} {n}": list(vars(entry).values()) for n, entry in enumerate(entries, 1)}
    for n, picture in enumerate(finding.pictures, 1):
        texts[f"picture {n}"] = [picture.caption, picture.alt]
    if finding.gap:
        texts["gap"] = [
            *(" ".join(row) for row in finding.gap.rows.values()),
            *finding.gap.sentences,
        ]
    printed = {place: " ".join(NUMBER.findall(" ".join(text))) for place, text in texts.items()}
    for n, picture in enumerate(finding.pictures, 1):
        if picture.points is not None:
            sums = (f"{picture.points[name].abs().sum():.3e}" for name in COORDINATES)
            printed[f"picture {n} points"] = f"{len(picture.points)} {' '.join(sums)}"
    words = NUMBER.sub("", "\n".join(map(" ".join, texts.values())))
    printed[WORDS] = hashlib.sha256(words.encode()).hexdigest()[:16]
    return {place: numbers for place, numbers in printed.items() if numbers}


ROUNDING = 1e-13
"""Relative errors below this are of rounding, and differ from machine to machine."""


def _is_same_number(one: str, other: str) -> bool:
    """Return whether two printed numbers are equal, or decimal fractions that differ by one unit of the last digit.

    A rounding error of another processor or library moves a number over the edge between two printed ones. Numbers
    below `ROUNDING` are such errors themselves.

    Examples
    --------
    >>> _is_same_number("0.31", "0.32"), _is_same_number("0.3", "0.31"), _is_same_number("3", "4")
    (True, False, False)
    >>> _is_same_number("2.6e-15", "2.8e-15"), _is_same_number("0", "2.8e-15"), _is_same_number("2.6e-9", "2.8e-9")
    (True, False, False)
    """
    if one == other:
        return True
    (a, _, e), (b, _, f) = (text.partition("e") for text in (one, other))
    if e and f and max(abs(float(one)), abs(float(other))) < ROUNDING:
        return True
    decimals = len(a.partition(".")[2])
    if not decimals or decimals != len(b.partition(".")[2]) or e != f:
        return False
    return abs(float(a) - float(b)) < 1.5 * 10.0**-decimals


def _other_numbers(now: str, before: str) -> str:
    """Return how printed numbers differ from recorded ones; "": they are the same."""
    own, known = now.split(), before.split()
    if len(own) != len(known):
        return f"{len(own)} instead of {len(known)}"
    pairs = zip(own, known, strict=True)
    return next((f"{a} instead of {b}" for a, b in pairs if not _is_same_number(a, b)), "")


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
        ("statements that hold", _held(finding), known.held),
    ):
        if now != before:
            yield what
    thresholds = {each.name: each for each in finding.thresholds}
    for name in {**known.thresholds, **thresholds}:
        pair = [each.get(name) for each in (known.thresholds, thresholds)]
        if len({_at_threshold(each) if each else () for each in pair}) > 1:
            yield f"threshold {name}"
    now_said = _statements(finding)
    for reading, number in {**known.statements, **now_said}:
        if now_said.get((reading, number)) != known.statements.get((reading, number)):
            yield f"statement {number}" + (f" in the reading {reading!r}" if reading else "")
    printed = _printed(finding)
    if printed[WORDS] != known.numbers.get(WORDS):
        yield WORDS
    passed_over = {f"picture {n} points" for n, each in enumerate(finding.pictures, 1) if each.points is None} | {WORDS}
    others = {
        place: _other_numbers(printed.get(place, ""), known.numbers.get(place, ""))
        for place in {**known.numbers, **printed}
        if place not in passed_over
    }
    named = [f"numbers of {place}: {other}" for place, other in others.items() if other]
    yield from named[:PLACES_NAMED]
    if len(named) > PLACES_NAMED:
        yield f"numbers of {len(named) - PLACES_NAMED} more places"


def _at_threshold(threshold: Threshold) -> tuple[str, ...]:
    """Return the value of a threshold, and the verdicts at half and at twice of it as `thresholds.csv` has them."""
    none = Verdict.NOT_APPLICABLE
    verdicts = (at.get(name, none) for at in (threshold.half, threshold.twice) for name in JUDGING)
    return f"{threshold.value:g}", *verdicts


def record(findings: Mapping[Claim, Finding]) -> None:
    """Write verdicts, thresholds, readings and numbers of claims to ``published``; rows of other claims of the ledger stay."""
    _write("verdicts.csv",
        [
            "id", *(HEADS.get(name, name) for name in JUDGING), *(f"{side}: hold" for side in SIDES),
            "model depends on", "simulation depends on",
        ],
        (
            (
                c.id,
                *(f.verdict(name) for name in JUDGING),
                *_held(f),
                *("; ".join(names) for names in f.turning),
            )
            for c, f in findings.items()
        ),
    )  # fmt: skip
    _write("thresholds.csv",
        ["id", "threshold", "value", *(f"{TITLES.get(name, name)} at {at}" for at in ("half", "twice") for name in JUDGING)],
        (
            (c.id, t.name, *_at_threshold(t))
            for c, f in findings.items()
            for t in f.thresholds
        ),
    )  # fmt: skip
    _write(
        "numbers.csv",
        ["id", "place", "numbers"],
        ((c.id, *row) for c, f in findings.items() for row in _printed(f).items()),
    )
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
