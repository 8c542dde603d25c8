"""Training workloads as flows: layers of SimAI and ASTRA-sim 1, and execution traces of MLCommons Chakra."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.network.demands.chakra_flows import TraceFlows
from dfcmodel.network.demands.chakra_traces import nodes_of_trace
from dfcmodel.network.demands.collectives import PAIR, FlowOptions, Routing, collective_hosts, options_of
from dfcmodel.network.demands.flow_files import (
    ListedFlows,
    packet_size_for,
    read_bytes,
    read_text,
    refuse_file_options,
)
from dfcmodel.network.demands.layer_workloads import flows_of_layers
from dfcmodel.network.demands.reductions import ALL_REDUCES
from dfcmodel.network.demands.waiting_flows import WaitingFlows
from dfcmodel.network.flows import Flows
from dfcmodel.network.foreign_files import WORKLOAD, foreign_format
from hopflow.callers import warn_caller
from hopflow.checks import count_of, first_of, format_value, instance, instances, integer, refuse_options
from hopflow.deprecations import takes_options
from hopflow.parameters import param, validate_parameters
from hopflow.units import WithUnit, readable_text

if TYPE_CHECKING:
    from dfcmodel.network.endpoints.sources import Source
    from dfcmodel.network.links import Link

__all__ = ["WorkloadOptions", "load_workload", "read_workload"]

RANK = re.compile(r"\.([0-9]+)\.et$")
"""Suffix of the file name of a rank's trace."""
NANOSECOND, MICROSECOND = 1e-9, 1e-6
"""Units of time of texts and of traces, s."""
MAX_TRAILING_SHARE = 0.01
"""Largest part of a rank's computation without a later flow from it that is not reported."""

MAX_LINES = MAX_NAMES = 3
"""Largest number of lines, or of names of groups, that a warning lists."""
DEFAULT_ALGORITHM = "ring"
"""Algorithm of all-reduces if `WorkloadOptions` names none."""


class _FileParameters(NamedTuple):
    """Parameters that files lack: bytes per packet, algorithm of all-reduces, s per tick, ranks of process groups."""

    packet_size: float | None
    algorithm: str
    tick: float | None
    groups: Mapping[str, Sequence[int]] | None


@validate_parameters
@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class WorkloadOptions(FlowOptions):
    """Options of `read_workload` and `load_workload`: what files lack, and options of the flows.

    Parameters
    ----------
    packet_size
        Bytes per packet; None: `Links.packet_size`, otherwise 1500. An operation has at least one packet for each rank
        of its group. A `Scenario` with packets of another size converts the bytes of each message to its packets.
    algorithm
        Algorithm of all-reduces, as for `all_reduce`. All-gathers and reduce-scatters go around a ring; in an
        all-to-all each rank exchanges an equal part with each other rank, in rounds (`all_to_all_rounds`). The bytes of
        an all-gather are each rank's contribution in a trace and in a text of ASTRA-sim 1, whose first line has no size
        except ``model_parallel_NPU_group``; in a text of SimAI they are the total. With ``checkpoints`` as the only
        other size a text may be of either, and an all-gather is refused.
    tick
        Unit of the times of computation in a text, s; None: nanoseconds, as in SimAI; ASTRA-sim 1 has cycles. Traces
        have microseconds.
    groups
        Ranks of process groups by their names in traces (``pg_name``), as in ASTRA-sim's file of groups. The group
        without a name and the group ``"0"`` have all ranks. A warning lists groups that no operation names.
    names, max_window, host, priority, delayed_acks, pacing, idle, random_idle, stop, handshake, arrivals, weight
        As for `FlowOptions`.
    after, delays, initial_window, ssthresh, quick_acks, ttl, segments, receiver, entropy
        As for `FlowOptions`; ``after`` and ``delays`` come from the file.

    Examples
    --------
    >>> from dfcmodel import WorkloadOptions
    >>> WorkloadOptions(algorithm="tree", tick="1us")
    WorkloadOptions(algorithm='tree', tick=1e-06)
    """

    packet_size: WithUnit | None = param(None, "size", at_least=1.0, hint="in bytes")
    algorithm: str = param(DEFAULT_ALGORITHM, choices=tuple(ALL_REDUCES))
    tick: WithUnit | None = param(None, "time", above=0.0, at_most=1.0, hint="in s")
    groups: Mapping[str, Sequence[int]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups is not None:
            instance("groups", self.groups, Mapping, "ranks by the names of groups")


OF_FILE = dict.fromkeys(("sizes", "starts"), "must not be given, the file has its own")


@takes_options(WorkloadOptions)
@refuse_options(**OF_FILE)
def load_workload(
    path: str | os.PathLike[str],
    hosts: Iterable[Hashable],
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    r"""Return the flows of a file, or of the files ``path.0.et``, ``path.1.et``, ... of the ranks; see `read_workload`.

    Parameters
    ----------
    path
        A file with a workload of SimAI or ASTRA-sim 1. If it does not exist: the prefix of the names of Chakra traces,
        as in ASTRA-sim's ``--workload-configuration``.
    hosts, source, links, routes, options
        As for `read_workload`.

    Raises
    ------
    ValueError
        Naming the file and the invalid line or node, or a rank whose trace is missing.
    OSError
        When a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dfcmodel import Fabric, load_workload
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=2))
    >>> file = Path(tempfile.mkdtemp()) / "step.txt"
    >>> _ = file.write_text("DATA\n1\nlayer -1 100 NONE 0 0 NONE 0 50 ALLREDUCE 60000 10\n")
    >>> len(load_workload(file, fabric.hosts, source=FixedRate(), links=fabric.links))
    24
    """
    traces = _files_of_ranks(path)
    contents = [read_bytes(trace) for trace in traces] if traces else read_text(path)
    common = {"source": source, "links": links, "routes": routes, **options_of(options, WorkloadOptions)}
    return _read(f"{path}", contents, hosts, common)


@takes_options(WorkloadOptions)
@refuse_options(**OF_FILE)
def read_workload(
    text: str | Sequence[bytes],
    hosts: Iterable[Hashable],
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    r"""Return the flows of a workload of SimAI or ASTRA-sim 1, or of execution traces of MLCommons Chakra.

    In a text each rank goes through the layers, computes, and takes part in the operation that follows: forward, then
    backward from the last layer, with the gradients of inputs and then of weights of each layer (in ``DATA`` the
    gradients of weights first, and no other operation). A rank waits for its part of an operation of the forward pass
    or of gradients of inputs before it continues. Operations of gradients of weights run concurrently with the
    following passes and with each other. A rank begins a step of an operation when its messages of the previous step
    are delivered. No flow waits for the computation after the last message that a rank sends; a warning says how long
    it is. Others name operations with bytes that exchange nothing: of groups of one rank, ``NONE``, and in ``DATA`` all
    but those of gradients of weights.

    In traces a node begins when its data and control dependencies are complete, as in ASTRA-sim 2 (where in addition a
    rank does only one computation and one communication at a time). A computation takes its duration. A sending node is
    complete when all packets are delivered, a receiving node when it has also begun; the message does not wait for the
    receiving node. The n-th sending and the n-th receiving node, by number, of one source, target and ``comm_tag``
    belong together, and so do the n-th operations of the ranks of a group. Streams do not order nodes: a warning names
    kernels of one ``stream`` that do not wait for the one before them, as in traces whose kernels wait for their
    launches alone.

    Parameters
    ----------
    text
        The contents of the file; for Chakra the contents of all ranks' files as bytes, optionally compressed by gzip
        (at most 64 MiB unpacked). In a text the second and the last word of a layer, ``ga`` and ``vpp`` are ignored; in
        traces the start times of nodes, inputs, outputs, metadata, and the attributes ``is_cpu_op``, ``num_ops``,
        ``tensor_size``, ``tensor_loc``, ``pg_name`` of messages, ``rf_id``, ``fw_parent``, ``seq_id``, ``scope``,
        ``tid``, ``fw_tid``, ``op_schema`` and ``stream``. Other unused parts are refused.
    hosts
        The nodes of ranks 0, 1, ...; at least ``all_gpus`` nodes, or one per trace. A warning names further nodes,
        which take no part. Without ``all_gpus`` all nodes take part.
    source, links, routes
        As for `flows_from`.
    options
        Bytes per packet, algorithm, unit of times, groups, and options of the flows, see `WorkloadOptions`.

    Raises
    ------
    ValueError
        Naming the line, for errors of format and unsupported parts: stages of pipelines, activations that are computed
        again, kinds of parallelism other than ``DATA`` and ``HYBRID_TRANSFORMER``, with or without ``_FWD_IN_BCKWD``;
        and for groups that do not divide the ranks. Naming the rank and the node of a trace, for versions of the schema
        other than 0.0.4 and 1.0.0, nodes of memory and storage, operations other than all-reduce, all-gather,
        reduce-scatter and all-to-all, messages that are sent and not received, computations without a duration, and
        cycles of nodes.

    Examples
    --------
    >>> from dfcmodel import Fabric, read_workload
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4))
    >>> text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 4 all_gpus: 8\n1\n"
    >>> text += "layer -1 2000 ALLREDUCE 60000 1000 NONE 0 1000 ALLREDUCE 30000 100\n"
    >>> flows = read_workload(text, fabric.hosts, source=FixedRate(), links=fabric.links)
    >>> len(flows), round(1e9 * flows[0].start), round(1e9 * flows[48].start), flows[48].after
    (64, 2000, 2000, (20, 23))
    """
    if not isinstance(text, str):
        text = instances("text", text, bytes)
    common = {"source": source, "links": links, "routes": routes, **options_of(options, WorkloadOptions)}
    return _read("text", text, hosts, common)


def _files_of_ranks(path: str | os.PathLike[str]) -> list[Path]:
    """Return the trace files ``path.0.et``, ``path.1.et``, ... of all ranks; [] if ``path`` is a file.

    Raises
    ------
    ValueError
        If the trace of a rank is missing, or a trace has no rank in its name.
    OSError
        Without a file and traces, and for a folder.
    """
    instance("path", path, (str, os.PathLike), "the path of a file, or the beginning of those of traces")
    start = Path(path)
    if rank := RANK.search(start.name):
        msg = f"is the trace of a rank, must be {f'{start}'[: -len(rank[0])]!r}"
        raise ValueError(f"path: {start.name} {msg}")
    if start.is_file():
        if start.suffix == ".et":
            raise ValueError(f"path: {start.name}: traces have names with their ranks, such as {start.stem}.0.et")
        return []
    by_rank = {
        int(rank[1]): file
        for file in start.parent.glob("*.et")
        if (rank := RANK.search(file.name)) and file.name[: rank.start()] == start.name
    }
    if not by_rank:
        if start.is_dir():
            example = next((file.name[: -len(".0.et")] for file in sorted(start.glob("*.0.et"))), "NAME")
            hint = f"Is a folder; the traces {example}.0.et, {example}.1.et, ... in it are"
            raise IsADirectoryError(errno.EISDIR, f"{hint} {f'{start / example}'!r}", f"{path}")
        message = f"No such file, and no traces {start.name}.0.et, {start.name}.1.et, ..."
        raise FileNotFoundError(errno.ENOENT, message, f"{path}")
    for n in range(max(by_rank, default=0)):
        if n not in by_rank:
            raise ValueError(f"path = {f'{path}'!r}: {start.name}.{n}.et is missing")
    return [by_rank[n] for n in sorted(by_rank)]


def _read(
    name: str,
    contents: str | Sequence[bytes],
    hosts: Iterable[Hashable],
    options: dict[str, Any],
) -> Flows:
    """Return the flows of a workload text or of traces between ``hosts``; pop files' parameters of ``options``."""
    defaults = {"packet_size": None, "algorithm": DEFAULT_ALGORITHM, "tick": None, "groups": None}
    parameters = _FileParameters(**{field: options.pop(field, default) for field, default in defaults.items()})
    refuse_file_options(options)
    nodes, options = collective_hosts(hosts, options)
    size = packet_size_for(parameters.packet_size, options)
    try:
        if isinstance(contents, str):
            flows = _of_text(contents, len(nodes), parameters, size)
        else:
            flows = _of_traces(contents, len(nodes), parameters, size)
    except ValueError as error:
        foreign = foreign_format(contents, WORKLOAD) if isinstance(contents, str) else ""
        raise ValueError(f"{name}: {foreign or error}") from None
    if not flows.size:
        raise ValueError(f"{name}: must have an operation in which more than one rank takes part")
    return flows.between(nodes, {"entropy": PAIR, **options}, name)


def _of_text(text: str, hosts: int, parameters: _FileParameters, packet_size: float) -> ListedFlows:
    """Return the flows of a workload text, between ranks below ``hosts``."""
    if parameters.groups is not None:
        raise ValueError("groups: must be None for a text, which has the sizes of groups")
    flows = flows_of_layers(text, hosts, packet_size, parameters.algorithm)
    for reason, by_name in flows.without_messages.items() if flows.size else ():
        operations = "; ".join(f"{name} of {_name_lines(lines)}" for name, lines in by_name.items())
        warn_caller(UserWarning(f"{operations}: nothing is exchanged, as {reason}"), "dfcmodel")
    return _to_listed_flows(flows, parameters.algorithm, NANOSECOND if parameters.tick is None else parameters.tick)


def _name_lines(lines: Sequence[int]) -> str:
    """Return numbers of lines as a string such as "lines 3, 7"; at most `MAX_LINES` of them."""
    numbers = sorted({*lines})
    return f"line{'s' * (len(numbers) > 1)} {first_of([*map(str, numbers)], MAX_LINES)}"


def _of_traces(contents: Sequence[bytes], hosts: int, parameters: _FileParameters, packet_size: float) -> ListedFlows:
    """Return the flows of the traces, one per rank, between ranks below ``hosts``."""
    if parameters.tick is not None:
        raise ValueError(f"tick = {parameters.tick!r}: must be None for traces, which have microseconds")
    if not 2 <= len(contents) <= hosts:
        raise ValueError(f"{count_of(len(contents), 'trace')}: must be 2 to {hosts}, the number of hosts")
    traces = []
    for rank, content in enumerate(contents):
        try:
            traces.append(nodes_of_trace(content))
        except ValueError as error:
            raise ValueError(f"rank {rank}: {error}") from None
    groups = _check_groups(parameters.groups or {}, len(traces))
    converter = TraceFlows(traces, groups, packet_size, parameters.algorithm)
    flows = converter.run()
    if flows.size and (unused := converter.unused_groups()):
        message = (
            f"groups {first_of([*map(repr, unused)], MAX_NAMES)}: no operation has such a pg_name; operations "
            "without a pg_name are of all ranks"
        )
        warn_caller(UserWarning(message), "dfcmodel")
    flows.ranks = (len(traces), count_of(len(traces), "trace"))
    if flows.size and flows.overlaps:
        overlap = flows.overlaps[0]
        also = f", and so do {overlap.nodes - 1} more nodes of the rank" if overlap.nodes > 1 else ""
        message = (
            f"rank {overlap.rank}, {overlap.later}: does not wait for {overlap.earlier}, the one before it on stream "
            f"{overlap.stream}: they run at the same time{also}. Streams are not used: add dependencies to the trace"
        )
        warn_caller(UserWarning(message), "dfcmodel")
    return _to_listed_flows(flows, parameters.algorithm, MICROSECOND)


def _to_listed_flows(flows: WaitingFlows, algorithm: str, unit: float) -> ListedFlows:
    """Return the flows with times in s (``unit`` s each); warn of computation for which no flow waits.

    Another warning names an ``algorithm`` of all-reduces, other than the default, that no operation uses.
    """
    if flows.size and not flows.has_all_reduce and algorithm != DEFAULT_ALGORITHM:
        message = f"algorithm = {algorithm!r}: no operation is an all-reduce, others go around a ring or are pairwise"
        warn_caller(UserWarning(message), "dfcmodel")
    rank, longest = max(enumerate(flows.computations), key=lambda numbered: numbered[1].trailing)
    if flows.size and longest.trailing > MAX_TRAILING_SHARE * longest.total:
        trailing, total = (readable_text(unit * time, "s") for time in (longest.trailing, longest.total))
        subject = f"rank {rank}" if len(flows.computations) > 1 else "each rank"
        message = (
            f"{subject} computes {trailing} of its {total} without sending afterwards: the workload ends up to this "
            "time after the last flow"
        )
        warn_caller(UserWarning(message), "dfcmodel")
    return flows.to_listed_flows(unit)


def _check_groups(groups: Mapping[str, Sequence[int]], ranks: int) -> dict[str, tuple[int, ...]]:
    """Return the process groups as tuples of ranks; ValueError unless members are distinct ranks."""
    checked = {}
    for name, members in groups.items():
        if f"{name}" in checked:
            raise ValueError(f"groups[{name!r}]: is the name of another group too")
        member_ranks = [integer(f"groups[{name!r}][{n}]", member, 0, ranks - 1) for n, member in enumerate(members)]
        if not member_ranks or len({*member_ranks}) < len(member_ranks):
            raise ValueError(f"groups[{name!r}] = {format_value(member_ranks)}: must be ranks, each of them once")
        checked[f"{name}"] = tuple(member_ranks)
    return checked
