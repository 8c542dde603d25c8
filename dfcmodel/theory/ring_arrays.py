"""Compiled version of `law.bare_law` for large rings: many nodes, many flows.

Each flow has its own ring. The state of a node is three numbers, advanced in place: the packets n,
the packets J sent one period ago, now in transit, and the feedback w = J - D n in transit upstream
(for alpha = 1 the rate is also the nominal rate).

A ring larger than the cache is divided into tiles, each advanced by several periods while it is in
the cache. A node depends on its neighbours one period ago, so a tile moves one node upstream per
period; period p begins with node p, so that no tile is cut by the seam of the ring.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.checks import integer, one_number
from hopflow.kernels import make_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["TILE", "advance_rings"]

TILE = 16384
"""Nodes per tile: 400 kB."""
PERIODS_PER_TILE = 16
"""Number of periods by which a tile is advanced while it is in the cache."""
MIN_COPIED_PERIODS = 16
"""Minimum number of periods for which rows that fit into a tile are copied. Copies are aligned to 32 bytes, rows of
NumPy arrays to 16 bytes, for which the loop is up to 1.7 times slower."""


def advance_node(i: int, message: float, D: float, left: float, n: Floats, J: Floats, w: Floats) -> float:
    """Advance node i a period in place by ``left`` arrivals and feedback ``message``; return J of the period before."""
    queue = n[i]
    rate = message + D * queue
    arrivals = left
    left = J[i]
    J[i] = rate
    w[i] = rate - D * queue
    n[i] = queue + arrivals - rate
    return left


def advance_nodes(D: float, left: float, n: Floats, J: Floats, w: Floats) -> float:
    """Advance N nodes a period in place: packets n, sent J, feedback w, (N + 1,); return the last one's former J."""
    for i in range(n.shape[0]):
        left = advance_node(i, w[i + 1], D, left, n, J, w)
    return left


class State(NamedTuple):
    """Rings of nodes, one per row: packets, packets sent one period ago, and feedback of one period ago."""

    packets: Floats
    sent: Floats
    feedback: Floats


def rings(first: int, end: int, periods: int, D: float, state: State, seam: Floats, copies: Floats) -> None:
    """Kernel: advance rows ``first`` .. ``end`` - 1 of ``state`` by ``periods``; ``seam`` and ``copies`` are scratch.

    ``seam[p]`` is scratch space for period p of a tile: the arrivals of its next node, and the
    previous feedback of its first node. ``copies``, shape (3, N), is room for a row.
    """
    packets, sent, feedback = state
    N = packets.shape[1]
    together = PERIODS_PER_TILE if N > TILE else 1
    copied = N <= TILE and periods >= MIN_COPIED_PERIODS
    for f in range(first, end):
        n, J, w = packets[f], sent[f], feedback[f]
        if copied:
            n, J, w = copies[0], copies[1], copies[2]
            for i in range(N):
                n[i], J[i], w[i] = packets[f, i], sent[f, i], feedback[f, i]
        for begin in range(0, periods, together):
            count = min(together, periods - begin)
            for at in range(0, N + 2 * count, TILE):
                for p in range(count):
                    a = p + max(0, at - 2 * p)  # nodes; N is node 0 again
                    b = p + min(N, at + TILE - 2 * p)
                    if a >= b:
                        continue
                    left = seam[p, 0]
                    if a == p:
                        left = J[(p - 1) % N]
                        seam[p, 1] = w[p]
                    i = min(b, N - 1)
                    left = advance_nodes(D, left, n[a:i], J[a:i], w[a : i + 1])
                    if a < N <= b:  # across the seam
                        left = advance_node(N - 1, w[0] if p > 0 else seam[p, 1], D, left, n, J, w)
                    for i in range(max(a, N) - N, min(b - N, p - 1)):
                        left = advance_node(i, w[i + 1], D, left, n, J, w)
                    if b == N + p > N:  # the last node: its neighbour was advanced already
                        left = advance_node(p - 1, seam[p, 1], D, left, n, J, w)
                    seam[p, 0] = left
        if copied:
            for i in range(N):
                packets[f, i], sent[f, i], feedback[f, i] = n[i], J[i], w[i]


def advance_rings(
    packets: Floats,
    sent: Floats,
    told: Floats,
    diffusion: float,
    periods: int,
    *,
    threads: int = 1,
) -> None:
    """Advance rings in place, each array (rings, nodes), by a number of periods, without clipping or sharing.

    Parameters
    ----------
    packets
        n of every flow and node, shape (F, N), contiguous float64.
    sent
        J of one period ago, packets per period, shape (F, N).
    told
        w = J - D n of one period ago, shape (F, N).
    diffusion
        D per period, > 0.
    periods
        Number of periods, one per link delay.
    threads
        Number of threads among which the flows are divided.

    Raises
    ------
    ValueError
        For a parameter out of range, or arrays of different shapes or wrong type.

    Examples
    --------
    >>> import numpy as np
    >>> packets = np.array([[100.0, 0.0, 0.0, 0.0]])
    >>> advance_rings(packets, 0.1 * packets, np.zeros((1, 4)), 0.1, 2)
    >>> packets.round(6).tolist()
    [[81.0, 19.0, 0.0, 0.0]]
    """
    one_number("diffusion", diffusion, above=0.0)
    periods = integer("periods", periods, 0, 10**9)
    threads = integer("threads", threads, 1, 1024)
    for name, array in (("packets", packets), ("sent", sent), ("told", told)):
        is_valid = array.dtype == np.float64 and array.ndim == 2 and array.flags.c_contiguous
        if not is_valid or array.shape != packets.shape or array.shape[1] < 3:
            msg = "must be a contiguous float64 array of shape (flows, nodes >= 3), as packets"
            raise ValueError(f"{name} of shape {array.shape}, {array.dtype}: {msg}")
    kernel = make_kernel(rings, helpers=[advance_node, advance_nodes])
    edges = np.linspace(0, len(packets), threads + 1).astype(int).tolist()
    constants = periods, float(diffusion), State(packets, sent, told)
    seams = np.zeros((threads, PERIODS_PER_TILE, 2))
    copies = np.empty((threads, 3, packets.shape[1]))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda a, b, *room: kernel(a, b, *constants, *room), edges[:-1], edges[1:], seams, copies))
