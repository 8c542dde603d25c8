"""Export of scenarios as Tcl programs for ns-2, to compare the packet level with that simulator."""

from __future__ import annotations

import math
from typing import Any

from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.network.phase_effects import packet_wait
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.disciplines import FIFO
from dfcmodel.packets.exports.exported import check_exported, check_times, node_numbers
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.plan import PacketPlan
from dfcmodel.packets.ports import UNBOUNDED, Port, bits_of
from dfcmodel.packets.refusals import check_agents
from hopflow.checks import instance, one_number
from hopflow.units import WithUnit, declares, quantities
from responsefn import NewReno, Reno, Tahoe, WindowRule

__all__ = ["to_ns2"]

AGENTS = {"tahoe": "TCP", "reno": "TCP/Reno", "newreno": "TCP/Newreno", "sack": "TCP/Sack1"}
MAX_BYTES = 2**31 - 1
"""Maximum size of a queue, bytes: ns-2 counts them in 32 bits."""
FLOW_OPTIONS = ("max_window", "start", "size", "stop", "delayed_acks")
METHOD_OPTIONS = ("seed", "convention", "recovery", "phases", "ack_delay")
"""Options that the Tcl program supports; all others must have their defaults."""
HEAD = """\
# {name}: written by dfcmodel.packets.ns2_export for ns-2.35.
#
# Writes samples.txt (time, then cwnd_ and ack_ of each flow with a window), flows.txt (flow, highest
# acknowledged packet, timeouts, packets sent) and links.txt (from, to, drops) into the working folder.
set ns [new Simulator]
"""
"""The first line is part of the digests of bundled programs, and keeps the former name of this module."""
DRAWN_WAITS = "# overhead_: ns-2 draws these waits itself; runs agree with Packets in distribution only"
TAIL = """\
proc sample {{k}} {{
    global ns tcp listening samples
    set line [format %.17g [$ns now]]
    foreach f $listening {{ lappend line [format %.17g [$tcp($f) set cwnd_]] [$tcp($f) set ack_] }}
    puts $samples $line
    incr k
    if {{$k <= {samples}}} {{ $ns at [expr {{$k * {sample}}}] "sample $k" }} else {{ finish }}
}}
proc finish {{}} {{
    global tcp listening samples monitor
    close $samples
    set file [open flows.txt w]
    foreach f $listening {{
        puts $file "$f [$tcp($f) set ack_] [$tcp($f) set nrexmit_] [$tcp($f) set ndatapack_]"
    }}
    close $file
    set file [open links.txt w]
    foreach link [array names monitor] {{
        puts $file "[join [split $link ,] {{ }}] [$monitor($link) set pdrops_]"
    }}
    close $file
    exit 0
}}
set samples [open samples.txt w]
$ns at {sample} "sample 1"
$ns run
"""


@declares(packet_jitter="time")
@quantities(duration="time", sample="time")
def to_ns2(
    scenario: Scenario,
    *,
    method: Packets | None = None,
    duration: WithUnit | None = None,
    sample: WithUnit = 0.01,
    packet_jitter: float | str | None = None,
) -> str:
    """Return a Tcl program for ns-2 with the same model as ``Packets(convention="ns2")``.

    Parameters
    ----------
    scenario
        A scenario with FIFO links only and without hosts shaped by DFC, of window rules and `CBR`.
    method
        `Packets` with ``convention="ns2"``, for its seed and recovery; None is
        ``Packets(convention="ns2")``.
    duration, sample
        Simulated time (None: the scenario's) and sampling interval, s.
    packet_jitter
        As for `simulate`, such as ``"1pkt"``: ``overhead_`` of the agents. ns-2 draws these waits from its own
        generator, so that the two runs then agree only in distribution; a comment in the program says so.

    Raises
    ------
    ValueError
        For a feature that ns-2 does not support; the message names it.

    Examples
    --------
    >>> from dfcmodel import takano2006, to_ns2
    >>> print(to_ns2(takano2006("1", dfc=False))[:14])
    # takano2006/1
    """
    from dfcmodel.packets.simulation import plan_scenario

    instance("scenario", scenario, Scenario)
    method = Packets(convention="ns2") if method is None else method
    instance("method", method, Packets, 'Packets(convention="ns2"), or None')
    if not method.is_ns2:
        raise ValueError(f'method = {method!r}: must have convention="ns2"')
    duration, sample = check_times(scenario, duration, sample)
    _check(scenario)
    check_exported(scenario, method, FLOW_OPTIONS, METHOD_OPTIONS, "ns-2")
    check_agents(scenario, method, "use another recovery")
    wait = packet_wait(scenario, packet_jitter)
    wait = one_number("packet_jitter", wait, at_least=0.0, at_most=duration, hint="in s")
    plan = plan_scenario(scenario, method, duration=duration, sample=sample, packet_jitter=wait)
    samples = math.ceil(round(duration / sample, 6))
    lines = [HEAD.format(name=scenario.name)]
    if wait > 0.0:
        lines.append(DRAWN_WAITS)
    if method.seed is not None:
        lines.append(f"$defaultRNG seed {method.seed}")
    nodes = node_numbers(scenario)
    lines += [f"set node({n}) [$ns node]" for n in nodes.values()]
    lines += _links(plan, nodes)
    for f in range(len(scenario.flows)):
        lines += _flow(plan, nodes, f)
    listening = [f for f, flow in enumerate(scenario.flows) if isinstance(flow.source, WindowRule)]
    lines.append(f"set listening {{{' '.join(map(str, listening))}}}")
    lines.append(TAIL.format(samples=samples, sample=_exact(sample)))
    return "\n".join(lines)


def _check(scenario: Scenario) -> None:
    """Raise ValueError for features that the Tcl program cannot represent."""
    for flow in scenario.flows:
        if isinstance(flow.source, WindowRule) and type(flow.source) not in (Tahoe, Reno, NewReno):
            msg = "must be Tahoe(), Reno() or NewReno(), the rules that ns-2 has; `to_ns3` has others, such as CUBIC()"
            raise ValueError(f"source of flow {flow.name!r} = {flow.source!r}: {msg}")
    for link in scenario.links:
        if type(link.discipline) is not FIFO:
            msg = "must be FIFO() for export to ns-2"
            raise ValueError(f"discipline of link {link.name} = {link.discipline!r}: {msg}")
        if isinstance(link.buffer, ByteBuffer):
            _check_bytes(link, link.buffer, scenario.packet_size)
    for flow in scenario.flows:
        if not isinstance(flow.source, (WindowRule, CBR)):
            msg = "must be a window rule or CBR(...) for export to ns-2"
            raise ValueError(f"source of flow {flow.name!r} = {flow.source!r}: {msg}")  # noqa: TRY004
        if isinstance(flow.source, CBR) and math.isfinite(flow.size):
            msg = "must be inf for a CBR source"
            raise ValueError(f"size of flow {flow.name!r} = {flow.size:g}: {msg}")
        if isinstance(flow.source, WindowRule) and math.isfinite(flow.stop):
            msg = "cannot be exported to ns-2, which ends such a flow without repairing its last packet; give size="
            raise ValueError(f"stop of flow {flow.name!r} = {flow.stop:g}: {msg}")


def _check_bytes(link: Link, buffer: ByteBuffer, packet_size: float) -> None:
    """Raise ValueError for a buffer in bytes that ns-2's queues do not have."""
    if buffer.cell != 1:
        msg = f"ns-2 has no cells; use ByteBuffer({buffer.size})"
        raise ValueError(f"buffer of link {link.name} = {buffer!r}: {msg}")
    if packet_size != int(packet_size):
        msg = f"must be a whole number of bytes for the buffer in bytes of link {link.name}"
        raise ValueError(f"packet_size = {packet_size:g}: {msg}")
    if not packet_size < buffer.room <= MAX_BYTES:
        msg = f"must be above a packet of {packet_size:g} B and at most {MAX_BYTES} B for ns-2"
        raise ValueError(f"buffer of link {link.name} = {buffer!r}: {msg}")


def _exact(value: float) -> str:
    """Return a number as a string with 17 digits, so that Tcl reads the same value."""
    return f"{value:.17g}"


def _links(plan: PacketPlan, nodes: dict[Any, int]) -> list[str]:
    """Return Tcl commands, a list of lines, for the links in both directions and monitors of their queues."""
    lines = []
    at = {(port.source, port.target): port for port in plan.ports}
    for port in plan.ports:
        a, b = nodes[port.source], nodes[port.target]
        lines.append(f"$ns simplex-link $node({a}) $node({b}) {_exact(port.bits)} {_exact(port.delay)} DropTail")
        lines.append(f"$ns queue-limit $node({a}) $node({b}) {_limit(port)}")
        if port.cell:
            queue = f"[[$ns link $node({a}) $node({b})] queue]"
            lines.append(f"{queue} set queue_in_bytes_ true; {queue} set mean_pktsize_ 1")
        lines.append(f"set monitor({a},{b}) [$ns monitor-queue $node({a}) $node({b}) {{}}]")
        if (
            port.target,
            port.source,
        ) not in at:  # ns-2's routing needs the reverse link even if it is idle
            lines.append(f"$ns simplex-link $node({b}) $node({a}) {_exact(port.bits)} {_exact(port.delay)} DropTail")
    return lines


def _limit(port: Port) -> int:
    """Return ns-2's ``queue-limit``: the packets, or bytes, that can be queued, plus one; unlimited: 10^9."""
    return 10**9 if port.room >= UNBOUNDED else port.room + 1


def _stop(plan: PacketPlan, f: int) -> list[str]:
    """Return the command that ends flow f, a CBR source, in a list; [] if it has no end."""
    stop = float(plan.stops[f])
    return [f'$ns at {_exact(stop)} "$source({f}) stop"'] if math.isfinite(stop) else []


def _flow(plan: PacketPlan, nodes: dict[Any, int], f: int) -> list[str]:
    """Return Tcl commands, a list of lines, for the agents of flow f."""
    scenario, flow = plan.scenario, plan.scenario.flows[f]
    first = plan.ports[plan.forward[f][0]].source
    a, b = nodes[first], nodes[flow.path[-1]]
    size = scenario.packet_size
    start = _exact(float(plan.starts[f]))
    if isinstance(flow.source, CBR):
        rate = _exact(bits_of(flow.source.rate, size))
        return [
            f"set tcp({f}) [new Agent/UDP]",
            f"$tcp({f}) set packetSize_ {_exact(size)}; $tcp({f}) set fid_ {f}; $tcp({f}) set ttl_ 255",
            f"set sink({f}) [new Agent/Null]",
            f"$ns attach-agent $node({a}) $tcp({f}); $ns attach-agent $node({b}) $sink({f})",
            f"$ns connect $tcp({f}) $sink({f})",
            f"set source({f}) [new Application/Traffic/CBR]",
            f"$source({f}) set packetSize_ {_exact(size)}; $source({f}) set rate_ {rate}",
            f'$source({f}) attach-agent $tcp({f}); $ns at {start} "$source({f}) start"',
            *_stop(plan, f),
        ]
    kind = plan.recoveries[f]
    sink = "TCPSink" + ("/Sack1" if kind == "sack" else "")
    if flow.delayed_acks:
        sink += "/DelAck"
    delay = f"; $sink({f}) set interval_ {_exact(plan.method.ack_delay)}" if flow.delayed_acks else ""
    begin = "start" if math.isinf(flow.size) else f"send {int(flow.size) * int(size - 40)}"
    return [
        f"set tcp({f}) [new Agent/{AGENTS[str(kind)]}]",
        f"$tcp({f}) set packetSize_ {_exact(size - 40.0)}; $tcp({f}) set fid_ {f}",
        f"$tcp({f}) set window_ {_exact(flow.max_window)}; $tcp({f}) set ttl_ 255",
        f"$tcp({f}) set minrto_ {_exact(scenario.min_rto)}; $tcp({f}) set overhead_ {_exact(plan.jitter)}",
        f"set sink({f}) [new Agent/{sink}]; $sink({f}) set ttl_ 255{delay}",
        f"$ns attach-agent $node({a}) $tcp({f}); $ns attach-agent $node({b}) $sink({f})",
        f"$ns connect $tcp({f}) $sink({f})",
        f"set ftp({f}) [new Application/FTP]; $ftp({f}) attach-agent $tcp({f})",
        f'$ns at {start} "$ftp({f}) {begin}"',
    ]
