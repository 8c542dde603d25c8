"""TFRC's loss intervals: from a trace of losses to the loss event rate (RFC 5348, Sect. 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import flag, instance, integer, number, one_number
from hopflow.units import WithUnit, quantities
from responsefn.inputs import packet_rate, round_trip
from responsefn.inverse import invert
from responsefn.laws import TFRC
from responsefn.response import Response

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["LossHistory", "first_interval", "interval_weights", "loss_events"]


def interval_weights(n: int = 8) -> NDArray[np.float64]:
    """Return the weights of n loss intervals, newest first: 1 in the newer half, then falling.

    w_i = min(1, 2 (n - i)/(n + 2)), for n = 8: 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2.

    Examples
    --------
    >>> from responsefn.metrics.tfrc_loss_intervals import interval_weights
    >>> interval_weights(8)
    array([1. , 1. , 1. , 1. , 0.8, 0.6, 0.4, 0.2])
    """
    n = integer("n", n, 1, 1000)
    i = np.arange(n)
    return np.where(i < n / 2, 1.0, 2.0 * (n - i) / (n + 2))


@quantities(sent="time", rtt="time")
def loss_events(lost: ArrayLike, sent: ArrayLike, rtt: WithUnit, *, unit_check: bool = True) -> NDArray[np.int64]:
    """Return the losses that begin a loss event.

    A loss belongs to the current event if it is at most a round trip after the first loss of that event
    (RFC 5348, Sect. 5.2; ns-2's ``TfrcSinkAgent::new_loss`` begins an event after more than a round trip).

    Parameters
    ----------
    lost
        Sequence numbers of lost packets, ascending, shape (n,).
    sent
        Times at which they were sent in s, shape (n,).
    rtt
        Round-trip time in s.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more.

    Returns
    -------
    Sequence numbers of the first loss of each event; their differences are the loss intervals.

    Examples
    --------
    >>> from responsefn import loss_events
    >>> loss_events([10, 12, 40], sent=[1.0, 1.02, 1.4], rtt=0.1)
    array([10, 40])
    """
    sequence_numbers, times = (
        number("lost", lost, at_least=0.0, below=2.0**53),
        number("sent", sent),
    )
    if np.any(sequence_numbers != np.floor(sequence_numbers)) or np.any(np.diff(sequence_numbers.ravel()) <= 0.0):
        raise ValueError(f"lost = {lost!r}: must be whole sequence numbers, ascending")
    if np.any(np.diff(times.ravel()) < 0.0):
        raise ValueError(f"sent = {sent!r}: must not fall, as the sequence numbers rise")
    indices = sequence_numbers.astype(np.int64)
    if indices.shape != times.shape or indices.ndim != 1:
        raise ValueError(f"lost has shape {indices.shape}, sent has shape {times.shape}: must be equal")
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    begin, first = -np.inf, []
    for sequence, time in zip(indices, times, strict=True):
        if time > begin + rtt:
            begin = time
            first.append(sequence)
    return np.array(first, dtype=np.int64)


@quantities(rate="rate", rtt="time")
def first_interval(rate: WithUnit, rtt: WithUnit, law: TFRC | None = None, *, unit_check: bool = True) -> float:
    """Return the initial loss interval, for the packets before the first loss, in packets.

    It is 1/p, where p gives the received rate by the equation (RFC 5348, Sect. 6.3.1).

    Parameters
    ----------
    rate
        Received rate in packets/s.
    rtt
        Round-trip time in s.
    law
        The equation; None is ``TFRC()``.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more.

    Examples
    --------
    >>> from responsefn.metrics.tfrc_loss_intervals import first_interval
    >>> round(first_interval(rate=1000.0, rtt=0.1))
    6685
    """
    rate = one_number("rate", packet_rate("rate", rate, unit_check))
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    chosen = TFRC() if law is None else instance("law", law, Response, "TFRC(), or None")
    return 1.0 / float(invert(chosen, rate, rtt, unit_check=unit_check))


class LossHistory:
    """A receiver's loss intervals, their weighted mean and the loss event rate.

    Parameters
    ----------
    first
        The first interval in packets (`first_interval`), None before any loss.
    n
        Number of closed intervals in the mean.
    discounting
        Whether old intervals lose weight while the open interval is longer than twice the mean.
    least_discount
        Lower bound of the discount factor; 0.25 in the RFC, 0.5 in ns-2.

    Examples
    --------
    >>> history = LossHistory()
    >>> for length in (100, 100, 100): history.close(length)
    >>> round(history.rate(50), 4), round(history.rate(1000), 4)
    (0.01, 0.0014)
    """

    def __init__(
        self,
        first: float | None = None,
        *,
        n: int = 8,
        discounting: bool = True,
        least_discount: float = 0.25,
    ) -> None:
        self.weights = interval_weights(n)
        self.discounting = flag("discounting", discounting)
        self.least_discount = one_number("least_discount", least_discount, above=0.0, at_most=1.0)
        self.closed: list[float] = []
        self.discounts: list[float] = []
        self.discount = 1.0
        if first is not None:
            self.close(one_number("first", first, above=0.0))

    @quantities(length="amount")
    def close(self, length: WithUnit) -> None:
        """Close the open interval of ``length`` packets at a loss event.

        The discount of the last call of `rate` multiplies the older intervals' weights.
        """
        length = one_number("length", length, above=0.0)
        n = len(self.weights)
        self.closed = [length, *self.closed][:n]
        self.discounts = [1.0, *(self.discount * old for old in self.discounts)][:n]
        self.discount = 1.0

    @quantities(open_interval="amount")
    def rate(self, open_interval: WithUnit = 0.0) -> float:
        """Return the loss event rate p; 0 before any loss.

        Parameters
        ----------
        open_interval
            Packets since the last loss event began; used only if it makes p smaller.
        """
        open_interval = one_number("open_interval", open_interval, at_least=0.0)
        if not self.closed:
            return 0.0
        lengths, factors = np.array(self.closed), np.array(self.discounts)
        weights = self.weights[: len(lengths)] * factors
        without = float(weights @ lengths / weights.sum())
        self.discount = 1.0
        if self.discounting and open_interval > 2.0 * without:
            self.discount = max(2.0 * without / open_interval, self.least_discount)
        older = self.weights[1 : len(lengths)]  # RFC 5348, Sect. 5.4: i = 1 to k - 1
        older = older * factors[: len(older)] * self.discount
        total = self.weights[0] * open_interval + older @ lengths[: len(older)]
        including = float(total / (self.weights[0] + older.sum()))
        return 1.0 / max(without, including)
