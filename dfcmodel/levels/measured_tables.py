"""The tables of what was measured of both levels, CSV files beside the modules that use them."""

from __future__ import annotations

import csv
from importlib import resources

__all__ = ["measured_rows"]


def measured_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table by column; lines that begin with # are comments.

    Examples
    --------
    >>> [row["level"] for row in measured_rows("accuracies.csv")]
    ['fluid', 'packet level']
    """
    text = resources.files("dfcmodel.levels").joinpath(name).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return list(csv.DictReader(lines))
