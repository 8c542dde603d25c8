"""Sources of flows: window and rate rules, constant rates, arrival processes."""

from __future__ import annotations

from dataclasses import dataclass

from dfcmodel.network.endpoints.arrivals import ArrivalProcess, Replay
from hopflow.checks import flag, one_number
from hopflow.units import WithUnit, quantities
from responsefn import RateRule, WindowRule

__all__ = ["CBR", "OnOff", "Source"]


@quantities(rate="rate")
@dataclass(frozen=True)
class CBR:
    """Constant rate, packets/s, without acknowledgements, retransmission or congestion control (UDP).

    Its packets, like those from `OnOff` and arrival processes, are not ECN-capable: queues that mark drop them, or let
    them pass at departure. `responsefn.FixedRate` has packets that can be marked.

    Parameters
    ----------
    rate
        Sending rate, packets/s, > 0.

    Examples
    --------
    >>> from dfcmodel import CBR
    >>> from hopflow import mbps
    >>> CBR(mbps(1.2))
    CBR(rate=100.0)
    """

    rate: WithUnit

    def __post_init__(self) -> None:
        one_number("rate", self.rate, above=0.0, hint="in packets/s: mbps(0.448)")


@quantities(rate="rate", on="time", off="time")
@dataclass(frozen=True)
class OnOff:
    """A source of constant rate, packets/s, with alternating on and off periods, s, starting with on.

    At packet level an on period begins with a packet: one of 10 packet times sends 10 packets, one of 10.5 sends 11.
    The fluid has 10.5. `Trajectory.limits` names sources whose mean rate is much above that of the fluid.

    Parameters
    ----------
    rate
        Rate during an on period, packets/s, > 0.
    on, off
        Duration of the periods in s, or their mean if ``random``.
    random
        Whether durations are exponentially distributed (drawn from the seed).

    Examples
    --------
    >>> from dfcmodel import Flow, OnOff, Scenario, chain, simulate
    >>> links = chain(2, rate=1000.0, delay=1e-3, buffer=50)
    >>> flow = Flow("voice", (1, 2), OnOff(rate=100.0, on=0.2, off=0.3))
    >>> run = simulate(Scenario("on-off", links, [flow], duration=1.0), level="fluid")
    >>> round(float(run.delivered[0, -1]), 3)  # two on periods at 100 packets/s
    40.0
    """

    rate: WithUnit
    on: WithUnit
    off: WithUnit
    random: bool = False

    def __post_init__(self) -> None:
        one_number("rate", self.rate, above=0.0, hint="in packets/s")
        flag("random", self.random)
        one_number("on", self.on, above=0.0, hint="in s")
        one_number("off", self.off, above=0.0, hint="in s")


Source = WindowRule | RateRule | CBR | OnOff | ArrivalProcess | Replay
