"""Readers shared by several programs: files of words, and loss events from times of drops."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def lines(folder: Path, name: str) -> list[list[str]]:
    """Return the words of each line of an output file."""
    return [line.split() for line in (folder / name).read_text().splitlines()]


def loss_events(times: Iterable[float], gap: float) -> int:
    """Count the loss events: drops at least ``gap`` seconds after the start of the previous event.

    Examples
    --------
    >>> loss_events([0.0, 0.01, 0.02, 0.06], gap=0.05)
    2
    """
    count, begin = 0, float("-inf")
    for time in times:
        if time - begin >= gap:
            count += 1
            begin = time
    return count
