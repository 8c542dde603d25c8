"""Why a rate has no loss event rate: nothing gives it, or more than one does."""

from __future__ import annotations

__all__ = ["AmbiguousRateError", "UnreachableRateError"]


class UnreachableRateError(ValueError):
    """No loss event rate gives this rate; ``.reachable`` is the interval of those that can be.

    Attributes
    ----------
    reachable
        Lowest and highest rate in packets/s at the round-trip time of the first offending entry.
    gap
        Between which rates the response jumps, where that is why; else None.
    """

    def __init__(
        self, message: str, reachable: tuple[float, float], gap: tuple[float, float] | None = None
    ) -> None:
        super().__init__(message)
        self.reachable = reachable
        self.gap = gap


class AmbiguousRateError(ValueError):
    """Near this rate the response does not fall with p: several p may give it, or a range of p.

    Attributes
    ----------
    unique
        Interval of rates in packets/s, at the round-trip time of the first offending entry, in which
        each has one p. Its upper end is that of the decade of p up to which the response was computed.
    """

    def __init__(self, message: str, unique: tuple[float, float]) -> None:
        super().__init__(message)
        self.unique = unique
