"""RCCC: a receiver that grants credits to its senders in turn, at the rate of its link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from dfcmodel.network.endpoints.receivers import LARGEST_CREDIT, ReceiverAgent
from hopflow.checks import integer, one_number
from hopflow.parameters import extends
from hopflow.units import PacketUnits, WithUnit, quantities, readable_text
from responsefn.rules.deliveries.delivery_rule import FULL_PATH, MAX_WINDOW_RATIO

__all__ = ["RCCC"]


@quantities(unsolicited="amount", credit_per_pull="amount")
@dataclass(frozen=True)
class RCCC(ReceiverAgent):
    """Receiver-credit congestion control of Ultra Ethernet: pulls to the flows in turn, at the rate of the last link.

    A sender begins with ``unsolicited`` packets. Then each flow with more packets to send gets ``credit_per_pull``
    credits in its turn. The receiver spaces pulls so that the requested packets use ``pull_rate`` of its link. A flow
    has at most ``unsolicited`` granted packets that have not arrived, so that a sender which is slow, or sends to
    others, collects no more. A packet that a switch has cut to its header (`Trimming`) is requested again, and needs
    another credit.

    With ``credit_per_pull=1`` and ``pull_rate=1.0`` the pulls equal the pulls of NDP and EQDS. N flows have equal
    shares. A queue of first packets drains at 1 - ``pull_rate`` of the link's rate.

    It is for senders that are `Credited`, or for a rule that credits limit as well. Use it with selective repair, and
    in networks that lose only payloads: a dropped packet waits for the sender's timer, and its credit is lost. Not
    modelled: the sender's requests (the receiver has the size of the transfer), credits for flows without data, and
    lower rates behind oversubscribed links.

    Parameters
    ----------
    unsolicited
        Packets without credit, and the maximum of granted packets that have not arrived: 1.5 bandwidth-delay products
        in the model.
    credit_per_pull
        Packets that a pull grants, a whole number from 1 to ``unsolicited``.
    pull_rate
        Fraction of the link's rate that is granted, 0 < pull_rate <= 1.

    The text of the specification was not available; these are the rules and defaults of the consortium's simulator
    (ultraethernet/uet-htsim, htsim/sim/uec.cpp and main_uec.cpp, commit 40ccb05).

    Raises
    ------
    ValueError
        For fractional credits, a pull of more than ``unsolicited``, and a rate outside 0 to 1.

    Examples
    --------
    >>> from dfcmodel import RCCC, Credited, Flow, Link, Packets, Scenario, Trimming, simulate
    >>> links = [Link(f"h{n}", "s", 1e6, 1e-6, 100) for n in range(8)] + [Link("s", "d", 1e6, 1e-6, 500, Trimming())]
    >>> flows = [Flow(f"{n}", (f"h{n}", "s", "d"), Credited(), size=100, host="nic", receiver=RCCC()) for n in range(8)]
    >>> run = simulate(Scenario("incast", links, flows, duration=0.01), Packets(seed=1, recovery="selective"))
    >>> bool(800e-6 < run.finished.max() < 1.05 * 800e-6), run.timeouts.sum()
    (True, np.int64(0))
    """

    @extends(ReceiverAgent.State)
    class State(NamedTuple):
        """The answer, the next free time of the link, s, and a flow's granted, planned, arrived and cut packets."""

        slot: float = 0.0
        granted: float = 0.0
        pull: float = 0.0
        arrived: float = 0.0
        cut: float = 0.0

    of_flow: ClassVar[tuple[str, ...]] = ("granted", "pull", "arrived", "cut")
    unsolicited: WithUnit = 16.0
    credit_per_pull: WithUnit = 4.0
    pull_rate: float = 0.99

    def __post_init__(self) -> None:
        one_number("pull_rate", self.pull_rate, above=0.0, at_most=1.0)
        if not isinstance(self.unsolicited, PacketUnits) and not isinstance(self.credit_per_pull, PacketUnits):
            self.check_packets()

    def check_packets(self) -> None:
        """Raise ValueError for ``unsolicited`` and ``credit_per_pull`` that are no whole packets."""
        integer("unsolicited", self.unsolicited, 1, LARGEST_CREDIT, why="in packets")
        window = int(self.unsolicited)
        integer("credit_per_pull", self.credit_per_pull, 1, window, why="in packets, up to unsolicited")

    def path_mismatch(self, line_rate: float, rtt: float) -> str:
        """Name credits that cannot fill the path, or a burst without credit of many round trips."""
        in_flight, packets = line_rate * rtt, float(self.unsolicited)
        if packets < FULL_PATH * in_flight:
            return (
                f"unsolicited = {packets:g} packets, also the most that are granted ahead, holds rates below "
                f"{packets / in_flight:.0%} of the slowest link: a round trip of {readable_text(rtt, 's')} takes "
                f"{in_flight:.4g}"
            )
        if packets > MAX_WINDOW_RATIO * in_flight:
            return (
                f"unsolicited = {packets:g} packets are sent without credit, of which a round trip of "
                f"{readable_text(rtt, 's')} takes {in_flight:.4g}: it is a number of packets, not of bytes"
            )
        return ""

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Acknowledge packet e, or request it again if it was cut; plan a pull (parameters q); return the new state."""
        s = s._replace(granted=max(s.granted, q.unsolicited), arrived=s.arrived + 1.0)
        if e.trimmed > 0.0:
            return plan_pull(s._replace(nack=e.number, cut=s.cut + 1.0), q, e)
        return plan_pull(s._replace(ack=1.0), q, e)

    @staticmethod
    def on_timer(s: Any, q: Any, e: Any) -> Any:
        """Grant the planned credits to the sender, and plan the next pull (parameters q); return the new state."""
        s = s._replace(credits=s.pull, granted=s.granted + s.pull, timer=math.inf)
        return plan_pull(s, q, e)


def plan_pull(s: Any, q: Any, e: Any) -> Any:
    """Return state s with a pull in the link's next free slot, if the flow needs credits; by parameters q, event e."""
    needed = min(q.credit_per_pull, e.size + s.cut - s.granted)
    if s.timer < math.inf or needed < 1.0 or s.granted - s.arrived + needed > q.unsolicited:
        return s
    slot = max(e.time, s.slot)
    return s._replace(pull=needed, timer=slot, slot=slot + needed * e.packet_time / q.pull_rate)
