"""Collectives as messages, and reductions."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import (
    PFC,
    Cable,
    Fabric,
    Packets,
    all_gather,
    all_reduce,
    all_to_all_rounds,
    completion_bounds,
    flows_from,
    reduce_scatter,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from dfcmodel.network.demands.exchanges import (
    NONE,
    Messages,
    binary_tree,
    chunk_sizes,
    halving_doubling,
    pairwise,
    ring,
    ring_all_reduce,
)
from responsefn import FixedRate

# Messages of collective operations, executed: what each host knows at the end.


ALL = [
    *((ring, n) for n in (2, 3, 5, 8)),
    *((ring_all_reduce, n) for n in (2, 3, 5, 8)),
    *((halving_doubling, n) for n in (2, 4, 8, 16)),
    *((binary_tree, n) for n in (2, 3, 4, 6, 13)),
    *((pairwise, n) for n in (2, 3, 6)),
]


@pytest.mark.parametrize(
    ("algorithm", "hosts"), ALL, ids=lambda each: getattr(each, "__name__", str(each))
)
def test_a_message_waits_for_what_came_to_its_sender_before(algorithm, hosts: int) -> None:
    found = algorithm(hosts, 40)
    M = len(found.source)
    assert {len(column) for column in found} == {M}
    assert (found.source != found.target).all()
    assert {*found.source, *found.target} == set(range(hosts))
    for m in range(M):
        for before in found.after[m][found.after[m] != NONE]:
            assert before < m
            assert found.step[before] < found.step[m]
            came = found.target[before] == found.source[m]
            own = found.source[before] == found.source[m]
            assert came or (own and algorithm is pairwise)


def _carried(chunks: np.ndarray, messages: Messages, sent) -> np.ndarray:
    """Return which hosts' data are in each chunk of each host at the end: (N, chunks, N).

    ``sent`` says which chunks a message carries; a receiver adds them to its own, as a sum does.
    """
    knows = chunks.copy()
    for m in range(len(messages.source)):
        k = sent(m)
        knows[messages.target[m], k] |= knows[messages.source[m], k]
    return knows


@pytest.mark.parametrize("hosts", [2, 3, 5, 8])
def test_a_ring_all_reduce_brings_the_sum_to_all(hosts: int) -> None:
    found = ring_all_reduce(hosts, hosts)
    assert len(found.source) == 2 * (hosts - 1) * hosts
    start = np.repeat(np.eye(hosts, dtype=bool)[:, np.newaxis], hosts, axis=1)
    end = _carried(start, found, lambda m: [(found.source[m] - found.step[m]) % hosts])
    assert end.all()


@pytest.mark.parametrize("hosts", [2, 4, 8, 16])
def test_halving_and_doubling_brings_the_sum_to_all(hosts: int) -> None:
    """The chunks of a message are those of its partner's half, then those that the sender has complete."""
    found = halving_doubling(hosts, hosts)
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


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("hosts", [2, 3, 6, 13])
def test_a_tree_brings_the_sum_up_and_down(hosts: int, pieces: int) -> None:
    found = binary_tree(hosts, 10, pieces)
    assert len(found.source) == 2 * (hosts - 1) * pieces
    assert found.size.sum() == 2 * (hosts - 1) * 10
    # executed for one piece: messages carry all that their sender has
    one = binary_tree(hosts, 10)
    start = np.eye(hosts, dtype=bool)[:, np.newaxis]
    assert _carried(start, one, lambda m: [0]).all()
    for m in range(len(one.source)):  # what a host sends up is complete below it
        if one.target[m] < one.source[m]:
            below = [n for n in (2 * one.source[m] + 1, 2 * one.source[m] + 2) if n < hosts]
            waits = one.after[m][one.after[m] != NONE]
            assert sorted(one.source[waits]) == below


@pytest.mark.parametrize("hosts", [2, 3, 6])
def test_rounds_are_permutations_that_meet_all_pairs(hosts: int) -> None:
    found = pairwise(hosts, 7)
    assert len({*zip(found.source, found.target, strict=True)}) == hosts * (hosts - 1)
    for step in range(hosts - 1):
        own = found.step == step
        assert sorted(found.source[own]) == sorted(found.target[own]) == list(range(hosts))


@pytest.mark.parametrize("algorithm", [ring_all_reduce, halving_doubling])
def test_a_host_sends_what_the_best_algorithm_must(algorithm) -> None:
    """2 (N - 1) / N of the array per host is the least that an all-reduce sends (Patarasuk and Yuan 2009)."""
    found = algorithm(8, 80)
    assert (np.bincount(found.source, found.size) == 2 * 7 * 10).all()
    assert (np.bincount(found.target, found.size) == 2 * 7 * 10).all()


def test_chunks_hold_all_packets() -> None:
    assert chunk_sizes(11, 4).tolist() == [3, 3, 3, 2]
    assert ring(4, 11).size.sum() == 3 * 11


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ring(4, 3), r"packets = 3: must be a whole number in 4\.\."),
        (lambda: ring(4, 4.5), r"packets = 4.5: must be a whole number"),
        (lambda: halving_doubling(6, 60), "hosts: 6 of them, must be a power of two"),
        (lambda: binary_tree(4, 10, 0), "pieces = 0: must be a whole number"),
        (lambda: binary_tree(4, 2, 3), r"packets = 2: must be a whole number in 3\.\."),
        (lambda: pairwise(4, 0), "packets = 0: must be a whole number"),
        (lambda: ring(4, "4MB"), r"packets = '4MB': .* write math.ceil\(4000000 / 4096\)"),
        (lambda: pairwise(4, "64KiB"), r"write math.ceil\(65536 / 4096\)"),
        (lambda: ring(4, "many"), "packets = 'many': must be a whole number"),
    ],
)
def test_bad_sizes_are_refused(call, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


# Collective operations as flows, and their completion in networks where it is known.


ONE_SWITCH = Fabric(
    leaf_spine(1, 1, hosts=8),
    Cable("100Gbps", "10m"),
    buffer="1 MB",
    discipline=PFC(counts="switch"),
)
TWO_TIERS = Fabric(
    leaf_spine(4, 4, hosts=4),
    Cable("100Gbps", "10m"),
    buffer="1 MB",
    discipline=PFC(counts="switch"),
)
GIVEN = {"source": FixedRate(), "routes": "even"}
OPERATIONS = {
    "ring": (all_reduce, {"algorithm": "ring"}, 14),
    "halving-doubling": (all_reduce, {"algorithm": "halving-doubling"}, 6),
    "tree": (all_reduce, {"algorithm": "tree"}, 6),
    "pieces": (all_reduce, {"algorithm": "tree", "pieces": 4}, None),
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
        ONE_SWITCH.hosts, 80, delay=1e-6, starts=5e-6, links=ONE_SWITCH.links, **GIVEN
    )
    run, plain = (
        _run(ONE_SWITCH, each)
        for each in (flows, all_reduce(ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **GIVEN))
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
    same = flows_from(*ends, entropy=np.full(64, 7), **given)
    assert len({flow.path for flow in same}) == 1
    own = flows_from(*ends, entropy=np.arange(64), **given)
    assert own == flows_from(*ends, **given)
    assert len({flow.path for flow in own}) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"algorithm": "butterfly"}, "algorithm = 'butterfly': must be one of 'ring'"),
        ({"pieces": 2}, "pieces = 2: must be 1 for algorithm = 'ring'"),
        ({"delay": -1.0}, "delay = -1"),
        ({"starts": [0.0, 1.0]}, "starts"),
        ({"sizes": 3}, "sizes: must not be given"),
        ({"after": np.zeros(3, dtype=int)}, "after: must not be given"),
        ({"entropy": [1]}, "entropy: 1 values, must be one, or one for each of 112 flows"),
        ({"entropy": [-1] * 112}, "entropy\\[0\\] = -1: must be a whole number in 0"),
        ({"entropy": [0.5] * 112}, "entropy = .*: must be a list of whole numbers"),
        ({"hosts": [("host", 0)]}, "hosts = .*: must be at least two nodes"),
    ],
)
def test_bad_arguments_are_refused(given: dict, said: str) -> None:
    options = {"hosts": ONE_SWITCH.hosts, "packets": 80, "links": ONE_SWITCH.links}
    with pytest.raises((ValueError, TypeError), match=said):
        all_reduce(**{**options, "source": FixedRate(), **given})
