"""Several hops of IEEE 802.3x pause in a row: the tandem of malhotra2005 with any number of queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from hopflow.checks import integer
from hopflow.units import quantities
from markov.models.functions import elementwise
from markov.models.means import Mean
from markov.models.pause import DOWN, UP, check_control, control_symbols
from markov.models.rules import ChainModel, add_at

__all__ = ["PauseChain"]

MAX_HOPS = 100


@quantities(
    buffers="amount",
    high_threshold="amount",
    low_threshold="amount",
    link_rate="rate",
    paused_rate="rate",
    bottleneck_rate="rate",
    arrival_rates="rate",
    rtt="time",
)
class PauseChain(ChainModel):
    """Queues in series, each but the first pausing its predecessor; TCP reacts to any loss.

    `PauseTandem` with more queues (``hops=1`` is that model in its default readings). Queue h sends at
    rate mu1, or mu2 while paused, to queue h + 1; the last one at rate nu. Queue h + 1 pauses queue h
    when it grows beyond its high threshold, and releases it when it falls below its low one. A packet
    that finds a full queue is lost and doubles the TCP state.

    Parameters
    ----------
    hops
        Number of links under control, at least 1; there is one queue more.
    buffers
        Packets of each queue, including the packet in service; None: 10 in the first queue, 20 in all others.
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
    The state is (n, k, a): packets in each queue, each link up (1) or down (2), TCP state.

    Examples
    --------
    >>> from markov import PauseChain, stationary
    >>> answer = stationary(PauseChain(hops=1, buffers=(5, 5), high_threshold=4))
    >>> answer["mean_queue"].shape
    (2,)
    """

    class State(NamedTuple):
        """Packets in each queue, state of each link between two queues, TCP state."""

        n: tuple[int, ...]
        k: tuple[int, ...]
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
        """The paper's symbols, with the buffers of all queues."""

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
        hops = integer("hops", p.hops, 1, MAX_HOPS)
        buffers = self._buffers
        if not isinstance(buffers, tuple) or len(buffers) != hops + 1:
            raise ValueError(f"buffers = {p.buffers!r}: must be {hops + 1} numbers, one per queue")
        for index, buffer in enumerate(buffers):
            integer(f"buffers[{index}]", buffer, 1, 10**9)
        check_control(p, min(buffers[1:]), "the smallest buffer")

    @property
    def _buffers(self) -> Any:
        return (10, *(20,) * int(self.hops)) if self.buffers is None else self.buffers

    def symbols(self) -> Symbols:
        """Return the parameters under the paper's symbols."""
        p = self.params
        return self.Symbols(
            hops=int(p.hops),
            B=tuple(map(int, self._buffers)),
            **control_symbols(p),
        )

    def space(self) -> Mapping[str, Any]:
        """Return n = 0..B of each queue, k = 1 (up), 2 (down) of each link, a = 1..N."""
        q = self.symbols()
        return {
            "n": tuple(range(buffer + 1) for buffer in q.B),
            "k": (range(UP, DOWN + 1),) * q.hops,
            "a": range(1, q.N + 1),
        }

    def start(self) -> State:
        """Return the empty system, not paused, at the highest TCP rate."""
        hops = int(self.params.hops)
        return self.State((0,) * (hops + 1), (UP,) * hops, 1)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield arrivals, departures from each queue, and TCP's recovery."""
        after_loss = min(2 * s.a, q.N)
        if s.n[0] < q.B[0]:
            yield s._replace(n=add_at(s.n, 0, 1)), q.rates[s.a - 1]
        else:
            yield s._replace(a=after_loss), q.rates[s.a - 1]
        for h in range(q.hops + 1):
            if s.n[h] == 0:
                continue
            n, k, a = add_at(s.n, h, -1), s.k, s.a
            if h > 0 and s.n[h] == q.T2:
                k = (*k[: h - 1], UP, *k[h:])
            if h == q.hops:
                yield s._replace(n=n, k=k), q.nu
                continue
            if s.n[h + 1] == q.B[h + 1]:
                a = after_loss
            else:
                if s.n[h + 1] == q.T1:
                    k = (*k[:h], DOWN, *k[h + 1 :])
                n = add_at(n, h + 1, 1)
            yield s._replace(n=n, k=k, a=a), q.mu1 if s.k[h] == UP else q.mu2
        if s.a > 1:
            yield s._replace(a=s.a - 1), q.recovery_rate

    @elementwise
    def rewards(self, s: Any) -> dict[str, Mean]:
        """Return the measures over states ``s``.

        Over ``queue``: ``mean_queue`` (packets), ``loss_rate`` (packets/s, at its entrance) and
        ``pause_fraction`` (of the time that it is paused, 0 for the last one); and ``throughput``
        (packets/s).
        """
        q = self.symbols()
        n, k = np.array(s.n), np.array(s.k)
        sent = np.where(k == UP, q.mu1, q.mu2) * (n[:-1] > 0)
        offered = np.concatenate([np.asarray(q.rates)[s.a - 1][None], sent])
        full = (np.array(q.B) == n.T).T
        paused = np.concatenate([k == DOWN, np.zeros_like(n[-1:], dtype=bool)])
        dims = ("queue",)
        return {
            "mean_queue": Mean(n, dims=dims, units="packets"),
            "loss_rate": Mean(offered * full, dims=dims, units="packets/s"),
            "pause_fraction": Mean(paused, dims=dims, units="1"),
            "throughput": Mean(q.nu * (n[-1] > 0), units="packets/s"),
        }
