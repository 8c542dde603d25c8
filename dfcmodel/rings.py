"""The bare DFC law on rings of many nodes and flows, compiled: what `law.bare_law` does, in bulk.

Each flow has a ring of its own. Per node the state is the packets n, the packets J that left a period
ago and are on the link, and the message w = J - D n that is on its way upstream (alpha = 1: the rate
is also the nominal rate): three numbers, advanced in place, row by row and several periods at a time,
so that a row stays in the cache.
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

__all__ = ["advance_rings"]


def rings(
    first: int, end: int, periods: int, D: float, packets: Floats, sent: Floats, told: Floats
) -> None:
    """Template: advance the rows ``first`` .. ``end`` - 1 by some periods."""
    nodes = packets.shape[1]
    for f in range(first, end):
        n, J, w = packets[f], sent[f], told[f]
        if periods >= 16:  # copies start at 32 bytes, rows of NumPy at 16: up to 1.7 times slower
            n, J, w = n.copy(), J.copy(), w.copy()
        for _ in range(periods):
            left = J[nodes - 1]
            first_told = w[0]
            for i in range(nodes - 1):
                here = n[i]
                rate = w[i + 1] + D * here
                came = left
                left = J[i]
                J[i] = rate
                w[i] = rate - D * here
                n[i] = here + came - rate
            here = n[nodes - 1]
            rate = first_told + D * here
            J[nodes - 1] = rate
            w[nodes - 1] = rate - D * here
            n[nodes - 1] = here + left - rate
        if periods >= 16:
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
    kernel = build(rings)
    edges = np.linspace(0, len(packets), threads + 1).astype(int).tolist()
    rest = periods, float(diffusion), packets, sent, told
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda a, b: kernel(a, b, *rest), edges[:-1], edges[1:]))
