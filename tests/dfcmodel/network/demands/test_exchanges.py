"""Collectives as messages, and reductions."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    PFC,
    Cable,
    CollectiveOptions,
    Fabric,
    Flow,
    FlowOptions,
    Flows,
    Link,
    Packets,
    TrafficOptions,
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_rounds,
    completion_bounds,
    flows_from,
    incast,
    permutation,
    random_traffic,
    read_connection_matrix,
    read_workload,
    reduce_scatter,
    simulate,
)
from dfcmodel.lossless import leaf_spine, rail_optimized
from responsefn import FixedRate
from tests.option_objects import grouped

# Messages of collective operations, executed: what each host knows at the end.

STAR = Fabric(leaf_spine(1, 1, hosts=16), buffer="1 MB", discipline=PFC(counts="switch"))


class Messages(NamedTuple):
    """Ranks of the hosts, packets, messages waited for, and the step: that after the last of those, from 0."""

    source: list[int]
    target: list[int]
    size: list[float]
    after: list[tuple[int, ...]]
    step: list[int]


def messages(operation: Callable[..., Flows], hosts: int, packets: int, **given: Any) -> Messages:
    """Return the flows of an operation as columns."""
    flows = operation(STAR.hosts[:hosts], packets, links=STAR.links, source=FixedRate(), **given)
    rank = {host: n for n, host in enumerate(STAR.hosts)}
    ends = [[rank[flow.path[at]] for flow in flows] for at in (0, -1)]
    after = [flow.after for flow in flows]
    step: list[int] = []
    for waits in after:  # each one waits for earlier ones
        step.append(1 + max((step[before] for before in waits), default=-1))
    return Messages(*ends, [flow.size for flow in flows], after, step)


RING = partial(all_reduce, algorithm="ring")
HALVING = partial(all_reduce, algorithm="halving-doubling")
TREE = partial(all_reduce, algorithm="tree")
EXCHANGES = {
    "scatter": (reduce_scatter, (2, 3, 5, 8)),
    "ring": (RING, (2, 3, 5, 8)),
    "halving-doubling": (HALVING, (2, 4, 8, 16)),
    "tree": (TREE, (2, 3, 4, 6, 13)),
    "rounds": (all_to_all_rounds, (2, 3, 6)),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_a_message_waits_for_what_came_to_its_sender_before(name: str) -> None:
    operation, counts = EXCHANGES[name]
    for hosts in counts:
        found = messages(operation, hosts, 40)
        assert {*found.source, *found.target} == set(range(hosts))
        for m, waits in enumerate(found.after):
            assert found.source[m] != found.target[m]
            for before in waits:
                came = found.target[before] == found.source[m]
                own = found.source[before] == found.source[m]
                assert came or (own and name == "rounds")


def _carried(chunks: np.ndarray, found: Messages, sent: Callable[[int], Any]) -> np.ndarray:
    """Return which hosts' data are in each chunk of each host at the end: (N, chunks, N).

    ``sent`` says which chunks a message carries; a receiver adds them to its own, as a sum does.
    """
    knows = chunks.copy()
    for m in range(len(found.source)):
        k = sent(m)
        knows[found.target[m], k] |= knows[found.source[m], k]
    return knows


@pytest.mark.parametrize("hosts", [2, 3, 5, 8])
def test_a_ring_all_reduce_brings_the_sum_to_all(hosts: int) -> None:
    found = messages(RING, hosts, hosts)
    assert len(found.source) == 2 * (hosts - 1) * hosts
    start = np.repeat(np.eye(hosts, dtype=bool)[:, np.newaxis], hosts, axis=1)
    end = _carried(start, found, lambda m: [(found.source[m] - found.step[m]) % hosts])
    assert end.all()


@pytest.mark.parametrize("hosts", [2, 4, 8, 16])
def test_halving_and_doubling_brings_the_sum_to_all(hosts: int) -> None:
    """The chunks of a message are those of its partner's half, then those that the sender has complete."""
    found = messages(HALVING, hosts, hosts)
    levels = hosts.bit_length() - 1
    start = np.repeat(np.eye(hosts, dtype=bool)[:, np.newaxis], hosts, axis=1)

    def sent(m: int) -> slice:
        step = found.step[m]
        level = step if step < levels else 2 * levels - 1 - step
        length = hosts >> (level + 1)
        owner = found.target[m] if step < levels else found.source[m]
        first = owner // length * length
        assert found.size[m] == length
        return slice(first, first + length)

    assert _carried(start, found, sent).all()


@pytest.mark.parametrize("hosts", [2, 3, 6, 13])
def test_a_tree_brings_the_sum_up_and_down(hosts: int) -> None:
    for pieces in (1, 3):
        found = messages(TREE, hosts, 10, options=CollectiveOptions(pieces=pieces))
        assert len(found.source) == 2 * (hosts - 1) * pieces
        assert sum(found.size) == 2 * (hosts - 1) * 10
    # executed for one piece: messages carry all that their sender has
    one = messages(TREE, hosts, 10)
    start = np.eye(hosts, dtype=bool)[:, np.newaxis]
    assert _carried(start, one, lambda m: [0]).all()
    for m, source in enumerate(one.source):  # what a host sends up is complete below it
        if one.target[m] < source:
            below = [n for n in (2 * source + 1, 2 * source + 2) if n < hosts]
            assert sorted(one.source[before] for before in one.after[m]) == below


@pytest.mark.parametrize("hosts", [2, 3, 6])
def test_rounds_are_permutations_that_meet_all_pairs(hosts: int) -> None:
    found = messages(all_to_all_rounds, hosts, 7)
    assert len({*zip(found.source, found.target, strict=True)}) == hosts * (hosts - 1)
    for step in range(hosts - 1):
        own = [m for m, each in enumerate(found.step) if each == step]
        for ends in (found.source, found.target):
            assert sorted(ends[m] for m in own) == list(range(hosts))


@pytest.mark.parametrize("operation", [RING, HALVING], ids=["ring", "halving-doubling"])
def test_a_host_sends_what_the_best_algorithm_must(operation) -> None:
    """2 (N - 1) / N of the array per host is the least that an all-reduce sends (Patarasuk and Yuan 2009)."""
    found = messages(operation, 8, 80)
    for ends in (found.source, found.target):
        assert (np.bincount(ends, found.size) == 2 * 7 * 10).all()


def test_chunks_hold_all_packets() -> None:
    sizes = messages(reduce_scatter, 4, 11).size
    assert sizes[:4] == [3, 3, 3, 2]
    assert sum(sizes) == 3 * 11


# Collective operations as flows, and their completion in networks where it is known.


ONE_SWITCH, TWO_TIERS = (
    Fabric(graph, Cable("100Gbps", "10m"), buffer="1 MB", discipline=PFC(counts="switch"))
    for graph in (leaf_spine(1, 1, hosts=8), leaf_spine(4, 4, hosts=4))
)
GIVEN = {"source": FixedRate(), "routes": "even"}
OPERATIONS = {
    "ring": (all_reduce, {"algorithm": "ring"}, 14),
    "halving-doubling": (all_reduce, {"algorithm": "halving-doubling"}, 6),
    "tree": (all_reduce, {"algorithm": "tree"}, 6),
    "pieces": (all_reduce, {"algorithm": "tree", "options": CollectiveOptions(pieces=4)}, None),
    "reduce-scatter": (reduce_scatter, {}, 7),
    "all-gather": (all_gather, {}, 7),
    "rounds": (all_to_all_rounds, {}, 7),
}


def _run(fabric: Fabric, flows):
    method = Packets(seed=1, recovery="none")
    return simulate(fabric.scenario("operation", flows, 0.05), method, sample=0.05)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_end_and_keep_their_order(name: str) -> None:
    operation, options, steps = OPERATIONS[name]
    flows = operation(ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **options, **GIVEN)
    run = _run(ONE_SWITCH, flows)
    assert run.status.ok
    assert np.isfinite(run.finished).all()
    for f, flow in enumerate(flows):
        ready = max((run.finished[before] for before in flow.after), default=0.0)
        assert run.started[f] == ready
    bound = completion_bounds(run.scenario).job
    assert run.finished.max() >= bound * (1 - 1e-12)
    if steps is not None:  # one switch: no two flows of a step share a link, except into a parent
        assert run.finished.max() <= 1.5 * bound


def test_steps_of_a_ring_take_the_time_of_a_chunk_in_an_empty_network() -> None:
    """Without ACKs each step of a ring at one switch is a transfer of 10 packets over two links."""
    flows = all_reduce(ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **GIVEN)
    run = _run(ONE_SWITCH, flows)
    step = 11 * 1500 * 8 / 100e9 + 2 * 50e-9
    assert np.sort(run.finished).reshape(14, 8) == pytest.approx(
        step * np.arange(1, 15)[:, np.newaxis] + np.zeros(8), rel=1e-9
    )


def test_a_delay_is_between_steps_and_starts_are_of_the_first_flows() -> None:
    flows = all_reduce(
        ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **GIVEN, options=CollectiveOptions(delay=1e-6, starts=5e-6)
    )
    run, plain = (
        _run(ONE_SWITCH, each) for each in (flows, all_reduce(ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **GIVEN))
    )
    assert run.finished.max() == pytest.approx(plain.finished.max() + 5e-6 + 13e-6, rel=1e-9)


def test_flows_of_one_connection_share_a_path() -> None:
    flows = all_reduce(TWO_TIERS.hosts, 160, source=FixedRate(), links=TWO_TIERS.links)
    paths: dict[tuple, set] = {}
    for flow in flows:
        paths.setdefault((flow.path[0], flow.path[-1]), set()).add(flow.path)
    assert len(paths) == 16
    assert all(len(each) == 1 for each in paths.values())
    spines = {path[2] for each in paths.values() for path in each if len(path) == 5}
    assert len(spines) > 1


def test_entropy_decides_the_path_of_a_flow() -> None:
    ends = [TWO_TIERS.hosts[0]] * 64, [TWO_TIERS.hosts[-1]] * 64
    given = {"source": FixedRate(), "links": TWO_TIERS.links}
    same = flows_from(*ends, **given, options=FlowOptions(entropy=np.full(64, 7)))
    assert len({flow.path for flow in same}) == 1
    assert len({flow.path for flow in flows_from(*ends, **given, options=FlowOptions(entropy="pair"))}) == 1
    for own in (np.arange(64), None):
        assert len({flow.path for flow in flows_from(*ends, **given, options=FlowOptions(entropy=own))}) == 4


# Several jobs: what a switch hashes, and the sum of their tables.

EIGHT = Fabric(leaf_spine(8, 64, hosts=64), buffer="2 MB", discipline=PFC(counts="switch"))


def _fullest_uplink(flows: Iterable[Flow]) -> int:
    """Return how many of some flows take the fullest link from a leaf to a spine."""
    return max(Counter(flow.path[1:3] for flow in flows if len(flow.path) == 5).values())


def test_jobs_of_separate_calls_collide_by_chance_only() -> None:
    """512 flows over 512 uplinks: 4 to 6 on the fullest as the Poisson distribution has it, in one call or in eight."""
    jobs = [HALVING(EIGHT.hosts[k::8], 800, links=EIGHT.links, source=FixedRate()) for k in range(8)]
    first = [flow for job in jobs for flow in job[:64]]
    together = HALVING(EIGHT.hosts, 800, links=EIGHT.links, source=FixedRate())[:512]
    assert {flow.path for flow in first} == {flow.path for flow in together}  # of equal ends
    assert _fullest_uplink(first) <= 7
    total = sum(jobs)
    assert _fullest_uplink(flow for k in range(8) for flow in total[k * 768 : k * 768 + 64]) <= 7


def test_a_path_depends_on_the_ends_of_a_flow_and_not_on_its_place() -> None:
    ends = [*itertools.permutations(TWO_TIERS.hosts, 2)]
    given = {"source": FixedRate(), "links": TWO_TIERS.links}
    paths = {(flow.path[0], flow.path[-1]): flow.path for flow in flows_from(*zip(*ends, strict=True), **given)}
    assert all(
        flow.path == paths[flow.path[0], flow.path[-1]] for flow in flows_from(*zip(*ends[::-3], strict=True), **given)
    )
    seeded = replace(TWO_TIERS, seed=1)
    other = flows_from(*zip(*ends, strict=True), source=FixedRate(), links=seeded.links)
    crossing = [flow.path for flow in other if len(flow.path) == 5]
    same = sum(path == paths[path[0], path[-1]] for path in crossing) / len(crossing)
    assert 0.1 < same < 0.4  # of four spines


@pytest.mark.parametrize("routes", ["ecmp", "even"])
def test_lists_of_flows_of_several_tables_are_chosen_as_their_sum(routes: str) -> None:
    """The second and the third table between the same hosts go on with the numbers that the switches hash."""
    given: dict[str, Any] = {"source": FixedRate(), "links": TWO_TIERS.links, "routes": routes}
    job = RING(TWO_TIERS.hosts[:8], 32, **given)
    total = sum([job, job, job])
    names = [FlowOptions(names=[f"{k}: {n}" for n in range(len(job))]) for k in range(2)]
    copies = [RING(TWO_TIERS.hosts[:8], 32, **given, options=options) for options in names]
    renamed = [replace(flow, name=f"2: {n}", after=()) for n, flow in enumerate(job)]
    flows = [*copies[0], *copies[1], *renamed]
    scenario = TWO_TIERS.scenario("x", flows, duration=1e-2)
    assert [flow.path for flow in scenario.flows] == [flow.path for flow in total]
    assert [flow.name for flow in scenario.flows] == [flow.name for flow in flows]
    if routes == "ecmp":
        assert [flow.path for flow in scenario.flows] != [flow.path for flow in flows]
    again = replace(scenario, duration=2e-2)
    assert [flow.path for flow in again.flows] == [flow.path for flow in total]
    assert pickle.loads(pickle.dumps(scenario)).flows == scenario.flows
    alone = TWO_TIERS.scenario("x", [*copies[0]], duration=1e-2)
    assert [flow.path for flow in alone.flows] == [flow.path for flow in job]
    elsewhere = replace(TWO_TIERS, seed=1)  # another hash: not the same table
    other = RING(elsewhere.hosts[:8], 32, **given | {"links": elsewhere.links})
    mixed = TWO_TIERS.scenario("x", [*copies[0], *(replace(flow, after=(), name=f"1: {n}") for n, flow in enumerate(other))], duration=1e-2)  # fmt: skip
    assert [flow.path for flow in mixed.flows[len(job) :]] == [flow.path for flow in other]


@pytest.mark.parametrize("routes", ["ecmp", "even"])
def test_tables_are_added_as_jobs_with_connections_of_their_own(routes: str) -> None:
    given: dict[str, Any] = {"source": FixedRate(), "links": TWO_TIERS.links, "routes": routes}
    one, two = HALVING(TWO_TIERS.hosts[:8], 64, **given), RING(TWO_TIERS.hosts[:8], 32, **given)
    both = one + two
    assert len(both) == len(one) + len(two)
    assert [flow.size for flow in both] == [flow.size for job in (one, two) for flow in job]
    assert [flow.after for flow in both[len(one) :]] == [tuple(len(one) + f for f in flow.after) for flow in two]
    assert [flow.after for flow in both[: len(one)]] == [flow.after for flow in one]
    twice = sum([one, one, one])
    assert len(set(twice.names)) == 3 * len(one)
    if routes == "ecmp":  # other connections of the same pairs
        assert len({flow.path for flow in twice}) > len({flow.path for flow in one})
    assert isinstance(pickle.loads(pickle.dumps(both)), Flows)
    runs = [
        simulate(TWO_TIERS.scenario("x", flows, duration=1e-2), Packets(seed=1), sample=1e-2)
        for flows in (both, tuple(both))
    ]
    assert np.array_equal(runs[0].finished, runs[1].finished)
    assert np.isfinite(runs[0].finished).all()


def test_tables_and_single_flows_are_added() -> None:
    links = TWO_TIERS.links
    path = flows_from(TWO_TIERS.hosts[:1], TWO_TIERS.hosts[-1:], source=FixedRate(), links=links)[0].path
    first = Flow("first", path, FixedRate(), size=4)
    last = Flow("last", path[::-1], FixedRate(), size=4, after=("first",))
    job = RING(TWO_TIERS.hosts[:4], 8, source=FixedRate(), links=links)
    two = first, last
    total = job + two
    assert total[-1].after == (len(job),)
    assert [*total.names][-2:] == ["first", "last"]
    assert (two + job)[1].after == (0,)
    assert 0 + job is job
    with pytest.raises(TypeError):
        job + 3
    with pytest.raises(ValueError, match="after = 'first': must be a name of a flow of its table"):
        job + two[1:]


# Servers with several interfaces.

SERVERS = Fabric(rail_optimized(4, 8, 2, groups=2), buffer="2 MB", discipline=PFC(counts="switch"))
NO_FABRIC = r"is in the server of \('host', \d+\), .* one collective per rail, of fabric.hosts\[k::8\]"


@pytest.mark.parametrize("name", EXCHANGES)
def test_a_collective_within_a_server_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=NO_FABRIC):
        EXCHANGES[name][0](SERVERS.hosts, 640, source=FixedRate(), links=SERVERS.links)


def test_other_traffic_within_a_server_is_refused_or_left_out() -> None:
    given: dict[str, Any] = {"source": FixedRate(), "links": SERVERS.links}
    for call in (
        lambda: all_to_all(SERVERS.hosts, sizes=3, **given),
        lambda: incast(SERVERS.hosts, SERVERS.hosts[0], sizes=3, **given),
        lambda: flows_from(SERVERS.hosts[:1], SERVERS.hosts[1:2], **given),
    ):
        with pytest.raises(ValueError, match=NO_FABRIC):
            call()
    with pytest.raises(ValueError, match="must be of at least two servers"):
        permutation(SERVERS.hosts[:8], sizes=3, **given)
    server = {host: n // 8 for n, host in enumerate(SERVERS.hosts)}
    for flows in (
        permutation(SERVERS.hosts, 3, sizes=3, **given),
        random_traffic(SERVERS.hosts, "web search", 0.5, 1e-3, **given),
    ):
        assert all(server[flow.path[0]] != server[flow.path[-1]] for flow in flows)
    rails = sum(RING(SERVERS.hosts[k::8], 80, **given) for k in range(8))
    run = simulate(SERVERS.scenario("rails", rails, duration=1e-2), Packets(seed=1), sample=1e-2)
    assert np.isfinite(run.finished).all()


def test_flows_of_files_without_a_path_are_named_by_their_line_or_ranks() -> None:
    given: dict[str, Any] = {"source": FixedRate(), "links": SERVERS.links}
    matrix = "Nodes 64\nConnections 2\n# between servers\n0->8 id 1 start 0 size 16384\n9->10 id 2 start 0 size 16384\n"
    with pytest.raises(ValueError, match=rf"^text: line 5, 9->10: \('host', 10\): {NO_FABRIC}"):
        read_connection_matrix(matrix, SERVERS.hosts, **given)
    step = (
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 4 all_gpus: 8\n1\na -1 10 NONE 0 10 NONE 0 10 ALLREDUCE 80000 0\n"
    )
    with pytest.raises(ValueError, match=rf"^text: ranks 0->4: \('host', 4\): {NO_FABRIC}"):
        read_workload(step, SERVERS.hosts, **given)
    one_way = [Link("a", "b", 1e6, 1e-6, 100), Link("b", "c", 1e6, 1e-6, 100), Link("a", "c", 1e6, 1e-6, 100)]
    matrix = "Nodes 3\nConnections 1\n2->0 id 1 start 0 size 1500\n"
    with pytest.raises(ValueError, match=r"^text: line 3, 2->0: 'a': there is no path"):
        read_connection_matrix(matrix, ["a", "b", "c"], source=FixedRate(), links=one_way)
    with pytest.raises(ValueError, match=r"^source"):  # of all flows, not of one of them
        read_connection_matrix(matrix, ["a", "b", "c"], source=[FixedRate()] * 3, links=one_way)


def test_old_keywords_of_flows_mean_the_same() -> None:
    old: Any = {"algorithm": "tree", "pieces": 2, "delay": "1us", "host": "nic", "starts": 1e-6}
    with pytest.warns(DeprecationWarning, match=r"write all_reduce\(options=CollectiveOptions\(host='nic', pieces=2, "):
        former = all_reduce(ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **GIVEN, **old)
    flows = all_reduce(ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **GIVEN, **grouped(all_reduce, old))
    assert list(flows) == list(former)
    traffic: Any = random_traffic
    with pytest.warns(DeprecationWarning, match=r"write random_traffic\(options=TrafficOptions\(seed=3\)\)"):
        former = traffic(ONE_SWITCH.hosts, "hadoop", 0.1, 1e-3, 3, links=ONE_SWITCH.links, **GIVEN)
    options = TrafficOptions(seed=3)
    flows = random_traffic(ONE_SWITCH.hosts, "hadoop", 0.1, 1e-3, links=ONE_SWITCH.links, **GIVEN, options=options)
    assert list(flows) == list(former)


def test_options_of_other_functions_are_refused_by_name() -> None:
    given: dict[str, Any] = {"links": ONE_SWITCH.links, **GIVEN}
    with pytest.raises(TypeError, match=r"^seed = 3: has no effect here, must be one of FlowOptions"):
        all_to_all(ONE_SWITCH.hosts, **given, options=TrafficOptions(seed=3))
    with pytest.raises(TypeError, match=r"^pieces = 3: has no effect here, only in all_reduce"):
        reduce_scatter(ONE_SWITCH.hosts, 80, **given, options=CollectiveOptions(pieces=3))
    with pytest.raises(TypeError, match=r"^options = 3: must be CollectiveOptions"):
        reduce_scatter(ONE_SWITCH.hosts, 80, **given, options=3)  # type: ignore[arg-type]
    flows = reduce_scatter(ONE_SWITCH.hosts, 80, **given, options=FlowOptions(host="nic"))
    assert {flow.host for flow in flows} == {"nic"}
