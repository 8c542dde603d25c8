"""Which claims of the papers all evidence contradicts, by a rule."""

from __future__ import annotations

from collections.abc import Iterable

from validation.report.rows import Row, group_of_row

RULE = (
    "At least one statement that decides the claim is contradicted by every source of evidence that judges it, "
    "in every documented reading of the paper, and still with each threshold halved or doubled. "
    "A reading that a source has not judged, or that is inconclusive, counts as not contradicted. "
    "At least two of the sources are independent: hopflow's packet level, which repeats the algorithms of ns-2, "
    "is no second source, nor is ns-3 where it runs hopflow's own program of DFC, of pause or of a window rule."
)
"""The rule in words, for the page."""
SHORT_RULE = "Contradicted by all evidence (independent sources, all readings, half and twice all thresholds)"
"""The same for a line of the terminal."""


def contradicted_by_all(rows: Iterable[Row]) -> list[Row]:
    """Return the claims of the papers with statements that all evidence contradicts.

    Those with a larger part of their deciding statements contradicted come first; equal ones in
    the order of ``rows``, which is that of the papers.
    """
    chosen = [row for row in rows if group_of_row(row) == "papers" and row["contradicted_by_all"]]
    return sorted(chosen, key=lambda row: -len(row["contradicted_by_all"]) / row["deciding"])


def counted(row: Row) -> str:
    """Return how many of the deciding statements of a claim all evidence contradicts, and which.

    Examples
    --------
    >>> statements = [{"statement": "it falls"}, {"statement": "it settles"}]
    >>> counted({"contradicted_by_all": [2], "deciding": 2, "statements": statements})
    '1 of 2 statements contradicted: it settles'
    """
    numbers, deciding = row["contradicted_by_all"], row["deciding"]
    which = "; ".join(row["statements"][n - 1]["statement"] for n in numbers)
    some = "statement" if deciding == 1 else "statements"
    return f"{len(numbers)} of {deciding} {some} contradicted: {which}"
