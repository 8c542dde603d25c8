"""Phase effects: packets without random times that arrive at a queue in the same order repeatedly.

If flows of different round-trip times or rules fill a drop-tail queue, and all packets take the same time, phases that
no real network has decide which flow loses packets (Floyd and Jacobson, "On traffic phase effects in packet-switched
gateways", Internetworking: Research and Experience 3, 1992). A random time of up to one packet before each packet
removes them.

Senders without a window that send in even intervals have them at any round-trip time: at a full queue, the packets that
come right after a departure are stored, and the others are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from dfcmodel.network.demands.offered_rates import bottlenecks
from dfcmodel.network.drop_causes import BUFFER_FULL
from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.queueing.disciplines import FIFO
from hopflow.checks import one_number
from hopflow.units import in_units, quantity
from responsefn import FixedRate, RateRule, WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario

__all__ = [
    "UnequalLosses",
    "check_packet_jitter",
    "flows_in_phase",
    "packet_time",
    "packet_wait",
    "random_time",
    "start_spread",
    "unequal_losses",
]

PACKETS = ("pkt", "pkts", "packet", "packets")
"""Units of ``packet_jitter`` that are times of packets."""
DIGITS = 12
"""Decimal places of round-trip times in s that are compared."""
MIN_LOST_PACKETS = 100.0
"""Packets that a queue drops, from which the parts that identical flows lose are compared."""
LOSS_RATIO_LIMIT = 2.0
"""Largest ratio of the parts that flows lose at a queue, from link to link, which is not reported."""
RATE_ROUNDING = 1e-9
"""Relative error of sums of rates."""


MIN_EXPECTED_LOSSES = 50.0
"""Losses that are expected over an input link, from which they are compared with those over others."""


class UnequalLosses(NamedTuple):
    """A queue with unequal losses of senders: link, flows, smallest and largest loss ratio by input link."""

    link: int
    flows: NDArray[np.int64]
    least: float
    most: float


def flows_in_phase(scenario: Scenario, losing: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of losing flows (flags, (F,)) that may have phase effects, and of their bottlenecks.

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


def unequal_losses(run: Any) -> list[UnequalLosses]:
    """Return, for full queues at which senders without windows lose unequal parts, the queue, flows and loss ratios.

    The flows come over different links. They are equal in source, size and start and, unless they have constant rates,
    in round-trip time; or they are the only flows of a FIFO queue and have constant rates, see
    `_losses_of_constant_rates`.
    Packets that arrive in random order would lose equal parts.
    """
    scenario, dropped = run.scenario, run.dropped
    if dropped is None or run.emitted is None or not len(dropped):
        return []
    table, routes = scenario.table, scenario.routes
    is_even = table.of_kind(RateRule) | table.of_kind(CBR)
    counted = (dropped["cause"] == BUFFER_FULL) & (dropped["ack"] == 0)
    rows = dropped[counted & is_even[dropped["flow"]]]
    totals = np.bincount(rows["link"], rows["packets"])
    has_constant_rate = table.of_kind(CBR) | table.of_kind(FixedRate)
    rtts = np.where(has_constant_rate, 0.0, np.round(scenario.base_rtts(), DIGITS))
    group = table.alike("source", "size", rtts, np.round(run.started, DIGITS))[1]
    unequal = []
    for link in np.flatnonzero(totals >= MIN_LOST_PACKETS).tolist():
        entries = np.flatnonzero(routes.places == link)
        entries = entries[~np.isin(entries, routes.begin)]  # over another link
        flows, before = routes.flow[entries], routes.places[entries - 1]
        dropped_at_link = rows[rows["link"] == link]
        lost = np.bincount(dropped_at_link["flow"], dropped_at_link["packets"], len(table))
        for kind in np.unique(group[flows[is_even[flows]]]).tolist():
            chosen = group[flows] == kind
            inputs, which = np.unique(before[chosen], return_inverse=True)
            sent = np.bincount(which.reshape(-1), run.emitted[flows[chosen]], len(inputs))
            parts = np.bincount(which.reshape(-1), lost[flows[chosen]], len(inputs)) / np.maximum(sent, 1.0)
            if parts.max() > LOSS_RATIO_LIMIT * parts.min():
                unequal.append(UnequalLosses(link, flows[chosen], float(parts.min()), float(parts.max())))
        if (
            any(of_link.link == link for of_link in unequal)
            or (expected := _losses_of_constant_rates(run, link, entries)) is None
        ):
            continue
        inputs, which = np.unique(before, return_inverse=True)
        by_input = [
            np.bincount(which.reshape(-1), packets, len(inputs))
            for packets in (expected, lost[flows], run.emitted[flows])
        ]
        losses_expected, losses, sent = (packets[by_input[0] >= MIN_EXPECTED_LOSSES] for packets in by_input)
        ratios, parts = losses / losses_expected, losses / sent
        if len(ratios) > 1 and ratios.max() > LOSS_RATIO_LIMIT * ratios.min():
            unequal.append(UnequalLosses(link, flows, float(parts.min()), float(parts.max())))
    return unequal


def _losses_of_constant_rates(run: Any, link: int, entries: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the losses, in packets, of E senders of constant rates at a FIFO queue, for arrivals in random order.

    The queue is a fluid: each flow arrives at the rate of its source from its start until all of its packets, with
    retransmissions, are sent, and what a full queue loses is divided in proportion to the rates.

    Parameters
    ----------
    entries
        Indices in ``scenario.routes.places`` of the E visits of flows at the queue, which is not their first link.

    Returns
    -------
    NDArray
        None for queues of other disciplines or other flows, and where flows do not arrive at the rate of their sources:
        with elements on the paths, or links before the queue that get more than their rate.
    """
    scenario = run.scenario
    table, routes, links = scenario.table, scenario.routes, scenario.link_table
    flows = routes.flow[entries]
    is_constant = table.of_kind(CBR) | table.of_kind(FixedRate)
    is_constant &= ~table.given("arrivals") & np.isinf(table.numbers("idle")) & (table.each("paths", len) == 0)
    visits = np.count_nonzero(routes.places == link)
    only_these = visits == len(entries) == len(np.unique(flows)) and is_constant[flows].all()
    if scenario.elements or not only_these or type(scenario.links[link].discipline) is not FIFO:
        return None
    rates = np.fmin(table.each("source", _constant_rate), links.rates[routes.first])
    offered = np.bincount(routes.places, np.where(is_constant, rates, np.inf)[routes.flow], len(links))
    before = np.column_stack([routes.begin[flows], entries]).reshape(-1)
    loads = np.maximum.reduceat((offered / links.rates)[routes.places], before)[::2]
    if (loads > 1.0 + RATE_ROUNDING).any():
        return None
    delays = np.add.reduceat(links.delays[routes.places], before)[::2]
    begins = np.nan_to_num(run.started[flows]) + delays
    stops = begins + run.emitted[flows] / rates[flows]
    return _fluid_losses(begins, stops, rates[flows], float(links.rates[link]), scenario.room_of(link))


def _fluid_losses(
    begins: NDArray[np.float64], stops: NDArray[np.float64], rates: NDArray[np.float64], capacity: float, room: float
) -> NDArray[np.float64]:
    """Return the packets that F flows, each of a constant rate from its begin to its end, lose at a fluid queue.

    >>> _fluid_losses(np.array([0.0, 1.0]), np.array([3.0, 3.0]), np.array([10.0, 5.0]), 10.0, 4.0)
    array([4., 2.])
    """
    times = np.unique(np.concatenate([begins, stops]))
    first, last = np.searchsorted(times, begins), np.searchsorted(times, stops)
    changes = np.bincount(first, rates, len(times)) - np.bincount(last, rates, len(times))
    excess = (np.cumsum(changes) - capacity)[:-1] * np.diff(times)
    lost_parts, queue = np.zeros(len(times)), 0.0
    for n, (packets, arriving) in enumerate(zip(excess.tolist(), np.cumsum(changes)[:-1].tolist(), strict=True), 1):
        queue = max(queue + packets, 0.0)
        if queue > room:
            lost_parts[n], queue = (queue - room) / arriving, room
    sums = np.cumsum(lost_parts)
    return np.asarray(rates * (sums[last] - sums[first]))


def _constant_rate(source: Any) -> float:
    """Return the constant rate of a source, packets/s; infinite for that of the first link, NaN for other sources."""
    if isinstance(source, FixedRate):
        return float(source.params.sending_rate)
    return float(source.rate) if isinstance(source, CBR) else np.nan


def random_time(scenario: Scenario, losing: NDArray[np.bool_]) -> float:
    """Return the packet time, s, of the slowest queue where losing flows (flags, (F,)) have phase effects; 0: none."""
    links = flows_in_phase(scenario, losing)[1]
    if not len(links):
        return 0.0
    return float(1.0 / scenario.link_table.rates[links].min())


def packet_time(scenario: Scenario) -> float:
    """Return the transmission time of a packet, s, on the slowest link that any flow crosses."""
    return float(1.0 / scenario.slowest_rates.min())


def start_spread(scenario: Scenario, jitter: float | str | None, end: float) -> float:
    """Return the largest random delay of starts, s, from ``jitter``; None: the shortest round-trip time.

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
    """Return the largest random time before a packet, s, from a time, a string in packets such as "1pkt", or None: 0.

    >>> from dfcmodel import takano2006
    >>> scenario = takano2006("1")
    >>> packet_wait(scenario, "2pkt") == 2 * packet_time(scenario)
    True
    >>> packet_wait(scenario, "1ms"), packet_wait(scenario, None)
    (0.001, 0.0)
    """
    if _in_packets(jitter):
        return quantity("packet_jitter", jitter, "amount") * packet_time(scenario)
    return in_units("packet_jitter", 0.0 if jitter is None else jitter, "time")


def check_packet_jitter(jitter: float | str | None) -> None:
    """Raise ValueError for a ``packet_jitter`` that is no time and no number of packets, or is negative.

    >>> check_packet_jitter(float("nan"))
    Traceback (most recent call last):
    ...
    ValueError: packet_jitter = nan: must be a finite number >= 0; in s, or a string: '1pkt'
    """
    if jitter is not None:
        value = in_units("packet_jitter", jitter, "amount" if _in_packets(jitter) else "time")
        one_number("packet_jitter", value, at_least=0.0, hint="in s, or a string: '1pkt'")


def _in_packets(jitter: float | str | None) -> TypeGuard[str]:
    """Return whether a jitter is a string in packets, such as "1pkt", not a time."""
    return isinstance(jitter, str) and jitter.strip().endswith(PACKETS)
