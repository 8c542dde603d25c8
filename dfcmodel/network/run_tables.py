"""Tables of the result of a run at either level: drops by cause, exceeded rooms, waiting packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DROPPED",
    "EXCESS",
    "LAST_PART",
    "WAITING",
    "drop_rows",
    "excess_rows",
]

LAST_PART = 0.25
"""Final fraction of a run that is without motion in a standstill."""

DROPPED = np.dtype(
    [(name, np.int64) for name in ("flow", "link", "cause", "ack")] + [("packets", np.float64), ("first", np.float64)]
)
"""Drops of a flow at a link by one cause (a number of `dfcmodel.network.drop_causes`), of its packets or its ACKs
(``ack`` = 1); time of the first, s."""
EXCESS = np.dtype([(name, np.int64) for name in ("link", "via", "priority")] + [("packets", np.float64)])
"""Maximum number of packets without room in a pause, by the link that counts them, the link over which they came
(-1 - flow: the access link of a host) and their class; the last two are ALL for a link with `Pause`."""
WAITING = np.dtype([(name, np.int64) for name in ("link", "via", "flow", "ack", "still")] + [("packets", np.float64)])
"""Packets (``ack`` = 1: ACKs) of a flow that wait at a link at the end of a run (-1 - flow: at the access link of a
host); the link over which they came (-1 - flow: from their host); ``still`` = 1: no packet left their queue during
the final fraction `LAST_PART` of the run."""


def drop_rows(
    flow: NDArray[Any], link: NDArray[Any], ack: NDArray[Any], packets: NDArray[Any], first: NDArray[Any]
) -> Any:
    """Return rows of `DROPPED` from columns (H,), without link -1, and packets and first times, s, (H, causes).

    Parameters
    ----------
    flow, link, ack
        Flow and link of each hop, and whether the hop carries ACKs, (H,). Hops with a negative link (no link of
        the scenario) have no rows.
    packets, first
        Dropped packets, and the time of the first drop in s, by hop and cause, (H, C) for the first C causes.

    Examples
    --------
    >>> flow, link = np.zeros(3, dtype=int), np.array([-1, 4, 7])
    >>> packets, first = np.array([[1.0, 0.0], [0.0, 0.0], [1.5, 2.0]]), np.array([[0.2, 0.0], [0.0, 0.0], [0.3, 0.1]])
    >>> drop_rows(flow, link, np.zeros(3), packets, first).tolist()
    [(0, 7, 0, 0, 1.5, 0.3), (0, 7, 1, 0, 2.0, 0.1)]
    """
    hop, cause = np.nonzero((packets > 0) & (link >= 0)[:, np.newaxis])
    table = np.zeros(len(hop), dtype=DROPPED)
    table["flow"], table["link"], table["ack"], table["cause"] = flow[hop], link[hop], ack[hop], cause
    table["packets"], table["first"] = packets[hop, cause], first[hop, cause]
    return table


def excess_rows(link: NDArray[Any], via: NDArray[Any], priority: NDArray[Any], packets: NDArray[Any]) -> Any:
    """Return the rows of `EXCESS` of a run from columns: link, feeder, class and packets, (N,) each.

    Examples
    --------
    >>> excess_rows(np.array([4, 7]), np.array([2, -1]), np.array([3, 3]), np.array([2.0, 1.5])).tolist()
    [(4, 2, 3, 2.0), (7, -1, 3, 1.5)]
    """
    table = np.zeros(len(link), dtype=EXCESS)
    table["link"], table["via"], table["priority"], table["packets"] = link, via, priority, packets
    return table
