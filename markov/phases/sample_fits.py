"""Moments of a sample with their errors, and the moments of its fit.

A `SampleFit` stays with the distribution or process that was fitted, so that answers with it can say so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.callers import warn_caller
from hopflow.intervals import half_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["FitWarning", "Moment", "SampleFit", "record_fit", "record_series_fit", "warn_of_difference"]

BATCHES = 20
"""Parts of a series of dependent times whose means count as independent."""
MOMENT_ROUNDING = 1e-6
"""Relative difference below which moments count as equal: moments are matched to 1e-7."""


class FitWarning(UserWarning):
    """Warning that a moment of a fit differs from that of its sample by more than the sample's error.

    Attributes
    ----------
    moment
        The first `Moment` that differs.

    Examples
    --------
    >>> import warnings
    >>> from markov import fit_phase_type
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     fit = fit_phase_type([1.0, 1.0, 1.0], phases=4)
    >>> caught[0].message.moment.name, caught[0].message.moment.sample, caught[0].message.moment.fit
    ('scv', 0.0, 0.25)
    """

    def __init__(self, message: str, moment: Moment) -> None:
        super().__init__(message)
        self.moment = moment


class Moment(NamedTuple):
    """One moment of a sample, with its confidence interval, and the same moment of the fit.

    Attributes
    ----------
    name
        ``"mean"`` in s; ``"scv"``, the variance over the square of the mean; ``"skewness"``, the third central moment
        over the 3/2 power of the variance; ``"lag-1 correlation"`` of neighbouring intervals.
    sample, half_width
        The sample's moment, with the half width of its 95 % interval.
    fit
        The fit's moment.
    """

    name: str
    sample: float
    half_width: float
    fit: float

    @property
    def differs(self) -> bool:
        """Whether the fit's moment lies outside the 95 % interval of the sample's moment."""
        return abs(self.fit - self.sample) > self.half_width + MOMENT_ROUNDING * abs(self.sample)

    def __str__(self) -> str:
        if math.isnan(self.sample):
            return f"{self.fit:.4g}, sample: not defined for equal times"
        unit = " s" if self.name == "mean" else ""
        return f"{self.fit:.4g}{unit}, sample {self.sample:.4g} ± {self.half_width:.2g}{unit}"


class SampleFit(NamedTuple):
    """Record of a fit to a sample: sample size and moments; stored with the fit and with answers that use it.

    Attributes
    ----------
    sample_size
        Number of times.
    moments
        The `Moment` objects, in the order in which they are compared.
    """

    sample_size: int
    moments: tuple[Moment, ...]

    @property
    def first_difference(self) -> Moment | None:
        """The first moment whose fit lies outside of the sample's interval; None if all lie inside."""
        return next((moment for moment in self.moments if moment.differs), None)

    def __str__(self) -> str:
        difference = self.first_difference
        if difference is not None:
            return f"a fit to {self.sample_size} times whose {difference.name} differs from the sample's ({difference})"
        *others, last = [moment.name for moment in self.moments]
        return f"a fit to {self.sample_size} times with their {', '.join(others)} and {last}, within the sample's error"


def record_fit(times: Floats, fit: Sequence[float]) -> SampleFit:
    """Return the record of a fit to independent ``times``; ``fit`` has the fit's mean, scv and skewness.

    Errors follow from the influence of every time on the moment (the delta method). They hold for large samples, and
    are too small if the sample has few of the longest times.
    """
    mean, scv, skewness, influences = _influences(times)
    if times.min() == times.max():
        influences[:] = 0.0
    errors = np.asarray(half_width(influences.T))
    rows = zip(("mean", "scv", "skewness"), (mean, scv, skewness), errors.tolist(), fit, strict=True)
    return SampleFit(len(times), tuple(Moment(*row) for row in rows))


def record_series_fit(intervals: Floats, fit: Sequence[float]) -> SampleFit:
    """Return the record of a fit to a series of intervals; ``fit`` has the fit's mean, scv and lag-1 correlation."""
    mean, scv, _, influences = _influences(intervals)
    deviations = (intervals - mean) / (mean * math.sqrt(scv)) if scv > 0.0 else np.zeros(len(intervals))
    products = deviations[:-1] * deviations[1:]
    correlation = float(products.mean())
    of_correlation = products - correlation * deviations[:-1] ** 2
    count = min(BATCHES, len(products))
    parts = [np.array_split(values, count) for values in (influences[0], influences[1], of_correlation)]
    batches = np.array([[part.mean() for part in values] for values in parts])
    errors = np.asarray(half_width(batches.T)).tolist()
    rows = zip(("mean", "scv", "lag-1 correlation"), (mean, scv, correlation), errors, fit, strict=True)
    return SampleFit(len(intervals), tuple(Moment(*row) for row in rows))


def _influences(times: Floats) -> tuple[float, float, float, Floats]:
    """Return mean, scv and skewness of ``times``, and the influence of every time on each of them, shape (3, n)."""
    mean = float(times.mean())
    offsets = times / mean - 1.0
    scv = float(np.mean(offsets**2))
    if times.min() == times.max():
        return mean, 0.0, math.nan, np.zeros((3, len(times)))
    z = offsets / math.sqrt(scv)
    skewness = float(np.mean(z**3))
    influences = np.array(
        [
            mean * offsets,
            offsets**2 - scv - 2.0 * scv * offsets,
            z**3 - skewness - 3.0 * z - 1.5 * skewness * (z**2 - 1.0),
        ]
    )
    return mean, scv, skewness, influences


def warn_of_difference(fit: SampleFit, hint: str) -> None:
    """Issue a `FitWarning` for the first moment of a fit that differs from the sample's; nothing if all agree."""
    moment = fit.first_difference
    if moment is None:
        return
    message = f"{moment.name} of the fit differs from the sample's by more than its error: {moment}; {hint}"
    warn_caller(FitWarning(message, moment), "markov")
