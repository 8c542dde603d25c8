"""Workloads of training as flows: layers as SimAI and ASTRA-sim 1 describe them, and execution traces of MLCommons Chakra."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from dfcmodel.network.demands.chakra_flows import TraceFlows
from dfcmodel.network.demands.chakra_traces import nodes_of_trace
from dfcmodel.network.demands.collectives import PAIR, FlowsGiven, collective_hosts
from dfcmodel.network.demands.flow_files import (
    ListedFlows,
    check_given,
    packet_size_for,
    read_bytes,
    read_text,
)
from dfcmodel.network.demands.layer_workloads import flows_of_layers
from dfcmodel.network.demands.reductions import ALL_REDUCES
from dfcmodel.network.flow_tables import Flows
from hopflow.checks import choice, count_of, format_value, instance, instances, integer, one_number
from hopflow.keywords import takes_keywords
from hopflow.units import WithUnit, quantities

__all__ = ["load_workload", "read_workload"]

RANK = re.compile(r"\.([0-9]+)\.et$")
"""The end of the name of a rank's trace."""
NANOSECOND, MICROSECOND = 1e-9, 1e-6
"""Units of time of texts and of traces."""


class _Units(NamedTuple):
    """What files do not say: bytes per packet, the algorithm of all-reduces, the unit of time in s, ranks of groups."""

    packet_size: float | None
    algorithm: str
    tick: float | None
    groups: Mapping[str, Sequence[int]] | None


@quantities(tick="time", packet_size="size")
@takes_keywords(FlowsGiven)
def load_workload(
    path: str | os.PathLike[str],
    hosts: Iterable[Hashable],
    *,
    packet_size: WithUnit | None = None,
    algorithm: str = "ring",
    tick: WithUnit | None = None,
    groups: Mapping[str, Sequence[int]] | None = None,
    **given: Unpack[FlowsGiven],
) -> Flows:
    r"""Return the flows of a file, or of the files ``path.0.et``, ``path.1.et``, ... of the ranks; see `read_workload`.

    Parameters
    ----------
    path
        A file with a workload of SimAI or ASTRA-sim 1. Where there is none: the beginning of the names of traces of Chakra, as
        ASTRA-sim's ``--workload-configuration``.
    hosts, packet_size, algorithm, tick, groups, **given
        As of `read_workload`.

    Raises
    ------
    ValueError
        Naming the file, and the line or the node that cannot be used, or a rank whose trace is missing.
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
    >>> _ = file.write_text("DATA\n1\nlayer -1 100 NONE 0 50 NONE 0 50 ALLREDUCE 60000 10\n")
    >>> len(load_workload(file, fabric.hosts, source=FixedRate(), links=fabric.links))
    24
    """
    traces = _files_of_ranks(path)
    contents = [read_bytes(each) for each in traces] if traces else read_text(path)
    units = _units(packet_size, algorithm, tick, groups)
    return _read(f"{path}", contents, hosts, units, {**given})


@quantities(tick="time", packet_size="size")
@takes_keywords(FlowsGiven)
def read_workload(
    text: str | Sequence[bytes],
    hosts: Iterable[Hashable],
    *,
    packet_size: WithUnit | None = None,
    algorithm: str = "ring",
    tick: WithUnit | None = None,
    groups: Mapping[str, Sequence[int]] | None = None,
    **given: Unpack[FlowsGiven],
) -> Flows:
    r"""Return the flows of a workload of SimAI or ASTRA-sim 1, or of execution traces of MLCommons Chakra.

    In a text each rank goes through the layers, computes, and takes part in the operation that follows: forward, then backward
    from the last layer, for each the gradients of inputs and those of weights (in ``DATA`` those of weights first, and no
    operation but theirs). It waits for its part of an operation of the forward pass or of gradients of inputs before it goes on;
    operations of gradients of weights run beside what follows, and beside each other. A rank begins a step of an operation when
    what it has sent in its step before is delivered.

    In traces a node begins when those are done that it names as data or control dependencies, as in ASTRA-sim 2 (not that a rank
    does one computation and one communication at a time there). A computation takes its duration; a node that sends is done when
    all is delivered, one that receives when it has begun besides. Of one source, target and ``comm_tag`` the n-th node that sends
    and the n-th one that receives, by their numbers, belong together, and so do the n-th operations of the ranks of a group.

    Parameters
    ----------
    text
        The contents of the file; of Chakra those of the files of all ranks, as bytes, which gzip may have packed (at most 64 MiB
        unpacked). Of a text the second and the last word of a layer, ``ga`` and ``vpp`` are not used; of traces the times at which
        nodes started, inputs, outputs, metadata, and the attributes ``is_cpu_op``, ``num_ops``, ``tensor_size``, ``tensor_loc``,
        ``pg_name`` of messages, ``rf_id``, ``fw_parent``, ``seq_id``, ``scope``, ``tid``, ``fw_tid``, ``op_schema`` and ``stream``. What
        else is not used is refused.
    hosts
        The nodes that have the ranks 0, 1, ...; at least one for each of ``all_gpus`` or each trace. Without ``all_gpus`` all of them
        take part.
    packet_size
        Bytes per packet; None: those of ``links`` (`Links.packet_size`), otherwise 1500. An operation has one packet for each rank of
        its group at least. A `Scenario` with packets of another size converts the bytes of each message to these.
    algorithm
        Of all-reduces, as of `all_reduce`. All-gathers and reduce-scatters go around a ring; in an all-to-all each rank
        exchanges an equal part with each other one, in rounds (`all_to_all_rounds`). The bytes of an all-gather are
        what each rank contributes in a trace, and in a text of ASTRA-sim 1, whose first line has no size but
        ``model_parallel_NPU_group``; in a text of SimAI they are the whole.
    tick
        What a unit of the times of computation is in a text, s; None: nanoseconds, as in SimAI; ASTRA-sim 1 has cycles. Traces
        have microseconds.
    groups
        Ranks of process groups by the names that operations in traces have for them (``pg_name``), as in ASTRA-sim's file of
        groups. All ranks are the group without a name, and ``"0"``.
    **given
        ``source``, ``links``, ``routes`` and options, as of `flows_from`.

    Raises
    ------
    ValueError
        Naming the line, for what is not of the format, or what is not read: stages of pipelines, activations that are
        computed again, kinds of parallelism other than ``DATA`` and ``HYBRID_TRANSFORMER``, with or without
        ``_FWD_IN_BCKWD``; and for groups that do not divide the ranks. Naming the rank and the node of a trace, for versions of the
        schema other than 0.0.4 and 1.0.0, nodes of memory and storage, operations other than all-reduce, all-gather,
        reduce-scatter and all-to-all, messages that are sent and not received, computations of which only the number of
        operations is known, and nodes that wait in a circle.

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
    units = _units(packet_size, algorithm, tick, groups)
    return _read("text", text, hosts, units, {**given})


def _units(
    packet_size: float | None,
    algorithm: str,
    tick: float | None,
    groups: Mapping[str, Sequence[int]] | None,
) -> _Units:
    """Return what files do not say, after checking it."""
    if tick is not None:
        tick = one_number("tick", tick, above=0.0, at_most=1.0, hint="in s")
    choice("algorithm", algorithm, tuple(ALL_REDUCES))
    if groups is not None:
        instance("groups", groups, Mapping, "ranks by the names of groups")
    return _Units(packet_size, algorithm, tick, groups)


def _files_of_ranks(path: str | os.PathLike[str]) -> list[Path]:
    """Return the traces of ranks 0, 1, ... whose names begin with a path; none where the path is a file, or there are none.

    Raises
    ------
    ValueError
        Where the trace of a rank is missing.
    """
    instance("path", path, (str, os.PathLike), "the path of a file, or the beginning of those of traces")
    start = Path(path)
    if rank := RANK.search(start.name):
        msg = f"is the trace of a rank, must be {f'{start}'[: -len(rank[0])]!r}"
        raise ValueError(f"path: {start.name} {msg}")
    if start.is_file():
        return []
    found = {
        int(rank[1]): each
        for each in start.parent.glob("*.et")
        if (rank := RANK.search(each.name)) and each.name[: rank.start()] == start.name
    }
    for n in range(max(found, default=0)):
        if n not in found:
            raise ValueError(f"path = {f'{path}'!r}: {start.name}.{n}.et is missing")
    return [found[n] for n in sorted(found)]


def _read(
    name: str,
    contents: str | Sequence[bytes],
    hosts: Iterable[Hashable],
    units: _Units,
    given: dict[str, Any],
) -> Flows:
    """Return the flows of a text or of traces, which errors call by a name."""
    check_given(given)
    ends, given = collective_hosts(hosts, given)
    size = packet_size_for(units.packet_size, given)
    try:
        if isinstance(contents, str):
            found = _of_text(contents, len(ends), units, size)
        else:
            found = _of_traces(contents, len(ends), units, size)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if not found.size:
        raise ValueError(f"{name}: must have an operation in which more than one rank takes part")
    return found.between(ends, {"entropy": PAIR, **given})


def _of_text(text: str, hosts: int, units: _Units, packet_size: float) -> ListedFlows:
    """Return the flows of a text."""
    if units.groups is not None:
        raise ValueError("groups: must be None for a text, which has the sizes of groups")
    flows = flows_of_layers(text, hosts, packet_size, units.algorithm)
    return flows.listed(NANOSECOND if units.tick is None else units.tick)


def _of_traces(contents: Sequence[bytes], hosts: int, units: _Units, packet_size: float) -> ListedFlows:
    """Return the flows of the traces of all ranks."""
    if units.tick is not None:
        raise ValueError(f"tick = {units.tick!r}: must be None for traces, which have microseconds")
    if not 2 <= len(contents) <= hosts:
        raise ValueError(f"{count_of(len(contents), 'trace')}: must be 2 to {hosts}, the number of hosts")
    traces = []
    for rank, each in enumerate(contents):
        try:
            traces.append(nodes_of_trace(each))
        except ValueError as error:
            raise ValueError(f"rank {rank}: {error}") from None
    groups = _checked_groups(units.groups or {}, len(traces))
    flows = TraceFlows(traces, groups, packet_size, units.algorithm).run()
    return flows.listed(MICROSECOND)


def _checked_groups(groups: Mapping[str, Sequence[int]], ranks: int) -> dict[str, tuple[int, ...]]:
    """Return groups whose members are ranks, each once."""
    found = {}
    for name, members in groups.items():
        if f"{name}" in found:
            raise ValueError(f"groups[{name!r}]: is the name of another group too")
        own = [integer(f"groups[{name!r}][{n}]", each, 0, ranks - 1) for n, each in enumerate(members)]
        if not own or len({*own}) < len(own):
            raise ValueError(f"groups[{name!r}] = {format_value(own)}: must be ranks, each of them once")
        found[f"{name}"] = tuple(own)
    return found
