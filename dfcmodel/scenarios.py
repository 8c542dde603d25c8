"""What is simulated: chains of nodes, the flows on them, and takano2006's scenarios by name.

Source: C. Takano, K. Muranaka, K. Sugiyama, M. Aida, Mutual complementarity between diffusion-type
flow control and TCP, IEICE Trans. Commun. E89-B(10), 2006, Sect. 4-6, Tables 1-3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hopflow.checks import choice, number, whole
from hopflow.units import mbps, ms
from responsefn import NewReno, Reno, Tahoe, WindowRule

__all__ = ["Flow", "Scenario", "takano2006"]

HOSTS = ("shaped", "unshaped", "direct")
TCP: dict[str, Callable[[], WindowRule]] = {"tahoe": Tahoe, "reno": Reno, "newreno": NewReno}


@dataclass(frozen=True)
class Flow:
    """A greedy window-controlled flow.

    Parameters
    ----------
    name
        How results call it.
    entry, exit
        First node and last node (the sink), counted from 1.
    rule
        The window rule of the sender, with a ``recovery`` that the engine knows.
    max_window
        Largest window in packets.
    start
        Time of the first packet in s.
    """

    name: str
    entry: int
    exit: int
    rule: WindowRule
    max_window: float
    start: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """A chain of nodes, equal links between them, and the flows that cross it.

    Parameters
    ----------
    name
        For the record.
    nodes
        Number of nodes; packets go from node 1 towards the last.
    link_rate
        Packets/s of every link.
    link_delay
        Propagation delay d of every link in s, also of the way back and of a host's access link.
    buffer
        Packets that a node holds, shared by its flows.
    flows
        The flows, each with its own queue at every node under DFC.
    discipline
        ``"dfc"``: per-flow queues and rates by diffusion-type flow control; ``"fifo"``: one
        drop-tail queue at the link rate.
    host
        ``"shaped"``: an external node with unlimited buffer sends at r_0 (eq. 9, DFC only);
        ``"unshaped"``: it sends at the link rate; ``"direct"``: packets enter the node's buffer at
        once, without an access link.
    diffusion
        D, packets per packet of difference and feedback period: D_i = D / d in 1/s (eq. 3).
    intensity
        alpha >= 1, the flow intensity multiplier (eq. 2).
    phases
        ``"random"`` (by seed) or ``"synchronous"`` feedback clocks of the nodes.
    duration
        Simulated time in s.
    min_rto
        Smallest retransmission timeout in s.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.
    """

    name: str
    nodes: int
    link_rate: float
    link_delay: float
    buffer: float
    flows: tuple[Flow, ...]
    discipline: str = "dfc"
    host: str = "shaped"
    diffusion: float = 0.1
    intensity: float = 1.0
    phases: str = "random"
    duration: float = 3.0
    min_rto: float = 0.2

    def __post_init__(self) -> None:
        whole("nodes", self.nodes, 2, 10**6)
        number("link_rate", self.link_rate, above=0.0, at_most=1e12, hint="in packets/s: mbps(370)")
        number("link_delay", self.link_delay, above=0.0, at_most=10.0, hint="in s: ms(0.1)")
        number("buffer", self.buffer, at_least=1.0, at_most=1e9)
        choice("discipline", self.discipline, ("dfc", "fifo"))
        choice("host", self.host, HOSTS)
        if self.host == "shaped" and self.discipline != "dfc":
            msg = "a fifo node reports no rate to shape to: use host='unshaped' or 'direct'"
            raise ValueError(f"host = 'shaped' with discipline = {self.discipline!r}: {msg}")
        number("diffusion", self.diffusion, above=0.0)
        number("intensity", self.intensity, at_least=1.0)
        choice("phases", self.phases, ("random", "synchronous"))
        number("duration", self.duration, above=0.0, at_most=1e5, hint="in s")
        number("min_rto", self.min_rto, above=0.0, at_most=100.0, hint="in s")
        if not self.flows:
            raise ValueError("flows = (): at least one flow is needed")
        for flow in self.flows:
            whole(f"entry of flow {flow.name!r}", flow.entry, 1, self.nodes - 1)
            whole(f"exit of flow {flow.name!r}", flow.exit, flow.entry + 1, self.nodes)
            number(f"max_window of flow {flow.name!r}", flow.max_window, at_least=1.0)
            number(f"start of flow {flow.name!r}", flow.start, at_least=0.0)


# link bandwidth in Mb/s, nodes, entry of the background flow, window, duration in s, TCP
_TAKANO2006 = {
    "1": (370, 30, 15, 5_000, 3.0, None),
    "2": (1_230, 30, 15, 5_000, 3.0, None),
    "3": (3_700, 30, 15, 5_000, 3.0, None),
    "4": (12_300, 30, 15, 10_000, 3.0, None),
    "5": (37_000, 30, 15, 20_000, 3.0, None),
    "6": (123_000, 30, 15, 100_000, 1.5, None),
    "4S": (12_300, 16, 8, 10_000, 3.0, None),
    "4L": (12_300, 60, 30, 20_000, 3.0, None),
    "4R": (12_300, 30, 15, 10_000, 3.0, "reno"),
    "4N": (12_300, 30, 15, 10_000, 3.0, "newreno"),
}


def takano2006(
    name: str, dfc: bool = True, tcp: str | None = None, host: str | None = None
) -> Scenario:
    """Return a scenario of takano2006 by its name.

    The target flow goes from node 1 to the last node from t = 0, the background flow from the
    middle from t = 0.1 s, both greedy with the same TCP; 0.1 ms per link, 1800 packets of buffer,
    packets of 1500 bytes, D = 0.1, alpha = 1.

    Parameters
    ----------
    name
        ``"1"`` to ``"6"``, ``"4S"``, ``"4L"``, ``"4R"``, ``"4N"``.
    dfc
        With diffusion-type flow control, or FIFO.
    tcp
        ``"tahoe"``, ``"reno"``, ``"newreno"``; None is the paper's, which is Tahoe unless the
        name says otherwise (4R, 4N: another ``tcp`` is an error).
    host
        See `Scenario`; None is ``"shaped"`` with DFC and ``"direct"`` without.

    Raises
    ------
    ValueError
        For an unknown name, TCP or host, or a TCP that contradicts the name.
    """
    choice("name", name, _TAKANO2006)
    rate, nodes, middle, window, duration, fixed = _TAKANO2006[name]
    if tcp is not None:
        choice("tcp", tcp, TCP)
        if fixed not in (None, tcp):
            msg = f"scenario {name} is the one with {fixed}; use scenario '4' with tcp={tcp!r}"
            raise ValueError(f"tcp = {tcp!r}: {msg}")
    rule = TCP[fixed or tcp or "tahoe"]()
    return Scenario(
        name=f"takano2006/{name}",
        nodes=nodes,
        link_rate=mbps(rate),
        link_delay=ms(0.1),
        buffer=1800,
        flows=(
            Flow("target", 1, nodes, rule, window),
            Flow("background", middle, nodes, rule, window, start=0.1),
        ),
        discipline="dfc" if dfc else "fifo",
        host=host if host is not None else ("shaped" if dfc else "direct"),
        duration=duration,
    )
