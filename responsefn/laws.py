"""Laws: closed forms of a rate that come without a window rule, TFRC's equation and PFTK's model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import choice, number, one_number, seconds
from responsefn.responses import Response, plain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from responsefn.symbolic import Formula

__all__ = ["PFTK", "TFRC", "Law"]


class Law(Response):
    """Base of laws: a rate equation with ``packets_per_ack`` (b) and the timeout ``rto`` (t_RTO).

    A subclass states its equation in `formula`, in the symbols p, R, b and t_RTO.
    """

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("packets_per_ack", self.params.packets_per_ack, at_least=1.0)
        if self.params.rto is not None:
            one_number("rto", self.params.rto, above=0.0)
            seconds("rto", self.params.rto)

    def bindings(self, rtt: Any) -> dict[str, Any]:
        """Return b and t_RTO; the timeout is four round trips where no other was given."""
        rto = self.params.rto
        return {"b": self.params.packets_per_ack, "t_RTO": 4.0 * rtt if rto is None else rto}

    def mean_window(self, p: ArrayLike, rtt: ArrayLike) -> float | NDArray[np.float64]:
        """Return ``rate * rtt`` in packets; parameters and shapes as for `rate`."""
        return plain(np.asarray(self.rate(p, rtt)) * seconds("rtt", rtt))


class TFRC(Law):
    """The throughput equation of TCP-friendly rate control (RFC 5348, Sect. 3.1).

    In packets/s, the RFC's equation with the segment size s = 1 packet::

        T = 1 / (R sqrt(2bp/3) + t_RTO 3 sqrt(3bp/8) p (1 + 32 p^2))

    zheng2002 prints the equation without the square root in the timeout term.

    Domain: all of 0 < p <= 1, as TFRC's receivers use it.

    Parameters
    ----------
    packets_per_ack
        b, packets that one ACK acknowledges, >= 1; 1 is the RFC's recommendation.
    rto
        t_RTO in s; None is the RFC's recommendation of four round trips.

    Examples
    --------
    >>> round(TFRC().rate(0.01, rtt=0.1), 3)
    112.332
    """

    class Params(NamedTuple):
        """Packets per ACK; retransmission timeout in s, None for four round trips."""

        packets_per_ack: float = 1
        rto: float | None = None

    def formula(self) -> Formula:
        """Return the rate in p, R, b and t_RTO."""
        return _tfrc()


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
        t_RTO, the first timeout, in s; None is four round trips.
    form
        ``"full"`` or ``"approximate"``.

    Examples
    --------
    >>> round(PFTK(rto=0.2).rate(0.01, rtt=0.1), 3)
    115.694
    """

    class Params(NamedTuple):
        """Packets per ACK; timeout in s, None for four round trips; form of the model."""

        packets_per_ack: float = 1
        rto: float | None = None
        form: str = "full"

    def check(self) -> None:
        """Check the ranges of the parameters and the name of the form."""
        super().check()
        choice("form", self.params.form, ("full", "approximate"))

    def check_inverse(self, rtt: NDArray[np.float64]) -> None:
        """Refuse a timeout shorter than the round trip: the full form may then rise with p."""
        if self.params.form == "full" and self.params.rto is not None:
            hint = "with rto below it the full form may rise with p; see form='approximate'"
            number("rtt", rtt, at_most=self.params.rto, hint=hint)

    def formula(self) -> Formula:
        """Return the rate in p, R, b and t_RTO."""
        return _pftk(self.params.form)


@cache
def _tfrc() -> Formula:
    import sympy as sp

    from responsefn.symbolic import Formula, R, b, p, t_RTO

    timeout = 3 * sp.sqrt(3 * b * p / 8) * p * (1 + 32 * p**2)
    return Formula(1 / (R * sp.sqrt(2 * b * p / 3) + t_RTO * timeout))


@cache
def _pftk(form: str) -> Formula:
    import sympy as sp
    from sympy.codegen.cfunctions import expm1, log1p

    from responsefn.symbolic import Formula, R, b, p, t_RTO

    if form == "approximate":
        share = 3 * sp.sqrt(3 * b * p / 8)
        timeout = sp.Piecewise((share, share < 1), (1, True)) * p * (1 + 32 * p**2)
        return Formula(1 / (R * sp.sqrt(2 * b * p / 3) + t_RTO * timeout))
    kept = 1 - p
    offset = (2 + b) / (3 * b)
    w = offset + sp.sqrt(8 * kept / (3 * b) + p * offset**2) / sp.sqrt(p)
    any_of_three, any_of_window = p * (3 - 3 * p + p**2), -expm1(w * log1p(-p))  # 1 - (1-p)^n
    Q = sp.Piecewise(
        (any_of_three * (kept**3 + any_of_window) / any_of_window, w > 3), (sp.Integer(1), True)
    )
    backoff = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    # numerator and denominator times p (1 - p), so that neither end divides by zero
    packets = kept**2 + p * (kept * w + Q)
    duration = p * (R * kept * (b / 2 * w + 1) + Q * t_RTO * backoff)
    return Formula(packets / duration)
