"""Connection matrices of htsim: the flows of a simulation as a text file.

The format is that of csg-htsim (``sim/datacenter/connection_matrix.cpp``). A header has the numbers of ``Nodes``,
``Connections`` and ``Triggers``; then a line for each connection and trigger follows::

    Nodes 4
    Connections 2
    Triggers 1
    0->1 id 1 start 0 size 2000000 send_done_trigger 1
    1->2 id 2 trigger 1 size 2000000
    trigger id 1 oneshot

Starts are in picoseconds, sizes in bytes; a connection of size 0 is infinite, as in htsim's programs. Lines that begin
with ``#``, empty lines and the values of ``id`` are skipped.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.network.demands.collectives import FlowOptions, Routing, collective_hosts, options_of
from dfcmodel.network.demands.flow_files import (
    ListedFlows,
    packet_size_for,
    parse_whole_number,
    read_text,
    refuse_file_options,
    size_in_packets,
)
from dfcmodel.network.flows import Flows
from dfcmodel.network.foreign_files import CONNECTIONS, foreign_format
from hopflow.checks import choice, instance, refuse_options
from hopflow.deprecations import takes_options
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    from dfcmodel.network.endpoints.sources import Source
    from dfcmodel.network.links import Link

__all__ = ["load_connection_matrix", "read_connection_matrix"]

OF_FILE = dict.fromkeys(("sizes", "starts"), "must not be given, the file has its own")
HEADER = {"Nodes": "nodes", "Connections": "connections", "Triggers": "triggers"}
LATEST_START = 2.0**64
"""Upper bound of starts, ps: htsim counts them in 64 bits."""
OF_CONNECTIONS = ("start", "size", "id", "trigger", "send_done_trigger", "recv_done_trigger")
NOT_READ = {
    "failure": "failures of links are not read",
    "Failures": "failures of links are not read (Failures 0 has none)",
    "prio": "priorities among flows are not read",
    "addon": "connections that are added by signals are not read",
}
"""Keywords of htsim that are refused, with the reason."""
NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
"""Pattern of a number of picoseconds."""
OF_SAVE = re.compile(r"[0-9]+\.([0-9]{6}|0*[1-9][0-9]*)")
"""Pattern of times that htsim's ConnectionMatrix::save writes in microseconds, and of fractions of a picosecond."""


class _Connection(NamedTuple):
    """A connection of a file: ranks, bytes, start in s or number of the trigger, and triggers that it activates."""

    line: int
    source: int
    target: int
    size: int
    start: float | None
    trigger: int | None
    activates: tuple[int, ...]


class _Trigger(NamedTuple):
    """A trigger of a file: its kind, and the number of connections that must activate it."""

    kind: str
    needed: int


@takes_options(FlowOptions)
@refuse_options(**OF_FILE)
@quantities(packet_size="size")
def load_connection_matrix(
    path: str | os.PathLike[str],
    hosts: Iterable[Hashable],
    *,
    packet_size: WithUnit | None = None,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    r"""Return the flows of a file of at most 64 MiB; see `read_connection_matrix`.

    Raises
    ------
    ValueError
        Naming the file and the invalid line, or for a file that is too large or not UTF-8.
    OSError
        When the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dfcmodel import Fabric, load_connection_matrix
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=2))
    >>> file = Path(tempfile.mkdtemp()) / "one.cm"
    >>> _ = file.write_text("Nodes 4\nConnections 1\n0->3 id 1 start 0 size 3000\n")
    >>> load_connection_matrix(file, fabric.hosts, source=FixedRate(), links=fabric.links)[0].size
    2.0
    """
    common = {"source": source, "links": links, "routes": routes, **options_of(options)}
    return _read(f"{path}", read_text(path), hosts, packet_size, common)


@takes_options(FlowOptions)
@refuse_options(**OF_FILE)
@quantities(packet_size="size")
def read_connection_matrix(
    text: str,
    hosts: Iterable[Hashable],
    *,
    packet_size: WithUnit | None = None,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    r"""Return the flows of a connection matrix of htsim.

    A flow that a trigger starts waits for the connections that activate the trigger. They are complete when all packets
    are delivered at the receiver, as with ``recv_done_trigger``; ``send_done_trigger`` waits for the last ACK in htsim.

    Parameters
    ----------
    text
        The contents of the file. Lines that begin with ``#``, empty lines and the ``id`` of a connection are skipped;
        anything else that is not used is refused.
    hosts
        The nodes that have the numbers 0, 1, ... of the file. A warning names nodes beyond ``Nodes``, which take no
        part.
    packet_size
        Bytes per packet; None: `Links.packet_size`, otherwise 1500. A `Scenario` with packets of another size converts
        the bytes of the file to its packets. The last packet of a connection need not be full. A size of 0 is infinite.
    source, links, routes, options
        As for `flows_from`; ``after`` and ``delays`` come from the file.

    Raises
    ------
    ValueError
        Naming the line, for an error of format or a connection that cannot be simulated: a oneshot trigger that several
        connections activate, a multishot trigger, a barrier of fewer connections than activate it, priorities and
        failures.

    Examples
    --------
    >>> from dfcmodel import Fabric, read_connection_matrix
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=2))
    >>> text = "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 3000 send_done_trigger 1\n"
    >>> text += "1->2 id 2 trigger 1 size 3000\ntrigger id 1 oneshot\n"
    >>> flows = read_connection_matrix(text, fabric.hosts, source=FixedRate(), links=fabric.links)
    >>> [(flow.path[-1], flow.size, flow.after) for flow in flows]
    [(('host', 1), 2.0, ()), (('host', 2), 2.0, (0,))]
    """
    instance("text", text, str, "the contents of a file; load_connection_matrix takes its path")
    common = {"source": source, "links": links, "routes": routes, **options_of(options)}
    return _read("text", text, hosts, packet_size, common)


def _read(name: str, text: str, hosts: Iterable[Hashable], requested: float | None, options: dict[str, Any]) -> Flows:
    """Return a text's flows between ``hosts``; ``requested``: bytes per packet; ``options``: of flows, and links."""
    refuse_file_options(options)
    nodes, options = collective_hosts(hosts, options)
    packet_size = packet_size_for(requested, options)
    try:
        connections, triggers, ranks = _parse(text, len(nodes))
        awaited = _predecessors(connections, triggers)
    except ValueError as error:
        raise ValueError(f"{name}: {foreign_format(text, CONNECTIONS) or error}") from None
    listed = ListedFlows(
        [connection.source for connection in connections],
        [connection.target for connection in connections],
        [size_in_packets(connection.size, packet_size) if connection.size else math.inf for connection in connections],
        [connection.start or 0.0 for connection in connections],
        awaited,
        lines=[connection.line for connection in connections],
        ranks=(ranks, f"Nodes {ranks}"),
    )
    return listed.between(nodes, options, name)


def _parse(text: str, hosts: int) -> tuple[list[_Connection], dict[int, _Trigger], int]:
    """Return connections of a text, in order, its triggers by number, and its nodes; ValueError names the line."""
    counts: dict[str, int] = {}
    connections: list[_Connection] = []
    triggers: dict[int, _Trigger] = {}
    for n, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words == ["Failures", "0"]:
            continue
        if words[0] in NOT_READ:
            raise ValueError(f"line {n}, {line.strip()!r}: {NOT_READ[words[0]]}")
        if words[0] in HEADER and len(words) == 2:
            if HEADER[words[0]] in counts:
                raise ValueError(f"line {n}: {words[0]} is given twice")
            counts[HEADER[words[0]]] = parse_whole_number(n, words[0], words[1])
        elif re.fullmatch(r"[0-9]{1,18}->[0-9]{1,18}", words[0]):
            connections.append(_connection(n, words))
        elif words[0] == "trigger":
            number, trigger = _trigger(n, words[1:])
            if number in triggers:
                raise ValueError(f"line {n}: trigger {number} occurs twice")
            triggers[number] = trigger
        else:
            msg = "must be a connection such as '0->1 id 1 start 0 size 1000', or a trigger"
            raise ValueError(f"line {n}, {line.strip()!r}: {msg}")
    nodes = counts.get("nodes", 0)
    if not 2 <= nodes <= hosts:
        raise ValueError(f"Nodes {nodes}: must be 2 to {hosts}, the number of hosts")
    for name, total in (("connections", len(connections)), ("triggers", len(triggers))):
        if counts.get(name, 0) != total:
            raise ValueError(f"{name.title()} {counts.get(name, 0)}: the file has {total}")
    if not connections:
        raise ValueError("Connections 0: must be at least one")
    for connection in connections:
        if max(connection.source, connection.target) >= nodes or connection.source == connection.target:
            pair = f"{connection.source}->{connection.target}"
            raise ValueError(f"line {connection.line}, {pair}: must be two nodes of 0 to {nodes - 1}")
    return connections, triggers, nodes


def _connection(n: int, words: list[str]) -> _Connection:
    """Return the connection of line n from its words; ValueError names the line."""
    source, target = map(int, words[0].split("->"))
    values = _fields(n, words[1:], OF_CONNECTIONS)
    if "size" not in values:
        raise ValueError(f"line {n}: size must be given, in bytes")
    if ("start" in values) == ("trigger" in values):
        raise ValueError(f"line {n}: must have either a start or a trigger")
    size = parse_whole_number(n, "size", values["size"])
    start = None
    if "start" in values:
        picoseconds = float(values["start"]) if NUMBER.fullmatch(values["start"]) else math.inf
        if picoseconds >= LATEST_START:
            below = ", below 2^64" if NUMBER.fullmatch(values["start"]) else ""
            raise ValueError(f"line {n}: start {values['start'][:40]}: must be in picoseconds{below}")
        start = 1e-12 * picoseconds
        if start and OF_SAVE.fullmatch(values["start"]):
            hint = "htsim writes microseconds with six decimals and reads picoseconds: write whole picoseconds"
            raise ValueError(f"line {n}: start {values['start'][:40]}: {hint}")
    activates = (key for key in ("send_done_trigger", "recv_done_trigger") if key in values)
    return _Connection(
        n,
        source,
        target,
        size,
        start,
        _trigger_number(n, "trigger", values["trigger"]) if "trigger" in values else None,
        tuple(_trigger_number(n, key, values[key]) for key in activates),
    )


def _trigger(n: int, words: list[str]) -> tuple[int, _Trigger]:
    """Return the number and the trigger of line n from its words."""
    kinds = [word for word in words if word in ("oneshot", "multishot", "barrier")]
    values = _fields(n, [word for word in words if word not in kinds], ("id", "count"))
    if len(kinds) != 1 or "id" not in values:
        raise ValueError(f"line {n}: a trigger must have an id, and be oneshot or a barrier")
    if kinds[0] == "multishot":
        raise ValueError(f"line {n}: triggers of several shots are not read")
    if kinds[0] == "oneshot" and "count" in values:
        raise ValueError(f"line {n}: count {values['count'][:40]}: is of barriers, a oneshot needs one connection")
    needed = 1 if kinds[0] == "oneshot" else parse_whole_number(n, "count", values.get("count", ""))
    return _trigger_number(n, "id", values["id"]), _Trigger(kinds[0], needed)


def _trigger_number(n: int, name: str, word: str) -> int:
    """Return a trigger's number, at least 1, from a word of line n; otherwise ValueError, with ``name``."""
    number = parse_whole_number(n, name, word)
    if not number:
        raise ValueError(f"line {n}: {name} 0: must be at least 1, in htsim 0 is no trigger")
    return number


def _fields(n: int, words: list[str], allowed: tuple[str, ...]) -> dict[str, str]:
    """Return words of line n, names and values in turn, as a dict; ValueError for a repeated or other name."""
    names = words[::2]
    for index, name in enumerate(names):
        if name in NOT_READ:
            raise ValueError(f"line {n}: {NOT_READ[name]}")
        choice(f"line {n}", name, allowed)
        if name in names[:index]:
            raise ValueError(f"line {n}: {name} is given twice")
    if len(words) % 2:
        raise ValueError(f"line {n}: {words[-1]} must have a value")
    return dict(zip(words[::2], words[1::2], strict=True))


def _predecessors(connections: list[_Connection], triggers: dict[int, _Trigger]) -> list[list[int]]:
    """Return, for each connection, the indices of the connections that activate its trigger; [] without one."""
    activators: dict[int, list[int]] = {}
    for index, connection in enumerate(connections):
        for number in connection.activates:
            if number not in triggers:
                raise ValueError(f"line {connection.line}, trigger {number}: the file must have a line for it")
            activators.setdefault(number, []).append(index)
    predecessors = []
    for connection in connections:
        indices = [] if connection.trigger is None else activators.get(connection.trigger, [])
        predecessors.append(indices)
        if connection.trigger is None:
            continue
        subject = f"line {connection.line}, trigger {connection.trigger}"
        if connection.trigger not in triggers:
            raise ValueError(f"{subject}: the file must have a line for it")
        endless = next((k for k in indices if not connections[k].size), None)
        if endless is not None:
            msg = f"line {connections[endless].line}, which activates it, has size 0 and is infinite"
            raise ValueError(f"{subject}: {msg}")
        trigger = triggers[connection.trigger]
        if not indices:
            raise ValueError(f"{subject}: no connection activates it")
        if len(indices) != trigger.needed:
            msg = f"{trigger.kind} of {trigger.needed} that {len(indices)} connections activate is not read"
            raise ValueError(f"{subject}: a {msg}; as many must activate it")
    return predecessors
