"""Messages of collective operations, executed: what each host knows at the end."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.network.exchanges import (
    NONE,
    Messages,
    binary_tree,
    chunk_sizes,
    halving_doubling,
    pairwise,
    ring,
    ring_all_reduce,
)

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
    ],
)
def test_bad_sizes_are_refused(call, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()
