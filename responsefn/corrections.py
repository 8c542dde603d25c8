"""Corrections of a rule's loss cycle for real connections: recovery, timeouts, delayed ACKs, window limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.parameters import param
from responsefn.diagnostics import quiet
from responsefn.dynamics import Event
from responsefn.inputs import loss_rate, plain, round_trip, same_shape
from responsefn.response import Response

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Corrected"]


class Corrected(Response):
    r"""The response of a window rule, corrected for effects outside its loss cycle.

    The rule's cycle of n' packets takes D(n') s, has the mean window M and leaves the window V
    after the loss. The corrections, each an option, are

    - ``recovery``: the round trip of the loss, at M, and the round trip of the retransmission, at V, so
      that n' + M + V = 1/p packets take D + 2R. For AIMD it is its form
      ``"recovery"``. Domain: losses that fast recovery repairs, p <= 0.05.
    - ``rto``: a loss ends in a timeout with the probability Q = min(1, 3/W) of the peak window W; then
      t_RTO f(p)/(1-p) s and 1/(1-p) packets more, f = 1 + p + 2p^2 + ... + 32p^6 (Padhye et al. 1998,
      Sect. II-B). Domain: that model's, losses correlated within a round trip.
    - ``packets_per_ack``: rules count ACKs, so that the rate is that at p times their number (for AIMD
      Padhye's b). Domain: rules without the time; CUBIC and H-TCP are refused, since delayed ACKs do
      not slow their growth.
    - ``max_window``: at most this window per round trip, min(T, W_max/R), as in Padhye's equation 33.
      Domain: an upper bound near T = W_max/R, where part of each cycle is limited.

    Parameters
    ----------
    rule
        A window rule.
    recovery
        1 or 0.
    rto
        Retransmission timeout in s, at most 100; None without timeouts.
    packets_per_ack
        Packets that one ACK acknowledges, >= 1 (2 with delayed ACKs).
    max_window
        Receive window in packets; None for none.

    Examples
    --------
    >>> from responsefn import AIMD, CTCP, Corrected, Mathis
    >>> round(Corrected(AIMD(), recovery=1).rate(0.01, 0.1) / AIMD(form="recovery").rate(0.01, 0.1), 9)
    1.0
    >>> round(Corrected(AIMD(), packets_per_ack=2).rate(0.01, 0.1) / Mathis(2).rate(0.01, 0.1), 9)
    1.0
    >>> round(Corrected(CTCP(), recovery=1, rto=0.4).rate(1e-3, 0.1), 1)
    574.1
    """

    class Params(NamedTuple):
        """The rule and its corrections."""

        rule: Any
        recovery: int = param(
            0,
            choices=(0, 1),
            source="own choice: no correction unless asked for",
        )
        rto: float | None = param(
            None, "time", above=0.0, at_most=100.0, source="own choice: no correction unless asked for"
        )
        packets_per_ack: float = param(1.0, at_least=1.0, source="own choice: no correction unless asked for")
        max_window: float | None = param(
            None,
            "amount",
            at_least=1.0,
            source="own choice: no correction unless asked for",
        )

    domain = (0.0, 0.05)

    def check(self) -> None:
        """Check that the rule is a window rule, and that ``packets_per_ack`` applies to it."""
        q = self.params
        if not isinstance(q.rule, Response) or not hasattr(q.rule, "on_loss"):
            raise TypeError(f"rule = {q.rule!r}: must be a window rule, such as Reno()")
        if q.packets_per_ack > 1.0 and _depends_on_time(q.rule):
            raise ValueError(
                f"packets_per_ack = {q.packets_per_ack:g}: must be 1 for {q.rule!r}, whose window "
                "grows with the time, not with ACKs"
            )

    def cite(self) -> str:
        """Return the sources of the rule and of the timeouts."""
        return f"{self.params.rule.cite()}; timeouts: Padhye et al., SIGCOMM 1998; the rest: own"

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:  # noqa: ARG002
        """Return False: rates are computed from the rule's rates."""
        return False

    @quiet()
    def _rate(self, p: Any, rtt: Any, bandwidth: float | None, unit_check: bool) -> float | NDArray[np.float64]:
        """Return `rate` of plain arrays, from the rule's rate."""
        p, rtt = loss_rate(p), round_trip(rtt, unit_check)
        shape = same_shape(p=p, rtt=rtt)
        flat, rtts = (np.broadcast_to(array, shape).ravel() for array in (p, rtt))
        q = self.params
        path = _Path(q.rule, rtts, bandwidth)
        acks = np.minimum(1.0, q.packets_per_ack * flat)
        p_of_cycle = path.without_recovery(acks) if q.recovery else acks
        packets, time = 1.0 / flat, 1.0 / (p_of_cycle * path.rate(p_of_cycle))
        time *= (acks / flat) * 1.0  # an ACK stands for so many packets, and takes as many times longer
        if q.recovery:
            time = time + 2.0 * rtts
        if q.rto is not None:
            powers = 1.0 + flat * (1.0 + flat * (2.0 + flat * (4.0 + flat * (8.0 + flat * (16.0 + 32.0 * flat)))))
            delivered = np.maximum(1.0 - flat, 1e-12)
            timeout_probability = np.minimum(1.0, 3.0 / path.peak(p_of_cycle))
            packets, time = (
                packets + timeout_probability / delivered,
                time + timeout_probability * q.rto * powers / delivered,
            )
        rate = packets / time
        if q.max_window is not None:
            rate = np.minimum(rate, q.max_window / rtts)
        return plain(np.asarray(rate).reshape(shape))


class _Path(NamedTuple):
    """A rule at given round-trip times."""

    rule: Any
    rtts: Floats
    bandwidth: float | None

    def rate(self, p: Floats) -> Floats:
        """Return the rule's rate in packets/s."""
        return np.asarray(self.rule.rate(p, self.rtts, self.bandwidth, unit_check=False))

    def peak(self, p: Floats) -> Floats:
        """Return the rule's peak window in packets."""
        return np.asarray(self.rule.peak_window(p, self.rtts, self.bandwidth, unit_check=False))

    def more_packets(self, p: Floats) -> Floats:
        """Return the packets in the round trips of the loss and of the recovery."""
        mean = self.rule.mean_window(p, self.rtts, self.bandwidth, unit_check=False)
        after = np.empty(p.shape)
        for n, (peak, rtt) in enumerate(zip(self.peak(p), self.rtts, strict=True)):
            state = self.rule.start(float(rtt), self.bandwidth)._replace(cwnd=max(1.0, float(peak)))
            if "ssthresh" in state._fields:
                state = state._replace(ssthresh=2.0)
            after[n] = self.rule.on_loss(state, self.rule.params, Event(0.0, float(rtt))).cwnd
        return np.asarray(mean + after)

    def without_recovery(self, p: Floats) -> Floats:
        """Return the p' with 1/p' + M(p') + V(p') = 1/p, by bisection in its logarithm; at most 1."""
        low, high = np.log(p), np.zeros(p.shape)
        for _ in range(BISECTION_STEPS):
            middle = 0.5 * (low + high)
            at = np.exp(middle)
            short = 1.0 / at + self.more_packets(at) > 1.0 / p
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.asarray(np.exp(0.5 * (low + high)))


BISECTION_STEPS = 50
"""Steps of the bisection: 1e-15 of log p over twenty decades."""


def _depends_on_time(rule: Any) -> bool:
    """Return whether the window after an ACK depends on the time, which may count from the first ACK on."""
    state = rule.on_loss(rule.start(0.1, 1000.0)._replace(cwnd=100.0, ssthresh=2.0), rule.params, Event(0.0, 0.1))
    state = rule.on_ack(state, rule.params, Event(0.0, 0.1))
    windows = {rule.on_ack(state, rule.params, Event(t, 0.1)).cwnd for t in (0.5, 5.0, 50.0)}
    return len(windows) > 1
