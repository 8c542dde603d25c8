"""Scenarios in smaller packets: rates, buffers, windows and transfers stay the same in bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.disciplines import DFC, FIFO, Discipline, Fair, Pause, Priority
from dfcmodel.network.queueing.managers import RED
from hopflow.checks import instance, one_number
from responsefn import AIMD, NewReno

if TYPE_CHECKING:
    from dfcmodel.network.flows import Flow

__all__ = ["shrink_packets"]


def shrink_packets(scenario: Scenario, factor: float) -> Scenario:
    """Return a scenario in packets of 1 / ``factor`` of the size, with the same rates and buffers in bytes.

    Bandwidth-delay products, buffers, thresholds, windows, transfers and rates are the same in bytes, which are
    ``factor`` times as many packets. The growth of windows in bytes is the same as well: AIMD(a, b) becomes
    AIMD(``factor`` a, b), NewReno is AIMD(1, 1/2). Slow start doubles the window from one packet, which is smaller: it
    takes log2(``factor``) round trips more. ACKs keep their 40 bytes (``Packets(ack_transmission=False)`` gives them no
    transmission time).

    Parameters
    ----------
    scenario
        A scenario with FIFO, DFC, Pause, Fair, Priority (without managers) or RED links, and AIMD, NewReno, CBR or
        OnOff sources.
    factor
        New packets for one old packet, at least 1.

    Raises
    ------
    ValueError
        For a factor out of range, or a discipline or source with unknown scaling.

    Examples
    --------
    >>> from dfcmodel import shrink_packets, takano2006
    >>> small = shrink_packets(takano2006("1", dfc=False, tcp="newreno"), 4)
    >>> small.packet_size, small.links[0].buffer, small.flows[0].source
    (375.0, 7200.0, AIMD(a=4.0, form='sqrt'))
    """
    instance("scenario", scenario, Scenario)
    k = one_number("factor", factor, at_least=1.0, at_most=1e4)
    links = tuple(
        replace(
            link, rate=float(link.rate) * k, buffer=_buffer(link.buffer, k),
            discipline=_discipline(link.discipline, k, link.name),
        )
        for link in scenario.links
    )  # fmt: skip
    flows = tuple(_flow(flow, k) for flow in scenario.flows)
    return replace(scenario, links=links, flows=flows, packet_size=scenario.packet_size / k)


def _buffer(buffer: float | ByteBuffer, k: float) -> float | ByteBuffer:
    """Return a buffer in packets of 1/k of the size; a buffer in bytes is unchanged."""
    return buffer if isinstance(buffer, ByteBuffer) else float(buffer) * k


def _discipline(rule: Discipline, k: float, name: str) -> Discipline:
    """Return a discipline with thresholds times ``k``, in packets of 1/k of the size; ValueError for other kinds."""
    if isinstance(rule, (FIFO, DFC)) or (isinstance(rule, (Fair, Priority)) and rule.manager is None):
        return rule
    if isinstance(rule, Pause) and rule.manager is None:
        high, low, rate = (float(n) * k for n in (*rule.thresholds, rule.paused_rate))
        return replace(rule, high=high, low=low, paused_rate=rate)
    if isinstance(rule, RED):
        mean = rule.mean_packet and rule.mean_packet / k
        weight = 1.0 - (1.0 - rule.weight) ** (1.0 / k)  # the same average over the same time
        low, high = float(rule.low) * k, float(rule.high) * k
        return replace(rule, low=low, high=high, weight=weight, mean_packet=mean)
    msg = "must be FIFO, DFC, Pause, Fair, Priority or RED: thresholds of others are not known"
    raise ValueError(f"discipline of link {name} = {rule!r}: {msg}")


def _flow(flow: Flow, k: float) -> Flow:
    """Return a flow with k packets per packet and the same bytes; ValueError for rules whose growth is unknown."""
    source = flow.source
    if isinstance(source, (CBR, OnOff)):
        source = replace(source, rate=float(source.rate) * k)
    elif type(source) is AIMD:
        source = source.replace(a=source.params.a * k)
    elif type(source) is NewReno:
        source = AIMD(k, form=source.params.form)
    else:
        msg = "must be AIMD, NewReno, CBR or OnOff: the growth of others in smaller packets is not known"
        raise ValueError(f"source of flow {flow.name!r} = {source!r}: {msg}")
    size, window = float(flow.size) * k, float(flow.max_window) * k
    return replace(flow, source=source, size=size, max_window=window)
