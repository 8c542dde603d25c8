"""Messages of collective operations and their dependencies, as columns of whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.checks import integer
from hopflow.units import quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = [
    "NONE",
    "Messages",
    "binary_tree",
    "halving_doubling",
    "pairwise",
    "refuse_bytes",
    "ring",
    "ring_all_reduce",
]

NONE = -1
"""Index in ``after`` for no predecessor."""


class Messages(NamedTuple):
    """The M messages of a collective operation, in an order in which each waits for earlier messages only.

    Parameters
    ----------
    source, target
        Ranks of the hosts, shape (M,).
    size
        Packets of each message, shape (M,).
    after
        Messages that must be delivered first, padded with `NONE`, shape (M, K).
    step
        The step of the algorithm, from 0, shape (M,).
    """

    source: Integers
    target: Integers
    size: Integers
    after: Integers
    step: Integers


def chunk_sizes(packets: int, chunks: int, owner: str = "the chunk of each host") -> Integers:
    """Return the packets of each of ``chunks`` chunks, (chunks,); they differ by at most one packet.

    Raises
    ------
    ValueError
        For fewer packets than chunks; ``owner`` names the chunk.

    Examples
    --------
    >>> chunk_sizes(10, 4)
    array([3, 3, 2, 2])
    """
    packets = integer("packets", packets, chunks, 10**12, why=f"one for {owner} at least")
    return np.asarray(packets // chunks + (np.arange(chunks) < packets % chunks), dtype=np.int64)


def refuse_bytes(packets: object, packet_size: float | None) -> None:
    """Raise ValueError for a size in bytes, such as "1 MB", in place of a number of packets; says how to convert it."""
    if not isinstance(packets, str):
        return
    try:
        size = quantity("packets", packets, "size")
    except ValueError:
        return
    divisor = "packet_size" if packet_size is None else f"{packet_size:.12g}"
    msg = f"must be a number of packets: for packets of {divisor} bytes write math.ceil({size:.12g} / {divisor})"
    raise ValueError(f"packets = {packets!r}: {msg}")


def ring(hosts: int, packets: int, rounds: int = 1) -> Messages:
    """Return the messages around a ring of a reduce-scatter or an all-gather, or of an all-reduce with ``rounds=2``.

    In step s host i sends chunk i - s to host i + 1 (modulo their number), once the message of the previous step has
    come from host i - 1. There are hosts - 1 steps per round (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2),
    2009).

    Parameters
    ----------
    hosts
        Number N of hosts, at least 2.
    packets
        Packets of the total array, at least N.
    rounds
        1, or 2 for a reduce-scatter that an all-gather follows.

    Examples
    --------
    >>> messages = ring(3, 3)
    >>> messages.target.tolist(), messages.after[:, 0].tolist()
    ([1, 2, 0, 1, 2, 0], [-1, -1, -1, 2, 0, 1])
    """
    sizes, steps = chunk_sizes(packets, hosts), rounds * (hosts - 1)
    step, source = (axis.reshape(-1) for axis in np.indices((steps, hosts)))
    before = (step - 1) * hosts + (source - 1) % hosts
    return Messages(
        source,
        (source + 1) % hosts,
        sizes[(source - step) % hosts],
        np.where(step > 0, before, NONE)[:, np.newaxis],
        step,
    )


def ring_all_reduce(hosts: int, packets: int) -> Messages:
    """Return the messages of an all-reduce around a ring: 2 (N - 1) steps of N messages, see `ring`."""
    return ring(hosts, packets, 2)


def halving_doubling(hosts: int, packets: int) -> Messages:
    """Return the messages of an all-reduce by recursive halving and doubling among a power of 2 of hosts.

    In a reduce-scatter hosts exchange halves of their remaining chunks, with partners at half the distance in each
    step, and an all-gather goes back the same way (Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl.
    19(1), 2005). A message waits for the message of the previous step to its sender.

    Parameters
    ----------
    hosts
        N, a power of two, at least 2.
    packets
        Packets of the total array, at least N.

    Raises
    ------
    ValueError
        For any other number of hosts.

    Examples
    --------
    >>> messages = halving_doubling(4, 8)
    >>> messages.target[:4].tolist(), messages.size.reshape(4, 4)[:, 0].tolist()
    ([2, 3, 0, 1], [4, 2, 2, 4])
    """
    levels = hosts.bit_length() - 1
    if 1 << levels != hosts:
        raise ValueError(f"hosts: {hosts} of them, must be a power of two for halving and doubling")
    sums = np.concatenate([[0], np.cumsum(chunk_sizes(packets, hosts))])
    step, source = (axis.reshape(-1) for axis in np.indices((2 * levels, hosts)))
    halving = step < levels
    level = np.where(halving, step, 2 * levels - 1 - step)
    length = hosts >> (level + 1)
    target = source ^ length
    owner = np.where(halving, target, source)  # halving: the partner continues with this part
    first = owner // length * length
    before = (step - 1) * hosts + target[(step - 1) * hosts + source]
    after = np.where(step > 0, before, NONE)[:, np.newaxis]
    return Messages(source, target, sums[first + length] - sums[first], after, step)


def binary_tree(hosts: int, packets: int, pieces: int = 1) -> Messages:
    """Return the messages of an all-reduce: sums go up a binary tree to host 0, then the result goes down.

    The children of host i are 2 i + 1 and 2 i + 2. A message up waits for the messages of its sender's children. A
    message down waits for the message to its sender, at the root for the messages of its children. Each also waits for
    the previous piece.

    Parameters
    ----------
    hosts
        Number N of hosts, at least 2.
    packets
        Packets of the total array, at least ``pieces``.
    pieces
        Pieces that follow each other through the tree.

    Examples
    --------
    >>> messages = binary_tree(3, 5)
    >>> list(zip(messages.source.tolist(), messages.target.tolist())), messages.after[2].tolist()
    ([(1, 0), (2, 0), (0, 1), (0, 2)], [0, 1, -1])
    """
    pieces = integer("pieces", pieces, 1, 10**6)
    sizes = chunk_sizes(packets, pieces, "each piece")
    child = np.arange(1, hosts)
    parent, edges = (child - 1) // 2, hosts - 1
    depth = np.frexp(child + 1)[1] - 1  # depth of each child; the root has 0
    deepest = int(depth.max())
    # messages of a piece: all edges up, then all edges down; edge e belongs to child e + 1
    grandchildren = np.stack([2 * child + 1, 2 * child + 2])
    up = np.where(grandchildren < hosts, grandchildren - 1, NONE)
    to_root = np.array([0, 1 if hosts > 2 else NONE])[:, np.newaxis]
    down = np.where(parent == 0, to_root, np.array([[0], [NONE]]))
    down[0] = np.where(parent == 0, down[0], edges + parent - 1)
    within = np.concatenate([up, down], axis=1)
    messages = 2 * edges
    piece = np.repeat(np.arange(pieces), messages)
    after = np.tile(within, pieces)
    after = np.where(after == NONE, NONE, after + piece * messages)
    before = np.where(piece > 0, np.arange(pieces * messages) - messages, NONE)
    step = np.concatenate([deepest - depth, deepest + depth - 1])
    # messages of `after` must precede: edges up come from the deepest hosts first
    order = np.argsort(np.tile(step, pieces) + piece * (2 * deepest + 1), kind="stable")
    position = np.empty(len(order) + 1, dtype=np.int64)
    position[order], position[NONE] = np.arange(len(order)), NONE
    endpoints = np.concatenate([child, parent]), np.concatenate([parent, child])
    source, target = (np.tile(end, pieces)[order] for end in endpoints)
    waits = position[np.vstack([after, before])].T[order]
    return Messages(source, target, sizes[piece][order], waits, (np.tile(step, pieces) + piece)[order])


def pairwise(hosts: int, packets: int) -> Messages:
    """Return the messages of an all-to-all; in round r host i sends ``packets`` to host i + r.

    A host begins a round when it has sent and received the previous round's messages.

    Parameters
    ----------
    hosts
        Number N of hosts, at least 2.
    packets
        Packets from each host to each other host.

    Examples
    --------
    >>> messages = pairwise(3, 7)
    >>> messages.target.tolist(), messages.after[3].tolist()
    ([1, 2, 0, 2, 0, 1], [0, 2])
    """
    packets = integer("packets", packets, 1, 10**12)
    step, source = (axis.reshape(-1) for axis in np.indices((hosts - 1, hosts)))
    round_before = (step - 1) * hosts
    sent = round_before + source
    received = round_before + (source - step) % hosts  # the previous round has r = step
    after = np.where(step > 0, np.stack([sent, received]), NONE).T
    size = np.full(len(step), packets)
    return Messages(source, (source + step + 1) % hosts, size, after, step)
