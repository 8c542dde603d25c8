"""TCP Vegas: a few packets in the queue; by its paper, in ns-2 and in Linux."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import is_endless, one_number
from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from responsefn.response import Reference
from responsefn.rules.base import cut, whole
from responsefn.rules.delay_based import QueueRule, no_slow_start, packets_in_queue
from responsefn.rules.linux import KERNEL, OLD, LinuxRule, linux_file, of_kernel

__all__ = ["LinuxVegas", "NS2Vegas", "Vegas"]

MIN_SAMPLES = 2.0  # Linux 6.12, net/ipv4/tcp_vegas.c: cntRTT <= 2 behaves like Reno
"""Round-trip times of a round up to which Vegas with ``by_rounds`` is Reno."""


class Vegas(QueueRule):
    r"""TCP Vegas (Brakmo and Peterson 1995): keeps alpha to beta packets in the queue.

    Per round trip the window grows by one packet below alpha and shrinks by one above beta. A loss halves
    it; the smaller decrease for a loss that Vegas' fine timer detects is omitted. `NS2Vegas` and
    `LinuxVegas` are this rule with other defaults.

    Without loss the window settles at W = CR + alpha, with C the capacity in packets/s. With loss the
    response is the numerical cycle, derived here. Where it reaches W, 1/p > 3 W^2/8, it is Reno's growth
    from W/2, and then the capacity::

        T = (1/p) / (R (CR - W/2) + (1/p - ((CR)^2 - (W/2)^2) / 2) / C)

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta. The defaults are Linux's; the authors' later book recommends 1 and 3.
    gamma
        Packets in the queue above which slow start ends, > 0; infinite if only a loss ends it.
    step
        Packets per round trip by which the window changes above slow start, > 0.
    alternate
        1: slow start doubles the window in every other round trip only (Brakmo and Peterson, Sect. 3.3); or 0.
    averaged
        1: the queue follows from the mean round-trip time of about a window; 0: from each ACK's.
    by_rounds
        1: the window is compared once per round trip, in whole packets, by the minimum of its round-trip times;
        0: it changes at each ACK.
    min_window
        Minimum of the window after an ACK, packets, at least 1.

    Examples
    --------
    >>> from responsefn import Vegas
    >>> round(Vegas().rate(1e-7, 0.04, bandwidth=2000.0))
    2000
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets, RTTs in s (shortest, mean, of the round), its samples, ACKs left, a time.

        ``averaged`` uses the mean RTT. The time in s is the beginning of the next pair of round trips of ``alternate``.
        ``by_rounds`` uses the minimum of the round, its samples and the ACKs left in it.
        """

        mean_rtt: float = 0.0
        turn: float = 0.0
        round_min_rtt: float = math.inf
        samples: float = 0.0
        left: float = 0.0

    class Params(NamedTuple):
        """Queue thresholds, step per round trip, choices and minimum window.

        The thresholds are those for growth, decrease and the end of slow start.
        """

        alpha: float = param(
            2.0,
            "amount",
            above=0.0,
            source="Linux 2.6.22, net/ipv4/tcp_vegas.c: alpha = 2 packets",
        )
        beta: float = param(
            4.0,
            "amount",
            source="Linux 2.6.22, net/ipv4/tcp_vegas.c: beta = 4 packets",
        )
        gamma: float = param(
            math.inf,
            "amount",
            source="own choice: a loss ends slow start, the modified slow start of Brakmo and Peterson, Sect. 3.3 is "
            "that of NS2Vegas",
        )
        step: float = param(
            1.0,
            "amount",
            above=0.0,
            source="Brakmo and Peterson 1995, Sect. 3.2: the window moves linearly during the next RTT, by one packet",
        )
        alternate: int = param(
            0,
            choices=(0, 1),
            source="own choice: a loss ends slow start, the modified slow start of Brakmo and Peterson, Sect. 3.3 is "
            "that of NS2Vegas",
        )
        averaged: int = param(
            0,
            choices=(0, 1),
            source="Brakmo and Peterson 1995, Sect. 3.2: the RTT of a distinguished packet, once per RTT",
        )
        by_rounds: int = param(
            0,
            choices=(0, 1),
            source="own choice: a share of the step with each ACK",
        )
        min_window: float = param(
            1.0,
            "amount",
            at_least=1.0,
            source="own choice: the least window that sends",
        )

    assigned: ClassVar[tuple[str, ...]] = ("ssthresh", "base_rtt", "turn", "round_min_rtt", "samples", "left")
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= [N < \alpha] - [N > \beta],\ N = W (1 - R_{\min} / R)"
        r",\ \text{loss: } W \leftarrow W / 2"
    )
    reference = Reference(
        "L. Brakmo, L. Peterson, TCP Vegas, IEEE JSAC 13(8), 1995; read in L. Peterson, L. Brakmo, B. Davie, "
        "TCP congestion control: a systems approach, 2022, Sect. 5.1",
        "primary",
        "10.1109/49.464716",
    )

    def check(self) -> None:
        """Check the ranges of the parameters."""
        q = self.params
        one_number("beta", q.beta, at_least=q.alpha, hint="alpha <= beta")
        if not is_endless(q.gamma):
            one_number("gamma", q.gamma, above=0.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or a step up, down or none, at each ACK or once per round trip."""
        base = minimum(s.base_rtt, e.rtt)
        moved = where(s.mean_rtt > 0.0, s.mean_rtt + (e.rtt - s.mean_rtt) / s.cwnd, e.rtt)
        mean = where(q.averaged > 0, moved, s.mean_rtt)
        turn = where((q.alternate > 0) & (e.time > s.turn), e.time + 1.75 * e.rtt, s.turn)
        pause = (q.alternate > 0) & (turn - e.time <= 0.875 * e.rtt)
        waiting = packets_in_queue(s.cwnd, base, where(q.averaged > 0, mean, e.rtt))
        threshold = where(waiting > q.gamma, minimum(s.ssthresh, s.cwnd), s.ssthresh)
        band = round_trip_step(q, waiting) / s.cwnd
        slow = s.cwnd < threshold
        by_ack = where(slow, where(pause, 0.0, 1.0), band)
        rounds = q.by_rounds > 0
        round_min_rtt = minimum(s.round_min_rtt, e.rtt)
        by_round = step_of_round(s, q, base, round_min_rtt)
        inside = rounds & (s.left > 1.0)
        grown = maximum(q.min_window, s.cwnd + where(rounds, by_round, by_ack))
        by_acks = no_slow_start(s._replace(ssthresh=threshold), slow, grown)
        return s._replace(
            cwnd=grown,
            ssthresh=where(rounds, threshold_of_round(s, q, base, round_min_rtt), by_acks),
            base_rtt=base,
            mean_rtt=mean,
            turn=turn,
            round_min_rtt=where(inside, round_min_rtt, math.inf),
            samples=where(inside, s.samples + 1.0, 0.0),
            left=where(inside, s.left - 1.0, where(rounds, whole(s.cwnd), 0.0)),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window; with ``by_rounds`` in whole packets, and start a new round."""
        rounds = q.by_rounds > 0
        half = where(rounds, maximum(2.0, whole(0.5 * whole(s.cwnd))), 0.5 * s.cwnd)
        new = cut(s, half)
        return new._replace(round_min_rtt=math.inf, samples=0.0, left=where(rounds, new.cwnd + 1.0, 0.0))


class NS2Vegas(Vegas):
    r"""`Vegas` as in ns-2: a slow start of its own, and a mean round-trip time (Brakmo and Peterson 1995, Sect. 3.3).

    Slow start doubles the window in every other round trip, and ends when more than gamma packets wait in the
    queue, before a loss. The round-trip time is an average over about a window. The defaults of `Vegas`
    have Reno's slow start, which overshoots.

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    alpha, beta, gamma
        Packets in the queue as of `Vegas`; ns-2's defaults.
    step, alternate, averaged, by_rounds, min_window
        As of `Vegas`.

    Examples
    --------
    >>> from responsefn import NS2Vegas
    >>> round(float(NS2Vegas().rate(1e-3, 0.04, bandwidth=8333.0)))
    968
    """

    class Params(NamedTuple):
        """As of `Vegas`."""

        alpha: float = param(1.0, source="ns-2.35, tcl/lib/ns-default.tcl: v_alpha_ 1")
        beta: float = param(3.0, source="ns-2.35, tcl/lib/ns-default.tcl: v_beta_ 3")
        gamma: float = param(1.0, source="ns-2.35, tcl/lib/ns-default.tcl: v_gamma_ 1")
        step: float = param(
            1.0,
            source="Brakmo and Peterson 1995, Sect. 3.2: the window moves linearly during the next RTT, by one packet",
        )
        alternate: int = param(
            1,
            source="Brakmo and Peterson 1995, Sect. 3.3: exponential growth only every other RTT",
        )
        averaged: int = param(
            1,
            source="ns-2.35, tcp-vegas.cc: v_sumRTT_ / v_cntRTT_, the mean of a round trip",
        )
        by_rounds: int = param(0, source="own choice: a share of the step with each ACK")
        min_window: float = param(2.0, source="ns-2.35, tcp-vegas.cc: cwnd_ is at least 2")

    catalogue_rows = ()  # the response is that of a Vegas
    reference = Reference("L. Brakmo, L. Peterson, TCP Vegas, IEEE JSAC 13(8), 1995", doi="10.1109/49.464716")


def round_trip_step(q: Any, waiting: Any) -> Any:
    """Return the change of the window in a round trip with ``waiting`` packets in the queue."""
    return where(waiting < q.alpha, q.step, where(waiting > q.beta, -q.step, 0.0))


def waiting_of_round(s: Any, base: Any, round_min_rtt: Any) -> Any:
    """Return the whole packets in the queue by the minimum of a round's round-trip times."""
    return math.floor(whole(s.cwnd) * (round_min_rtt - base) / base)


def step_of_round(s: Any, q: Any, base: Any, round_min_rtt: Any) -> Any:
    """Return the change of the window at an ACK with ``by_rounds``, which acts at the end of a round."""
    ended = s.left <= 1.0
    sampled = s.samples + 1.0 > MIN_SAMPLES
    waiting = waiting_of_round(s, base, round_min_rtt)
    w = whole(s.cwnd)
    leaves = ended & sampled & (waiting > q.gamma)
    slow = where(leaves, minimum(w, math.floor(w * base / round_min_rtt) + 1.0) - s.cwnd, 1.0)
    rest = where(ended, where(sampled, round_trip_step(q, waiting), 1.0 / w), 0.0)
    return where(s.cwnd < s.ssthresh, slow, rest)


def threshold_of_round(s: Any, q: Any, base: Any, round_min_rtt: Any) -> Any:
    """Return the threshold after an ACK with ``by_rounds``.

    It falls with the window, to at least three quarters of it.
    """
    grown = s.cwnd + step_of_round(s, q, base, round_min_rtt)
    shrinks = waiting_of_round(s, base, round_min_rtt) > where(s.cwnd < s.ssthresh, q.gamma, q.beta)
    lowered = where(shrinks, minimum(s.ssthresh, grown), s.ssthresh)
    new = maximum(q.min_window, grown)
    threshold = maximum(lowered, math.floor(new / 2.0) + math.floor(new / 4.0))
    return where((s.left <= 1.0) & (s.samples + 1.0 > MIN_SAMPLES), threshold, s.ssthresh)


class LinuxVegas(LinuxRule, Vegas):
    r"""`Vegas` as in Linux's tcp_vegas.c: whole packets by the minimum of each round, and a slow start by delay.

    Once per round trip it computes the queue W (R - R_min) / R_min, in whole packets, where R is the minimum of the
    round. Slow start doubles the window and ends with more than gamma packets: the window becomes W R_min / R plus one.
    Then it grows by a packet below alpha, and shrinks by one above beta. A loss halves it. Needs ``bandwidth``.

    Domain: p <= 0.02.

    Parameters
    ----------
    alpha, beta, gamma
        Packets in the queue as of `Vegas`.
    kernel
        Version of the file: ``"6.12"``, or ``"2.6.22"``, which moves by half a packet per round trip, since it compares
        with the window of a round trip earlier and so moves in every second one. There ``by_rounds`` is 0 and gamma
        infinite: its slow start is modelled to end by a loss.
    step, alternate, averaged, by_rounds, min_window
        As of `Vegas`.

    Examples
    --------
    >>> from responsefn.linux import LinuxVegas
    >>> round(float(LinuxVegas().rate(1e-3, 0.04, bandwidth=8333.0)))
    950
    >>> round(float(LinuxVegas(kernel="2.6.22").rate(1e-3, 0.04, bandwidth=8333.0)))
    685
    """

    class Params(NamedTuple):
        """As of `Vegas`; version."""

        alpha: float = param(2.0, source="Linux 6.12, net/ipv4/tcp_vegas.c: alpha = 2")
        beta: float = param(4.0, source="Linux 6.12, net/ipv4/tcp_vegas.c: beta = 4")
        gamma: float = param(1.0, source="Linux 6.12, net/ipv4/tcp_vegas.c: gamma = 1")
        kernel: str = KERNEL
        step: float = param(
            1.0,
            source="Linux 6.12, net/ipv4/tcp_vegas.c: tcp_snd_cwnd(tp) + 1 and - 1",
        )
        alternate: int = param(
            0,
            source="Linux 6.12, net/ipv4/tcp_vegas.c: tcp_slow_start with each ACK",
        )
        averaged: int = param(
            0,
            source="Linux 6.12, net/ipv4/tcp_vegas.c: minRTT of the round trip",
        )
        by_rounds: int = param(
            1,
            source="Linux 6.12, net/ipv4/tcp_vegas.c: once per RTT, after beg_snd_nxt",
        )
        min_window: float = param(
            2.0,
            source="Linux 6.12, net/ipv4/tcp_vegas.c: tcp_snd_cwnd(tp) < 2 is set to 2",
        )

    reference = linux_file("tcp_vegas.c")

    def check(self) -> None:
        """Check the version, and the order of the thresholds."""
        LinuxRule.check(self)
        Vegas.check(self)


@of_kernel(OLD)
class LinuxVegas2622(LinuxVegas):
    r"""`Vegas` as in Linux 2.6.22's tcp_vegas.c: one packet in two round trips.

    It compares the expected rate with the window of a round trip earlier, and so moves in every
    second one. Halves at a loss. Needs ``bandwidth``.

    Domain: p <= 0.02.

    Parameters
    ----------
    alpha, beta, gamma, step, alternate, averaged, by_rounds, min_window
        As of `Vegas`.

    Examples
    --------
    >>> from responsefn.linux import LinuxVegas
    >>> round(float(LinuxVegas(kernel="2.6.22").rate(1e-3, 0.04, bandwidth=8333.0)))
    685
    """

    @extends(LinuxVegas.Params)
    class Params(NamedTuple):
        """As of `Vegas`; version."""

        gamma: float = param(math.inf, source="own choice: a loss ends slow start, as of `Vegas`")
        step: float = param(
            0.5,
            source="own choice: the file's step of a packet in every second round trip, spread over both",
        )
        by_rounds: int = param(0, source="own choice: a share of the step with each ACK")
        min_window: float = param(1.0, source="own choice: the least window that sends")

    reference = linux_file("tcp_vegas.c", OLD)
