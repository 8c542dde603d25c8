"""Queues for Classic and Scalable senders: PI2, and the two coupled queues of DualPI2.

Scalable senders answer each mark (`DCTCP`, `Prague`); their packets carry ECT(1) (RFC 9331). The
marking probability of Scalable packets is proportional to the square root of the drop probability of Classic packets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from dfcmodel.network.queueing.disciplines import (
    IN_SECONDS,
    MAX_TIME,
    PACKETS_ALONE,
    Discipline,
    QueueManager,
    check_times,
)
from hopflow.checks import flag, one_number
from hopflow.units import WithUnit, quantities

__all__ = ["PI2", "DualPI2"]


@quantities(target="time", update="time")
@dataclass(frozen=True)
class PI2(QueueManager):
    """Proportional integral controller with a square (De Schepper et al. 2016, Sect. 4); target delay in s.

    A linear controller moves p' with the delay of one FIFO queue. Classic packets are dropped with p'^2,
    packets of senders that answer each mark are marked with ``coupling`` times p'. From p' = 1 / ``coupling`` on these
    are also dropped with p'^2 (RFC 9332, A.2). A fluid runs it without senders that answer each
    mark.

    The defaults come from the authors' first sch_dualpi2.c for Linux (80 and 800 of 256 Hz, 32 ms, 20 ms): 2.5 times
    the gains of PIE.

    Parameters
    ----------
    target
        Target delay, s, below 5.
    update
        Time between two updates of p', s, below 5.
    alpha, beta
        Gains of the delay's distance from the target and of its change, 1/s.
    coupling
        k >= 1: ratio of the probability for Scalable packets to the root of the probability for Classic packets.
    ecn
        Mark Classic packets of window-controlled flows instead of dropping them, up to 1/k^2.

    Examples
    --------
    >>> from dfcmodel import Link, PI2
    >>> link = Link("a", "b", 1e3, 0.01, 100.0, discipline=PI2())
    >>> link.discipline == PI2()
    True
    """

    target: WithUnit = 0.02
    update: WithUnit = 0.032
    alpha: float = 0.3125
    beta: float = 3.125
    coupling: float = 2.0
    ecn: bool = False

    class State(NamedTuple):
        """Packets to drop, to mark; p' of the controller; time of its next update, s; delay at the last one, s."""

        drop: float = 0.0
        mark: float = 0.0
        p: float = 0.0
        next: float = 0.0
        delay: float = 0.0

    may_mark = True  # of senders that answer each mark (RFC 9332)

    def __post_init__(self) -> None:
        _check_controller(self)

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Update p' if due; drop, or with ``q.ecn`` mark, the fraction p'^2 of the arrivals; return the new state."""
        delay = e.backlog / e.capacity if e.capacity > 0.0 else s.delay
        p, old, at = s.p, s.delay, s.next
        if e.time >= at:
            p = min(1.0, max(0.0, p + q.alpha * (delay - q.target) + q.beta * (delay - old)))
            old = delay
            at = max(at, e.time) + q.update
        taken = p * p * e.arrivals
        marks = q.ecn > 0.0 and p * q.coupling < 1.0
        return s._replace(drop=0.0 if marks else taken, mark=taken if marks else 0.0, p=p, next=at, delay=old)


@quantities(target="time", update="time", ramp="time", ramp_width="time", classic_share="share")
@dataclass(frozen=True)
class DualPI2(Discipline):
    """Two coupled queues in one buffer: DualPI2 (RFC 9332, Appendix A).

    Packets of senders that answer each mark have a separate queue, served first, in which they are marked by a ramp of
    their delay (`laqm`, Fig. 5) or with ``coupling`` times p', whichever is larger. All others, including ACKs, wait in
    the Classic queue and are dropped with p'^2. p' moves with the longer of both queues' delays, as the packets at
    their heads have waited. From p' = 1 / ``coupling`` on both kinds are dropped with p'^2, and Scalable packets that
    are not are marked (A.2). At packet level only.

    The defaults come from A.1: the gains, which it specifies for an update of 16 ms and an RTT of at most 100 ms,
    target, coupling and ramp. Linux's net/sched/sch_dualpi2.c has the same gains (41 and 819 of 256 Hz), and the share,
    which the RFC leaves open; it marks at a step of 1 ms, the middle of the ramp. Packets to mark or drop are drawn at
    random, where the RFC's example spaces them evenly (`recur`, Fig. 4).

    Parameters
    ----------
    target
        Target delay of the Classic queue, s, below 5.
    update
        Time between two updates of p', s, below 5.
    alpha, beta
        Gains of the delay's distance from the target and of its change, 1/s.
    coupling
        Coupling factor k >= 1.
    ramp, ramp_width
        Delay at which marking in the Scalable queue begins, and further delay up to which all are marked, s, below 5. A
        packet that leaves fewer than two behind is not marked by the ramp (Th_len of A.2, Fig. 7).
    classic_share
        Share of the link while both queues wait, 0 < share < 1; in weighted turns by bytes.
    ecn
        Mark Classic packets of window-controlled flows instead of dropping them, up to 1/k^2.

    Examples
    --------
    >>> from dfcmodel import DualPI2, Link
    >>> link = Link("a", "b", 1e3, 0.01, 100.0, discipline=DualPI2())
    >>> link.discipline.coupling
    2.0
    """

    levels = PACKETS_ALONE
    may_mark = True  # of senders that answer each mark (RFC 9332)

    target: WithUnit = 0.015
    update: WithUnit = 0.016
    alpha: float = 0.16
    beta: float = 3.2
    coupling: float = 2.0
    ramp: WithUnit = 0.8e-3
    ramp_width: WithUnit = 0.4e-3
    classic_share: WithUnit = 0.1
    ecn: bool = False

    def __post_init__(self) -> None:
        _check_controller(self)
        one_number("ramp", self.ramp, at_least=0.0, below=MAX_TIME, hint=IN_SECONDS)
        check_times(self, "ramp_width")
        one_number("classic_share", self.classic_share, above=0.0, below=1.0)


def _check_controller(rule: PI2 | DualPI2) -> None:
    """Raise ValueError for invalid times, gains, ``coupling`` or ``ecn`` of PI2 or DualPI2."""
    check_times(rule, "target", "update")
    for name in ("alpha", "beta"):
        one_number(name, getattr(rule, name), above=0.0, hint="in 1/s")
    one_number("coupling", rule.coupling, at_least=1.0)
    flag("ecn", rule.ecn)
