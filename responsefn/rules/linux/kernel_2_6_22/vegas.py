"""TCP Vegas as in Linux 2.6.22's tcp_vegas.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.units import quantities
from responsefn.responses import references
from responsefn.rules.delay_based import BandRule, QueueRule, kept_in_band
from responsefn.rules.linux.vegas import LinuxVegas
from responsefn.rules.linux.versions import CURRENT, OLD, LinuxRule, of_kernel

__all__ = ["LinuxVegas2622"]


@quantities(alpha="amount", beta="amount")
@of_kernel(OLD)
class LinuxVegas2622(LinuxVegas):
    r"""Vegas as in Linux 2.6.22's tcp_vegas.c: one packet in two round trips.

    It compares the expected rate with the window of a round trip earlier, and so moves in every
    second one. Halves at a loss. Needs ``bandwidth``.

    Domain: p <= 0.02.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta.

    Examples
    --------
    >>> from responsefn.linux import LinuxVegas
    >>> round(float(LinuxVegas(kernel="2.6.22").rate(1e-3, 0.04, bandwidth=8333.0)))
    685
    """

    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf

    class Params(NamedTuple):
        """Packets in the queue below which the window grows and above which it shrinks; version."""

        alpha: float = 2.0
        beta: float = 4.0
        kernel: str = CURRENT

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    reference = references.TCP_VEGAS_C

    def check(self) -> None:
        """Check the version and the ranges of alpha and beta."""
        LinuxRule.check(self)
        BandRule.check(self)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or half a packet per round trip up, down or not at all."""
        return kept_in_band(s, q, e, 0.5)

    on_loss = staticmethod(QueueRule.on_loss)
