"""Warnings of rates: other attractors, and connections that need long to reach one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hopflow.naming.packages import ROOT

__all__ = [
    "SeveralAttractorsWarning", "SlowApproachWarning", "collected", "quiet", "sink", "warn", "warns",
]  # fmt: skip

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
_remarks: ContextVar[list[Any] | None] = ContextVar("remarks", default=None)


class SeveralAttractorsWarning(UserWarning):
    """A rule comes to several rates, from different windows; `rate` is one of them.

    Which one a connection has follows from the window with which it comes out of slow start. They are looked for from
    2 packets and from four times the peak, for p >= 1e-7 where the rate is that of the numerical cycle. Each of these two
    runs takes at most 0.6 times the steps of the solution, and at most 1e5 blocks of ACKs or 3e5 ACKs: a rule that needs
    more to come near a rate may have another one without this warning (`Curve.searched` says where). `WindowRule.attractors`
    has no such limit.

    Attributes
    ----------
    rates
        Rates in packets/s at the first loss event rate of which it is so, largest first.

    Examples
    --------
    >>> import warnings
    >>> from responsefn import Illinois
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     rate = Illinois().rate(0.02, 0.1)
    >>> round(rate), [round(rate) for rate in seen[0].message.rates]
    (612, [612, 87])
    """

    def __init__(self, message: str, rates: tuple[float, ...]) -> None:
        super().__init__(message)
        self.rates = rates


class SlowApproachWarning(UserWarning):
    """A connection needs more than 10,000 loss events to come within 1 % of a rate.

    Attributes
    ----------
    loss_events
        How many; infinite where these are more than `rate` follows, which takes 0.1 s.

    Examples
    --------
    >>> import warnings
    >>> from responsefn import Westwood
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     rate = Westwood().rate(0.02, 0.08, bandwidth=8333.0)
    >>> seen[0].message.loss_events > 10_000
    True
    """

    def __init__(self, message: str, loss_events: float) -> None:
        super().__init__(message)
        self.loss_events = loss_events


@contextmanager
def collected() -> Iterator[list[Any]]:
    """Collect what is to be said of rates (`attractors.Remarks`), instead of warning."""
    remarks: list[Any] = []
    token = _remarks.set(remarks)
    try:
        yield remarks
    finally:
        _remarks.reset(token)


def sink() -> list[Any] | None:
    """Return the list in which remarks are collected, if they are."""
    return _remarks.get()


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out what only these warnings need, for callers that solve many cycles on their way."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def warns() -> bool:
    """Return whether rates are to be commented."""
    return not _quiet.get()


def warn(warning: Warning) -> None:
    """Warn, with the place outside of these packages from which the rate was asked for."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


_HERE = (__file__.rpartition("responses")[0], str(ROOT / "hopflow"))
