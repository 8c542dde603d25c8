"""TCP Vegas as in Linux's tcp_vegas.c."""

from __future__ import annotations

import math
from typing import NamedTuple

from hopflow.parameters import extends, param
from responsefn.rules.linux.versions import KERNEL, OLD, LinuxRule, linux_file, of_kernel
from responsefn.rules.vegas import Vegas

__all__ = ["LinuxVegas"]


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
