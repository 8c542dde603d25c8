"""TCP Vegas as in Linux's tcp_vegas.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import one_number
from hopflow.units import quantities
from responsefn.responses import references
from responsefn.rules.delay_based import BandRule
from responsefn.rules.linux.versions import CURRENT, LinuxRule, whole, whole_cut

__all__ = ["LinuxVegas"]

MIN_SAMPLES = 2.0
"""Round-trip times of a round up to which it is Reno."""


@quantities(alpha="amount", beta="amount", gamma="amount")
class LinuxVegas(LinuxRule, BandRule):
    r"""Vegas as in Linux's tcp_vegas.c: whole packets by the minimum of each round, and a slow start by delay.

    Once per round trip it compares with W (R - R_min) / R_min, in whole packets, where R is the minimum of the round.
    Slow start doubles the window and ends with more than gamma packets: the window becomes W R_min / R and one. Then
    one packet more below alpha, one less above beta. Halves at a loss. Needs ``bandwidth``.

    Domain: p <= 0.02.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta.
    gamma
        Packets in the queue above which slow start ends.
    kernel
        Version of the file: ``"6.12"``, or ``"2.6.22"``, with alpha and beta only: it moves in every second round trip,
        and its slow start is modelled to end by a loss.

    Examples
    --------
    >>> from responsefn.linux import LinuxVegas
    >>> round(float(LinuxVegas().rate(1e-3, 0.04, bandwidth=8333.0)))
    950
    >>> round(float(LinuxVegas(kernel="2.6.22").rate(1e-3, 0.04, bandwidth=8333.0)))
    685
    """

    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT, that of the round in s, its samples, ACKs left in it."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf
        least: float = math.inf
        samples: float = 0.0
        left: float = 0.0

    class Params(NamedTuple):
        """Packets queued: alpha (grow below), beta (shrink above), gamma (end slow start); version."""

        alpha: float = 2.0
        beta: float = 4.0
        gamma: float = 1.0
        kernel: str = CURRENT

    older: ClassVar[dict[str, str]] = {
        "2.6.22": "responsefn.rules.linux.kernel_2_6_22.vegas:LinuxVegas2622"
    }
    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "least", "samples", "left", "ssthresh")
    reference = references.TCP_VEGAS_6_12

    def check(self) -> None:
        """Check the ranges of the parameters."""
        LinuxRule.check(self)
        BandRule.check(self)
        one_number("gamma", self.params.gamma, above=0.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start at each ACK, and once per round trip the comparison."""
        base = min(s.base_rtt, e.rtt)
        least = min(s.least, e.rtt)
        samples = s.samples + 1.0
        left = s.left - 1.0
        slow = s.cwnd < s.ssthresh
        if left > 0.0:
            step = 1.0 if slow else 0.0
            return s._replace(
                cwnd=s.cwnd + step, base_rtt=base, least=least, samples=samples, left=left
            )
        cwnd = s.cwnd
        ssthresh = s.ssthresh
        w = whole(cwnd)
        waiting = math.floor(w * (least - base) / base)
        if slow and (samples <= MIN_SAMPLES or waiting <= q.gamma):
            cwnd = cwnd + 1.0
        elif samples <= MIN_SAMPLES:
            cwnd = cwnd + 1.0 / w
        elif slow:
            cwnd = min(w, math.floor(w * base / least) + 1.0)
            ssthresh = min(ssthresh, cwnd)
        elif waiting > q.beta:
            cwnd = cwnd - 1.0
            ssthresh = min(ssthresh, cwnd)
        elif waiting < q.alpha:
            cwnd = cwnd + 1.0
        cwnd = max(2.0, cwnd)
        if samples > MIN_SAMPLES:
            ssthresh = max(ssthresh, math.floor(cwnd / 2.0) + math.floor(cwnd / 4.0))
        return s._replace(
            cwnd=cwnd, ssthresh=ssthresh, base_rtt=base, least=math.inf, samples=0.0, left=w
        )  # fmt: skip

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve; a new round begins."""
        new = whole_cut(s, 0.5 * whole(s.cwnd))
        return new._replace(least=math.inf, samples=0.0, left=new.cwnd + 1.0)
