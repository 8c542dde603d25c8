"""Which findings surprise most, by a rule."""

from __future__ import annotations

from collections.abc import Iterable

from validation.records import OWN
from validation.report.rows import Row
from validation.verdicts import Verdict

__all__ = ["COUNT", "RULE", "most_surprising"]

COUNT = 5
RULE = (
    "Models and packet simulations both contradict the paper, in every documented reading of it, and still "
    "do with each threshold halved or doubled. At most one finding per paper, the claim "
    "with most of its statements contradicted, before a second one."
)
"""The rule in words, for the page."""
SIDES = ("model", "simulation")


def most_surprising(rows: Iterable[Row], count: int = COUNT) -> list[Row]:
    """Return the findings that `RULE` chooses, at most ``count``.

    Those that contradict a larger share of their statements come first; equal ones in the order of
    ``rows``, which is that of the papers.
    """
    found = [row for row in rows if row["paper"] != OWN and _contradicts(row)]
    found.sort(key=_share, reverse=True)
    turns: dict[str, int] = {}
    rounds = []
    for row in found:
        turns[row["paper"]] = turns.get(row["paper"], 0) + 1
        rounds.append(turns[row["paper"]])
    order = sorted(range(len(found)), key=lambda n: rounds[n])
    return [found[n] for n in order[:count]]


def _contradicts(row: Row) -> bool:
    seen = [row[side] for side in SIDES]
    for threshold in row["robustness"]:
        seen += [threshold[at][side] for at in ("half", "twice") for side in ("model", "packets")]
    return all(verdict == Verdict.CONTRADICTED for verdict in seen)


def _share(row: Row) -> float:
    """Return the share of the verdicts on the statements that contradict the paper."""
    seen = [each[side] for each in row["statements"] for side in SIDES]
    return seen.count(Verdict.CONTRADICTED) / len(seen)
