"""TCP Vegas as in Linux 2.6.22's tcp_vegas.c."""

from __future__ import annotations

import math
from typing import NamedTuple

from hopflow.parameters import extends, param
from responsefn.rules.linux.vegas import LinuxVegas
from responsefn.rules.linux.versions import OLD, linux_file, of_kernel

__all__ = ["LinuxVegas2622"]


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
