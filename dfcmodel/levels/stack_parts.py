"""Parts of the stack of a host that can be switched off: scenario and recovery without each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.network.endpoints.stacks import COUNTED, STACKS
from responsefn import WindowRule
from responsefn.linux import LinuxCUBIC

if TYPE_CHECKING:
    from dfcmodel.methods import Packets
    from dfcmodel.network.flows import Flow
    from dfcmodel.network.networks import Scenario

__all__ = ["StackPart", "parts_of_stacks"]


class StackPart(NamedTuple):
    """A part of the flows' protocol stack, with the scenario and the method without it.

    Attributes
    ----------
    name
        Label in tables.
    scenario, method
        Scenario and method without the part; all other parts are unchanged.
    """

    name: str
    scenario: Scenario
    method: Packets


def parts_of_stacks(scenario: Scenario, packets: Packets) -> tuple[StackPart, ...]:
    """Return the parts of the protocol stacks of a scenario's flows that have an effect.

    Of ``stack="linux-6.12"``:

    - *initial window*: without it the window of the rule.
    - *delayed ACKs*: without them an ACK for each packet.
    - *quick ACKs*: without them ACKs are delayed from the first packet on.
    - *segments*: without them packets are sent one by one.
    - *counting of packets*: without it a window grows per ACK.
    - *Linux's PRR*: replaced by RFC 6937's. *RACK-TLP*: replaced by three duplicate ACKs and RFC 6937's PRR.
      *RACK-TLP and PRR*: SACK alone, the window is cut at once. Unless ``Packets(recovery=)`` names a recovery.
    - of `LinuxCUBIC` *HyStart*; *beta*, without it a half; *whole windows at a loss*; and the *count of ACKs* from one
      packet of growth to the next, without it each adds a fraction of a packet.

    Parameters
    ----------
    scenario, packets
        The simulated scenario and its method.

    Examples
    --------
    >>> from dfcmodel import Flow, Link, Packets, Scenario
    >>> from dfcmodel.levels.stack_parts import parts_of_stacks
    >>> from responsefn import NewReno
    >>> links = [Link("a", "b", "20Mbps", "20ms", "67pkt"), Link("b", "a", "20Mbps", "20ms", "1000pkt")]
    >>> flow = Flow("f", ("a", "b"), NewReno(), stack="linux-6.12")
    >>> [part.name for part in parts_of_stacks(Scenario("path", links, [flow]), Packets())][:3]
    ['initial window', 'delayed ACKs', 'quick ACKs']
    """
    parts = []
    for name, switch_off in SENDERS.items():
        flows = tuple(switch_off(flow) if flow.stack else flow for flow in scenario.flows)
        if flows != tuple(scenario.flows):
            parts.append(StackPart(name, replace(scenario, flows=flows), packets))
    if packets.recovery is not None:
        return tuple(parts)
    recoveries = {flow.name: STACKS[flow.stack].recovery for flow in scenario.flows if flow.stack}
    for name, recovery in RECOVERIES.items():
        without: dict[str, Any] = {flow: recovery for flow, current in recoveries.items() if current}
        if without:
            parts.append(StackPart(name, scenario, replace(packets, recovery=without)))
    return tuple(parts)


def _without_window(flow: Flow) -> Flow:
    """Return a flow with the initial window of its rule."""
    if flow.initial_window is None or not isinstance(flow.source, WindowRule):
        return flow
    return replace(flow, initial_window=float(flow.source.State().cwnd))


def _without_delay(flow: Flow) -> Flow:
    """Return a flow without delayed ACKs."""
    return replace(flow, delayed_acks=False, quick_acks=0)


def _without_quick_acks(flow: Flow) -> Flow:
    """Return a flow that delays ACKs from the first packet on."""
    return replace(flow, quick_acks=0)


def _without_segments(flow: Flow) -> Flow:
    """Return a flow that sends packets one by one."""
    return replace(flow, segments=False)


def _without_counting(flow: Flow) -> Flow:
    """Return a flow whose window grows per ACK, not per acknowledged packet."""
    return replace(flow, delayed_acks=True) if flow.delayed_acks == COUNTED else flow


def _change_cubic(**parameters: float) -> Callable[[Flow], Flow]:
    """Return a function that returns a flow with changed parameters of its rule if this is `LinuxCUBIC`."""

    def without(flow: Flow) -> Flow:
        if type(flow.source) is not LinuxCUBIC:
            return flow
        return replace(flow, source=flow.source.replace(**parameters))

    return without


SENDERS: Mapping[str, Callable[[Flow], Flow]] = {
    "initial window": _without_window,
    "delayed ACKs": _without_delay,
    "quick ACKs": _without_quick_acks,
    "segments": _without_segments,
    "counting of packets": _without_counting,
    "HyStart": _change_cubic(hystart=0),
    "beta": _change_cubic(b=0.5),
    "whole windows at a loss": _change_cubic(whole_windows=0),
    "count of ACKs": _change_cubic(counted=0),
}
"""Functions that switch off a part of a flow or of its rule, by the name of the part."""
RECOVERIES = {"Linux's PRR": "rack", "RACK-TLP": "prr", "RACK-TLP and PRR": "sack"}
"""Recovery without a part of Linux's recovery, by the name of the part."""
