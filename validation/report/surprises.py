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
    """Return how many of the deciding statements of a claim all evidence contradicts.

    Examples
    --------
    >>> counted({"contradicted_by_all": [1, 4], "deciding": 4})
    '2 of 4 statements contradicted'
    >>> counted({"contradicted_by_all": [1], "deciding": 1})
    'its one statement contradicted'
    """
    if row["deciding"] == 1:
        return "its one statement contradicted"
    return f"{len(row['contradicted_by_all'])} of {row['deciding']} statements contradicted"
