"""Errors: of rates without a loss event rate, and (from `hopflow.errors`) of rules that cannot be run."""

from __future__ import annotations

from hopflow.errors import RuleError

__all__ = ["AmbiguousRateError", "RuleError", "UnreachableRateError"]


class UnreachableRateError(ValueError):
    """No loss event rate gives this rate; ``.reachable`` is the interval of those that can be.

    Attributes
    ----------
    reachable
        Lowest and highest rate in packets/s at the round-trip time of the first offending entry.
    gap
        Between which rates the response jumps, where that is why; else None.

    Examples
    --------
    >>> from responsefn import TFRC, invert
    >>> from responsefn.errors import UnreachableRateError
    >>> try:
    ...     invert(TFRC(), 1e-9, 0.1)
    ... except UnreachableRateError as error:
    ...     print(f"{error.reachable[0]:.4f}")
    0.0411
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
        The interval of rates in packets/s next to this one, at the round-trip time of the first
        offending entry, in which each has one p.

    Examples
    --------
    >>> from responsefn import HTCP, invert
    >>> from responsefn.errors import AmbiguousRateError
    >>> try:  # windows of a few packets alternate
    ...     invert(HTCP(), HTCP().rate(0.56, 0.1), 0.1)
    ... except AmbiguousRateError as error:
    ...     print(f"{error.unique[0]:.3g}")
    23.6
    """

    def __init__(self, message: str, unique: tuple[float, float]) -> None:
        super().__init__(message)
        self.unique = unique
