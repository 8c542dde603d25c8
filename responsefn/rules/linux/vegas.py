"""TCP Vegas as in Linux's tcp_vegas.c."""

from __future__ import annotations

from typing import Any, NamedTuple

from hopflow import maximum, minimum, where
from hopflow.checks import one_number
from responsefn.responses import references
from responsefn.rules.delay_based import QueueRule, queued

__all__ = ["LinuxVegas"]


class LinuxVegas(QueueRule):
    r"""Vegas as in Linux's tcp_vegas.c of 2.6.22: one packet in two round trips.

    It compares the expected rate with the window of a round trip earlier, and so moves in every
    second one. Halves at a loss. Needs ``bandwidth``.

    Domain: p <= 0.02.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta.

    Examples
    --------
    >>> round(float(LinuxVegas().rate(1e-3, 0.04, bandwidth=8333.0)))
    685
    """

    class Params(NamedTuple):
        """Packets in the queue below which the window grows and above which it shrinks."""

        alpha: float = 2.0
        beta: float = 4.0

    reference = references.TCP_VEGAS_C

    def check(self) -> None:
        """Check the ranges of alpha and beta."""
        one_number("alpha", self.params.alpha, above=0.0)
        one_number("beta", self.params.beta, at_least=self.params.alpha, hint="alpha <= beta")

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or half a packet per round trip up, down or not at all."""
        base = minimum(s.base_rtt, e.rtt)
        waiting = queued(s.cwnd, base, e.rtt)
        step = where(waiting < q.alpha, 0.5, where(waiting > q.beta, -0.5, 0.0)) / s.cwnd
        grown = s.cwnd + where(s.cwnd < s.ssthresh, 1.0, step)
        return s._replace(cwnd=maximum(1.0, grown), base_rtt=base)
