"""What senders at the rate of a rule do about losses."""

from __future__ import annotations

from dataclasses import dataclass

from hopflow.checks import integer, one_number
from hopflow.units import WithUnit, quantities

__all__ = ["REPAIRS", "SelectiveRepair"]

REPAIRS = ("go-back-n", "selective", "none")
"""Names of repairs; the first is the default."""
LARGEST_FEW = 2**24
"""Packets: the largest window."""


@quantities(rto_low="time", rto_high="time")
@dataclass(frozen=True)
class SelectiveRepair:
    """Selective retransmission at the rate of a rule, timeouts in s, as in IRN (Mittal et al. 2018, Sect. 3).

    The receiver keeps packets that come out of order. Each is answered by an ACK with the number of the last packet
    that came in order, and its own. The sender takes for lost all packets sent before it that are not acknowledged, and
    sends them again, before new packets and once per recovery; a recovery ends when all packets sent before it are
    acknowledged. Where nothing is acknowledged in order for the timeout, all missing packets below the last one that
    came out of order are sent again, and where there is none everything in flight.

    The packets in flight are bounded by ``Flow(max_window=)``; for IRN's flow control that is the product of bandwidth
    and delay of the longest path.

    Parameters
    ----------
    rto_low
        Timeout while at most ``few`` packets are in flight, s, > 0; None: ``rto_high``.
    rto_high
        Timeout otherwise, s; None: ``min_rto`` of the scenario. A timer of ``rto_low`` is extended where more packets
        are in flight when it expires.
    few
        A whole number of packets, from 0 on.
    reordering
        Packets, from 0 on: one is taken for lost when another one has come that was sent more than this many after it.
        0, as in IRN: any that has come out of order. Sprayed packets overtake each other by more. Of the last packets
        of a transfer, which fewer follow, the timeout finds the losses.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values.

    References
    ----------
    R. Mittal et al., Revisiting network support for RDMA, SIGCOMM 2018, doi:10.1145/3230543.3230557.

    Examples
    --------
    >>> from dfcmodel import Flow, Link, Packets, Scenario, SelectiveRepair, simulate
    >>> from responsefn import DCQCN
    >>> links = [Link("a", "s", 1e6, 1e-5, 50), Link("s", "b", 1e6, 1e-5, 50)]
    >>> flow = Flow("one", ("a", "s", "b"), DCQCN(), size=1000, host="nic")
    >>> scenario = Scenario("lossy", links, [flow], duration=0.05, min_rto=1e-3)
    >>> run = simulate(scenario, Packets(seed=1, loss={"s->b": 0.01}, recovery=SelectiveRepair()))
    >>> int(run.emitted[0]) == 1000 + int(run.lost.sum())  # nothing is sent twice that was not lost
    True
    """

    rto_low: WithUnit | None = None
    rto_high: WithUnit | None = None
    few: int = 3
    reordering: int = 0

    def __post_init__(self) -> None:
        for name in ("rto_low", "rto_high"):
            if getattr(self, name) is not None:
                one_number(name, getattr(self, name), above=0.0, hint="in s, or None")
        integer("few", self.few, 0, LARGEST_FEW)
        integer("reordering", self.reordering, 0, LARGEST_FEW)
        if self.rto_high is not None:
            self.timeouts(self.rto_high)

    def __str__(self) -> str:
        return "selective"

    def timeouts(self, min_rto: float) -> tuple[float, float]:
        """Return the short and the long timeout, s; ``min_rto``: the scenario's, s; ValueError if in the wrong order.

        Raises
        ------
        ValueError
            Where the short one is the longer one.
        """
        high = min_rto if self.rto_high is None else self.rto_high
        low = high if self.rto_low is None else self.rto_low
        if low > high:
            msg = f"must be at most rto_high = {high:g}, which is min_rto of the scenario unless given"
            raise ValueError(f"rto_low = {low:g}: {msg}")
        return low, high
