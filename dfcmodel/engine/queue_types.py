"""Which links can queue, how each serves its queues, and what the engine refuses to run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dfcmodel.engine.kernel.records import FAIR_SHARES, PER_FLOW_RATE, PER_INPUT, SHARED_FIFO
from dfcmodel.network.demands.arrivals import ArrivalProcess, Replay
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.flows import SYN_WITH_DATA
from dfcmodel.network.level_options import check_known, refuse_given
from dfcmodel.network.path_elements import DelayTrace, RateTrace
from dfcmodel.network.queueing.coupled import PI2
from dfcmodel.network.queueing.disciplines import (
    manager_of,
)
from dfcmodel.network.time_steps import passes_at_once
from responsefn import DeliveryRule, RateRule, WindowRule
from responsefn.rules.base import answers_marks
from responsefn.rules.rates.rate_rule import sees_telemetry, window_place

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario

__all__ = ["check_disciplines", "queueing"]

FOR_PACKETS = {
    option: f"{what} are for packets; use method=Packets()"
    for option, what in {
        "receiver": "receiver agents",
        "arrivals": "data that arrive",
        "idle": "transfers after idle times",
        "after": "flows that wait for others",
        "weight": "weights of network interfaces",
        "paths": "sprayed flows",
        "ttl": "times to live",
    }.items()
}
"""Options of flows that the fluid does not have."""


def check_disciplines(scenario: Scenario) -> None:
    """Raise ValueError for a discipline that the engine would have to run as another."""
    _check_elements(scenario)
    for link in scenario.link_table.kinds:
        check_known(link, "Fluid()")
    for flow in scenario.flows:
        what = "pacing" if flow.pacing else ""
        if isinstance(flow.source, DeliveryRule):
            what = "a rule of deliveries"
        elif isinstance(flow.source, (ArrivalProcess, Replay)):
            what = "an arrival process"
        elif isinstance(flow.source, RateRule):
            if sees_telemetry(type(flow.source)):
                what = "a rule that follows telemetry"
            elif window_place(type(flow.source)):
                what = "a rate rule that bounds its packets in flight"
        if what:
            msg = f"{what} is for packets; use method=Packets()"
            raise ValueError(f"source of flow {flow.name!r} = {flow.source!r}: {msg}")
        refuse_given(flow, FOR_PACKETS)
        if flow.handshake == SYN_WITH_DATA:
            msg = "data in the SYN are for packets; use True, or method=Packets()"
            raise ValueError(f"handshake of flow {flow.name!r} = {flow.handshake!r}: {msg}")
        if math.isfinite(flow.stop) and not isinstance(flow.source, (CBR, OnOff)):
            msg = "only CBR and OnOff stop in the fluid; use method=Packets()"
            raise ValueError(f"stop of flow {flow.name!r} = {flow.stop:g}: {msg}")
        if not (isinstance(flow.source, WindowRule) and answers_marks(type(flow.source))):
            continue
        for link in scenario.path(flow):
            if isinstance(manager_of(link.discipline), PI2):
                msg = f"for {flow.source!r}, which answers each mark, use method=Packets()"
                raise ValueError(f"discipline of link {link.name} = {link.discipline!r}: {msg}")  # noqa: TRY004


def _check_elements(scenario: Scenario) -> None:
    """Raise ValueError for elements of paths but rates and delays over time, and where a feedback counts on the rate."""
    for element in scenario.elements:
        kind, table = type(element).__name__, scenario.link_table
        if isinstance(element, DelayTrace):
            if element.acks or not element.in_order:
                what = "delays ACKs" if element.acks else "lets packets overtake"
                raise ValueError(
                    f"elements: {kind} at {element.link}: {what}; use method=Packets()"
                )
            continue
        if not isinstance(element, RateTrace):
            msg = "acts on single packets; use method=Packets()"
            raise ValueError(f"elements: {kind} at {element.link}: {msg}")  # noqa: TRY004
        rule = scenario.links[table.names.index(element.link)].discipline
        if rule.diffuses or rule.pauses:
            msg = f"is constant under {type(rule).__name__}; use another discipline"
            raise ValueError(f"elements: RateTrace of {element.link}: its rate {msg}")


def queueing(scenario: Scenario) -> tuple[list[bool], list[int]]:
    """Return which links can queue, and the kind of each."""
    links = range(len(scenario.links))
    fed_by_pause = {
        u for n in links if scenario.links[n].discipline.pauses_links for u in scenario.feeders(n)
    }
    queues = [bool(scenario.feeders(n)) for n in links]
    for n in links:
        if n not in fed_by_pause and passes_at_once(scenario, n):
            queues[n] = False
    queue_types = []
    for n, link in enumerate(scenario.links):
        kind = PER_FLOW_RATE
        several = sum(map(len, scenario.feeders(n).values())) > 1
        rule = link.discipline
        if rule.diffuses:
            kind = PER_INPUT if rule.queue_per == "input" else PER_FLOW_RATE
        elif rule.queue_per == "flow":
            kind = FAIR_SHARES
        elif several or n in fed_by_pause or rule.pauses or manager_of(rule):
            kind = SHARED_FIFO
        queue_types.append(kind)
    return queues, queue_types
