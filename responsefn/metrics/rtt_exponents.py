"""Unfairness between two flows of a rule with different round-trip times."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.checks import instance, one_number
from hopflow.units import WithUnit, quantities
from responsefn.inputs import capacity, loss_rate, round_trip
from responsefn.response import Response, slope_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UnfairnessExponents", "rtt_unfairness"]

RTT_SPANS = 1.001, 1.05  # numerical
"""Ratios of round-trip times over which the exponent is computed, and checked."""


class UnfairnessExponents(NamedTuple):
    """The k with T_1/T_2 = (R_2/R_1)^k for nearly equal round-trip times.

    Attributes
    ----------
    same_loss_rate
        Both have the loss event rate p.
    synchronized
        Both lose at the same times; infinite if the ratio has no limit (Scalable).

    Examples
    --------
    >>> UnfairnessExponents(1.0, 2.0).synchronized
    2.0
    """

    same_loss_rate: float
    synchronized: float


@quantities(rtt="time", bandwidth="rate", p="share")
def rtt_unfairness(
    rule: Response,
    p: WithUnit,
    rtt: WithUnit = 0.1,
    bandwidth: WithUnit | None = None,
    *,
    unit_check: bool = True,
) -> UnfairnessExponents:
    """Return the exponents k of T_1/T_2 = (R_2/R_1)^k for two flows of a rule.

    Let e_p and e_R be the elasticities of the rate. The exponent is -e_R at the same loss rate. Flows that
    lose together have cycles of one length 1/(pT), which gives -e_R/(1 + e_p), derived here: 2 for AIMD, 1 for
    CUBIC's cubic, 1/(1-d) for a window of c/p^d as in Xu et al. (2004), Sect. II.

    Parameters
    ----------
    rule
        Rule or law.
    p
        Loss event rate.
    rtt
        Round-trip time in s.
    bandwidth
        Capacity in packets/s, for rules that see the queue.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more, and a ``bandwidth`` above 1e7 packets/s.

    Warns
    -----
    UserWarning
        Where a slope over 5 % of ``rtt`` to either side, or over 10 % of ``p``, is another one by more than 0.1, as
        where windows of whole packets make the rate jump.

    Examples
    --------
    >>> from responsefn import CUBIC, HSTCP, AIMD, Scalable
    >>> for rule in (AIMD(), CUBIC(friendly=0), HSTCP(), Scalable()):
    ...     same, together = rtt_unfairness(rule, 1e-5)
    ...     print(f"{rule!r}: {same:.2f}, {together:.2f}")
    AIMD(): 1.00, 2.00
    CUBIC(friendly=0): 0.25, 1.02
    HSTCP(): 1.00, 6.05
    Scalable(): 1.00, inf
    """
    instance("rule", rule, Response, "a rule or law, such as Reno() or TFRC()")
    p = one_number("p", loss_rate(p))
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    bandwidth = bandwidth if bandwidth is None else capacity(bandwidth, unit_check)

    def rates(at: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([float(rule.rate(p, float(shifted_rtt), bandwidth, unit_check=False)) for shifted_rtt in at])

    rtt_elasticity = float(slope_of(rule, rates, "rtt", np.array([rtt]), RTT_SPANS)[0])
    p_elasticity = float(rule.elasticity(p, rtt, bandwidth, unit_check=False))
    denominator = 1.0 + p_elasticity
    return UnfairnessExponents(-rtt_elasticity, -rtt_elasticity / denominator if denominator > 1e-9 else np.inf)
