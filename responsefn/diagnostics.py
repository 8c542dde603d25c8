"""Errors and warnings of rates: without a loss event rate, at several attractors, or reached slowly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from hopflow.callers import calling_frame, package_folders, warn_caller
from hopflow.errors import RuleError
from hopflow.public_names import ROOT

__all__ = [
    "AmbiguousRateError",
    "OutsideDomainWarning",
    "RuleError",
    "SeveralAttractorsWarning",
    "SlowApproachWarning",
    "UnreachableRateError",
    "collect_remarks",
    "collector",
    "is_called_by_user",
    "quiet",
    "warn",
    "warns",
]

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
_remarks: ContextVar[list[Any] | None] = ContextVar("remarks", default=None)
PACKAGE_FOLDERS = package_folders("dfcmodel", "hopflow", "markov", "responsefn", "validation")
WRAPPERS = (str(Path(__file__).parent / "inputs.py"), str(ROOT / "hopflow" / "units.py"))
"""Files of the decorators of public functions."""
PUBLIC_METHODS = ("is_called_by_user", "_warn_outside_domain", "rate")
"""Functions between the caller of a public function and the question who called it."""


class UnreachableRateError(ValueError):
    """No loss event rate gives this rate; ``.reachable`` is the interval of rates that are possible.

    Attributes
    ----------
    reachable
        Lowest and highest rate in packets/s at the round-trip time of the first offending entry.
    gap
        Interval over which the response jumps if that is the reason, otherwise None.

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

    def __init__(self, message: str, reachable: tuple[float, float], gap: tuple[float, float] | None = None) -> None:
        super().__init__(message)
        self.reachable = reachable
        self.gap = gap


class AmbiguousRateError(ValueError):
    """Near this rate the response does not fall with p: several p may give it, or a range of p.

    Attributes
    ----------
    unique
        Next interval of rates in packets/s in which each rate has one p, at the round-trip time of the first offending
        entry.

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


class SeveralAttractorsWarning(UserWarning):
    """A rule converges to several rates, from different windows; `rate` is one of them.

    The window at the end of slow start decides which rate a connection has. Other rates are searched from 2 packets and
    from four times the peak, for p >= 1e-7 where the rate is that of the numerical cycle. Each of these two runs takes
    at most 0.6 times the steps of the solution, and at most 1e5 blocks of ACKs or 3e5 ACKs: a rule that needs more to
    come near a rate may have another one without this warning (`Curve.searched` marks such rates).
    `WindowRule.attractors` has no such limit.

    Attributes
    ----------
    rates
        Rates in packets/s at the first loss event rate with several, largest first.

    Examples
    --------
    >>> import warnings
    >>> from responsefn import Illinois
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     rate = Illinois().rate(0.02, 0.1)
    >>> round(rate), [round(rate) for rate in caught[0].message.rates]
    (612, [612, 87])
    """

    def __init__(self, message: str, rates: tuple[float, ...]) -> None:
        super().__init__(message)
        self.rates = rates


class OutsideDomainWarning(UserWarning):
    """The rate of a loss event rate for which the rule is not meant, such as p = 0.1 of a rule with p <= 0.02.

    Examples
    --------
    >>> import warnings
    >>> from responsefn import Reno
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     rate = Reno().rate(0.1, 1e-3)
    >>> print(caught[0].message)
    p: 0.1 is outside of the domain of Reno(), p <= 0.02; p is the first argument and rtt the second
    """


class SlowApproachWarning(UserWarning):
    """A connection needs more than 10,000 loss events to come within 1 % of a rate.

    Attributes
    ----------
    loss_events
        Their number; infinite if it exceeds the limit of `rate`, which takes 0.1 s.

    Examples
    --------
    >>> import warnings
    >>> from responsefn import Westwood
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     rate = Westwood().rate(0.02, 0.08, bandwidth=8333.0)
    >>> caught[0].message.loss_events > 10_000
    True
    """

    def __init__(self, message: str, loss_events: float) -> None:
        super().__init__(message)
        self.loss_events = loss_events


@contextmanager
def collect_remarks() -> Iterator[list[Any]]:
    """Collect remarks on rates (`attractors.Remarks`) instead of warning."""
    remarks: list[Any] = []
    token = _remarks.set(remarks)
    try:
        yield remarks
    finally:
        _remarks.reset(token)


def collector() -> list[Any] | None:
    """Return the list of `collect_remarks`, None outside of it."""
    return _remarks.get()


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress these warnings and the work that only they need, for callers that solve many cycles."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def warns() -> bool:
    """Return whether rates are commented by warnings."""
    return not _quiet.get()


def is_called_by_user() -> bool:
    """Return whether the public function that is running was called from outside of hopflow's packages."""
    frame, _ = calling_frame(
        lambda frame: frame.f_code.co_filename in WRAPPERS or frame.f_code.co_name in PUBLIC_METHODS
    )
    return not frame.f_code.co_filename.startswith(PACKAGE_FOLDERS)


def warn(warning: Warning) -> None:
    """Warn at the caller outside of these packages."""
    warn_caller(warning, "responsefn")
