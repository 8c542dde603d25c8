"""Losses of a run by node and cause: rows of a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.endpoints.arrivals import ArrivalProcess, Replay
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.flows import of_kind
from dfcmodel.network.links import buffer_in_packets
from dfcmodel.network.queueing.disciplines import QueueManager, manager_of
from dfcmodel.network.queueing.marking import RampMarking, StepMarking
from dfcmodel.results.drops import HOST_LINK, packets_by_cause
from dfcmodel.results.records import columns_of

if TYPE_CHECKING:
    from dfcmodel.network.links import Link
    from dfcmodel.results.records import AtNodes, Records

__all__ = ["largest_queue", "losses_text"]

AT_HOST_LINK = "at the senders' own link"
MAX_NODES = 6
"""Largest number of nodes in the list."""


def losses_text(run: Records) -> str:
    """Return the nodes that lost packets, with numbers and causes, by falling number, as a string; "" without losses.

    Losses at the first node of a path, where ``host="direct"`` puts packets into the buffer at once, are marked: they
    are no losses of the network behind it. If the link is paused, or the sender is a `FixedRate`, the host that stops
    the sender is named. Packets that a manager dropped are marked as well.
    """
    lost = columns_of(run, "lost")
    totals = lost.by_node()
    order = [int(n) for n in np.argsort(-totals, kind="stable") if totals[n] > 0.0]
    if not order:
        return ""
    texts = [f"{run.scenario.senders[n]}: {totals[n]:.0f}{_cause(run, lost, n)}" for n in order]
    others = totals[order[MAX_NODES:]].sum()
    more = f", {len(order) - MAX_NODES} other nodes: {others:.0f}" if len(order) > MAX_NODES else ""
    return ", ".join(texts[:MAX_NODES]) + more


def largest_queue(run: Records) -> str:
    """Return the largest queue of a run, with its link or node, as a string; in bytes too if buffers count bytes."""
    n = int(np.argmax(run.peak_queue))
    links = _links_from(run, n)
    location = f"of link {links[0].name}" if len(links) == 1 else f"at node {run.scenario.senders[n]}"
    peak_bytes = np.nan if run.peak_bytes is None else run.peak_bytes[n]
    in_bytes = "" if np.isnan(peak_bytes) else f", at most {peak_bytes:.0f} bytes,"
    return f"{run.peak_queue[n]:.0f} packets{in_bytes} {location}"


def _links_from(run: Records, n: int) -> list[Link]:
    """Return the links that leave the n-th sending node."""
    node = run.scenario.senders[n]
    return [link for link in run.scenario.links if link.source == node]


def _cause(run: Records, lost: AtNodes, n: int) -> str:
    """Return a remark on losses at the n-th sending node, causes and missing room, in parentheses; "" without any."""
    links = _links_from(run, n)
    remarks = []
    if run.dropped is not None:
        indices = [run.scenario.links.index(link) for link in links]
        rows = run.dropped[np.isin(run.dropped["link"], indices)]
        counts = dict(packets_by_cause(run, rows))
        for cause, packets in counts.items():
            if cause != "buffer" or len(counts) > 1:
                number = f"{packets:.0f} " if len(counts) > 1 else ""
                remarks.append(f"{number}{_cause_text(run, lost, n, cause)}")
    remarks += [_missing_room(run, link) for link in links if link.discipline.pauses == "link"]
    remarks = [remark for remark in remarks if remark]
    return f" ({'; '.join(remarks)})" if remarks else ""


def _cause_text(run: Records, lost: AtNodes, n: int, cause: str) -> str:
    """Return the description of a cause of losses at the n-th sending node."""
    if cause == HOST_LINK:
        links = _links_from(run, n)
        if any(link.discipline.diffuses for link in links):
            return f'{AT_HOST_LINK}: DFC slows a host down only with host="shaped"'
        indices = [run.scenario.links.index(link) for link in links]
        if run.paused is not None and np.isin(run.paused["link"], indices).any():
            return f'{AT_HOST_LINK}, which is paused: pauses stop a sender only with host="nic"'
        sources = [run.scenario.flows[f].source for f in lost.flow[lost.node == n].tolist()]
        constant = any(getattr(source, "is_constant", False) for source in sources)
        return AT_HOST_LINK + (': FixedRate waits for its link only with host="nic"' if constant else "")
    words = run.scenario.drop_causes[cause]
    if cause != "manager":
        return words
    losing = [run.scenario.flows[f] for f in lost.flow[lost.node == n].tolist()]
    managers = {manager_of(link.discipline) for link in _links_from(run, n)} - {None}
    deaf = all(of_kind(losing, CBR, OnOff, ArrivalProcess, Replay)) and all(_marks(manager) for manager in managers)
    if deaf:
        return "dropped by the manager, as these flows do not react to marks"
    return words


def _missing_room(run: Records, link: Link) -> str:
    """Return a remark if a link's buffer cannot hold the packets that arrive until a pause takes effect; else "".

    Each feeding link sends at its rate for the time that the pause and the last packet take.
    """
    rule: Any = link.discipline
    scenario = run.scenario
    feeders = [scenario.links[u] for u in scenario.feeders(scenario.links.index(link)) if u >= 0]
    arrive = sum(feeder.rate * (2.0 * feeder.delay + rule.signalling) for feeder in feeders)
    room = buffer_in_packets(link, scenario.packet_size) - rule.high
    if arrive <= room:
        return ""
    return f"Pause(high={rule.high:g}) leaves room for {room:g} packets, up to {arrive:.0f} can arrive until links obey"


def _marks(manager: QueueManager | None) -> bool:
    """Return whether a manager marks packets of flows that react to marks; False for None."""
    return isinstance(manager, (StepMarking, RampMarking)) or bool(getattr(manager, "ecn", False))
