"""What a link does with the packets that wait for it: queueing, dropping, and hop-by-hop control.

Each discipline is a small immutable object that a `Link` carries.
"""

from __future__ import annotations

from dataclasses import dataclass

from hopflow.checks import choice, one_number

__all__ = ["DFC", "FIFO", "RED", "Discipline", "Fair", "Pause", "Priority"]


@dataclass(frozen=True)
class Discipline:
    """Base of the disciplines."""


@dataclass(frozen=True)
class FIFO(Discipline):
    """One queue for all, first come first served; what does not fit is dropped from the tail.

    Flows lose in proportion to what comes while the queue is full, as where each packet comes at a
    time of its own. A sender in the node (``host="direct"``) may put packets into the queue in
    bursts instead. A burst finds the one place that the last departure has left, and loses the
    rest; what comes over a link no faster than this one finds the place that was left a packet time
    ago, unless a burst was there first. So each burst costs the others one packet time's share, and
    not its whole length.

    Parameters
    ----------
    burst
        Mean time between the bursts of senders in the node, s, at most 1; up to a packet time there are
        none.
    """

    burst: float = 0.0

    def __post_init__(self) -> None:
        one_number("burst", self.burst, at_least=0.0, at_most=1.0, hint="in s: ms(0.1)")


@dataclass(frozen=True)
class DFC(Discipline):
    r"""Diffusion-type flow control (takano2006, eqs. 1-5, 9-13).

    Each flow has a queue, which is served at J = max(0, min(L, alpha r - D/d (n' - n))), with r and n'
    the rate and the queue that the next node told one link delay ago, and L its part of the link by
    eq. (13): flows that send share in proportion to what they want. The next node tells its nominal
    rate, not what it achieved. A receiver, or a next link without DFC, tells (link rate, 0).

    With ``per="input"`` (the footnote to 2.1) flows that came over one link wait in one FIFO queue and
    are one flow to the law. What the next node tells is for all inputs of the link together: they
    send at most alpha r - D/d (n' - sum of their n), in proportion to what each would send alone.

    Parameters
    ----------
    diffusion
        D, packets per packet of difference and feedback period: D_i = D / d in 1/s (eq. 3), > 0.
    intensity
        alpha >= 1, the flow intensity multiplier (eq. 2).
    phases
        ``"random"`` (by seed) or ``"synchronous"`` feedback clocks of the nodes; the period is the
        delay of the link over which the feedback goes.
    per
        ``"flow"`` or ``"input"``: whose packets have a queue and a rate of their own; the same on all
        links with DFC.
    """

    diffusion: float = 0.1
    intensity: float = 1.0
    phases: str = "random"
    per: str = "flow"

    def __post_init__(self) -> None:
        one_number("diffusion", self.diffusion, above=0.0)
        one_number("intensity", self.intensity, at_least=1.0)
        choice("phases", self.phases, ("random", "synchronous"))
        choice("per", self.per, ("flow", "input"))


@dataclass(frozen=True)
class Pause(Discipline):
    """A FIFO queue that stops the links that feed it: IEEE 802.3x with two thresholds.

    When more than ``high`` packets wait, everything that comes over the links (and access links)
    into the node is paused; the next node hears that after its own link's delay plus ``signalling``.

    Parameters
    ----------
    high, low
        Pause above ``high`` packets, resume at ``low`` or below; 0 <= low <= high. More than ``high``
        must fit into the link's buffer, or those of its flows together where each has its own. The
        defaults are a half and a quarter of takano2006's 1800 packets.
    quanta
        None: ON and OFF messages. Else each message pauses for this many quanta of 512 bit times
        (at most 65535) of the link that is paused, and is renewed while the queue is above ``low``.
    signalling
        Time to make and act on a message, in s, beyond the link's propagation delay.
    paused_rate
        What still passes while paused, packets/s.
    """

    high: float = 900.0
    low: float = 450.0
    quanta: int | None = None
    signalling: float = 0.0
    paused_rate: float = 0.0

    def __post_init__(self) -> None:
        one_number("high", self.high, above=0.0)
        one_number("low", self.low, at_least=0.0, at_most=self.high, hint="low <= high")
        if self.quanta is not None:
            one_number("quanta", self.quanta, at_least=1, at_most=65535)
        one_number("signalling", self.signalling, at_least=0.0, at_most=10.0, hint="in s")
        one_number("paused_rate", self.paused_rate, at_least=0.0, hint="in packets/s")


@dataclass(frozen=True)
class RED(Discipline):
    """Random early detection (Floyd and Jacobson 1993) on a FIFO queue.

    Parameters
    ----------
    low, high
        Thresholds of the average queue in packets, 0 < low < high.
    weight
        Of one arrival in the average queue, 0 < weight <= 1.
    max_p
        Probability to drop at ``high``, 0 < max_p <= 1.
    gentle
        Between ``high`` and twice that the probability rises from max_p to 1; else it is 1 there.
    mean_packet
        None counts packets; a size in bytes counts bytes in units of it, so that the probability
        is multiplied by packet size over ``mean_packet`` (ns-2's default is 500).
    ecn
        Mark packets of window-controlled flows instead of dropping them, up to ``high``.
    """

    low: float = 5.0
    high: float = 15.0
    weight: float = 0.002
    max_p: float = 0.1
    gentle: bool = True
    mean_packet: float | None = None
    ecn: bool = False

    def __post_init__(self) -> None:
        one_number("low", self.low, above=0.0)
        one_number("high", self.high, above=self.low, hint="low < high")
        one_number("weight", self.weight, above=0.0, at_most=1.0)
        one_number("max_p", self.max_p, above=0.0, at_most=1.0)
        if self.mean_packet is not None:
            one_number("mean_packet", self.mean_packet, above=0.0, hint="in bytes")


@dataclass(frozen=True)
class Fair(Discipline):
    """A queue per flow and equal shares of the link (what SFQ and DRR approximate).

    A full buffer drops from the flows that hold more than their part of it.
    """


@dataclass(frozen=True)
class Priority(Discipline):
    """A queue per flow, served in the order of the flows' ``priority``, the lowest number first.

    A full buffer drops from the last in that order. Flows of the same priority share equally.
    """
