"""Similar claims: those that one check measures and judges, for other scenarios or rules, and `LIKE`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from validation.checks import Check, subjects
from validation.report.rows import Row

SHORTEST = 20
"""Fewest characters of a caption that says anything."""
LIKE = {"D09": "D04"}
"""Claims with a check of their own whose figure shows the quantity of another's: takano2006's Figs. 6 to 11."""


@dataclass(frozen=True)
class Family:
    """Claims that share a page: their ids, and its heading."""

    ids: tuple[str, ...]
    title: str


FAMILIES = (
    Family(("D05", "D06", "D07", "D08"), "Efficiency with and without DFC at four speeds of the links"),
    Family(("Z06", "Z07", "Z08", "Z09", "Z10"), "How eight flows of one kind share a link with eight of another"),
    Family(("Z11", "Z12", "Z13"), "How the shares of two kinds of flows change with their number"),
)  # fmt: skip
"""Claims that say one sentence of different settings."""


def family_of(id: str) -> Family | None:
    """Return the family that a claim shares its page with; None: it has a page of its own.

    Examples
    --------
    >>> family_of("D06").ids[0], family_of("D04")
    ('D05', None)
    """
    return next((family for family in FAMILIES if id in family.ids), None)


def page_of(id: str) -> str:
    """Return where the report has a claim: its page, with the anchor on that of a family.

    Examples
    --------
    >>> page_of("D06"), page_of("D04")
    ('claims/D05-D08.html#D06', 'claims/D04.html')
    """
    family = family_of(id)
    return f"claims/{family.ids[0]}-{family.ids[-1]}.html#{id}" if family else f"claims/{id}.html"


def grouped(rows: Iterable[Row]) -> list[list[Row]]:
    """Return the rows in lists of similar claims, in the order of their first members."""
    found: dict[object, list[Row]] = {}
    known = subjects()
    for row in rows:
        id: str = LIKE.get(row["id"]) or row["id"]
        check: Check[object] | str = known[id].check if id in known else id
        found.setdefault(check, []).append(row)
    return list(found.values())


def panels(family: list[Row]) -> list[list[tuple[Row, Row]]]:
    """Return the pictures that all members have: for each one the members with theirs.

    Nothing for a claim alone, whose pictures are on its page.
    """
    if len(family) < 2:
        return []
    pictures = zip(*(row["pictures"] for row in family), strict=False)
    return [list(zip(family, same, strict=True)) for same in pictures]


def common_caption(panels: list[tuple[Row, Row]]) -> str:
    """Return what the captions of one check's panels end with alike, or all captions where that is too little.

    The captions of `LIKE` follow as they are.

    Examples
    --------
    >>> panels = [({"id": f"D0{n}"}, {"caption": f"Run {n}: queues of all nodes."}) for n in (4, 5)]
    >>> common_caption(panels)
    'Queues of all nodes.'
    """
    words = [about["caption"].split()[::-1] for row, about in panels if row["id"] not in LIKE]
    alike = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))
    text = " ".join([each[0] for each in alike][::-1])
    common = len(text) >= SHORTEST
    own = [f"{row['id']}: {about['caption']}" for row, about in panels if not common or row["id"] in LIKE]
    return " ".join([text[0].upper() + text[1:], *own] if common else own)
