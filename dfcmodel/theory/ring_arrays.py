"""The bare DFC law on rings of many nodes and flows, compiled: what `law.bare_law` does, in bulk.

Each flow has a ring of its own. Per node the state is the packets n, the packets J that left a period
ago and are on the link, and the message w = J - D n that is on its way upstream (alpha = 1: the rate
is also the nominal rate): three numbers, advanced in place.

A ring that does not fit into the cache is cut into tiles, each advanced by several periods while it is
there. A node needs what its neighbours did a period ago, so that a tile moves one node upstream per
period; period p begins with node p, and no tile is cut by the seam of the ring.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import one_number, whole
from hopflow.kernels import build

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["TILE", "advance_rings"]

TILE = 16384
"""Nodes: 400 kB."""
TOGETHER = 16
"""Periods that a tile is advanced by."""
COPIED = 16
"""Periods from which on rows that fit into a tile are copied: copies start at multiples of 32 bytes,
rows of NumPy of 16, which makes the loop up to 1.7 times slower."""


def step(i: int, message: float, D: float, left: float, n: Floats, J: Floats, w: Floats) -> float:
    """Advance node i, to which ``left`` and the message come, by a period; return what comes to the next."""
    here = n[i]
    rate = message + D * here
    came = left
    left = J[i]
    J[i] = rate
    w[i] = rate - D * here
    n[i] = here + came - rate
    return left


def sweep(D: float, left: float, n: Floats, J: Floats, w: Floats) -> float:
    """Advance all these nodes by a period; ``w`` is longer by the message of the next one."""
    for i in range(n.shape[0]):
        left = step(i, w[i + 1], D, left, n, J, w)
    return left


def rings(
    first: int,
    end: int,
    periods: int,
    D: float,
    packets: Floats,
    sent: Floats,
    told: Floats,
    seam: Floats,
) -> None:
    """Template: advance the rows ``first`` .. ``end`` - 1 by some periods.

    ``seam[p]`` is scratch, for period p of a tile: what comes to its next node, and what its first node
    told before.
    """
    N = packets.shape[1]
    together = TOGETHER if N > TILE else 1
    copied = N <= TILE and periods >= COPIED
    for f in range(first, end):
        n, J, w = packets[f], sent[f], told[f]
        if copied:
            n, J, w = n.copy(), J.copy(), w.copy()
        for begin in range(0, periods, together):
            count = min(together, periods - begin)
            for at in range(0, N + 2 * count, TILE):
                for p in range(count):
                    a = p + max(0, at - 2 * p)  # nodes, N being node 0 again
                    b = p + min(N, at + TILE - 2 * p)
                    if a >= b:
                        continue
                    left = seam[p, 0]
                    if a == p:
                        left = J[(p - 1) % N]
                        seam[p, 1] = w[p]
                    i = min(b, N - 1)
                    left = sweep(D, left, n[a:i], J[a:i], w[a : i + 1])
                    if a < N <= b:  # over the seam
                        left = step(N - 1, w[0] if p > 0 else seam[p, 1], D, left, n, J, w)
                    for i in range(max(a, N) - N, min(b - N, p - 1)):
                        left = step(i, w[i + 1], D, left, n, J, w)
                    if b == N + p > N:  # the last one: the first was advanced already
                        left = step(p - 1, seam[p, 1], D, left, n, J, w)
                    seam[p, 0] = left
        if copied:
            packets[f], sent[f], told[f] = n, J, w


def advance_rings(
    packets: Floats,
    sent: Floats,
    told: Floats,
    diffusion: float,
    periods: int,
    *,
    threads: int = 1,
) -> None:
    """Advance rings of nodes in place by some periods, without clipping or sharing.

    Parameters
    ----------
    packets
        n of every flow and node, shape (F, N), contiguous float64.
    sent
        J of one period ago, packets per period, shape (F, N).
    told
        J - D n of one period ago, shape (F, N).
    diffusion
        D per period, > 0.
    periods
        How many, one per link delay.
    threads
        How many share the flows.

    Raises
    ------
    ValueError
        For a parameter out of range, or arrays that are not alike.
    """
    one_number("diffusion", diffusion, above=0.0)
    periods = whole("periods", periods, 0, 10**9)
    threads = whole("threads", threads, 1, 1024)
    for name, array in (("packets", packets), ("sent", sent), ("told", told)):
        good = array.dtype == np.float64 and array.ndim == 2 and array.flags.c_contiguous
        if not good or array.shape != packets.shape or array.shape[1] < 3:
            msg = "must be a contiguous float64 array of shape (flows, nodes >= 3), as packets"
            raise ValueError(f"{name} of shape {array.shape}, {array.dtype}: {msg}")
    kernel = build(rings, helpers=[step, sweep])
    edges = np.linspace(0, len(packets), threads + 1).astype(int).tolist()
    rest = periods, float(diffusion), packets, sent, told
    seams = np.zeros((threads, TOGETHER, 2))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda a, b, seam: kernel(a, b, *rest, seam), edges[:-1], edges[1:], seams))
