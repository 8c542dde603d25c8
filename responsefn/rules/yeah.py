"""YeAH TCP as in Linux's tcp_yeah.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import extends, param
from responsefn.rules.base import after, whole
from responsefn.rules.delay_based import QueueRule
from responsefn.rules.linux import KERNEL, LinuxRule, linux_file

__all__ = ["LinuxYeAH"]

SCALABLE_ACKS = 100.0  # Linux 6.12, net/ipv4/tcp_yeah.c: TCP_SCALABLE_AI_CNT 100U
"""Maximum ACKs per packet of growth in its fast mode."""
MIN_SAMPLES = 2.0  # Linux 6.12, net/ipv4/tcp_yeah.c: cntRTT > 2
"""Round-trip times of a round up to which it ignores the queue."""
MIN_RENO_COUNT = 2.0  # Linux 6.12, net/ipv4/tcp_yeah.c: reno_count = 2
"""Minimum estimate of the windows of competing Reno flows in packets."""


class LinuxYeAH(LinuxRule):
    r"""YeAH TCP as in Linux's tcp_yeah.c: Scalable TCP while the queue is short, otherwise Reno that drains the queue.

    Once per round trip the queue is Q = W (R - R_min) / R in whole packets, with the minimum R of the round. It is long
    beyond alpha packets, or if R exceeds R_min by more than R_min / phi. Then the window grows as Reno's for the next
    round. Beyond alpha it decreases by min(Q, W/2), down to an estimate of Reno's window (which starts at half the
    window, and grows by a packet in each such round). Otherwise it grows by a packet per min(W, 100) ACKs, and after
    zeta such rounds the estimate is reset. A loss reduces the window by Q, at least by an eighth and at most by half of
    it. It halves the window after rho rounds of a long queue in a row, which indicate competition.

    Domain: p <= 0.02.

    Parameters
    ----------
    alpha
        Packets in the queue beyond which it is drained.
    phi
        A queue is long beyond R_min / phi.
    rho
        Rounds of a long queue from which a loss halves the window.
    zeta
        Rounds of a short queue after which the estimate of Reno's window is reset.
    kernel
        Version of the file: ``"6.12"``.

    Examples
    --------
    >>> from responsefn.linux import LinuxYeAH
    >>> round(float(LinuxYeAH().rate(1e-3, 0.04))), round(float(LinuxYeAH().rate(1e-4, 0.04, bandwidth=8333.0)))
    (2100, 8333)
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets, minimum RTTs in s, and the queue.

        Minima are those of the connection and of the round. The samples of the round and the ACKs left in it follow.
        Then the last queue in packets, rounds of a long queue in a row, the estimate of Reno's window in packets, and
        rounds of a short queue.
        """

        round_min_rtt: float = math.inf
        samples: float = 0.0
        left: float = 0.0
        queue: float = 0.0
        long_rounds: float = 0.0
        reno: float = MIN_RENO_COUNT
        short_rounds: float = 0.0

    class Params(NamedTuple):
        """Packets in the queue, part of R_min, rounds, version."""

        alpha: float = param(
            80.0,
            "amount",
            at_least=0.0,
            source="Linux 6.12, net/ipv4/tcp_yeah.c: TCP_YEAH_ALPHA 80",
        )
        phi: float = param(8.0, above=0.0, source="Linux 6.12, net/ipv4/tcp_yeah.c: TCP_YEAH_PHY 8")
        rho: float = param(
            16.0,
            "round trips",
            at_least=0.0,
            source="Linux 6.12, net/ipv4/tcp_yeah.c: TCP_YEAH_RHO 16",
        )
        zeta: float = param(
            50.0,
            "round trips",
            at_least=0.0,
            source="Linux 6.12, net/ipv4/tcp_yeah.c: TCP_YEAH_ZETA 50",
        )
        kernel: str = KERNEL

    older: ClassVar[dict[str, type[Any]]] = {}
    assigned: ClassVar[tuple[str, ...]] = (
        "ssthresh",
        "base_rtt",
        "round_min_rtt",
        "samples",
        "left",
        "queue",
        "long_rounds",
        "reno",
        "short_rounds",
    )
    capacity: ClassVar[str] = "optional"
    counts_acks: ClassVar[bool] = True
    reference = linux_file("tcp_yeah.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "it judges the queue once per round trip, in whole packets, so that its rate jumps with p"

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Scalable TCP or Reno; once per round trip evaluate the queue."""
        w = whole(s.cwnd)
        step = 1.0 / (w if s.long_rounds > 0.0 else min(w, SCALABLE_ACKS))
        if s.cwnd < s.ssthresh:
            step = 1.0
        s = s._replace(
            cwnd=s.cwnd + step,
            base_rtt=min(s.base_rtt, e.rtt),
            round_min_rtt=min(s.round_min_rtt, e.rtt),
            samples=s.samples + 1.0,
            left=s.left - 1.0,
        )
        if s.left > 0.0:
            return s
        if s.samples > MIN_SAMPLES:
            s = evaluate_queue(s, q)
        return s._replace(round_min_rtt=math.inf, samples=0.0, left=w)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease by the queue, within an eighth and half of the window, or by half; start a new round."""
        w = whole(s.cwnd)
        half = max(2.0, math.floor(0.5 * w))
        lost = half
        if s.long_rounds < q.rho:
            lost = max(min(s.queue, half), 1.0 * math.floor(w / 8.0))
        window = max(2.0, w - lost)
        return s._replace(
            cwnd=window,
            ssthresh=window,
            reno=max(MIN_RENO_COUNT, math.floor(0.5 * s.reno)),
            short_rounds=0.0,
            round_min_rtt=math.inf,
            samples=0.0,
            left=window + 1.0,
        )

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the threshold is the window that a loss leaves."""
        return s._replace(cwnd=1.0, left=0.0)


def evaluate_queue(s: Any, q: Any) -> Any:
    """Evaluate the queue at the end of a round trip."""
    w = whole(s.cwnd)
    late = s.round_min_rtt - s.base_rtt
    queue = 1.0 * math.floor(w * late / s.round_min_rtt + 1e-9)
    if queue <= q.alpha and late <= s.base_rtt / q.phi:
        rounds = s.short_rounds + 1.0
        forgets = rounds > q.zeta
        return s._replace(
            queue=queue,
            long_rounds=0.0,
            reno=MIN_RENO_COUNT if forgets else s.reno,
            short_rounds=0.0 if forgets else rounds,
        )
    cwnd = s.cwnd
    ssthresh = s.ssthresh
    if queue > q.alpha and w > s.reno:
        cwnd = max(w - min(queue, math.floor(0.5 * w)), s.reno)
        ssthresh = cwnd
    started = s.reno > MIN_RENO_COUNT
    reno = s.reno + 1.0 if started else max(MIN_RENO_COUNT, math.floor(0.5 * cwnd))
    return s._replace(
        cwnd=cwnd,
        ssthresh=ssthresh,
        queue=queue,
        long_rounds=s.long_rounds + 1.0,
        reno=reno,
    )
