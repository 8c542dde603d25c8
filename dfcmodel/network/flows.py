"""Flows: where packets enter and leave the network, and what sends them."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

from hopflow.checks import choice, number, one_number, whole
from responsefn import WindowRule

__all__ = ["CBR", "Flow", "OnOff"]

HOSTS = ("shaped", "unshaped", "direct")
LARGEST_WINDOW = 2.0**24
"""Packets: the receiver keeps two numbers per packet of the window."""


@dataclass(frozen=True)
class CBR:
    """A constant rate, as UDP sends: nothing is repeated, nobody listens.

    Parameters
    ----------
    rate
        In packets/s, > 0.
    """

    rate: float

    def __post_init__(self) -> None:
        one_number("rate", self.rate, above=0.0, hint="in packets/s: mbps(0.448)")


@dataclass(frozen=True)
class OnOff:
    """A source that is on and off in turn, beginning with on.

    Parameters
    ----------
    rate
        While on, in packets/s, > 0.
    on, off
        In s: how long each lasts, or its mean when ``random``.
    random
        Exponentially distributed times, by seed.
    """

    rate: float
    on: float
    off: float
    random: bool = False

    def __post_init__(self) -> None:
        one_number("rate", self.rate, above=0.0, hint="in packets/s")
        one_number("on", self.on, above=0.0, hint="in s")
        one_number("off", self.off, above=0.0, hint="in s")


Source = WindowRule | CBR | OnOff


@dataclass(frozen=True)
class Flow:
    """Packets of one sender to one receiver along a path.

    Parameters
    ----------
    name
        How results call it.
    path
        The nodes from the first to the receiver's, at least two.
    source
        A window rule of `responsefn` (or one's own): TCP with it. `CBR` or `OnOff`: no feedback.
    max_window
        Largest window in packets; for window rules.
    start
        Time of the first packet in s.
    size
        Packets to send; a transfer ends when they are delivered (`inf`: it never ends).
    host
        ``"direct"``: packets enter the first node's buffer at once, as where a simulator puts the
        sender in the node. ``"unshaped"``: a host with an unlimited buffer sends them over an
        access link like the path's first. ``"shaped"``: it sends at the rate r_0 that the first
        node tells it (takano2006, eq. 9), which must have DFC.
    priority
        For `Priority` links, the lowest number first.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.
    """

    name: str
    path: tuple[Hashable, ...]
    source: Source
    max_window: float = 10_000.0
    start: float = 0.0
    size: float = math.inf
    host: str = "direct"
    priority: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", tuple(self.path))
        of = f"of flow {self.name!r}"
        if len(self.path) < 2:
            raise ValueError(f"path {of} = {self.path!r}: must have at least two nodes")
        if len(set(self.path)) < len(self.path):
            raise ValueError(f"path {of} = {self.path!r}: must not visit a node twice")
        source: object = self.source
        if not isinstance(source, Source):
            kinds = "a window rule such as Reno(), CBR(rate=...) or OnOff(...)"
            raise ValueError(f"source {of} = {source!r}: must be {kinds}")  # noqa: TRY004
        hint = "a window above that does not fit into memory"
        number(f"max_window {of}", self.max_window, at_least=1.0, at_most=LARGEST_WINDOW, hint=hint)
        number(f"start {of}", self.start, at_least=0.0)
        if self.size != math.inf:
            number(f"size {of}", self.size, at_least=1.0, hint="in packets")
        choice(f"host {of}", self.host, HOSTS)
        whole(f"priority {of}", self.priority, -(10**6), 10**6)

    @property
    def hops(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The links of the path, as pairs of nodes."""
        return tuple(zip(self.path[:-1], self.path[1:], strict=True))
