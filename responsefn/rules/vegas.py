"""TCP Vegas: a few packets in the queue.

Its response needs the capacity: ``bandwidth=`` in packets/s, with a window above ``bandwidth * rtt``
waiting in a queue that only this flow fills.
"""

from __future__ import annotations

from typing import Any, ClassVar

from responsefn.responses import references
from responsefn.rules.delay_based import BandRule, kept_in_band

__all__ = ["Vegas"]


class Vegas(BandRule):
    r"""TCP Vegas (Brakmo and Peterson 1995): keeps alpha to beta packets in the queue.

    Per round trip one packet more below alpha, one less above beta, half the window at a loss (the
    gentler cut of a loss that its own fine timer finds is left out).

    Without loss the window rests at W = CR + alpha, with C the capacity in packets/s. With loss the
    numerical cycle, derived here; where it reaches W, 1/p > 3 W^2/8, that is Reno's climb from W/2
    and then the capacity::

        T = (1/p) / (R (CR - W/2) + (1/p - ((CR)^2 - (W/2)^2) / 2) / C)

    Domain: p <= 0.02. Needs ``bandwidth``.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta.

    Examples
    --------
    >>> from responsefn import Vegas
    >>> round(Vegas().rate(1e-7, 0.04, bandwidth=2000.0))
    2000
    """

    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= [N < \alpha] - [N > \beta],\ N = W (1 - R_{\min} / R)"
        r",\ \text{loss: } W \leftarrow W / 2"
    )
    reference = references.BRAKMO

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or one packet per round trip up, down or not at all."""
        return kept_in_band(s, q, e, 1.0)
