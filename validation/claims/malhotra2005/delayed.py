"""The pause tandem whose messages take time, and stop queue 1: a chain with the delay as phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from hopflow.checks import integer, one_number
from hopflow.functions import minimum, where
from markov import ChainModel, Mean, stationary
from markov.models.functions import elementwise
from validation.judgements.keeping import kept

UP, LAST_PACKET, STOPPED = 1, 2, 3
"""Queue 1 sends, ends its packet, has stopped."""


class DelayedPause(ChainModel):
    """`markov.PauseTandem` with T1 = T2, mu2 = 0 and messages that take effect after a delay.

    The delay of a message has an Erlang distribution of the given number of phases. When it takes
    effect, queue 1 does what queue 2 asks for at that time: it sends, or it ends the packet in
    transmission and stops. A threshold that is crossed while a message is under way changes what
    queue 2 asks for; a message of its own goes out only when none is under way.

    Parameters
    ----------
    delay
        Mean delay of a message in s, > 0.
    phases
        Phases of the delay; the more, the more constant it is.
    threshold
        T1 = T2, in 1 .. 19.
    arrival_rates
        Rates of the TCP states, packets/s.
    rtt
        Round-trip time in s.

    Raises
    ------
    ValueError
        For a delay, threshold or number of phases out of range.
    """

    class State(NamedTuple):
        """Packets in both queues, state of queue 1, state requested of it, phase, TCP state."""

        i: int
        j: int
        k: int
        asked: int
        phase: int
        a: int

    class Params(NamedTuple):
        """See the class."""

        delay: float = 0.1
        phases: int = 4
        threshold: int = 15
        arrival_rates: tuple[float, float] = (25.0, 1.0)
        rtt: float = 1.0
        buffers: tuple[int, int] = (10, 20)
        link_rate: float = 100.0
        bottleneck_rate: float = 15.0

    class Symbols(NamedTuple):
        """The parameters as the rules use them."""

        B1: int
        B2: int
        T: int
        mu: float
        nu: float
        first: float
        second: float
        recovery_rate: float
        phase_rate: float
        phases: int

    def check(self) -> None:
        """Check every parameter before any work starts."""
        p = self.params
        one_number("delay", p.delay, above=0.0, hint="in seconds")
        integer("phases", p.phases, 1, 100)
        integer("threshold", p.threshold, 1, p.buffers[1] - 1)

    def symbols(self) -> Symbols:
        """Return the parameters as the rules use them."""
        p = self.params
        return self.Symbols(
            B1=p.buffers[0],
            B2=p.buffers[1],
            T=p.threshold,
            mu=p.link_rate,
            nu=p.bottleneck_rate,
            first=p.arrival_rates[0],
            second=p.arrival_rates[1],
            recovery_rate=1.0 / p.rtt,
            phase_rate=p.phases / p.delay,
            phases=p.phases,
        )

    def space(self) -> Mapping[str, range]:
        """Return the ranges of the state."""
        p = self.params
        return {
            "i": range(p.buffers[0] + 1),
            "j": range(p.buffers[1] + 1),
            "k": range(UP, STOPPED + 1),
            "asked": range(2),
            "phase": range(p.phases + 1),
            "a": range(1, 3),
        }

    def start(self) -> State:
        """Return the empty system, sending, at the highest TCP rate."""
        return self.State(0, 0, UP, 0, 0, 1)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the rules of the tandem, and those of the messages."""
        begun = where(s.phase == 0, 1, s.phase)
        if s.i >= 1 and s.k != STOPPED:
            then = where(s.k == LAST_PACKET, STOPPED, s.k)
            if s.j == q.B2:
                yield s._replace(i=s.i - 1, k=then, a=2), q.mu
            elif s.j == q.T:
                yield s._replace(i=s.i - 1, j=s.j + 1, k=then, asked=1, phase=begun), q.mu
            else:
                yield s._replace(i=s.i - 1, j=s.j + 1, k=then), q.mu
        if s.j >= 1:
            if s.j == q.T and s.asked == 1:
                yield s._replace(j=s.j - 1, asked=0, phase=begun), q.nu
            else:
                yield s._replace(j=s.j - 1), q.nu
        if s.phase >= 1:
            if s.phase < q.phases:
                yield s._replace(phase=s.phase + 1), q.phase_rate
            else:
                stops = where(s.i >= 1, LAST_PACKET, STOPPED)
                kept = where(s.k == UP, stops, s.k)
                yield s._replace(phase=0, k=where(s.asked == 1, kept, UP)), q.phase_rate
        if s.a == 2:
            yield s._replace(a=1), q.recovery_rate
        rate = where(s.a == 1, q.first, q.second)
        if s.i < q.B1:
            yield s._replace(i=s.i + 1), rate
        else:
            yield s._replace(a=minimum(2 * s.a, 2)), rate

    @elementwise
    def rewards(self, s: Any) -> dict[str, Mean]:
        """Return the throughput and the rate of OFF messages over states ``s``."""
        q = self.symbols()
        sends = (s.i > 0) & (s.k != STOPPED) & (s.j == q.T)
        return {
            "throughput": Mean(q.nu * (s.j > 0), units="packets/s"),
            "pause_rate": Mean(q.mu * np.asarray(sends) * (s.asked == 0), units="1/s"),
        }


@kept
def throughput(delay: float, threshold: int, phases: int = 8) -> float:
    """Return the throughput in packets/s with messages that take this long, in s."""
    chain = DelayedPause(delay=delay, threshold=threshold, phases=phases)
    answer = stationary(chain, proof=False)
    return float(answer["throughput"])
