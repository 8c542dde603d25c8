"""Losses between two times, for paths of suites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dfcmodel.network.elements.base import PathElement

__all__ = ["TimedLoss"]


@dataclass(frozen=True)
class TimedLoss(PathElement):
    """Independent losses with a probability, between two times, s."""

    draws = 1

    probability: float
    begin: float
    end: float

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Drop with ``q.probability`` if the packet arrives in [``q.begin``, ``q.end``); return the new state."""
        return s._replace(drop=1.0 if q.begin <= e.time < q.end and e.random < q.probability else 0.0)
