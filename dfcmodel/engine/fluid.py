"""What the fluid models beyond plain flows of packets: each refinement can be switched off."""

from __future__ import annotations

from dataclasses import dataclass

from hopflow.checks import choice, flag

__all__ = ["RECOVERIES", "Fluid"]

RECOVERIES = ("tahoe", "reno", "newreno", "sack")


@dataclass(frozen=True)
class Fluid:
    """The refinements of the fluid beyond windows, queues and delays.

    Parameters
    ----------
    store_and_forward
        A packet takes its transmission time on each link, half of it in each direction: links are
        longer by half a packet time. Links with DFC keep their delays, which are those of the law.
    timeouts
        Whether retransmission timers expire; a sender without them may wait for ever.
    recovery
        How all senders repair losses, ``"tahoe"``, ``"reno"``, ``"newreno"`` or ``"sack"``; None: as
        their window rules say.

    Examples
    --------
    >>> Fluid(store_and_forward=False)
    Fluid(store_and_forward=False, timeouts=True, recovery=None)
    """

    store_and_forward: bool = True
    timeouts: bool = True
    recovery: str | None = None

    def __post_init__(self) -> None:
        flag("store_and_forward", self.store_and_forward)
        flag("timeouts", self.timeouts)
        if self.recovery is not None:
            choice("recovery", self.recovery, RECOVERIES)
