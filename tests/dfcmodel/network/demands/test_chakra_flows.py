"""Chakra traces as flows: protobuf, nodes, collectives."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dfcmodel import (
    PFC,
    CollectiveOptions,
    Fabric,
    Flows,
    Packets,
    WorkloadOptions,
    all_gather,
    all_reduce,
    all_to_all_rounds,
    load_workload,
    read_workload,
    reduce_scatter,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from dfcmodel.network.demands.chakra_traces import Attributes, Kind, nodes_of_trace
from dfcmodel.network.demands.protobuf_wire import Field, fields, from_twos_complement, messages, varints, zigzag
from responsefn import FixedRate
from tests.dfcmodel.network.chakra_writer import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    ALL_TYPES,
    COLL,
    COMP,
    RECV,
    REDUCE_SCATTER,
    SEND,
    attribute,
    field,
    node,
    trace,
    varint,
)
from tests.option_objects import grouped

# Execution traces of Chakra as flows.


RANKS, PACKET = 8, 1500
STAR = Fabric(leaf_spine(1, 1, hosts=RANKS), buffer="1 MB", discipline=PFC(counts="switch"))
GIVEN: dict[str, Any] = {"source": FixedRate(), "links": STAR.links}


def _flows(*traces: bytes, **given: Any) -> Flows:
    return read_workload(traces, STAR.hosts[: len(traces)], **grouped(read_workload, {**GIVEN, **given}))


def _finished(flows: Flows) -> Any:
    """Return when the flows are complete, s."""
    run = simulate(STAR.scenario("step", flows, duration=20e-3), Packets(seed=1))
    assert np.isfinite(run.finished).all()
    return run.finished


def _end(flows: Flows) -> float:
    return float(_finished(flows).max())


def _every(*nodes: bytes, ranks: int = RANKS) -> list[bytes]:
    """Return equal traces of all ranks."""
    return ranks * [trace(*nodes)]


def _ring_all_reduce(packets: int, computation: int) -> list[bytes]:
    """Return an all-reduce around a ring as messages: each rank sends on what it has received, after a computation in us."""
    found = []
    for rank in range(RANKS):
        ends = {"comm_dst": (rank + 1) % RANKS}, {"comm_src": (rank - 1) % RANKS}
        size = {"comm_size": packets // RANKS * PACKET, "comm_tag": 3}
        nodes = [node(0, SEND, **ends[0], **size)]
        for step in range(2 * (RANKS - 1)):
            at = 3 * step
            nodes.append(node(at + 1, RECV, **ends[1], **size))
            nodes.append(node(at + 2, COMP, [at + 1], computation))
            nodes.append(node(at + 3, SEND, [at + 2], **ends[0], **size))
        found.append(trace(*nodes[:-2]))
    return found


@pytest.mark.parametrize("computation", [0, 7])
def test_messages_of_a_ring_end_with_the_collective(computation: int) -> None:
    """Traces of sends, receives and computations of an all-reduce take as long as `all_reduce` with a delay at each rank."""
    found = _flows(*_ring_all_reduce(80, computation))
    known = all_reduce(STAR.hosts, 80, **GIVEN, options=CollectiveOptions(delay=1e-6 * computation))
    assert len(found) == len(known)
    assert _end(found) == pytest.approx(_end(known), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "size", "known"),
    [
        (ALL_REDUCE, 80, lambda: all_reduce(STAR.hosts, 80, **GIVEN)),
        (REDUCE_SCATTER, 80, lambda: reduce_scatter(STAR.hosts, 80, **GIVEN)),
        (ALL_GATHER, 10, lambda: all_gather(STAR.hosts, 80, **GIVEN)),
        (ALL_TO_ALL, 80, lambda: all_to_all_rounds(STAR.hosts, 10, **GIVEN)),
    ],
)
def test_operations_are_the_collectives(kind: int, size: int, known: Callable[[], Flows]) -> None:
    """``comm_size`` is what each rank has before the operation, as in ASTRA-sim."""
    found = _flows(*_every(node(0, COLL, comm_type=kind, comm_size=size * PACKET)))
    assert _end(found) == pytest.approx(_end(known()), rel=1e-12)


@pytest.mark.parametrize("algorithm", ["halving-doubling", "tree"])
def test_the_algorithm_is_that_of_all_reduces(algorithm: str) -> None:
    found = _flows(*_every(node(0, COLL, comm_type=0, comm_size=80 * PACKET)), algorithm=algorithm)
    known = all_reduce(STAR.hosts, 80, algorithm, **GIVEN)
    assert _end(found) == pytest.approx(_end(known), rel=1e-9)


def test_computations_fold_into_delays() -> None:
    """Of computations that depend on each other the times add up; of those that do not the longest counts."""
    before = [
        node(0, COMP, (), 30),
        node(1, COMP, [0], 20),
        node(2, COMP, (), 45),
        node(3, 1, [1, 2]),
    ]
    operation = node(4, COLL, [3], comm_type=0, comm_size=80 * PACKET)
    alone = _end(_flows(*_every(node(0, COLL, comm_type=0, comm_size=80 * PACKET))))
    flows = _flows(*_every(*before, operation))
    assert _end(flows) == pytest.approx(50e-6 + alone, rel=1e-9)
    assert round(1e9 * flows[0].start) == 50_000


def test_a_flow_waits_for_each_of_two_with_a_computation_of_its_own() -> None:
    """What rank 0 sends needs a long message and a short computation, and a short message and a long computation."""
    two = [("long", 1, 1000, 5), ("short", 2, 1, 200)]
    receives = [node(n, RECV, comm_src=rank, comm_size=packets * PACKET) for n, (_, rank, packets, _) in enumerate(two)]
    computes = [node(2 + n, COMP, [n], time) for n, (*_, time) in enumerate(two)]
    first = trace(*receives, *computes, node(4, SEND, [2, 3], comm_dst=3, comm_size=PACKET))
    others = [trace(node(0, SEND, comm_dst=0, comm_size=packets * PACKET)) for *_, packets, _ in two]
    last = trace(node(0, RECV, comm_src=0, comm_size=PACKET))
    flows = _flows(first, *others, last)
    assert [flow.size for flow in flows] == [1000, 1, 1]
    assert flows[2].after == (0, 1)
    assert flows[2].delays == pytest.approx((5e-6, 200e-6))
    long, short, answer = _finished(flows)
    begun = short + 200e-6
    assert begun > long + 5e-6
    send = trace(node(0, SEND, comm_dst=1, comm_size=PACKET))
    alone = _end(_flows(send, last))
    assert answer == pytest.approx(begun + alone, rel=1e-9)


def test_a_receive_is_done_when_it_has_begun_and_all_has_come() -> None:
    """A message that comes while its receiver computes is received after the computation."""
    sends = trace(node(0, SEND, comm_dst=1, comm_size=PACKET))
    receive = node(1, RECV, [0], comm_src=0, comm_size=PACKET)
    answer = node(2, SEND, [1], comm_dst=2, comm_size=PACKET)
    last = trace(node(0, RECV, comm_src=1, comm_size=PACKET))
    flows = _flows(sends, trace(node(0, COMP, (), 100), receive, answer), last)
    first, second = _finished(flows)
    assert second == pytest.approx(100e-6 + first, rel=1e-9)


def test_messages_of_one_tag_are_in_order() -> None:
    """The n-th send of a source, a target and a tag goes to the n-th receive; other tags do not count."""
    sends = [
        node(n, SEND, comm_dst=1, comm_size=size * PACKET, comm_tag=tag)
        for n, (size, tag) in enumerate([(3, 0), (5, 1), (4, 0)])
    ]
    receives = [
        node(n, RECV, comm_src=0, comm_size=size * PACKET, comm_tag=tag)
        for n, (size, tag) in enumerate([(5, 1), (3, 0), (4, 0)])
    ]
    after = [node(3 + n, SEND, [n], comm_dst=2, comm_size=PACKET, comm_tag=n) for n in range(3)]
    last = [node(n, RECV, comm_src=1, comm_size=PACKET, comm_tag=n) for n in range(3)]
    flows = _flows(trace(*sends), trace(*receives, *after), trace(*last))
    awaited = {flow.after[0] for flow in flows if flow.after}
    assert [flows[int(n)].size for n in (*sorted(awaited),)] == [3, 5, 4]
    assert [flows[int(flow.after[0])].size for flow in flows if flow.after] == [5, 3, 4]


def test_groups_have_operations_of_their_own() -> None:
    """Of a group that has a name only its ranks take part; the group of all has no name, or "0"."""
    size = {"comm_type": ALL_REDUCE, "comm_size": 80 * PACKET}
    traces = [
        trace(
            node(0, COLL, pg_name=f"{1 + rank % 2}", **size),
            node(1, COLL, [0], pg_name="0", **size),
        )
        for rank in range(RANKS)
    ]
    flows = _flows(*traces, groups={"1": range(0, RANKS, 2), "2": range(1, RANKS, 2)})
    inside = 2 * 2 * 3 * 4
    place = {host: n for n, host in enumerate(STAR.hosts)}
    pairs = [(place[flow.path[0]], place[flow.path[-1]]) for flow in flows]
    assert len(flows) == inside + 2 * 7 * RANKS
    assert all((a - b) % 2 == 0 for a, b in pairs[:inside])
    assert not all(flow.after for flow in flows[:inside])
    assert all(flow.after for flow in flows[inside:])


def test_the_order_of_operations_is_that_of_their_numbers() -> None:
    """Two operations of one group are told apart by the order of their nodes' numbers, not by when ranks come to them."""
    one, two = ({"comm_type": ALL_REDUCE, "comm_size": size * PACKET} for size in (80, 160))
    first = [node(1, COLL, **one), node(2, COLL, **two)]
    traces = [trace(*(first if rank else reversed(first))) for rank in range(RANKS)]
    assert sorted({flow.size for flow in _flows(*traces)}) == [10, 20]
    wrong = [trace(node(1, COLL, **(two if rank == 5 else one))) for rank in range(RANKS)]
    with pytest.raises(ValueError, match="rank 0, node 1, COMM_COLL_NODE 'n1': ALL_REDUCE of 120000 bytes: node 1"):
        _flows(*wrong)


def test_a_step_of_data_parallelism_is_that_of_its_layers() -> None:
    """As Chakra's converter of texts writes it: computations in a row, and gradients of weights exchanged beside them."""
    text = "DATA\n2\na -1 30 NONE 0 20 NONE 0 40 ALLREDUCE 120000 1\nb -1 10 NONE 0 25 NONE 0 15 ALLREDUCE 240000 1\n"
    nodes = [
        node(0, COMP, (), 30),
        node(1, COMP, [0], 10),
        node(2, COMP, [1], 15),
        node(3, COLL, [2], comm_type=0, comm_size=240_000),
        node(4, COMP, [2], 25),
        node(5, COMP, [4], 40),
        node(6, COLL, [5], comm_type=0, comm_size=120_000),
    ]
    last = r"each rank computes 20 µs of its 140 µs without sending afterwards"
    with pytest.warns(UserWarning, match=last):
        known = read_workload(text, STAR.hosts, **GIVEN, options=WorkloadOptions(tick="1us"))
    assert _end(_flows(*_every(*nodes))) == pytest.approx(_end(known), rel=1e-12)


def test_computation_without_a_later_message_is_named() -> None:
    """No flow waits for it: the longest chain after the operation counts, of the rank that has the longest one."""
    operation = node(1, COLL, [0], comm_type=0, comm_size=80 * PACKET)
    before = node(0, COMP, (), 30)
    same = trace(before, operation)
    chains = [node(2, COMP, [1], 40), node(3, COMP, [2], 20), node(4, COMP, [1], 50), node(5, COMP, (), 9)]
    traces = [same, same, trace(before, operation, *chains), *(RANKS - 3) * [same]]
    with pytest.warns(UserWarning, match=r"rank 2 computes 60 µs of its 149 µs without sending afterwards"):
        flows = _flows(*traces)
    assert _end(flows) == pytest.approx(_end(_flows(*_every(before, operation))), rel=1e-12)
    again = node(6, COLL, [3, 4], comm_type=0, comm_size=80 * PACKET)
    _flows(*_every(before, operation, *chains[:3], again))  # an operation waits for all of it


def test_computation_before_a_receive_is_named() -> None:
    """The message is delivered before the receiving rank is ready for it, and no later flow shows when that is."""
    one = {"comm_src": 0, "comm_dst": 1, "comm_size": 20 * PACKET}
    early, late = node(1, SEND, **one), [node(1, COMP, (), 2000), node(2, RECV, [1], **one)]
    with pytest.warns(UserWarning, match=r"rank 1 computes 2 ms of its 2 ms without sending afterwards: .* ends up to"):
        flows = _flows(trace(early), trace(*late))
    assert _end(flows) < 1e-4
    alone = {"comm_type": ALL_REDUCE, "comm_size": 8 * PACKET, "pg_name": "self"}
    ends_alone = trace(node(1, COMP, (), 500), node(2, COLL, [1], **alone), node(3, RECV, **one))
    with pytest.warns(UserWarning, match=r"rank 1 computes 500 µs of its 500 µs without"):
        _flows(trace(early), ends_alone, groups={"self": [1]})
    answer = {**one, "comm_src": 1, "comm_dst": 0, "comm_tag": 1}
    _flows(trace(early, node(2, RECV, **answer)), trace(*late, node(3, SEND, [2], **answer)))  # shows when it is


def test_hosts_without_a_trace_are_named() -> None:
    """The files of the last ranks may be missing: a gap among the others is refused."""
    with pytest.warns(UserWarning, match=r"^text: 2 traces: 6 of 8 hosts, from hosts\[2\] on, take no part"):
        read_workload(_every(node(0, COLL, comm_type=0, comm_size=9), ranks=2), STAR.hosts, **GIVEN)


def test_groups_that_no_operation_names_are_named() -> None:
    """Converters before the schema had ``pg_name`` leave it out: an operation is then of all ranks."""
    groups = {f"{n}": [n, n + 1] for n in range(1, 6)}
    with pytest.warns(
        UserWarning, match=r"groups '1', '2', '3' and 2 more: no operation has such a pg_name; operations"
    ):
        flows = _flows(*_every(node(0, COLL, comm_type=ALL_REDUCE, comm_size=80 * PACKET)), groups=groups)
    assert len(flows) == 14 * RANKS
    halves = {"low": range(4), "high": range(4, 8)}
    of_groups = [
        trace(node(0, COLL, comm_type=ALL_REDUCE, comm_size=PACKET, pg_name=name))
        for name in ("low", "high")
        for _ in range(4)
    ]
    _flows(*of_groups, groups=halves)


def test_an_algorithm_that_no_operation_uses_is_named() -> None:
    message = "algorithm = 'tree': no operation is an all-reduce"
    with pytest.warns(UserWarning, match=message):
        _flows(*_every(node(0, COLL, comm_type=ALL_GATHER, comm_size=PACKET)), algorithm="tree")
    text = "DATA\n1\na -1 0 NONE 0 0 NONE 0 0 REDUCESCATTER 120000 1\n"
    with pytest.warns(UserWarning, match=message):
        read_workload(text, STAR.hosts, **GIVEN, options=WorkloadOptions(algorithm="tree"))
    read_workload(
        text.replace("REDUCESCATTER", "ALLREDUCE"), STAR.hosts, **GIVEN, options=WorkloadOptions(algorithm="tree")
    )


def _kernels(*streams: int, needs: int = 0) -> bytes:
    """Return a launch per kernel on the host, with stream 0 as converters write it, and kernels that wait for it.

    The first ``needs`` kernels after the first one also wait for the kernel before.
    """
    nodes = []
    for n, stream in enumerate(streams):
        nodes.append(node(2 * n, COMP, [2 * n - 2] if n else [], 5, is_cpu_op=1, stream=0))
        after = [2 * n, *([2 * n - 1] if 0 < n <= needs else [])]
        kernel = {"comm_type": ALL_REDUCE, "comm_size": 8 * PACKET} if n == len(streams) - 1 else {}
        nodes.append(
            node(2 * n + 1, COLL if kernel else COMP, after, 0 if kernel else 500, is_cpu_op=0, stream=stream, **kernel)
        )
    return trace(*nodes)


def test_kernels_that_only_their_stream_orders_are_named() -> None:
    """On a stream kernels run in order; here they run as soon as their launches, which is said."""
    both = _flows(*RANKS * [_kernels(7, 7, needs=1)])
    assert float(both[0].start) == pytest.approx(505e-6)
    message = (
        r"rank 0, node 3, COMM_COLL_NODE 'n3': does not wait for node 1, COMP_NODE 'n1', the one before it on stream 7: "
        r"they run at the same time\. Streams are not used: add dependencies to the trace"
    )
    trailing = "without sending afterwards"
    with pytest.warns(UserWarning, match=trailing), pytest.warns(UserWarning, match=message):
        early = _flows(*RANKS * [_kernels(7, 7)])
    assert float(early[0].start) == pytest.approx(10e-6)
    message = "rank 5, node 5, .*node 3, .*stream 20: .*at the same time, and so do 2 more"
    with pytest.warns(UserWarning, match=trailing), pytest.warns(UserWarning, match=message):
        _flows(*5 * [_kernels(7, 7, needs=1)], _kernels(7, 20, 20, 7, 20), *2 * [_kernels(7, 7, needs=1)])


@pytest.mark.parametrize("streams", [(7, 20), (7, 8, 20)])
def test_kernels_on_several_streams_may_run_at_the_same_time(streams: tuple[int, ...]) -> None:
    with pytest.warns(UserWarning, match="without sending afterwards") as warned:
        _flows(*RANKS * [_kernels(*streams)])
    assert not [each for each in warned if "stream" in f"{each.message}"]


def test_files_of_ranks(tmp_path: Path) -> None:
    """The files of ranks have a beginning in common, then the number of the rank."""
    for rank, data in enumerate(_ring_all_reduce(80, 7)):
        (tmp_path / f"step.{rank}.et").write_bytes(data)
    (tmp_path / "step.txt.0.et").write_bytes(b"of another workload")
    found = load_workload(tmp_path / "step", STAR.hosts, **GIVEN)
    assert list(found) == list(_flows(*_ring_all_reduce(80, 7)))
    (tmp_path / "step.3.et").unlink()
    with pytest.raises(ValueError, match=r"path = '.*step': step\.3\.et is missing"):
        load_workload(tmp_path / "step", STAR.hosts, **GIVEN)
    with pytest.raises(FileNotFoundError):
        load_workload(tmp_path / "nothing", STAR.hosts, **GIVEN)
    with pytest.raises(ValueError, match=r"step\.0\.et is the trace of a rank, must be .*step'"):
        load_workload(tmp_path / "step.0.et", STAR.hosts, **GIVEN)


SIZE = {"comm_size": PACKET}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tick": 1e-6}, "tick = 1e-06: must be None for traces"),
        ({"groups": {"a": (0, 0)}}, r"groups\['a'\] = .*: must be ranks, each of them once"),
        ({"groups": {"a": ()}}, r"groups\['a'\] = .*: must be ranks"),
        ({"groups": {"a": (0, 8)}}, r"groups\['a'\]\[1\] = 8: must be"),
        ({"algorithm": "halving-doubling", "groups": {"0": range(6)}}, "6 of them, must be a power of two"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(given: dict[str, Any], message: str) -> None:
    traces = [trace(node(0, COLL, comm_type=0, **SIZE)) for _ in range(6)] + 2 * [trace()]
    if "algorithm" in given:
        traces = [trace(node(0, COLL, comm_type=0, pg_name="0", **SIZE)) for _ in range(6)] + 2 * [trace()]
    with pytest.raises(ValueError, match=message):
        _flows(*traces, **given)


# Traces that are examples of ASTRA-sim (astra-sim/astra-sim, examples/workload/microbenchmarks and examples/system, MIT), node for
# node; they are written here.

MEBIBYTE = 2**20


@pytest.mark.parametrize(
    ("kind", "messages", "size", "known"),
    [
        # all_reduce/8npus_1MB: 2 (n - 1) rounds of a chunk of 1 MiB / 8 from each rank
        (ALL_REDUCE, 112, 14 * MEBIBYTE, lambda: all_reduce(STAR.hosts, 700, **GIVEN)),
        # all_gather/8npus_1MB: 1 MiB of each rank goes to the 7 others
        (ALL_GATHER, 56, 56 * MEBIBYTE, lambda: all_gather(STAR.hosts, 5600, **GIVEN)),
        # reduce_scatter/8npus_1MB: n - 1 rounds of a chunk from each rank
        (REDUCE_SCATTER, 56, 7 * MEBIBYTE, lambda: reduce_scatter(STAR.hosts, 700, **GIVEN)),
        # all_to_all/8npus_1MB: an eighth of 1 MiB to each of the 7 others
        (ALL_TO_ALL, 56, 7 * MEBIBYTE, lambda: all_to_all_rounds(STAR.hosts, 88, **GIVEN)),
    ],
)
def test_microbenchmarks_of_astra_sim(kind: int, messages: int, size: int, known: Callable[[], Flows]) -> None:
    operation = node(1, COLL, is_cpu_op=[False], comm_type=kind, comm_size=MEBIBYTE)
    found = _flows(*_every(operation))
    assert len(found) == messages
    assert sum(flow.size for flow in found) * PACKET == pytest.approx(size, rel=0.01)  # whole packets
    assert _end(found) == pytest.approx(_end(known()), rel=1e-3)


def test_the_custom_ring_of_astra_sim() -> None:
    """custom_ring_allreduce_8npus_1MB: messages of 131,072 bytes with ``comm_type``, and 7 us of computation after 7 receives."""
    chunk = {"comm_size": MEBIBYTE // 8}
    traces = []
    for rank in range(RANKS):
        sent = {"comm_type": 5, **chunk, "comm_dst": (rank + 1) % RANKS, "comm_tag": 0}
        received = {"comm_type": 6, **chunk, "comm_src": (rank - 1) % RANKS, "comm_tag": 0}
        nodes = [node(0, SEND, **sent)]
        for step in range(1, 15):
            at = len(nodes)
            nodes.append(node(at, RECV, [at - 1], **received))
            if step < 8:
                nodes.append(node(at + 1, COMP, [at], 7))
            if step < 14:
                nodes.append(node(len(nodes), SEND, [len(nodes) - 1], **sent))
        assert len(nodes) == 35
        traces.append(trace(*nodes))
    found = _flows(*traces)
    assert len(found) == 2 * 7 * 8
    assert {flow.size for flow in found} == {88.0}
    known = all_reduce(STAR.hosts, 88 * RANKS, **GIVEN)
    assert _end(found) == pytest.approx(_end(known) + 49e-6, rel=1e-3)


# Nodes of execution traces of Chakra.


def test_a_trace_of_the_library_is_read() -> None:
    """Integers of every encoding, their signs, fixed widths, strings and truth values are as they were given to the library."""
    found = nodes_of_trace(ALL_TYPES)
    assert list(found) == [300, 301, 302]
    assert [each.kind for each in found.values()] == [
        Kind.COMP_NODE,
        Kind.COMM_COLL_NODE,
        Kind.METADATA_NODE,
    ]
    assert found[300].name == "all types"
    assert found[300].duration == 12345678
    assert found[300].attributes == {
        "double": 1.25, "float": -0.5, "int32": -7, "int64": -(2**63), "uint32": 2**32 - 1, "uint64": 2**64 - 1,
        "sint32": -(2**31), "sint64": 2**63 - 1, "fixed32": 17, "fixed64": 2**40, "sfixed32": -18, "sfixed64": -(2**40),
        "bool": 1, "bool_list": (True, False, True), "string": "grün",
    }  # fmt: skip
    assert found[301].needs == (300, 302)
    assert found[301].attributes == {"comm_type": 0, "comm_size": 1 << 20}


def test_compressed_traces() -> None:
    assert nodes_of_trace(gzip.compress(ALL_TYPES)) == nodes_of_trace(ALL_TYPES)
    with pytest.raises(ValueError, match="no trace of Chakra: Compressed file ended"):
        nodes_of_trace(gzip.compress(ALL_TYPES)[:-9])


@pytest.mark.parametrize("version", ["0.0.4", "1.0.0"])
def test_versions(version: str) -> None:
    """The version is a field, or the end of the attribute that names the schema, as Chakra's converters write it."""
    one = node(3, COMP, duration=5)
    schema = field(2, attribute("schema", f"1.0.2-chakra.{version}"))
    for found in (
        trace(one, version=version),
        varint(len(schema)) + schema + varint(len(one)) + one,
    ):
        assert nodes_of_trace(found)[3].duration == 5


@pytest.mark.parametrize(
    ("value", "message"),
    [("many", "n: 'many': must be a whole number"), (-1, "n: -1: must be a whole number")],
)
def test_attributes_that_are_no_numbers(value: int | str, message: str) -> None:
    attributes = nodes_of_trace(trace(node(0, COMP, n=value)))[0].attributes
    with pytest.raises(ValueError, match=message):
        attributes.whole_number("n")
    with pytest.raises(ValueError, match="m: must be given"):
        attributes.whole_number("m")
    assert attributes.whole_number("m", 7) == 7


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0.5, (True,)])
def test_numbers_that_are_not_whole_are_refused(value: float | tuple[bool, ...]) -> None:
    with pytest.raises(ValueError, match=r"n: .*: must be a whole number of at least 0"):
        Attributes(n=value).whole_number("n")
    assert Attributes(n=3.0).whole_number("n") == 3


# Protocol Buffers: fields and messages, against what Google's library writes.


def test_integers_come_back() -> None:
    numbers = [0, 1, 127, 128, 300, 2**32, 2**63 - 1, 2**64 - 1]
    for number in (*numbers, *map(int, np.random.default_rng(1).integers(0, 2**62, 50))):
        (found,) = fields(field(5, number))
        assert found == Field(5, 0, number)
        assert list(varints(found)) == [number]
        assert list(varints(Field(5, 2, varint(number) + varint(7)))) == [number, 7]


@pytest.mark.parametrize("number", [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])
def test_signs(number: int) -> None:
    """A signed integer is its two's complement; zigzag has 0, -1, 1, -2, ... as 0, 1, 2, 3, ..."""
    assert from_twos_complement(next(varints(Field(1, 2, varint(number))))) == number
    assert zigzag(2 * number if number >= 0 else -2 * number - 1) == number


def test_messages_of_the_library() -> None:
    found = [[each.number for each in fields(message)] for message in messages(ALL_TYPES)]
    assert found == [[1, 2], [1, 2, 3, 6, 7, 8, *17 * [10]], [1, 2, 3, 4, 5, 10, 10], [1, 3]]
    _, node, _, _ = messages(ALL_TYPES)
    attributes = [list(fields(each.content())) for each in fields(node) if each.number == 10]
    names = [own[0].text() for own in attributes]
    double = attributes[names.index("double")][-1]
    assert double.number_of("<d") == struct.unpack("<d", double.content())[0] == 1.25
    assert attributes[names.index("string")][-1].text() == "grün"


def test_an_end_within_a_message_is_an_error() -> None:
    """Data that are cut off are refused unless they end with a message."""
    ends = np.cumsum([len(varint(len(each)) + each) for each in messages(ALL_TYPES)])
    for length in range(1, len(ALL_TYPES)):
        if length in ends:
            assert len(list(messages(ALL_TYPES[:length]))) == 1 + int(np.searchsorted(ends, length))
        else:
            with pytest.raises(ValueError, match="byte"):
                list(messages(ALL_TYPES[:length]))
