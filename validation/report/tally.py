"""How many claims have which verdict, paper by paper, models and packets apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from validation.records import OWN, entries
from validation.report.rows import Row
from validation.verdicts import Verdict

__all__ = ["SIDES", "Count", "Table", "in_words", "tables"]

SIDES = {"Models": "model", "Packets": "simulation"}
"""Titles of the sides, and their fields in a row."""
COLUMNS = {
    "reproduced": (Verdict.REPRODUCED,),
    "contradicted": (Verdict.CONTRADICTED,),
    "depends": (Verdict.DEPENDS,),
    "neither shown": (Verdict.NOT_REPRODUCED,),
    "no model yet": (Verdict.OPEN,),
    "undecidable": (Verdict.UNDECIDABLE,),
    "does not apply": (Verdict.NOT_APPLICABLE,),
}
WORDS = {
    Verdict.REPRODUCED: "hold",
    Verdict.CONTRADICTED: "are contradicted",
    Verdict.DEPENDS: "depend on how the paper is read",
    Verdict.NOT_REPRODUCED: "can be neither confirmed nor refuted",
    Verdict.UNDECIDABLE: "need other data",
    Verdict.OPEN: "have no model yet",
}
OF_ONE = {"hold": "holds", "are": "is", "depend": "depends", "need": "needs", "have": "has"}
"""First words of `WORDS` where there is one claim."""


class Table(NamedTuple):
    """Counts of claims by paper: a row for each, and for all papers, of the columns named."""

    columns: tuple[str, ...]
    rows: dict[str, tuple[int, ...]]


class Count(NamedTuple):
    """How many claims have a verdict, and the end of a sentence that says so."""

    claims: int
    verdict: Verdict
    words: str


def tables(rows: Sequence[Row]) -> dict[str, Table]:
    """Return the tallies of models and of packets; claims without a check are a column of theirs."""
    return {title: _table(rows, side) for title, side in SIDES.items()}


def in_words(rows: Sequence[Row], side: str) -> list[Count]:
    """Return the counts of the papers' claims on a side, those to which it does not apply left out.

    Examples
    --------
    >>> row = {"paper": "yang2001", "model": "reproduced"}
    >>> [(count.claims, count.words) for count in in_words([row, row], "model")]
    [(2, 'hold')]
    >>> in_words([row], "model")[0].words
    'holds'
    """
    seen = [row[side] for row in rows if row["paper"] != OWN]
    return [Count(seen.count(v), v, _said(seen.count(v), v)) for v in WORDS if v in seen]


def _said(claims: int, verdict: Verdict) -> str:
    """Return what so many claims do."""
    verb, *rest = WORDS[verdict].split()
    return " ".join([OF_ONE.get(verb, verb) if claims == 1 else verb, *rest])


def _table(rows: Sequence[Row], side: str) -> Table:
    papers = list(dict.fromkeys(entry.paper for entry in entries().values()))
    counted = {}
    for paper in papers:
        seen = [row[side] for row in rows if row["paper"] == paper]
        if not seen:
            continue
        claims = sum(entry.paper == paper for entry in entries().values())
        counts = [sum(seen.count(v) for v in kinds) for kinds in COLUMNS.values()]
        counted[paper] = (claims, *counts, claims - len(seen))
    of_papers = [counts for paper, counts in counted.items() if paper != OWN]
    if of_papers:
        own = counted.pop(OWN, None)
        counted["all papers"] = tuple(map(sum, zip(*of_papers, strict=True)))
        if own:
            counted[OWN] = own
    columns = ("claims", *COLUMNS, "not judged")
    kept = [n for n in range(len(columns)) if any(counts[n] for counts in counted.values())]
    return Table(
        tuple(columns[n] for n in kept),
        {paper: tuple(counts[n] for n in kept) for paper, counts in counted.items()},
    )
