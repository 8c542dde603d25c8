"""TCP Vegas as in Linux's tcp_vegas.c."""

from __future__ import annotations

from typing import Any, ClassVar

from hopflow.units import quantities
from responsefn.responses import references
from responsefn.rules.delay_based import BandRule, kept_in_band

__all__ = ["LinuxVegas"]


@quantities(alpha="amount", beta="amount")
class LinuxVegas(BandRule):
    r"""Vegas as in Linux's tcp_vegas.c of 2.6.22: one packet in two round trips.

    It compares the expected rate with the window of a round trip earlier, and so moves in every
    second one. Halves at a loss. Needs ``bandwidth``.

    Domain: p <= 0.02.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta.

    Examples
    --------
    >>> round(float(LinuxVegas().rate(1e-3, 0.04, bandwidth=8333.0)))
    685
    """

    recovery: ClassVar[str] = "sack"
    reference = references.TCP_VEGAS_C

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or half a packet per round trip up, down or not at all."""
        return kept_in_band(s, q, e, 0.5)
