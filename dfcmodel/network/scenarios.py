"""Networks by topology, and the scenarios of takano2006 by name.

Source: C. Takano, K. Muranaka, K. Sugiyama, M. Aida, Mutual complementarity between diffusion-type
flow control and TCP, IEICE Trans. Commun. E89-B(10), 2006, Sect. 4-6, Tables 1-4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dfcmodel.network.flows import Flow
from dfcmodel.network.links import Link, Node
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.disciplines import DFC, FIFO
from hopflow.checks import choice, flag, integer, one_number
from hopflow.units import WithUnit, check_rate, declares, mbps, ms, quantities
from responsefn import NewReno, NS2Vegas, Reno, Tahoe, WindowRule

if TYPE_CHECKING:
    from dfcmodel.network.queueing.buffers import ByteBuffer
    from dfcmodel.network.queueing.disciplines import Discipline

__all__ = ["chain", "dumbbell", "parking_lot", "ring", "takano2006", "tree"]

DROP_TAIL = FIFO()

TCP: dict[str, Callable[[], WindowRule]] = {
    "tahoe": Tahoe, "reno": Reno, "newreno": NewReno, "vegas": NS2Vegas,
}  # fmt: skip


@quantities(rate="rate", delay="time")
@declares(buffer="amount")
def chain(
    nodes: int,
    *,
    rate: WithUnit,
    delay: WithUnit,
    buffer: WithUnit | ByteBuffer,
    discipline: Discipline = DROP_TAIL,
    shared: bool = True,
) -> tuple[Link, ...]:
    """Return the links 1->2, 2->3, ... of a chain.

    Parameters
    ----------
    nodes
        Number of nodes, at least 2; they are numbered from 1.
    rate, delay
        Rate and delay of each link, packets/s and s.
    buffer
        Buffer of each link, packets or a `ByteBuffer`.
    discipline, shared
        Discipline and sharing of each link, as for `Link`.

    Examples
    --------
    >>> from dfcmodel import chain
    >>> [link.name for link in chain(4, rate=1000.0, delay=0.01, buffer=50)]
    ['1->2', '2->3', '3->4']
    """
    nodes = integer("nodes", nodes, 2, 10**6)
    fields = (rate, delay, buffer, discipline, shared)
    return tuple(Link(i, i + 1, *fields) for i in range(1, nodes))


@quantities(rate="rate", delay="time", access_rate="rate", access_delay="time")
@declares(buffer="amount")
def dumbbell(
    pairs: int,
    *,
    rate: WithUnit,
    delay: WithUnit,
    access_rate: WithUnit,
    access_delay: WithUnit,
    buffer: WithUnit | ByteBuffer,
    discipline: Discipline = DROP_TAIL,
    shared: bool = True,
) -> tuple[Link, ...]:
    """Return the links of a dumbbell: s1, s2, ... -> left -> right -> d1, d2, ...

    Parameters
    ----------
    pairs
        Number of senders, and of receivers.
    rate, delay
        Rate and delay of the bottleneck left->right, packets/s and s.
    access_rate, access_delay
        Rate and delay of the access links, packets/s and s.
    buffer
        Buffer of every link, packets, or a `ByteBuffer`.
    discipline, shared
        Discipline and sharing of the bottleneck, as for `Link`.

    Examples
    --------
    >>> from dfcmodel import dumbbell
    >>> links = dumbbell(
    ...     2, rate=1000.0, delay=0.04, access_rate=1e4, access_delay=1e-3, buffer=100
    ... )
    >>> [link.name for link in links]
    ['s1->left', 's2->left', 'left->right', 'right->d1', 'right->d2']
    """
    pairs = integer("pairs", pairs, 1, 10**6)
    _check_access(access_rate, access_delay)
    access: dict[str, Any] = {"rate": access_rate, "delay": access_delay, "buffer": buffer}
    return (
        *(Link(f"s{n}", "left", **access) for n in range(1, pairs + 1)),
        Link("left", "right", rate, delay, buffer, discipline, shared),
        *(Link("right", f"d{n}", **access) for n in range(1, pairs + 1)),
    )


def _check_access(rate: float, delay: float) -> None:
    """Raise ValueError for an invalid rate or delay (0 to 10 s) of access links."""
    check_rate("access_rate", rate)
    one_number("access_delay", delay, above=0.0, at_most=10.0, hint="in s: ms(0.1)")


@quantities(rate="rate", delay="time", access_rate="rate", access_delay="time")
@declares(buffer="amount")
def parking_lot(
    hops: int,
    *,
    access_rate: WithUnit,
    access_delay: WithUnit,
    rate: WithUnit,
    delay: WithUnit,
    buffer: WithUnit | ByteBuffer,
    discipline: Discipline = DROP_TAIL,
    shared: bool = True,
) -> tuple[Link, ...]:
    """Return the links of a chain of nodes 1 to hops + 1 with senders and receivers at all nodes.

    Parameters
    ----------
    hops
        Number of links of the chain. The senders are ``s1``, ``s2``, ..., the receivers ``d2``,
        ``d3``, ..., each attached to the node of its number.
    access_rate, access_delay
        Rate and delay of the access links, packets/s and s; their buffer equals the chain's.
    rate, delay, buffer, discipline, shared
        Properties of the chain's links, as for `chain`.

    Examples
    --------
    >>> from dfcmodel import parking_lot
    >>> links = parking_lot(
    ...     2, rate=1000.0, delay=0.01, buffer=50, access_rate=1e4, access_delay=1e-3
    ... )
    >>> [link.name for link in links]
    ['s1->1', 's2->2', '1->2', '2->3', '2->d2', '3->d3']
    """
    hops = integer("hops", hops, 1, 10**6)
    _check_access(access_rate, access_delay)
    fields: dict[str, Any] = {"rate": rate, "delay": delay, "buffer": buffer}
    row = chain(hops + 1, **fields, discipline=discipline, shared=shared)
    access: dict[str, Any] = {"rate": access_rate, "delay": access_delay, "buffer": row[0].buffer}
    return (
        *(Link(f"s{n}", n, **access) for n in range(1, hops + 1)),
        *row,
        *(Link(n, f"d{n}", **access) for n in range(2, hops + 2)),
    )


@quantities(rate="rate", delay="time")
@declares(buffer="amount")
def tree(
    levels: int,
    branching: int = 2,
    *,
    rate: WithUnit,
    delay: WithUnit,
    buffer: WithUnit | ByteBuffer,
    discipline: Discipline = DROP_TAIL,
    shared: bool = True,
) -> tuple[Link, ...]:
    """Return the links of a tree from the leaves to its root, node 1.

    The children of node i are branching (i - 1) + 2, ..., branching i + 1.

    Parameters
    ----------
    levels
        Number of links from a leaf to the root, at least 1.
    branching
        Number of children per node.
    rate, delay, buffer, discipline, shared
        Properties of each link, as for `chain`.

    Examples
    --------
    >>> from dfcmodel import tree
    >>> [link.name for link in tree(2, rate=1000.0, delay=0.01, buffer=50)]
    ['7->3', '6->3', '5->2', '4->2', '3->1', '2->1']
    """
    levels = integer("levels", levels, 1, 20)
    branching = integer("branching", branching, 1, 1000)
    nodes = sum(branching**n for n in range(levels + 1))
    integer("nodes of the tree", nodes, 2, 10**6)
    fields = (rate, delay, buffer, discipline, shared)
    return tuple(Link(i, (i - 2) // branching + 1, *fields) for i in range(nodes, 1, -1))


@quantities(rate="rate", delay="time")
@declares(buffer="amount")
def ring(
    nodes: int,
    *,
    rate: WithUnit,
    delay: WithUnit,
    buffer: WithUnit | ByteBuffer,
    discipline: Discipline = DROP_TAIL,
    shared: bool = True,
) -> tuple[Link, ...]:
    """Return the links 1->2, ..., nodes->1 of a ring; arguments as for `chain`.

    Examples
    --------
    >>> from dfcmodel import ring
    >>> [link.name for link in ring(3, rate=1000.0, delay=0.01, buffer=50)]
    ['1->2', '2->3', '3->1']
    """
    nodes = integer("nodes", nodes, 3, 10**6)
    fields = (rate, delay, buffer, discipline, shared)
    return tuple(Link(i, i % nodes + 1, *fields) for i in range(1, nodes + 1))


# link bandwidth in Mb/s, nodes, entry of the background flow, window, duration in s, buffer, TCP
_TAKANO2006 = {
    "1": (370, 30, 15, 5_000, 3.0, 1800, None),
    "2": (1_230, 30, 15, 5_000, 3.0, 1800, None),
    "3": (3_700, 30, 15, 5_000, 3.0, 1800, None),
    "4": (12_300, 30, 15, 10_000, 3.0, 1800, None),
    "5": (37_000, 30, 15, 20_000, 3.0, 1800, None),
    "6": (123_000, 30, 15, 100_000, 1.5, 1800, None),
    "4S": (12_300, 16, 8, 10_000, 3.0, 1800, None),
    "4L": (12_300, 60, 30, 20_000, 3.0, 1800, None),
    "4R": (12_300, 30, 15, 10_000, 3.0, 1800, "reno"),
    "4N": (12_300, 30, 15, 10_000, 3.0, 1800, "newreno"),
    "4V": (12_300, 30, 15, 10_000, 3.0, 1800, "vegas"),
    "4V'": (12_300, 30, 15, 10_000, 3.0, 400, "vegas"),
}
NAMES = tuple(_TAKANO2006)
"""The names of the scenarios of takano2006."""


def takano2006(name: str, dfc: bool = True, tcp: str | WindowRule | None = None, host: str | None = None) -> Scenario:
    """Return a scenario of takano2006 (Tables 1 to 4) by its name.

    The target flow runs from node 1 to the last node, starting at t = 0; the background flow joins
    it at the middle node at t = 0.1 s. Both are greedy and have the same TCP. Links have a delay of
    0.1 ms and buffers of 1800 packets (4V': 400), packets 1500 bytes; D = 0.1, alpha = 1.

    All delays are equal, as in the paper, so that packets without random waits are phase-locked: with
    FIFO queues and Tahoe the winner may change with delays longer by a part of a percent, and
    ``packet_jitter`` (the docs' page on the models shows both).

    Parameters
    ----------
    name
        ``"1"`` to ``"6"``, ``"4S"``, ``"4L"``, ``"4R"``, ``"4N"``, ``"4V"``, ``"4V'"``.
    dfc
        Whether links have diffusion-type flow control; otherwise FIFO.
    tcp
        ``"tahoe"``, ``"reno"``, ``"newreno"`` or ``"vegas"`` (`NS2Vegas`), or a window rule, also user-defined. None is
        the paper's choice: Tahoe, unless the name fixes another one (4R, 4N, 4V, 4V': a different ``tcp`` is an error).
    host
        As for `Flow`; None is ``"shaped"`` with DFC and ``"direct"`` without.

    Raises
    ------
    ValueError
        For an unknown name, TCP or host, or a TCP that contradicts the name.

    Examples
    --------
    >>> from dfcmodel import takano2006
    >>> scenario = takano2006("1", dfc=False, tcp="newreno")
    >>> len(scenario.links), [flow.name for flow in scenario.flows]
    (29, ['target', 'background'])
    """
    choice("name", name, _TAKANO2006)
    flag("dfc", dfc)
    rate, nodes, middle, window, duration, buffer, fixed = _TAKANO2006[name]
    if tcp is not None:
        if not isinstance(tcp, WindowRule):
            choice("tcp", tcp, TCP)
        if fixed not in (None, tcp):
            msg = f"scenario {name} has {fixed}; use scenario '4' with tcp={tcp!r}"
            raise ValueError(f"tcp = {tcp!r}: {msg}")
    rule = tcp if isinstance(tcp, WindowRule) else TCP[fixed or tcp or "tahoe"]()
    if host is None:
        host = "shaped" if dfc else "direct"
    discipline = DFC() if dfc else FIFO()

    def flow(name: str, first: int, start: float) -> Flow:
        path: tuple[Node, ...] = tuple(range(first, nodes + 1))
        return Flow(name, path, rule, window, start, host=host)

    return Scenario(
        name=f"takano2006/{name}",
        links=chain(nodes, rate=mbps(rate), delay=ms(0.1), buffer=buffer, discipline=discipline),
        flows=(flow("target", 1, 0.0), flow("background", middle, 0.1)),
        duration=duration,
    )
