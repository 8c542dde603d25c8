"""Training steps of SimAI and ASTRA-sim as flows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.lossless import leaf_spine
from dfcmodel.lossless.topologies.topology_files import load_topology
from responsefn import FixedRate
from tests.option_objects import grouped

FABRIC = dfc.Fabric(leaf_spine(2, 4, hosts=4), buffer="1 MB", discipline=dfc.PFC(counts="switch"))
GIVEN: dict[str, Any] = {"source": FixedRate(), "links": FABRIC.links}
PACKET = 1500


def _text(*layers: str, head: str = "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 all_gpus: 8") -> str:
    """Return a file with layers."""
    return "\n".join([head, f"{len(layers)}", *layers]) + "\n"


def _layer(forward: str = "1 NONE 0", inputs: str = "1 NONE 0", weights: str = "1 NONE 0") -> str:
    return f"layer\t-1\t{forward}\t{inputs}\t{weights}\t100"


def _flows(*layers: str, **given: Any) -> dfc.Flows:
    head = {"head": given.pop("head")} if "head" in given else {}
    return dfc.read_workload(_text(*layers, **head), FABRIC.hosts, **grouped(dfc.read_workload, {**GIVEN, **given}))


def _end(flows: dfc.Flows, fabric: dfc.Fabric = FABRIC) -> float:
    """Return when all flows are complete, s."""
    run = dfc.simulate(fabric.scenario("step", flows, duration=5e-3), dfc.Packets(seed=1))
    assert np.isfinite(run.finished).all()
    return float(run.finished.max())


def _pairs(flows: dfc.Flows) -> list[tuple[object, object, float]]:
    return [(flow.path[0], flow.path[-1], flow.size) for flow in flows]


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "tree"])
def test_one_operation_is_the_collective(algorithm: str) -> None:
    """An all-reduce of all ranks has the messages of `all_reduce`, and ends with it where all paths are alike."""
    star = dfc.Fabric(leaf_spine(1, 1, hosts=8), buffer="1 MB", discipline=dfc.PFC(counts="switch"))
    given = {**GIVEN, "links": star.links}
    text, packets = _text(_layer(f"0 ALLREDUCE {400 * PACKET}")), 400
    found = dfc.read_workload(text, star.hosts, **given, options=dfc.WorkloadOptions(algorithm=algorithm))
    known = dfc.all_reduce(star.hosts, packets, algorithm, **given)
    assert _pairs(found) == _pairs(known)
    for own, other in zip(found, known, strict=True):
        assert set(other.after) <= set(own.after)
    assert _end(found, star) == pytest.approx(_end(known, star), rel=1e-9)  # of the clock


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "tree"])
def test_ranks_that_compute_alike_delay_an_operation_once(algorithm: str) -> None:
    """A rank computes while it waits for the first message of a tree, too: not again after it has come."""
    star = dfc.Fabric(leaf_spine(1, 1, hosts=8), buffer="1 MB", discipline=dfc.PFC(counts="switch"))
    given = {"links": star.links, "algorithm": algorithm}
    known, found = (_flows(_layer(f"{time} ALLREDUCE {80 * PACKET}"), **given) for time in (0, 100_000))
    assert _end(found, star) == pytest.approx(_end(known, star) + 100e-6, rel=1e-9)


def test_an_all_to_all_exchanges_equal_parts() -> None:
    found = _flows(_layer(f"0 ALLTOALL {80 * PACKET}"))
    assert _pairs(found) == _pairs(dfc.all_to_all_rounds(FABRIC.hosts, 10, **GIVEN))


def test_what_blocks_adds_up() -> None:
    """Computation and operations of a rank follow each other: forward, then backward from the last layer."""
    size = 240 * PACKET
    first = _flows(_layer(f"0 ALLGATHER {size}"))
    alone = _end(first)
    found = _flows(
        _layer(f"1000 ALLGATHER {size}", f"7000 REDUCESCATTER {size}"),
        _layer("20000 NONE 0", "300 NONE 0", "50000 NONE 0"),
    )
    assert len(found) == 2 * len(first)
    # the operation after 1 us, then 20 us, 0.3 us, 50 us and 7 us of computation, then the next one
    spread = alone / 50  # ranks do not end together, by much less than the two per cent allowed here
    assert _end(found) == pytest.approx(2 * alone + 78.3e-6, abs=spread)


def test_gradients_of_weights_run_beside_what_follows() -> None:
    """The last layer's gradients are exchanged while those of inputs of the first one are: the step is shorter than the sum."""
    head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 1 pp: 1 vpp: 8 ga: 2 all_gpus: 8 checkpoints: 0"
    exchange = f"0 ALLREDUCE {400 * PACKET}"
    weights, inputs = _layer(weights=exchange), _layer(exchange)
    both = _end(_flows(_layer("1 NONE 0", exchange), weights, head=head))
    alone = [_end(_flows(each, head=head)) for each in (weights, inputs)]
    assert max(alone) < both < 0.95 * sum(alone)


def test_data_parallelism_exchanges_gradients_of_weights_only() -> None:
    size = 80 * PACKET
    with pytest.warns(UserWarning, match="as DATA exchanges gradients of weights alone"):
        found = _flows(_layer(f"1 ALLREDUCE {size}", f"1 ALLREDUCE {size}", f"1000 ALLREDUCE {size}"), head="DATA")
    assert _pairs(found) == _pairs(dfc.all_reduce(FABRIC.hosts, 80, **GIVEN))
    assert round(1e9 * found[0].start) == 1 + 1000


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("ALLGATHER", [{0, 1}, {2, 3}, {4, 5}, {6, 7}]),
        ("ALLGATHER_EP", [{0, 2}, {1, 3}, {4, 6}, {5, 7}]),
        ("ALLGATHER_DP_EP", [{0, 4}, {1, 5}, {2, 6}, {3, 7}]),
    ],
)
def test_groups(operation: str, members: list[set[int]]) -> None:
    """Tensor groups are neighbours, expert groups go across them, and what is left across these."""
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 all_gpus: 8"
    found = _flows(_layer(f"0 {operation} {20 * PACKET}"), head=head)
    place = {host: n for n, host in enumerate(FABRIC.hosts)}
    pairs = {frozenset((place[flow.path[0]], place[flow.path[-1]])) for flow in found}
    assert pairs == {frozenset(each) for each in members}


def test_ranks_that_do_not_compute_alike_would_wait() -> None:
    """A rank forwards what it gets only when it has come to the operation: all flows of a later one wait for an earlier one."""
    found = _flows(_layer(f"0 ALLREDUCE {80 * PACKET}"), _layer(f"500 ALLREDUCE {80 * PACKET}"))
    half = len(found) // 2
    begin = [flow for flow in found[half:] if any(int(n) < half for n in flow.after)]
    assert len(begin) == len(FABRIC.hosts)
    assert {round(1e9 * flow.start) for flow in begin} == {500}
    for flow in found[half:]:
        assert flow.after  # no flow of the second one begins by the clock


def test_a_file_is_the_text_in_it(tmp_path: Path) -> None:
    text = _text(_layer(f"1 ALLREDUCE {80 * PACKET}"))
    file = tmp_path / "step.txt"
    file.write_text(text)
    assert list(dfc.load_workload(file, FABRIC.hosts, **GIVEN, options=dfc.WorkloadOptions(tick="2ns"))) == list(
        dfc.read_workload(text, FABRIC.hosts, **GIVEN, options=dfc.WorkloadOptions(tick="2ns"))
    )
    file.write_text("DATA\n")
    with pytest.raises(ValueError, match=r"step\.txt: must have the kind"):
        dfc.load_workload(file, FABRIC.hosts, **GIVEN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_text(_layer(), head="HYBRID_DLRM"), "line 1, 'HYBRID_DLRM': must be one of HYBRID_TRANSFORMER"),
        (_text(_layer(), head="HYBRID_DLRM\t4"), "line 1, 'HYBRID_DLRM': must be one of HYBRID_TRANSFORMER"),
        (_text(_layer(), head="HYBRID_CUSTOMIZED tp: x"), "line 1, 'HYBRID_CUSTOMIZED': must be one of"),
        ('{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes":\n[]}', "is a file in JSON: of Chakra"),
        (_text(_layer(), head="HYBRID_TRANSFORMER pp: 2"), "line 1, pp: 2: must be 1, stages of pipelines"),
        (_text(_layer(), head="HYBRID_TRANSFORMER checkpoints: 1"), "line 1, checkpoints: 1: must be 0"),
        (_text(_layer(), head="HYBRID_TRANSFORMER tp: 1"), "line 1, 'tp': must be one of model_parallel"),
        (_text(_layer(), head="HYBRID_TRANSFORMER all_gpus:"), "line 1: 'all_gpus:' must have a value"),
        (_text(_layer(), head="DATA ep: 2"), "line 1: DATA has one group"),
        (_text(_layer(), head="DATA all_gpus: 16"), "line 1, all_gpus: 16: must be 2 to 8"),
        (_text(_layer(), head="HYBRID_TRANSFORMER all_gpus: 8"), "line 1: model_parallel_NPU_group must be given"),
        (_text(_layer(), head="HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 3 all_gpus: 8"), "must be a multiple of tensor groups of 1"),
        ("DATA\n2\n" + _layer(), "line 2, '2': must be 1, the number of layers"),
        (_text("layer -1 1 NONE 0"), "line 3: 5 words, must be 12"),
        (_text(_layer("1 BROADCAST 8")), "line 3, 'BROADCAST': must be one of NONE, ALLREDUCE"),
        (_text(_layer("1 ALLREDUCE_X 8")), "line 3, 'ALLREDUCE_X': must be one of"),
        (_text(_layer("1 ALLREDUCE -8")), "line 3: size -8: must be a whole number"),
        (_text(_layer("1 ALLTOALL_EP 8000"), head="HYBRID_TRANSFORMER model_parallel_NPU_group: 2"), "line 3, ALLTOALL_EP: line 1 must have ep"),
        (_text(_layer("1 ALLREDUCE_DP_EP 8000"), head="DATA"), "line 3, ALLREDUCE_DP_EP: line 1 must have ep"),
        (_text(_layer()), "must have an operation in which more than one rank"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dfc.read_workload(text, FABRIC.hosts, **GIVEN)


def test_a_group_that_an_algorithm_cannot_divide_is_named() -> None:
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 6 all_gpus: 6"
    with pytest.raises(ValueError, match=r"line 3: ALLREDUCE of 6 ranks: hosts: 6 of them, must be a power"):
        _flows(_layer(f"1 ALLREDUCE {80 * PACKET}"), head=head, algorithm="halving-doubling")


def test_hosts_beyond_all_gpus_are_named() -> None:
    """A program of 16 ranks makes two groups of 8 of such a file of SimAI."""
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 4 all_gpus: 4"
    with pytest.warns(UserWarning, match=r"^text: all_gpus: 4: 4 of 8 hosts, from hosts\[4\] on, take no part"):
        flows = _flows(_layer(f"1 ALLREDUCE {80 * PACKET}"), head=head)
    assert len(flows) == 6 * 4
    assert len(_flows(_layer(f"1 ALLREDUCE {80 * PACKET}"), head=head.removesuffix(" all_gpus: 4"))) == 2 * 6 * 4


# Files of SimAI (aliyun/SimAI, example/*.txt, Apache-2.0) and of ASTRA-sim 1 in their spelling: blanks of any number, one layer's name twice,
# a last line without an end.

MICRO = """HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0
2
embedding_layer     -1 556000  ALLREDUCE   16777216      1       NONE 0        1      NONE   0      1 
embedding_layer     -1 556000  ALLREDUCE   67108864      1       NONE 0        1      NONE   0      1 """


def test_the_microbenchmark_of_simai() -> None:
    """example/microAllReduce.txt: 16 and 64 MiB over 8 ranks, 2 (n - 1) chunks of each, after 556 us of computation each."""
    found = dfc.read_workload(MICRO, FABRIC.hosts, **GIVEN)
    assert len(found) == 2 * 2 * 7 * 8
    packets = [-(-size // PACKET) for size in (2**24, 2**26)]
    assert sum(flow.size for flow in found) == 2 * 7 * sum(packets)
    assert {round(1e9 * flow.start) for flow in found[:8]} == {556_000}


@pytest.mark.parametrize(
    ("operation", "size", "rounds"),
    [
        # example/workload_analytical.txt, reduced to one group of 8: of 2 groups of 2 and 16 ranks there, stages are 12
        ("ALLGATHER", 50_331_648, 7),
        ("REDUCESCATTER", 50_331_648, 7),
        ("ALLTOALL", 25_165_824, 7),
        ("ALLREDUCE", 50_331_648, 14),
    ],
)
def test_operations_of_the_larger_example_of_simai(operation: str, size: int, rounds: int) -> None:
    """Each rank sends so many eighths of the size. The second layer computes 556 us, for which no flow waits."""
    text = MICRO.replace("ALLREDUCE   16777216", f"{operation}\t{size}").replace("ALLREDUCE   67108864", "NONE 0")  # fmt: skip
    with pytest.warns(UserWarning, match=r"each rank computes 556 µs of its 1\.112 ms without sending afterwards"):
        found = dfc.read_workload(text, FABRIC.hosts, **GIVEN)
    bytes_sent = sum(flow.size for flow in found) * PACKET
    assert bytes_sent == pytest.approx(8 * rounds * size / 8, rel=1e-3)


@pytest.mark.parametrize(
    ("head", "parts"), [("model_parallel_NPU_group: 8", 8), ("model_parallel_NPU_group: 8 all_gpus: 8", 1)]
)
def test_bytes_of_an_all_gather_are_those_of_each_rank_in_astra_sim(head: str, parts: int) -> None:
    """ASTRA-sim's Ring.cc sends the bytes of a line in each of its 7 steps, SimAI an eighth of them."""
    size = 80 * PACKET
    found = _flows(_layer(f"0 ALLGATHER {size}"), head=f"HYBRID_TRANSFORMER {head}")
    assert sum(flow.size for flow in found) * PACKET == 8 * 7 * size / 8 * parts
    other = _flows(_layer(f"0 REDUCESCATTER {size}"), head=f"HYBRID_TRANSFORMER {head}")
    assert sum(flow.size for flow in other) * PACKET == 8 * 7 * size / 8


def test_an_all_gather_of_a_text_that_may_be_of_either_program_is_refused() -> None:
    """ASTRA-sim 1 requires both words after HYBRID_TRANSFORMER_FWD_IN_BCKWD; files of aliyun/aicb of July 2024 have no others."""
    head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 checkpoints: 0 checkpoint_initiates: 0"
    size, sent = 80 * PACKET, []
    with pytest.raises(ValueError, match=rf"line 3: ALLGATHER of 8 ranks: {size} bytes are the total array in SimAI"):
        _flows(_layer(f"0 ALLGATHER {size}"), head=head)
    _flows(_layer(f"0 REDUCESCATTER {size}"), head=head)  # the total in both programs
    for advised in (f"{head} all_gpus: 8", head.partition(" checkpoints")[0]):
        sent.append(sum(flow.size for flow in _flows(_layer(f"0 ALLGATHER {size}"), head=advised)) * PACKET)
    assert sent == [7 * size, 8 * 7 * size]


def test_operations_of_groups_of_one_rank_are_named() -> None:
    """aliyun/aicb, L7B-D1-C02_Llama7B_deepspeed_zero3_A100.txt: tensor groups of one rank, and all-gathers of them."""
    layer = _layer(inputs="4756000 ALLGATHER 357468", weights=f"1 REDUCESCATTER {80 * PACKET}")
    message = (
        "ALLTOALL_EP of line 7; ALLGATHER of lines 3, 4, 5 and 1 more: nothing is exchanged, as groups have one rank"
    )
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 1 all_gpus: 8"
    with pytest.warns(UserWarning, match=message):
        _flows(*4 * [layer], _layer("1 ALLTOALL_EP 8000", "1 ALLTOALL 0"), head=head)
    _flows(_layer("1 NONE 0", "1 ALLGATHER 0", "1 ALLREDUCE 8000"), head=head)  # without bytes: warnings are errors


@pytest.mark.parametrize(
    ("inputs", "head", "message"),
    [
        ("NONE 16777216", "HYBRID_TRANSFORMER model_parallel_NPU_group: 4", "NONE of lines 3, 4: nothing is exchanged, as NONE is"),
        ("ALLGATHER 8000", "DATA", "ALLGATHER of lines 3, 4: nothing is exchanged, as DATA exchanges gradients of weights"),
    ],
)  # fmt: skip
def test_bytes_that_no_operation_exchanges_are_named(inputs, head, message) -> None:
    """A size without an operation, as where users of aliyun/SimAI write bytes into the backward passes of a file."""
    text, silent = (_layer(inputs=f"1 {part}", weights="1 ALLREDUCE 8000") for part in (inputs, "NONE 0"))
    with pytest.warns(UserWarning, match=message):
        found = _flows(text, text, head=head)
    assert _pairs(found) == _pairs(_flows(silent, silent, head=head))  # warnings are errors


def test_stages_of_the_larger_example_of_simai_are_refused() -> None:
    """example/workload_analytical.txt has 12 stages of pipelines and what these send: the whole file is refused by its first line."""
    head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 16 pp: 12 vpp: 8 ga: 24 all_gpus: 9216 checkpoints: 0 checkpoint_initiates: 0 pp_comm 50331648"
    text = head + "\n1\ngrad_gather\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLGATHER\t2807758848\t100\n"
    with pytest.raises(ValueError, match=r"line 1, pp: 12: must be 1, stages of pipelines"):
        dfc.read_workload(text, FABRIC.hosts, **GIVEN)
    with pytest.raises(ValueError, match=r"line 1, pp_comm"):
        dfc.read_workload(text.replace("pp: 12", "pp: 1"), FABRIC.hosts, **GIVEN)


@pytest.mark.parametrize(
    ("weights", "trailing"),
    [
        ("5000 NONE 0", "5 µs of its 7 µs"),
        (f"5000 ALLREDUCE {80 * PACKET}", ""),  # it waits for all computations
        ("10 NONE 0", ""),  # less than a hundredth
    ],
)
def test_computation_without_a_later_message_is_named(weights: str, trailing: str) -> None:
    """No flow waits for it, so that the flows end before the step does."""
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 4 all_gpus: 8"
    layer = _layer(f"1000 ALLREDUCE {80 * PACKET}", f"1000 ALLREDUCE {80 * PACKET}", weights)
    if not trailing:
        _flows(layer, head=head)  # warnings are errors
        return
    with pytest.warns(UserWarning, match=f"each rank computes {trailing} without sending afterwards"):
        _flows(layer, head=head)


FOREIGN = {
    "dissemination.goal": ("num_ranks 2\n\nrank 0 {\nl1: send 1b to 1 tag 0\n}\n", "is a schedule of messages (GOAL)"),
    "network.yml": ("topology: [ Ring, Switch ]\nnpus_count: [ 8, 4 ]\n", "is a network of ASTRA-sim: "),
    "fat_tree.topo": ("# 8 hosts\nNodes 8\nTiers 2\nPodsize 8\n", "is a topology of htsim: no reader"),
    "hpn.txt": (
        "3 2 1 1 2 A100\n2\n0 2 2400Gbps 0.000025ms 0\n1 2 100Gbps 500ns 0\n",
        "is a list of links of programs for ns-3",
    ),
    "star.txt": ("3 1 1 2\n2\n0 2 25000000000.0 1us 0\n1 2 25000000000.0 1us 0\n", "is a list of links of programs"),
    "flow.txt": (
        "2\n0 16 3 10000 1000000 0.13\n32 16 3 10001 1000000 0.15\n",
        "is a list of flows of programs for ns-3",
    ),
    "graph.xml": ("<?xml version='1.0'?>\n<graphml></graphml>\n", "is a file in XML: networkx reads GraphML"),
    "graph.gml": ("graph [\n  directed 1\n]\n", "is a graph in GML: networkx"),
    "system.json": ('{"scheduling-policy": "LIFO"}\n', "is a file in JSON: "),
    "dgx2.json": ('{\n  "dimensions-count": 2,\n  "units-count": [16, 16]\n}\n', "is a network of ASTRA-sim: "),
    "links.json": (
        '{"links": [], "nodes": [{"id": "a"}]}\n',
        "is a graph in JSON: networkx reads it (node_link_graph",
    ),
    "clos.clab.yml": ("name: clos\ntopology:\n  nodes:\n    leaf1: {}\n", "is a topology of containerlab: no reader"),
    "topology.dot": ('graph dc1 {\n "leaf01":"swp51" -- "spine01":"swp1"\n}\n', "is a graph in DOT: networkx reads it"),
    "ib.txt": ('#\nSwitch\t36 "S-7cfe" # "leaf" port 0\n[1]\t"H-0c42"[1]\n', "is a list of links of ibnetdiscover: "),
    "links.csv": ("source,target,rate\na,b,100Gbps\n", "is a table of links: no reader takes it; give its links"),
}
"""Files of other programs, with the beginning of the message by which readers of other formats refuse them."""
OF_READERS = {
    "matrix.cm": (
        "Nodes 2\nConnections 1\n0->1 id 1 start 0 size 9 x 1\n",
        "is a connection matrix of htsim: load_connection",
    ),
    "step.txt": ("DATA\n1\n", "is a workload of SimAI or ASTRA-sim: load_workload reads it"),
    "cables.toml": ("cables = [['a', 'b'], ['b', 'c']\n", "is a scenario or topology in TOML: load_scenario and"),
}
"""Files of hopflow's readers, with a mistake each, which only the others refuse by the format."""


def test_files_of_another_format_are_refused_by_its_name(tmp_path) -> None:
    readers = {
        "matrix.cm": lambda file: dfc.load_connection_matrix(file, FABRIC.hosts, **GIVEN),
        "step.txt": lambda file: dfc.load_workload(file, FABRIC.hosts, **GIVEN),
        "cables.toml": load_topology,
        "scenario.toml": dfc.load_scenario,
    }
    for name, (text, message) in (FOREIGN | OF_READERS).items():
        file = tmp_path / name
        file.write_text(text)
        for own, read in readers.items():
            with pytest.raises(ValueError, match=re.escape(name)) as raised:
                read(file)
            is_own = Path(own).suffix == file.suffix and name not in FOREIGN
            assert (message in str(raised.value)) != is_own, (name, own, str(raised.value))


def test_traces_that_are_not_there_are_looked_for_by_their_names(tmp_path) -> None:
    (tmp_path / "traces").mkdir()
    for file in (tmp_path / "traces" / "step.0.et", tmp_path / "step.et"):
        file.write_bytes(b"")
    for path, kind, message in (
        ("step", FileNotFoundError, r"No such file, and no traces step\.0\.et, step\.1\.et"),
        ("traces", IsADirectoryError, r"the traces step\.0\.et, .* in it are '.*traces.step'"),
        ("step.et", ValueError, r"step\.et: traces have names with their ranks, such as step\.0\.et"),
    ):
        with pytest.raises(kind, match=message):
            dfc.load_workload(tmp_path / path, FABRIC.hosts, **GIVEN)
