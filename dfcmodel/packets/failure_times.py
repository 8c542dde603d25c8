"""When links are down, as the packet level is given it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hopflow.checks import instance, one_number, shown

__all__ = ["Times", "failures_of"]

Times = tuple[tuple[float, float], ...]
"""From when and until when a link is down, s, in order."""


def failures_of(given: Any) -> dict[str, Times] | None:
    """Return when each link is down, pairs in order; ValueError for what is no time, or for pairs that overlap."""
    if given is None:
        return None
    found = {}
    for name, times in instance("failures", given, Mapping, "a mapping of links, or None").items():
        rows = times if _is_pairs(times) else [times]
        if not all(isinstance(row, Sequence) and len(row) == 2 for row in rows):
            msg = "must be a pair of times in s, or several"
            raise ValueError(f"failures of {name} = {shown(times)}: {msg}")
        last = 0.0
        for n, (begin, end) in enumerate(rows):
            place, hint = f"failures of {name}", "in s, not before the end of the pair before"
            one_number(f"{place}, begin of pair {n}", begin, at_least=last, hint=hint)
            if not (isinstance(end, float) and end == math.inf):
                one_number(
                    f"{place}, end of pair {n}", end, above=float(begin), hint="in s, or inf"
                )
            last = float(end)
        found[name] = tuple((float(begin), float(end)) for begin, end in rows)
    return found


def _is_pairs(times: Any) -> bool:
    return isinstance(times, Sequence) and len(times) > 0 and isinstance(times[0], Sequence)
