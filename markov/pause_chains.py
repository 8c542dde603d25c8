"""Several hops of IEEE 802.3x pause in a row: the tandem of malhotra2005 with any number of queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import whole
from hopflow.functions import minimum
from markov.pause import DOWN, UP, check_control, with_room
from markov.rules import ChainModel, Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PauseChain"]

MOST_HOPS = 4


class PauseChain(ChainModel):
    """Queues in series, each but the first pausing the one before it; TCP reacts to any loss.

    `PauseTandem` with more queues (``hops=1`` is that model in its default readings). Queue h sends at
    rate mu1, or mu2 while paused, to queue h + 1; the last one at rate nu. Queue h + 1 pauses queue h
    when it grows beyond its high threshold, and releases it when it falls below its low one. A packet
    that finds a full queue is lost and doubles the TCP state.

    Parameters
    ----------
    hops
        Number of links under control, 1 .. 4; there is one queue more.
    buffers
        Packets of each queue, the one in service included; None: 10, and 20 in all others.
    high_threshold
        T1 of all queues but the first, in 1 .. the smallest of their buffers. At a queue whose buffer
        it is, control is off.
    low_threshold
        T2, in 1 .. T1; None is T1.
    link_rate, paused_rate, bottleneck_rate
        mu1 > 0, mu2 >= 0 and nu > 0, packets/s.
    arrival_rates
        lambda_1 .. lambda_N, packets/s.
    rtt
        Round-trip time in s, the mean time to the next higher TCP rate.

    Notes
    -----
    The state has room for five queues (n1 .. n5), the four links between them (k1 .. k4, up or down)
    and the TCP state a; queues and links that are not there have one value, and cost nothing.
    """

    class State(NamedTuple):
        """Packets in the queues, up or down of the links between them, TCP state."""

        n1: int
        n2: int
        n3: int
        n4: int
        n5: int
        k1: int
        k2: int
        k3: int
        k4: int
        a: int

    class Params(NamedTuple):
        """See the class."""

        hops: int = 2
        buffers: tuple[int, ...] | None = None
        high_threshold: int = 15
        low_threshold: int | None = None
        link_rate: float = 100.0
        paused_rate: float = 2.0
        bottleneck_rate: float = 15.0
        arrival_rates: tuple[float, ...] = (25.0, 1.0)
        rtt: float = 1.0

    class Symbols(NamedTuple):
        """The paper's symbols; buffers of queues that are not there are 0."""

        hops: int
        B: tuple[int, ...]
        T1: int
        T2: int
        mu1: float
        mu2: float
        nu: float
        rates: tuple[float, ...]
        N: int
        recovery_rate: float

    def check(self) -> None:
        """Check every parameter before any work starts."""
        p = self.params
        hops = whole("hops", p.hops, 1, MOST_HOPS)
        buffers = self._buffers
        if not isinstance(buffers, tuple) or len(buffers) != hops + 1:
            raise ValueError(f"buffers = {p.buffers!r}: must be {hops + 1} numbers, one per queue")
        for place, buffer in enumerate(buffers):
            whole(f"buffers[{place}]", buffer, 1, 10**9)
        check_control(p, min(buffers[1:]), "the smallest buffer")

    @property
    def _buffers(self) -> Any:
        return (10, *(20,) * int(self.hops)) if self.buffers is None else self.buffers

    def symbols(self) -> Symbols:
        """Return the parameters under the paper's symbols."""
        p = self.params
        buffers = tuple(map(int, self._buffers))
        return self.Symbols(
            hops=int(p.hops),
            B=buffers + (0,) * (MOST_HOPS + 1 - len(buffers)),
            T1=int(p.high_threshold),
            T2=int(p.high_threshold if p.low_threshold is None else p.low_threshold),
            mu1=float(p.link_rate),
            mu2=float(p.paused_rate),
            nu=float(p.bottleneck_rate),
            rates=with_room(p.arrival_rates),
            N=len(p.arrival_rates),
            recovery_rate=1.0 / float(p.rtt),
        )

    def space(self) -> Mapping[str, range]:
        """Return n = 0..B of each queue, k = 1 (up), 2 (down) of each link, a = 1..N."""
        q = self.symbols()
        queues = {f"n{h + 1}": range(q.B[h] + 1) for h in range(MOST_HOPS + 1)}
        links = {f"k{h + 1}": range(UP, (DOWN if h < q.hops else UP) + 1) for h in range(MOST_HOPS)}
        return {**queues, **links, "a": range(1, q.N + 1)}

    def start(self) -> State:
        """Return the empty system, not paused, at the highest TCP rate."""
        return self.State(0, 0, 0, 0, 0, UP, UP, UP, UP, 1)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield arrivals, departures from each queue, and TCP's recovery."""
        n = (s.n1, s.n2, s.n3, s.n4, s.n5, 0)
        k = (s.k1, s.k2, s.k3, s.k4, UP)
        after_loss = minimum(2 * s.a, q.N)
        if s.n1 < q.B[0]:
            yield s._replace(n1=s.n1 + 1), q.rates[s.a - 1]
        else:
            yield s._replace(a=after_loss), q.rates[s.a - 1]
        for h in range(q.hops + 1):
            if n[h] > 0:
                releases = h > 0 and n[h] == q.T2
                if h == q.hops:
                    yield _sent(s, h, False, releases, False, s.a), q.nu
                else:
                    lost = n[h + 1] == q.B[h + 1]
                    pauses = not lost and k[h] == UP and n[h + 1] == q.T1
                    mu = q.mu1 if k[h] == UP else q.mu2
                    a = after_loss if lost else s.a
                    yield _sent(s, h, not lost, releases, pauses, a), mu
        if s.a > 1:
            yield s._replace(a=s.a - 1), q.recovery_rate

    def measures(self, pi: NDArray[np.float64]) -> dict[str, Measure]:
        """Return the measures of a distribution over the product space, shape (states,).

        Over ``queue``: ``mean_queue`` (packets), ``loss_rate`` (packets/s, at its entrance) and
        ``pause_fraction`` (of the time that it is paused, 0 for the last one); and ``throughput``
        (packets/s).
        """
        q, s = self.symbols(), self.states()
        n, k = s[: q.hops + 1], s[MOST_HOPS + 1 : MOST_HOPS + 1 + q.hops]
        offered = [np.asarray(q.rates)[s.a - 1]]
        offered += [
            np.where(up == UP, q.mu1, q.mu2) * (m > 0) for m, up in zip(n[:-1], k, strict=True)
        ]
        losses = [
            float((pi * rate)[m == full].sum())
            for rate, m, full in zip(offered, n, q.B[: q.hops + 1], strict=True)
        ]
        paused = [float(pi[link == DOWN].sum()) for link in k]
        rate = {"units": "packets/s"}
        return {
            "mean_queue": (("queue",), np.array([pi @ m for m in n]), {"units": "packets"}),
            "loss_rate": (("queue",), np.array(losses), rate),
            "pause_fraction": (("queue",), np.array([*paused, 0.0]), {"units": "1"}),
            "throughput": ((), q.nu * float(pi[n[-1] > 0].sum()), rate),
        }


def _sent(s: Any, h: int, arrives: bool, releases: bool, pauses: bool, a: int) -> Any:
    """Return the state after a packet has left queue h (from 0), for the next one if it arrives."""
    return s._replace(
        n1=s.n1 - (h == 0),
        n2=s.n2 - (h == 1) + (arrives and h == 0),
        n3=s.n3 - (h == 2) + (arrives and h == 1),
        n4=s.n4 - (h == 3) + (arrives and h == 2),
        n5=s.n5 - (h == 4) + (arrives and h == 3),
        k1=_link(s.k1, h, releases, pauses),
        k2=_link(s.k2, h - 1, releases, pauses),
        k3=_link(s.k3, h - 2, releases, pauses),
        k4=_link(s.k4, h - 3, releases, pauses),
        a=a,
    )


def _link(k: int, h: int, releases: bool, pauses: bool) -> int:
    """Return a link's state after queue h, counted from the one that it leaves, has sent."""
    if h == 0 and pauses:
        return DOWN
    if h == 1 and releases:
        return UP
    return k
