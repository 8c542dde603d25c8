"""Watchdogs against pause storms: their settings, and the storms they detect.

A watchdog polls a queue. An interval between two polls is *bad* if the queue was paused for at least a given
fraction of it; after ``detection / polling`` bad intervals in succession, rounded up, a storm is declared and
packets are dropped, until so many intervals in succession were not bad as the restoration time holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.lossless.quantities import duration
from hopflow.checks import one_number, whole

if TYPE_CHECKING:
    from dfcmodel.lossless.quantities import Given

__all__ = ["Watchdog"]


@dataclass(frozen=True)
class Watchdog:
    """Settings of a watchdog, in s or strings such as ``200 ms``.

    Parameters
    ----------
    polling
        Time between polls, at most ``detection``: otherwise the setting has no effect.
    detection, restoration
        How long a queue must be bad until a storm is declared, and not bad until it is over.
    fraction
        Of an interval that a queue must be paused to be bad, above 0, at most 1.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.

    Examples
    --------
    >>> from dfcmodel.lossless import Watchdog
    >>> dog = Watchdog("200 ms", "400 ms", "2 s")
    >>> dog.polls, [round(t, 3) for t in dog.delay], round(dog.miss("500 ms"), 3)
    (2, [0.4, 0.6], 0.5)
    """

    polling: Given
    detection: Given
    restoration: Given
    fraction: float = 1.0

    def __post_init__(self) -> None:
        """Convert to s and check."""
        for name in ("polling", "detection", "restoration"):
            object.__setattr__(self, name, duration(name, getattr(self, name)))
        if self.polling > self.detection:  # type: ignore[operator]
            msg = f"polling = {self.polling:g} s: must be at most detection, {self.detection:g} s"
            raise ValueError(msg)
        one_number("fraction", self.fraction, above=0.0, at_most=1.0)
        whole("detection / polling", self.polls, 1, 10_000)
        whole("restoration / polling", self.good_polls, 1, 10_000)

    @property
    def period(self) -> float:
        """Time between polls in s."""
        return float(self.polling)

    @property
    def polls(self) -> int:
        """Bad intervals in succession that declare a storm."""
        return math.ceil(float(self.detection) / self.period * (1.0 - 1e-12))

    @property
    def good_polls(self) -> int:
        """Intervals in succession that are not bad and end it."""
        return math.ceil(float(self.restoration) / self.period * (1.0 - 1e-12))

    @property
    def delay(self) -> tuple[float, float]:
        """Least and largest time from the beginning of a lasting storm to its detection, s; uniform between."""
        n, f = self.polls, self.fraction
        return (n - 1 + f) * self.period, (n + f) * self.period

    def miss(self, storm: Given) -> float:
        """Return the probability that a single pause of so long a time (s) is not detected.

        Its beginning is independent of the polls. Of the u seconds to the next poll, uniform on the
        interval, those decide that leave enough bad intervals.
        """
        length = duration("storm", storm) / self.period  # in intervals
        n, f = self.polls, self.fraction
        if n == 1 and length < f:
            return 1.0
        first = np.clip(length - (n - 2 + f), f, 1.0) - f  # the first interval is bad as well
        later = np.clip(length - (n - 1 + f), 0.0, f)
        return float(1.0 - first - later)
