"""Laws: rate equations without a window rule, such as TFRC's equation and PFTK's model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import number
from hopflow.parameters import param
from responsefn.closed_forms.printed import use_printed
from responsefn.response import Law, Reference, rfc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.closed_forms.symbolic import Formula

__all__ = ["PFTK", "TFRC", "Law", "Mathis"]

MISPRINT = Reference("Y. Zheng, J. Wen, Performance comparison of TFRC and TCP, 2002, Sect. 2.1", "primary")
"""Paper that misprints TFRC's equation."""


class TFRC(Law):
    """The throughput equation of TCP-friendly rate control (RFC 5348, Sect. 3.1).

    In packets/s, the RFC's equation with the segment size s = 1 packet::

        T = 1 / (R sqrt(2bp/3) + t_RTO 3 sqrt(3bp/8) p (1 + 32 p^2))

    ``form="zheng2002"`` is the misprint of that paper (Sect. 2.2), which lacks the 3 and the square
    root in the timeout term: t_RTO (3bp/8) p (1 + 32 p^2). It shows the size of that error.

    Domain: 0 < p <= 1, as TFRC's receivers use it; the misprint has none.

    Parameters
    ----------
    packets_per_ack
        b, packets that one ACK acknowledges, >= 1; 1 is the RFC's recommendation.
    rto
        t_RTO in s, at most 100; None is the RFC's recommendation of four round trips.
    form
        ``"rfc5348"``, or ``"zheng2002"`` for the misprint.

    Examples
    --------
    >>> round(TFRC().rate(0.01, rtt=0.1), 3)
    112.332
    """

    class Params(NamedTuple):
        """Packets per ACK; retransmission timeout in s, None for four round trips; form of the equation."""

        packets_per_ack: float = param(1, source="RFC 5348, Sect. 3.1: b = 1 is recommended")
        rto: float | None = param(
            None,
            "time",
            source="RFC 5348, Sect. 3.1: t_RTO = 4 R, of Sect. 4.3",
        )
        form: str = param(
            "rfc5348",
            choices=("rfc5348", "zheng2002"),
            source="own choice: the equation, not the misprint of zheng2002",
        )

    catalogue_rows = ({}, {"form": "zheng2002"})
    reference = rfc(5348, "S. Floyd et al., TCP friendly rate control (TFRC), 2008", "Sect. 3.1 and 5.4")

    def cite(self) -> str:
        """Return where the equation comes from, or the paper that misprints it."""
        return str(MISPRINT if self.params.form == "zheng2002" else self.reference)

    def formula(self) -> Formula:
        """Return the rate in p, R, b and t_RTO."""
        return _tfrc(self.params.form)


class Mathis(Law):
    """The square-root law of Mathis, Semke, Mahdavi and Ott: T = sqrt(3 / (2bp)) / R.

    The constant sqrt(3/2) = 1.22 holds for periodic loss with one ACK per packet; `AIMD` derives
    it from the loss cycle. RFC 3649 and RFC 9438 round it to 1.2, 2 % less.

    Domain: p <= 0.02. Timeouts, which dominate above, are not modelled: the law is 45 %
    above PFTK with t_RTO = 4 R at p = 0.05, and 83 % at 0.1.

    Parameters
    ----------
    packets_per_ack
        b, packets that one ACK acknowledges, >= 1 (2 with delayed ACKs).

    Examples
    --------
    >>> round(Mathis().mean_window(0.01, rtt=0.1), 3)
    12.247
    """

    class Params(NamedTuple):
        """Packets per ACK."""

        packets_per_ack: float = param(
            1,
            at_least=1.0,
            source="Mathis et al. 1997, Table 1: periodic loss, an ACK for each packet",
        )

    reference = Reference(
        "M. Mathis et al., The macroscopic behavior of the TCP congestion avoidance algorithm, "
        "CCR 27(3), 1997; its area below the sawtooth in M. Mathis, A. Morton, RFC 8337, Sect. 5.2",
        "primary",
        "10.1145/263932.264023",
    )
    domain = (0.0, 0.02)

    def bindings(self, rtt: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return b."""
        return {"b": self.params.packets_per_ack}

    def formula(self) -> Formula:
        """Return the rate and its inverse in p, T, R and b."""
        return _mathis()


class PFTK(Law):
    """The model of Padhye, Firoiu, Towsley and Kurose (SIGCOMM 1998) without window limit.

    The full form::

        T = ((1-p)/p + w + Q/(1-p)) / (R (b/2 w + 1) + Q t_RTO f(p)/(1-p))
        w = (2+b)/(3b) + sqrt(8(1-p)/(3bp) + ((2+b)/(3b))^2)
        Q = min(1, (1-(1-p)^3) (1 + (1-p)^3 (1-(1-p)^(w-3))) / (1-(1-p)^w))
        f = 1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6

    and the approximate form::

        T = 1 / (R sqrt(2bp/3) + t_RTO min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2))

    w is the mean window at a loss, Q the probability that the loss ends in a timeout: 1 exactly
    where w <= 3, and computed so that neither p = 1 nor small p loses digits.

    Domain: Reno with losses correlated within a round trip and independent between round trips.
    Source: secondary (the equations as widely printed; the paper itself was not read).

    Parameters
    ----------
    packets_per_ack
        b, packets that one ACK acknowledges, >= 1 (2 with delayed ACKs).
    rto
        t_RTO, the first timeout, in s, at most 100; None is four round trips.
    form
        ``"full"`` or ``"approximate"``.

    Examples
    --------
    >>> round(PFTK(rto=0.2).rate(0.01, rtt=0.1), 3)
    115.694
    """

    class Params(NamedTuple):
        """Packets per ACK; timeout in s, None for four round trips; form of the model."""

        packets_per_ack: float = param(
            1,
            source="own choice: one ACK per packet, as in the papers' simulations",
        )
        rto: float | None = param(
            None,
            "time",
            source="RFC 5348, Sect. 3.1: t_RTO = 4 R, of Sect. 4.3",
        )
        form: str = param(
            "full",
            choices=("full", "approximate"),
            source="Padhye et al. 1998, eq. 32 in place of eq. 33",
        )

    catalogue_rows = ({}, {"form": "approximate"})
    reference = Reference("J. Padhye et al., Modeling TCP throughput, SIGCOMM 1998", doi="10.1145/285237.285291")

    def check_inverse(self, rtt: NDArray[np.float64]) -> None:
        """Refuse a timeout shorter than the round trip: the full form may then rise with p."""
        if self.params.form == "full" and self.params.rto is not None:
            hint = "with rto below it the full form may rise with p; see form='approximate'"
            number("rtt", rtt, at_most=self.params.rto, hint=hint)

    def formula(self) -> Formula:
        """Return the rate in p, R, b and t_RTO."""
        return _pftk(self.params.form)


@use_printed(())
def _mathis() -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import Formula, R, T, b, p

    return Formula(sp.sqrt(3 / (2 * b * p)) / R, None, 3 / (2 * b * (R * T) ** 2))


@use_printed(("rfc5348",), ("zheng2002",))
def _tfrc(form: str) -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import Formula, R, b, p, t_RTO

    timeout = 3 * b * p / 8 * p * (1 + 32 * p**2)
    if form == "rfc5348":
        timeout = 3 * sp.sqrt(3 * b * p / 8) * p * (1 + 32 * p**2)
    return Formula(1 / (R * sp.sqrt(2 * b * p / 3) + t_RTO * timeout))


@use_printed(("full",), ("approximate",))
def _pftk(form: str) -> Formula:
    import sympy as sp
    from sympy.codegen.cfunctions import expm1, log1p

    from responsefn.closed_forms.symbolic import Formula, R, b, p, t_RTO

    if form == "approximate":
        share = 3 * sp.sqrt(3 * b * p / 8)
        timeout = sp.Piecewise((share, share < 1), (1, True)) * p * (1 + 32 * p**2)
        return Formula(1 / (R * sp.sqrt(2 * b * p / 3) + t_RTO * timeout))
    delivered = 1 - p
    offset = (2 + b) / (3 * b)
    w = offset + sp.sqrt(8 * delivered / (3 * b) + p * offset**2) / sp.sqrt(p)
    any_of_three, any_of_window = p * (3 - 3 * p + p**2), -expm1(w * log1p(-p))  # 1 - (1-p)^n
    Q = sp.Piecewise(
        (any_of_three * (delivered**3 + any_of_window) / any_of_window, w > 3),
        (sp.Integer(1), True),
    )
    backoff = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    # numerator and denominator times p (1 - p), so that neither end divides by zero
    packets = delivered**2 + p * (delivered * w + Q)
    duration = p * (R * delivered * (b / 2 * w + 1) + Q * t_RTO * backoff)
    return Formula(packets / duration)
