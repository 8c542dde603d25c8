"""Where the elements of a scenario's paths stand: at which ports, and which ones a packet passes at each of its hops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.path_elements import PathElement, RateTrace
from dfcmodel.packets.kernel.layout import CLASSES
from dfcmodel.packets.kernel.links.path_elements import RELEASED
from hopflow.checks import count_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PathPlan", "path_of"]

MAX_CHAINS = 1 << 20
"""Most elements of all chains: a packet that is held has its place in its key."""


class PathPlan(NamedTuple):
    """The elements of a scenario at the ports of a plan.

    Attributes
    ----------
    elements
        Each element, once.
    chains
        The chains of elements that packets pass one after the other: numbers of elements, -1 behind the last of each.
    first
        Place in ``chains`` of the first element at each hop, -1: none, (H,).
    rates
        The element with the rate of each port; -1: its rate is constant, (P,).
    """

    elements: tuple[PathElement, ...]
    chains: tuple[int, ...]
    first: NDArray[np.int64]
    rates: NDArray[np.int64]

    @property
    def largest_hold(self) -> float:
        """Longest time for which all elements together hold a packet, s."""
        return sum(element.largest_hold for element in self.elements)

    def at_ports(self, ports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which ports have elements, given the port of each hop, (P,)."""
        found: NDArray[np.bool_] = self.rates >= 0
        found[ports[self.first >= 0]] = True
        return found


def path_of(plan: Any) -> PathPlan:
    """Return where the elements of the scenario of a `Plan` stand.

    Raises
    ------
    ValueError
        Where there are more elements at all hops, or more ports, than events can be told apart.
    """
    scenario, hops = plan.scenario, plan.hops
    if CLASSES * len(plan.ports) + 2 * len(scenario.flows) >= RELEASED:
        msg = f"must not be used with {count_of(len(plan.ports), 'port')}: keys of events are used up"
        raise ValueError(f"elements of {scenario.name!r}: {msg}")
    names, place = scenario.link_table.names, {f.name: n for n, f in enumerate(scenario.flows)}
    rates = np.full(len(plan.ports), -1, dtype=np.int64)
    at: dict[int, list[int]] = {}
    for k, element in enumerate(scenario.elements):
        n = names.index(element.link)
        if isinstance(element, RateTrace):
            rates[n] = k
            continue
        chosen = ~hops.is_ack & (hops.port == n)
        if element.acks:
            chosen = hops.is_ack & (hops.port == _opposite(plan, n))
            over = np.unique(hops.flow[~hops.is_ack & (hops.port == n)])
            chosen &= np.isin(hops.flow, over)
        if element.flows is not None:
            chosen &= np.isin(hops.flow, [place[name] for name in element.flows])
        for h in np.flatnonzero(chosen).tolist():
            at.setdefault(h, []).append(k)
    first = np.full(len(hops.port), -1, dtype=np.int64)
    begins: dict[tuple[int, ...], int] = {}
    chains: list[int] = []
    for h, own in at.items():
        if tuple(own) not in begins:
            begins[tuple(own)] = len(chains)
            chains += [*own, -1]
        first[h] = begins[tuple(own)]
    if len(chains) >= MAX_CHAINS:
        msg = f"must have fewer than {MAX_CHAINS} places at the hops of all flows"
        raise ValueError(f"elements of {scenario.name!r}: {msg}")
    return PathPlan(scenario.elements, tuple(chains), first, rates)


def _opposite(plan: Any, n: int) -> int:
    """Return the port over which the ACKs of packets over link n return; -1: there are none."""
    port = plan.ports[n]
    ends = port.target, port.source
    for p, other in enumerate(plan.ports):
        if (other.source, other.target) == ends and (plan.method.ack_transmission or other.mirror):
            return p
    return -1
