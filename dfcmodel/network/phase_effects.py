"""Phase effects: packets without random times that arrive at a queue in the same order repeatedly.

If flows of different round-trip times or rules fill a drop-tail queue, and all packets take the same time, phases that
no real network has decide which flow loses packets (Floyd and Jacobson, "On traffic phase effects in packet-switched
gateways", Internetworking: Research and Experience 3, 1992). A random time of up to one packet before each packet
removes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.demands.offered_rates import bottlenecks
from dfcmodel.network.queueing.disciplines import FIFO
from hopflow.checks import one_number
from hopflow.units import in_units, quantity
from responsefn import WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario

__all__ = [
    "flows_in_phase",
    "packet_time",
    "packet_wait",
    "random_time",
    "start_spread",
]

PACKETS = ("pkt", "pkts", "packet", "packets")
"""Units of ``packet_jitter`` that are times of packets."""
DIGITS = 12
"""Decimal places of round-trip times in s that are compared."""


def flows_in_phase(scenario: Scenario, losing: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the flows that may have phase effects, and their bottlenecks, as indices in ``flows`` and ``links``.

    They are window flows that lose packets (``losing``, (F,)) at a FIFO queue that is also the bottleneck of such a
    flow with another round-trip time or rule.
    """
    at = bottlenecks(scenario)
    is_fifo = scenario.by_link(lambda link: type(link.discipline) is FIFO)
    chosen = np.flatnonzero(losing & scenario.table.of_kind(WindowRule) & is_fifo[at])
    if not len(chosen):
        return chosen, at[chosen]
    group = scenario.table.alike("source", np.round(scenario.base_rtts(), DIGITS))[1][chosen]
    links = at[chosen]
    lowest, highest = np.full(len(is_fifo), len(at)), np.full(len(is_fifo), -1)
    np.minimum.at(lowest, links, group)
    np.maximum.at(highest, links, group)
    differ = (highest > lowest)[links]
    return chosen[differ], links[differ]


def random_time(scenario: Scenario, losing: NDArray[np.bool_]) -> float:
    """Return the time of one packet at the slowest queue with phase effects, s; 0 if no flow has them."""
    links = flows_in_phase(scenario, losing)[1]
    if not len(links):
        return 0.0
    return float(1.0 / scenario.by_link(lambda link: link.rate)[links].min())


def packet_time(scenario: Scenario) -> float:
    """Return the transmission time of a packet on the slowest link that a flow crosses, s."""
    return float(1.0 / scenario.slowest_rates.min())


def start_spread(scenario: Scenario, jitter: float | str | None, end: float) -> float:
    """Return the ``jitter`` of several runs in s; None: the shortest round-trip time, which covers all phases.

    >>> from dfcmodel import takano2006
    >>> scenario = takano2006("1")
    >>> round(start_spread(scenario, None, 1.0), 6), start_spread(scenario, "1ms", 1.0)
    (0.0032, 0.001)
    """
    if jitter is None:
        return min(end, float(scenario.base_rtts().min()))
    seconds = in_units("jitter", jitter, "time")
    return one_number("jitter", seconds, at_least=0.0, at_most=end, hint=f"in s; duration = {end:g}")


def packet_wait(scenario: Scenario, jitter: float | str | None) -> float:
    """Return a ``packet_jitter`` in s; ``"1pkt"`` is the time of a packet on the slowest link that a flow crosses.

    >>> from dfcmodel import takano2006
    >>> scenario = takano2006("1")
    >>> packet_wait(scenario, "2pkt") == 2 * packet_time(scenario)
    True
    >>> packet_wait(scenario, "1ms"), packet_wait(scenario, None)
    (0.001, 0.0)
    """
    if isinstance(jitter, str) and jitter.strip().endswith(PACKETS):
        return quantity("packet_jitter", jitter, "amount") * packet_time(scenario)
    return in_units("packet_jitter", 0.0 if jitter is None else jitter, "time")
