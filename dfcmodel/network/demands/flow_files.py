"""What readers of files that list flows have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dfcmodel.network.columns import Column
from dfcmodel.network.demands.collectives import flows_from
from dfcmodel.network.demands.exchanges import NONE
from dfcmodel.network.flow_tables import Flows

__all__ = ["ListedFlows", "check_given", "whole_in"]


class ListedFlows(NamedTuple):
    """Flows of a file, F of them: ranks at their ends, packets, starts in s, and the places of the flows that each waits for.

    ``delays`` are those of `Flow`, F tuples in s; (): none.
    """

    source: Sequence[int]
    target: Sequence[int]
    size: Sequence[float]
    start: Sequence[float]
    after: Sequence[Sequence[int]]
    delays: Sequence[tuple[float, ...]] = ()

    def between(self, ends: Sequence[Any], given: Mapping[str, Any]) -> Flows:
        """Return the table of these flows between the nodes that have the ranks."""
        source, target = (
            Column(ends, np.array(ranks, dtype=np.int64), len(ranks))
            for ranks in (self.source, self.target)
        )
        options = dict(given)
        if any(self.after):
            after = np.full((len(self.after), max(map(len, self.after))), NONE)
            for row, own in zip(after, self.after, strict=True):
                row[: len(own)] = own
            options["after"] = after
        if any(self.delays):
            options["delays"] = list(self.delays)
        return flows_from(source, target, np.array(self.size), np.array(self.start), **options)


def check_given(given: Iterable[str]) -> None:
    """Raise TypeError where an option is given that the file has."""
    for option in ("sizes", "starts", "after", "delays"):
        if option in given:
            raise TypeError(f"{option}: must not be given, the file has its own")


def whole_in(n: int, name: str, given: str) -> int:
    """Return the whole number that a word of line n is.

    Raises
    ------
    ValueError
        For another word.
    """
    if not given.isdigit():
        raise ValueError(f"line {n}: {name} {given}: must be a whole number")
    return int(given)
