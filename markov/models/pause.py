"""The IEEE 802.3x pause tandem of malhotra2005, hop-by-hop back-pressure below aggregate TCP, and chains of any length.

Source: R. Malhotra, R. van Haalen, M. Mandjes, R. Nunez-Queija, Modeling the interaction of IEEE
802.3x hop-by-hop flow control and TCP end-to-end flow control, CWI report PNA-E0518, 2005, Sect. III.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import integer
from hopflow.parameters import param
from markov.models.functions import Mean, elementwise
from markov.models.measures import Measure
from markov.models.rules import ChainModel, add_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PauseChain", "PauseTandem", "check_rtt"]

UP, DOWN = 1, 2  # a link at its full rate, a paused one
RATES_PER_BLOCK = 8  # the length of tuples of rates is a multiple

# Declarations of the parameters that both models have

HIGH_THRESHOLD: int = param(15, "amount")
LOW_THRESHOLD: int | None = param(None, "amount")
LINK_RATE: float = param(100.0, "rate", above=0.0)
PAUSED_RATE: float = param(2.0, "rate", at_least=0.0)
BOTTLENECK_RATE: float = param(15.0, "rate", above=0.0)
ARRIVAL_RATES: tuple[float, ...] = param((25.0, 1.0), "rate", at_least=0.0)
RTT: float = param(1.0, "time", above=0.0)
MAX_BUFFER = 10**9
MAX_RTT, SLOW_RATE = 5.0, 1e3
"""Longest round-trip time in s with a bottleneck above this rate in packets/s: longer ones are likely ms or us without
a unit. Chains in units of their own, with rates of about one, have them."""


def check_rtt(rtt: float, bottleneck_rate: float) -> None:
    """Raise ValueError for a round-trip time, s, that is likely a number of ms or us at this rate in packets/s."""
    if rtt >= MAX_RTT and bottleneck_rate > SLOW_RATE:
        allowed = f"must be below {MAX_RTT:g} with a bottleneck above {SLOW_RATE:g} packets/s"
        raise ValueError(f"rtt = {rtt:g}: {allowed}; in s: 40 ms are 0.04, or '40ms'")


def check_control(p: Any, largest: int, why: str) -> None:
    """Raise ValueError for thresholds of a pause chain that do not fit, arrival rates all zero, and an rtt in ms or us.

    ``p`` are its parameters. Thresholds are at most ``largest`` packets; ``why`` names the buffer that limits them.
    """
    check_rtt(float(p.rtt), float(p.bottleneck_rate))
    high = integer("high_threshold", p.high_threshold, 1, largest, why=why)
    if p.low_threshold is not None:
        integer("low_threshold", p.low_threshold, 1, high, why="at most the high threshold")
    if not any(rate > 0 for rate in p.arrival_rates):
        msg = "must be one rate per TCP state, at least one of them > 0"
        raise ValueError(f"arrival_rates = {p.arrival_rates!r}: {msg}")


def pad_rates(rates: Any) -> tuple[float, ...]:
    """Return the rates of the TCP states as a tuple, padded with zeros to a multiple of eight.

    Kernels are compiled for the length of a tuple: up to eight states share a kernel. No rule reads a
    rate beyond the last state's.
    """
    return tuple(map(float, rates)) + (0.0,) * (-len(rates) % RATES_PER_BLOCK)


def control_symbols(p: Any) -> dict[str, Any]:
    """Return parameters of a pause chain by the paper's symbols: T1, T2, mu1, mu2, nu, rates, N, recovery_rate."""
    return {
        "T1": int(p.high_threshold),
        "T2": int(p.high_threshold if p.low_threshold is None else p.low_threshold),
        "mu1": float(p.link_rate),
        "mu2": float(p.paused_rate),
        "nu": float(p.bottleneck_rate),
        "rates": pad_rates(p.arrival_rates),
        "N": len(p.arrival_rates),
        "recovery_rate": 1.0 / float(p.rtt),
    }


class PauseTandem(ChainModel):
    """Two queues in tandem; the second pauses the first, TCP reacts to losses at either.

    Queue 1 (at most B1 packets) is fed by a Poisson stream whose rate is that of the aggregate TCP
    state a = 1 .. N, and sends to queue 2 (at most B2) at rate mu1, or mu2 while paused. Queue 2
    sends at rate nu. It pauses queue 1 when it grows from T1 to T1 + 1 packets, and releases it when
    it falls from T2 to T2 - 1. A loss at either queue doubles a (at most N); a falls by one at rate
    1/RTT. T1 = B2 switches the hop-by-hop control off.

    Quantities are numbers in packets, packets/s and s, or texts such as ``"40ms"``, ``"120Mbps"`` (in
    packets of 1500 bytes) and ``"20pkt"``.

    Parameters
    ----------
    buffers
        (B1, B2), packets including the packet in service.
    high_threshold
        T1, in 1 .. B2.
    low_threshold
        T2, in 1 .. T1; None is T1. The queue is released below T2: ``Pause(low=T2 - 1)`` of dfcmodel, which releases
        at its ``low`` or below.
    link_rate
        mu1 > 0, packets/s.
    paused_rate
        mu2 >= 0, packets/s: rate of queue 1 while it is paused.
    bottleneck_rate
        nu > 0, packets/s.
    arrival_rates
        lambda_1 .. lambda_N, packets/s; each finite and >= 0, at least one of them > 0.
    rtt
        Round-trip time in s, the mean time to the next higher TCP rate; below 5 with a bottleneck above 1000
        packets/s.
    recovery
        ``"always"`` (the text): rule 13 in both states of queue 2; ``"up"`` (as printed): only while
        queue 1 is not paused.
    pause_at_threshold
        ``"exclusive"``: at j = T1 rule 8 replaces rule 6; ``"both"`` (as printed): both fire.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values.

    Notes
    -----
    The state is (i, j, k, a): packets in queue 1, in queue 2, queue 2 up (1) or down (2), TCP state.
    With T1 = T2 a part of the product space is transient. With mu2 = 0 the states down below T2,
    which are never entered, would be a closed class: the system starts empty and up.

    Examples
    --------
    >>> from markov import PauseTandem, stationary
    >>> with_pause = stationary(PauseTandem(high_threshold=18)).throughput
    >>> without = stationary(PauseTandem(high_threshold=20)).throughput
    >>> round(100 * (with_pause / without - 1), 2)  # per cent
    6.57
    """

    class State(NamedTuple):
        """State of the chain: packets in queue 1 and 2, queue 2 up or down, TCP state."""

        i: int
        j: int
        k: int
        a: int

    class Params(NamedTuple):
        """Parameters of the chain; the class describes each."""

        buffers: tuple[int, int] = param((10, 20), "amount", at_least=1, at_most=MAX_BUFFER, hint="B1, B2")
        high_threshold: int = HIGH_THRESHOLD
        low_threshold: int | None = LOW_THRESHOLD
        link_rate: float = LINK_RATE
        paused_rate: float = PAUSED_RATE
        bottleneck_rate: float = BOTTLENECK_RATE
        arrival_rates: tuple[float, ...] = ARRIVAL_RATES
        rtt: float = RTT
        recovery: str = param("always", choices=("always", "up"))
        pause_at_threshold: str = param("exclusive", choices=("exclusive", "both"))

    class Symbols(NamedTuple):
        """Parameters as the rules read them, by the paper's symbols; ``rates`` is padded beyond N."""

        B1: int
        B2: int
        T1: int
        T2: int
        mu1: float
        mu2: float
        nu: float
        rates: tuple[float, ...]
        N: int
        recovery_rate: float
        recovers_when_down: bool
        both_at_T1: bool

    def check(self) -> None:
        """Raise ValueError for thresholds above the second buffer, or arrival rates that are all zero."""
        check_control(self.params, self.params.buffers[1], "B2 = buffers[1]")

    def symbols(self) -> Symbols:
        """Return the parameters as the rules read them, by the paper's symbols."""
        p = self.params
        return self.Symbols(
            B1=int(p.buffers[0]),
            B2=int(p.buffers[1]),
            **control_symbols(p),
            recovers_when_down=p.recovery == "always",
            both_at_T1=p.pause_at_threshold == "both",
        )

    def space(self) -> Mapping[str, range]:
        """Return the values of each component: i = 0..B1, j = 0..B2, k = 1 (up), 2 (down), a = 1..N."""
        first, second = self.params.buffers
        return {
            "i": range(int(first) + 1),
            "j": range(int(second) + 1),
            "k": range(UP, DOWN + 1),
            "a": range(1, len(self.params.arrival_rates) + 1),
        }

    def start(self) -> State:
        """Return the initial state: empty queues, not paused, the highest TCP rate."""
        return self.State(0, 0, UP, 1)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) by the 13 rules of Sect. III.A, whose numbers stand in comments.

        The order is that of the targets' numbers, in which the rows of a matrix are written.
        """
        after_loss = min(2 * s.a, q.N)
        if s.i >= 1:
            mu = q.mu1 if s.k == UP else q.mu2
            if s.j == q.B2:
                yield s._replace(i=s.i - 1, a=after_loss), mu  # 9 to 12
            else:
                pauses = s.k == UP and s.j == q.T1
                if not pauses or q.both_at_T1:
                    yield s._replace(i=s.i - 1, j=s.j + 1), mu  # 6, 7
                if pauses:
                    yield s._replace(i=s.i - 1, j=s.j + 1, k=DOWN), mu  # 8
        if s.j >= 1:
            if s.j == q.T2:
                yield s._replace(j=s.j - 1, k=UP), q.nu  # 5
            else:
                yield s._replace(j=s.j - 1), q.nu  # 4
        if s.a > 1 and (s.k == UP or q.recovers_when_down):
            yield s._replace(a=s.a - 1), q.recovery_rate  # 13
        if s.i < q.B1:
            yield s._replace(i=s.i + 1), q.rates[s.a - 1]  # 1
        else:
            yield s._replace(a=after_loss), q.rates[s.a - 1]  # 2, 3

    @elementwise
    def rewards(self, s: Any) -> dict[str, Mean]:
        """Return the rewards of states ``s`` whose means are the measures of Sect. III.B, by name.

        Returns
        -------
        dict
            Over ``queue`` (1, 2): ``mean_queue`` (packets), ``waiting_time`` (s, service included),
            ``effective_rate``, ``loss_rate`` (packets/s), ``loss_probability``; and ``throughput``
            (packets/s), ``pause_fraction`` (of the time), ``pause_rate`` (pauses begun per second). A loss
            probability is the lost fraction of the arrivals at that queue. Waiting time and loss probability are NaN
            at a queue where nothing arrives.

        Notes
        -----
        With ``pause_at_threshold="both"`` queue 1 sends at twice mu1 in the states with j = T1,
        k = 1; lambda_effec,2 counts both, otherwise the flow would not be conserved.
        """
        q = self.symbols()
        arrivals = np.asarray(q.rates)[s.a - 1]
        sent = np.where(s.k == UP, q.mu1, q.mu2) * (s.i > 0)
        if q.both_at_T1 and q.T1 < q.B2:
            sent = sent * np.where((s.k == UP) & (s.j == q.T1), 2.0, 1.0)
        offered, queue = np.array([arrivals, sent]), np.array([s.i, s.j])
        lost = offered * np.array([s.i == q.B1, s.j == q.B2])
        effective = offered - lost
        begins = (s.k == UP) & (s.i > 0) & (s.j == q.T1) & (q.T1 < q.B2)
        dims = ("queue",)
        return {
            "mean_queue": Mean(queue, dims=dims, units="packets"),
            "waiting_time": Mean(queue, effective, dims=dims, units="s"),
            "effective_rate": Mean(effective, dims=dims, units="packets/s"),
            "loss_rate": Mean(lost, dims=dims, units="packets/s"),
            "loss_probability": Mean(lost, offered, dims=dims, units="1"),
            "throughput": Mean(q.nu * (s.j > 0), units="packets/s"),
            "pause_fraction": Mean(s.k == DOWN, units="1"),
            "pause_rate": Mean(q.mu1 * begins, units="1/s"),
        }

    def measures(self, pi: NDArray[np.float64], s: Any = None) -> dict[str, Measure]:
        """Return the means of `rewards` under distribution ``pi``, and ``throughput_expressions`` (packets/s).

        The latter are the paper's three: lambda_effec,2, lambda_effec,1 (1 - P2) and nu P(j > 0).
        """
        measures = super().measures(pi, s)
        effective, lost = measures["effective_rate"][1], measures["loss_rate"][1]
        with np.errstate(invalid="ignore"):  # 0/0 where nothing arrives
            passed = effective[1] / (effective[1] + lost[1])  # 1 - P2 without cancellation
        second = effective[0] * passed if effective[0] > 0 else 0.0
        three = np.array([effective[1], second, measures["throughput"][1]])
        measures["throughput_expressions"] = ("expression",), three, {"units": "packets/s"}
        return measures


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
        Round-trip time in s, the mean time to the next higher TCP rate; below 5 with a bottleneck above 1000
        packets/s.

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
        """State of the chain: packets in each queue, each link between queues up or down, TCP state."""

        n: tuple[int, ...]
        k: tuple[int, ...]
        a: int

    class Params(NamedTuple):
        """Parameters of the chain; the class describes each."""

        hops: int = param(2, at_least=1, at_most=100)
        buffers: tuple[int, ...] | None = param(None, "amount", at_least=1, at_most=MAX_BUFFER)
        high_threshold: int = HIGH_THRESHOLD
        low_threshold: int | None = LOW_THRESHOLD
        link_rate: float = LINK_RATE
        paused_rate: float = PAUSED_RATE
        bottleneck_rate: float = BOTTLENECK_RATE
        arrival_rates: tuple[float, ...] = ARRIVAL_RATES
        rtt: float = RTT

    class Symbols(NamedTuple):
        """Parameters as the rules read them, by the paper's symbols; B has the buffers of all queues."""

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
        """Raise ValueError unless there is a buffer per queue, into which the thresholds fit, and an arrival rate."""
        queues, buffers = int(self.hops) + 1, self._buffers
        if len(buffers) != queues:
            raise ValueError(f"buffers = {self.buffers!r}: must be {queues} numbers, one per queue")
        check_control(self.params, min(buffers[1:]), "the smallest buffer")

    @property
    def _buffers(self) -> Any:
        """Packets that each queue can hold: ``buffers``, or its default."""
        return (10, *(20,) * int(self.hops)) if self.buffers is None else self.buffers

    def symbols(self) -> Symbols:
        """Return the parameters as the rules read them, by the paper's symbols."""
        p = self.params
        return self.Symbols(
            hops=int(p.hops),
            B=tuple(map(int, self._buffers)),
            **control_symbols(p),
        )

    def space(self) -> Mapping[str, Any]:
        """Return the values of each component: n = 0..B per queue, k = 1 (up), 2 (down) per link, a = 1..N."""
        q = self.symbols()
        return {
            "n": tuple(range(buffer + 1) for buffer in q.B),
            "k": (range(UP, DOWN + 1),) * q.hops,
            "a": range(1, q.N + 1),
        }

    def start(self) -> State:
        """Return the initial state: empty queues, not paused, the highest TCP rate."""
        hops = int(self.params.hops)
        return self.State((0,) * (hops + 1), (UP,) * hops, 1)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) of an arrival, a departure from each queue, and TCP's recovery."""
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
        """Return the rewards of states ``s`` whose means are the measures, by name.

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
