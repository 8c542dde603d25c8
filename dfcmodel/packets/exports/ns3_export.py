"""Export of scenarios as C++ programs for ns-3, to compare the packet level with that simulator."""

from __future__ import annotations

import math
from importlib import resources
from typing import Any

from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.endpoints.stacks import COUNTED
from dfcmodel.network.flows import SYN_WITH_DATA, Flow, first_state
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.disciplines import FIFO
from dfcmodel.network.queueing.managers import PIE, RED, CoDel
from dfcmodel.network.queueing.marking import StepMarking
from dfcmodel.packets.exports.exported import check_exported, check_times, node_numbers
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.plan import PacketPlan
from dfcmodel.packets.ports import UNBOUNDED, Port, bits_of
from hopflow.checks import instance, number
from hopflow.units import WithUnit, quantities
from responsefn import CUBIC, DCTCP, HSTCP, BBRv1, NewReno, Reno, Vegas
from responsefn.linux import LinuxScalable
from responsefn.rules.linux import OLD

__all__ = ["to_ns3"]

HEADERS = {"TCP": 42, "UDP": 30}
"""Bytes of IPv4 and PPP, and of TCP or UDP."""
FLOW_OPTIONS = ("max_window", "start", "size", "delayed_acks", "handshake")
METHOD_OPTIONS = ("seed", "convention", "recovery", "loss", "ack_transmission", "ack_delay")
"""Options that the C++ program supports, or refuses with advice; all others must have their defaults."""
MAX_WINDOW = 2**30
"""Maximum window that TCP can announce, bytes (RFC 7323, 2.2)."""
UNBOUNDED_QUEUE = 10**9
"""Size of an unbounded queue, packets."""


@quantities(duration="time", sample="time")
def to_ns3(
    scenario: Scenario,
    *,
    method: Packets | None = None,
    duration: WithUnit | None = None,
    sample: WithUnit = 0.01,
) -> str:
    """Return a C++ program for ns-3.44 with the links, queues and flows of a scenario.

    Senders, queue managers and window rules belong to ns-3: runs agree with `Packets` in distribution, not packet
    by packet. Every connection opens with a handshake, as with ``Flow(handshake=True)``. Packets have headers of PPP,
    IPv4, and TCP with options, so that an ACK has at least 42 bytes. The last packet of a managed queue is in the
    device below the manager. Rates are rounded to bit/s.

    Parameters
    ----------
    scenario
        A scenario whose links are `FIFO`, `RED`, `CoDel`, `PIE` or `StepMarking`, and whose flows are `CBR` or
        have one of the rules `Reno`, `NewReno`, `CUBIC`, `DCTCP`, `HSTCP(table=1)`, ``LinuxScalable(kernel="2.6.22")``,
        `Vegas`, `BBRv1`. The first two are one rule in ns-3, and recover as NewReno or by SACK.
    method
        `Packets` with ``convention="standard"``, for its seed, recovery and delay of ACKs; None is ``Packets()``.
    duration, sample
        Simulated time (None: the scenario's) and sampling interval, s.

    Raises
    ------
    ValueError
        For a feature that ns-3 does not have, or has with other parameters; the message names it.

    Examples
    --------
    >>> from dfcmodel import takano2006, to_ns3
    >>> print(to_ns3(takano2006("1", dfc=False, tcp="newreno"))[:15])
    // takano2006/1
    """
    from dfcmodel.packets.simulation import plan_scenario

    instance("scenario", scenario, Scenario)
    method = Packets() if method is None else method
    instance("method", method, Packets, "Packets(...), or None")
    duration, sample = check_times(scenario, duration, sample)
    _check_method(method)
    for link in scenario.links:
        if type(link.discipline) not in (FIFO, RED, CoDel, PIE, StepMarking):
            raise _no_queue_of_ns3(link.name, link.discipline)
    check_exported(scenario, method, FLOW_OPTIONS, METHOD_OPTIONS, "ns-3")
    _check_size(scenario)
    if scenario.all_elements:
        msg = "must be () for export to ns-3"
        raise ValueError(f"elements of {scenario.name!r}: {msg}")
    plan = plan_scenario(scenario, method, duration=duration, sample=sample)
    nodes = node_numbers(scenario)
    parts = {
        "%NAME%": _printable(scenario.name),
        "%NODES%": "\n// ".join(f"Node {n}: {_printable(node)}" for node, n in nodes.items()),
        "// %SCENARIO%": "\n".join(
            [
                *_constants(plan, len(nodes), duration, sample),
                _table("Link", "LINKS", _links(plan, nodes)),
                _table("Flow", "FLOWS", [_flow(plan, nodes, f) for f in range(len(plan.forward))]),
            ]
        ),
    }
    text = (resources.files("dfcmodel.packets.exports") / "ns3_program.cc").read_text(encoding="utf-8")
    for mark, content in parts.items():
        text = text.replace(mark, content, 1)
    return text


def _check_method(method: Packets) -> None:
    """Raise ValueError for options that ns-3 does not have."""
    if method.is_ns2:
        raise ValueError(f'method = {method!r}: must have convention="standard"')
    if not method.ack_transmission:
        raise ValueError("ack_transmission = False: must be True, ns-3's ACKs take time on links")
    for name, p in (method.loss or {}).items():
        msg = "must be absent: ns-3 loses packets at random behind a link, not before its queue"
        raise ValueError(f"loss of {name} = {p:g}: {msg}")


def _check_size(scenario: Scenario) -> None:
    """Raise ValueError for a packet size that is fractional, has no room for headers, or is beyond IPv4's limit."""
    size = scenario.packet_size
    if size != int(size):
        raise ValueError(f"packet_size = {size:g}: must be a whole number of bytes for ns-3")
    number("packet_size", size, at_least=HEADERS["TCP"] + 1.0, at_most=65535.0, hint="in bytes")


def _printable(name: object) -> str:
    """Return a name as a string that fits into a comment of one line."""
    return name if isinstance(name, str) and name.isprintable() and "\\" not in name else ascii(name)


def _constants(plan: PacketPlan, nodes: int, duration: float, sample: float) -> list[str]:
    """Return the lines of C++ that define the constants of a program."""
    scenario, method = plan.scenario, plan.method
    size = int(scenario.packet_size)
    marks = any(_marks(port) for port in plan.ports)
    return [
        f"constexpr std::uint32_t PACKET_SIZE = {size}; // bytes, headers of all layers included",
        f"constexpr std::uint32_t SEGMENT = {size - HEADERS['TCP']};",
        f"constexpr std::uint32_t NODES = {nodes};",
        f"constexpr std::uint32_t SAMPLES = {math.ceil(round(duration / sample, 6))};",
        f"constexpr double SAMPLE = {float(sample)!r};",
        f"constexpr double DURATION = {float(duration)!r};",
        f"constexpr double MIN_RTO = {float(scenario.min_rto)!r};",
        f"constexpr double ACK_DELAY = {float(method.ack_delay)!r};",
        f"constexpr std::uint32_t SEED = {max(1, method.seed or 1)};",
        f"constexpr bool MARKS = {str(marks).lower()}; // whether senders are capable of ECN",
        "",
    ]


def _table(kind: str, name: str, rows: list[str]) -> str:
    """Return C++ that defines a constant vector of this type and name, a row per line."""
    return f"const std::vector<{kind}> {name}{{\n" + "".join(f"    {row},\n" for row in rows) + "};\n"


def _marks(port: Port) -> bool:
    """Return whether a port's discipline, one that ns-3 has, marks packets."""
    rule = port.discipline
    return isinstance(rule, StepMarking) or (isinstance(rule, RED) and rule.ecn)


def _links(plan: PacketPlan, nodes: dict[Any, int]) -> list[str]:
    """Return a row of C++ for each pair of linked nodes, with both directions; ValueError for unequal delays."""
    at = {(port.source, port.target): port for port in plan.ports}
    rows, pairs = [], set()
    for port in plan.ports:
        pair = (port.source, port.target)
        if frozenset(pair) in pairs:
            continue
        pairs.add(frozenset(pair))
        back = at.get((port.target, port.source))
        if back is None:  # unused, but a channel of ns-3 has two directions
            back = port
        elif back.delay != port.delay:
            msg = f"must be {port.delay:g}, that of the other direction: a channel of ns-3 has one"
            raise ValueError(f"delay of link {back.name} = {back.delay:g}: {msg}")
        forward, reverse = _direction(plan, port), _direction(plan, back)
        rows.append(f"{{{nodes[pair[0]]}, {nodes[pair[1]]}, {port.delay!r}, {forward}, {reverse}}}")
    return rows


def _direction(plan: PacketPlan, port: Port) -> str:
    """Return a link as C++: bit/s, room, whether it counts bytes, TypeId and attributes of its queue; or ValueError."""
    bits = round(port.bits)
    number(f"rate of link {port.name}", float(bits), at_least=1.0, at_most=2.0**63, hint="in bit/s")
    kind, attributes = _discipline(plan, port)
    if port.cell > 1:
        msg = "ns-3 has no cells; use ByteBuffer(size)"
        raise ValueError(f"buffer of link {port.name}, in cells of {port.cell} B: {msg}")
    if port.cell and kind:
        msg = "must be in packets for export to ns-3 where a manager drops or marks"
        raise ValueError(f"buffer of link {port.name} = {port.room} B: {msg}")
    room = UNBOUNDED_QUEUE if port.room >= UNBOUNDED else port.room
    minimum = 2.0 if kind else 1.0
    number(
        f"buffer of link {port.name}",
        float(room),
        at_least=minimum,
        at_most=2.0**31,
        hint="in bytes" if port.cell else "in packets",
    )
    in_bytes = str(port.cell > 0).lower()
    return f"{{{bits}, {room}, {in_bytes}, {_quote(kind)}, {_attributes(attributes)}}}"


def _discipline(plan: PacketPlan, port: Port) -> tuple[str, dict[str, object]]:
    """Return TypeId and attributes of a link's queue discipline in ns-3, "" for drop-tail; ValueError for others."""
    rule = port.discipline
    size = int(plan.scenario.packet_size)
    if type(rule) is FIFO:
        return "", {}
    if type(rule) is CoDel:
        parameters = {"Target": _seconds(rule.target), "Interval": _seconds(rule.interval)}
        return "ns3::CoDelQueueDisc", {**parameters, "MinBytes": size}
    if type(rule) is PIE:
        return "ns3::PieQueueDisc", {
            "QueueDelayReference": _seconds(rule.target), "Tupdate": _seconds(rule.update),
            "Supdate": _seconds(0.0), "A": rule.alpha, "B": rule.beta, "MeanPktSize": size,
            "MaxBurstAllowance": _seconds(rule.burst), "UseCapDropAdjustment": False,
        }  # fmt: skip
    red: dict[str, object] = {
        "MeanPktSize": size, "LinkBandwidth": f"{round(port.bits)}bps",
        "LinkDelay": _seconds(port.delay),
    }  # fmt: skip
    if type(rule) is RED and rule.mean_packet is None:
        return "ns3::RedQueueDisc", {
            **red, "MinTh": rule.low, "MaxTh": rule.high, "QW": rule.weight,
            "LInterm": 1.0 / rule.max_p, "Gentle": rule.gentle, "UseEcn": rule.ecn,
        }  # fmt: skip
    if type(rule) is StepMarking:
        threshold = rule.numbers(plan.scenario.packet_size)["threshold"]
        return "ns3::RedQueueDisc", {
            **red, "MinTh": threshold, "MaxTh": threshold, "QW": 1.0, "Gentle": False,
            "UseEcn": True, "UseHardDrop": False,
        }  # fmt: skip
    raise _no_queue_of_ns3(port.name, rule)


def _no_queue_of_ns3(link: str, discipline: object) -> ValueError:
    """Return, for the caller to raise, the error for a discipline that ns-3 does not have."""
    msg = "must be FIFO(), RED(...) in packets, CoDel(...), PIE(...) or StepMarking(...) for export to ns-3"
    return ValueError(f"discipline of link {link} = {discipline!r}: {msg}")


def _flow(plan: PacketPlan, nodes: dict[Any, int], f: int) -> str:
    """Return the row of C++ for flow f: path, sizes, start, rate, congestion control; ValueError if ns-3 has it not."""
    flow = plan.scenario.flows[f]
    path = [nodes[plan.ports[p].source] for p in plan.forward[f]] + [nodes[flow.path[-1]]]
    size = int(plan.scenario.packet_size)
    kind, first, rate = "", 1, 0.0
    attributes: dict[str, object] = {}
    if isinstance(flow.source, CBR):
        rate = bits_of(flow.source.rate, size) / (8.0 * size)
    else:
        kind, attributes = _rule(flow)
        first = int(first_state(flow, plan.scenario.base_rtt(flow)).cwnd)
        _check_sender(plan, f, size)
    packets = 0 if math.isinf(flow.size) else int(flow.size)
    sack = plan.recoveries[f] == "sack"
    row = [
        "{" + ", ".join(map(str, path)) + "}", _quote(kind), _attributes(attributes),
        str(sack).lower(), repr(float(plan.starts[f])), str(packets), str(int(flow.max_window)),
        str(max(1, first)), "2" if plan.delays_acks[f] else "1", repr(float(rate)),
    ]  # fmt: skip
    return "{" + ", ".join(row) + "}"


def _check_sender(plan: PacketPlan, f: int, size: int) -> None:
    """Raise ValueError for an option of flow f, of ``size`` bytes a packet, that ns-3's sender does not have."""
    flow, recovery = plan.scenario.flows[f], plan.recoveries[f]
    if recovery not in ("newreno", "sack"):
        msg = 'ns-3 has "newreno" and "sack" (its PRR is not RFC 6937): use Packets(recovery=...)'
        raise ValueError(f"recovery of flow {flow.name!r} = {recovery!r}: {msg}")
    max_packets = MAX_WINDOW // (size - HEADERS["TCP"])
    number(f"max_window of flow {flow.name!r}", flow.max_window, at_least=1.0, at_most=float(max_packets))
    if flow.handshake == SYN_WITH_DATA:
        msg = "must be True or False: ns-3's SYN has no data"
        raise ValueError(f"handshake of flow {flow.name!r} = {flow.handshake!r}: {msg}")
    if flow.delayed_acks == COUNTED:
        msg = "must be True or False for export to ns-3"
        raise ValueError(f"delayed_acks of flow {flow.name!r} = {flow.delayed_acks!r}: {msg}")


def _rule(flow: Flow) -> tuple[str, dict[str, object]]:
    """Return TypeId and attributes of a flow's congestion control in ns-3; ValueError if ns-3 has no such rule."""
    rule = flow.source
    params: Any = getattr(rule, "params", None)
    if type(rule) in (Reno, NewReno):
        return "ns3::TcpNewReno", {}
    if type(rule) is CUBIC:
        return "ns3::TcpCubic", {
            "C": params.C, "Beta": params.beta, "FastConvergence": bool(params.fast_convergence),
            "TcpFriendliness": bool(params.friendly), "HyStart": False,
        }  # fmt: skip
    if type(rule) is DCTCP:
        return "ns3::TcpDctcp", {"DctcpShiftG": params.g}
    if isinstance(rule, LinuxScalable) and rule.kernel == OLD and params.acks == int(params.acks):
        return "ns3::TcpScalable", {"AIFactor": int(params.acks), "MDFactor": params.b}
    if type(rule) is Vegas and rule == Vegas(alpha=int(params.alpha), beta=int(params.beta)):
        return "ns3::TcpVegas", {"Alpha": int(params.alpha), "Beta": int(params.beta)}
    for supported, name in ((HSTCP(table=1), "ns3::TcpHighSpeed"), (BBRv1(), "ns3::TcpBbr")):
        if type(rule) is type(supported) and rule == supported:
            return name, {}
    names = (
        "Reno(), NewReno(), CUBIC(...), DCTCP(...), HSTCP(table=1), LinuxScalable(kernel='2.6.22'), Vegas(...), BBRv1()"
    )
    msg = f"must be CBR(...) or one of ns-3's rules: {names}, each with parameters that ns-3 has"
    raise ValueError(f"source of flow {flow.name!r} = {rule!r}: {msg}")


def _seconds(value: float) -> str:
    """Return a time in s as an attribute of ns-3."""
    return f"{value!r}s"


def _quote(text: str) -> str:
    """Return a string as a literal of C++."""
    return f'"{text}"'


def _attributes(attributes: dict[str, object]) -> str:
    """Return attributes as C++, a list of pairs of strings."""

    def text(value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return value if isinstance(value, str) else repr(value)

    pairs = ", ".join(f'{{"{name}", "{text(value)}"}}' for name, value in attributes.items())
    return "{" + pairs + "}"
