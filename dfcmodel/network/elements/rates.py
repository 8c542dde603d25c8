"""The rate of a link over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dfcmodel.network.elements.base import PathElement, validate_steps
from hopflow.units import PacketUnits, WithUnit, WithUnits, quantities

__all__ = ["RateTrace"]


@quantities(times="time", rates="rate", period="time")
@dataclass(frozen=True)
class RateTrace(PathElement):
    """The rate of a link over time, packets/s: constant from each time, s, to the next.

    It acts on all packets of the link, and only on the forward direction. The rate of the `Link` is the upper bound of
    the rates of the trace. A rate may be 0, in which case a transmission continues when the rate is above 0 again.
    `read_mahimahi` returns a `RateTrace` from a trace of delivery opportunities.

    Parameters
    ----------
    link
        Name of the link, ``"a->b"``.
    times
        Times at which the rate changes, s, increasing from 0, (N,).
    rates
        Rate from each of these times on, packets/s, at least 0, (N,); not all 0, and the last rate above 0 without a
        period.
    period
        Time after which the trace repeats, s; `inf`: the last rate stays.

    Raises
    ------
    ValueError
        For times that do not increase from 0, rates of 0 for ever, and flows or ACKs, which a rate cannot select.

    Examples
    --------
    >>> from dfcmodel import RateTrace
    >>> RateTrace("1->2", times=(0, 5), rates=("100Mbps", "10Mbps")).rates
    (8333.3..., 833.3...)
    """

    times: WithUnits
    rates: WithUnits
    period: WithUnit = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.acks or self.flows is not None:
            options = f"flows = {self.flows!r}, acks = {self.acks}"
            raise ValueError(f"{options}: a rate is that of the link: leave them out")
        times, rates = validate_steps(self, "rates", 1e12)
        if not rates.any() or (self.period == math.inf and rates[-1] == 0.0):
            msg = "must be above 0: nothing is sent from then on"
            raise ValueError(f"rates[-1] = {rates[-1]:g}: {msg}")
        object.__setattr__(self, "times", tuple(times.tolist()))
        entries: Iterable[Any] = self.rates
        converted = (rate if isinstance(rate, PacketUnits) else float(rate) for rate in entries)
        object.__setattr__(self, "rates", tuple(converted))

    @property
    def changes_flow(self) -> bool:
        """True: packets leave at another rate."""
        return True

    def _check_at(self, link: Any, others: Sequence[PathElement]) -> None:
        """Raise ValueError for a second trace of a link, and for rates above that of the link."""
        if any(isinstance(element, RateTrace) for element in others):
            raise ValueError(f"elements: a second RateTrace of {link.name}: must be one per link")
        hint = f"the rate of link {link.name}; give the link the largest rate of the trace"
        largest = max(self.rates)
        if largest > link.rate * (1.0 + 1e-12):
            raise ValueError(f"elements: rates = {largest:g}: must be at most {link.rate:g}, {hint}")

    @property
    def mean(self) -> float:
        """Mean rate of a period, packets/s; without a period, the last rate."""
        if self.period == math.inf:
            return float(self.rates[-1])
        spans = np.diff(np.append(self.times, self.period))
        return float(np.dot(spans, self.rates) / self.period)
