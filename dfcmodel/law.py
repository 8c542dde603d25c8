"""The bare DFC law on a ring of equal links: no clipping, no sharing, all feedback clocks in step.

With d the link delay and the feedback period, k counting periods, n_i the packets in node i and J_i
the packets that it sends per period (takano2006, eqs. 2-5),

    J_i[k] = alpha r_i[k] - D (n_{i+1}[k-1] - n_i[k]),     n_i[k+1] = n_i[k] + J_{i-1}[k-1] - J_i[k].

The target rate r is what the next node told: prescribed from outside, or fed back, r_i[k] =
J_{i+1}[k-1] (eq. 5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import number, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["bare_law"]


def bare_law(
    packets: ArrayLike,
    diffusion: float,
    periods: int,
    *,
    rate: ArrayLike | None = None,
    base_rate: float = 0.0,
    intensity: float = 1.0,
) -> NDArray[np.float64]:
    """Return the packets in every node after each period.

    Parameters
    ----------
    packets
        Packets in the nodes at the start (and one period before), shape (N,).
    diffusion
        D, packets per packet of difference and period.
    periods
        Number of periods to advance.
    rate
        Prescribed r in packets per period, shape (N,); None feeds it back by eq. (5).
    base_rate
        Packets per period that every node sent before the start.
    intensity
        alpha.

    Returns
    -------
    Shape (periods + 1, N).

    Raises
    ------
    ValueError
        For a parameter out of range.
    """
    start = number("packets", packets)
    number("diffusion", diffusion, above=0.0)
    whole("periods", periods, 0, 10**9)
    prescribed = None if rate is None else np.broadcast_to(number("rate", rate), start.shape)
    history = np.empty((periods + 1, len(start)))
    history[0] = start
    before = start
    # what left each node one period ago, in balance with the profile it stood on
    sent = (
        np.full(start.shape, float(base_rate))
        if prescribed is None
        else intensity * prescribed - diffusion * (np.roll(start, -1) - start)
    )
    for k in range(periods):
        now = history[k]
        told = np.roll(sent, -1) if prescribed is None else prescribed
        J = intensity * told - diffusion * (np.roll(before, -1) - now)
        history[k + 1] = now + np.roll(sent, 1) - J
        before, sent = now, J
    return history
