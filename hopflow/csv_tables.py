"""CSV files with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from hopflow.whole_files import replacing

__all__ = ["read_rows", "write_rows"]


def read_rows(package: str, name: str) -> list[dict[str, str]]:
    """Read a CSV file in a package folder: a dictionary per row; lines that begin with # are comments.

    Examples
    --------
    >>> [row["level"] for row in read_rows("dfcmodel.levels", "accuracies.csv")]
    ['fluid', 'packet level']
    """
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return list(csv.DictReader(lines))


def write_rows(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]], comment: str = "") -> None:
    """Write a CSV file atomically, with an optional comment line above the header."""
    with replacing(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
        if comment:
            file.write(f"# {comment}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
