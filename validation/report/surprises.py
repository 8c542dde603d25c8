"""Which findings surprise most, by a rule."""

from __future__ import annotations

from collections.abc import Iterable

from validation.judgements.verdicts import Verdict
from validation.records import group_of
from validation.report.rows import Row

RULE = (
    "Every source of evidence that judges the claim contradicts it, the model and each simulator by itself, "
    "at least two of them, in every documented reading of the paper, and still with each threshold halved or doubled. "
    "One finding per paper: the claim with the largest part of its statements contradicted."
)
"""The rule in words, for the page."""
SHORT_RULE = "Contradicted by all sources, in all readings, at half and twice all thresholds; one for each paper"
"""The same for a line of the terminal."""
FEWEST_SOURCES = 2
"""Sources that have to judge a claim: one alone may err."""


def contradicted_by_all(rows: Iterable[Row]) -> list[Row]:
    """Return the claims of the papers that every source contradicts, most certain first.

    Those that contradict a larger part of their statements come first, then those with more
    statements; equal ones in the order of ``rows``, which is that of the papers.
    """
    found = [row for row in rows if group_of(row["paper"]) == "papers" and _contradicts(row)]
    return sorted(found, key=lambda row: (-_share(row), -len(row["statements"])))


def most_surprising(rows: Iterable[Row]) -> list[Row]:
    """Return the findings that `RULE` chooses: the first of `contradicted_by_all` for each paper."""
    found: dict[str, Row] = {}
    for row in contradicted_by_all(rows):
        found.setdefault(row["paper"], row)
    return list(found.values())


def _contradicts(row: Row) -> bool:
    sources = [row["model"], *row["simulators"].values(), row["packet_level"]]
    judging = [verdict for verdict in sources if verdict != Verdict.NOT_APPLICABLE]
    changed = [
        threshold[at][side]
        for threshold in row["robustness"]
        for at in ("half", "twice")
        for side, own in (("model", row["model"]), ("packets", row["simulation"]))
        if own != Verdict.NOT_APPLICABLE
    ]
    all_contradict = all(verdict == Verdict.CONTRADICTED for verdict in (*judging, *changed))
    return len(judging) >= FEWEST_SOURCES and all_contradict


def _share(row: Row) -> float:
    """Return the share of the verdicts on the statements that contradict the paper."""
    seen = [
        verdict
        for each in row["statements"]
        for verdict in (each["model"], each["simulation"])
        if verdict != Verdict.NOT_APPLICABLE
    ]
    return seen.count(Verdict.CONTRADICTED) / len(seen) if seen else 0.0
