"""Base of window rules and laws: the rate as a function of loss event rate and RTT."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from hopflow.parameters import Parametrized
from hopflow.units import quantities
from responsefn.closed_forms.evaluation import Code, evaluate
from responsefn.diagnostics import quiet
from responsefn.equations import formula_of, table_of
from responsefn.inputs import (
    LossRates,
    keeps_labels,
    loss_rate,
    plain,
    round_trip,
    same_shape,
    spread,
)

if TYPE_CHECKING:
    import sympy
    from numpy.typing import ArrayLike, NDArray

    from responsefn.closed_forms.symbolic import Formula
    from responsefn.inputs import Bandwidth, Rates

__all__ = ["Reference", "Response", "range_of", "rfc"]


AT_END = 1e-12
"""Relative rounding of a loss event rate at an end of a domain."""
BORDER = 1e-12
"""Relative distance from the end of the range of a closed form within which each p is checked separately."""


class Reference(NamedTuple):
    """A source of a rule or law, as `Response.cite` prints it.

    Attributes
    ----------
    text
        Author, title, place, year.
    source
        ``"primary"`` if the definition was read in the source itself, in its authors' code, in a later text
        of its authors, which is then named, or in the bundled copy of its tables; ``"secondary"`` if it
        is taken from other authors' descriptions; ``"own"`` if it is derived in hopflow.
    """

    text: str
    source: str = "secondary"
    doi: str = ""

    def __str__(self) -> str:
        link = f", doi:{self.doi}" if self.doi else ""
        return f"{self.text}{link} (source: {self.source})"


def rfc(number: int, text: str, where: str) -> Reference:
    """Return a primary reference to an RFC with its sections.

    >>> print(rfc(6582, "T. Henderson et al., The NewReno modification, 2012", "Sect. 3.2"))
    T. Henderson et al., The NewReno modification, 2012, RFC 6582, Sect. 3.2, doi:10.17487/RFC6582 (source: primary)
    """
    return Reference(f"{text}, RFC {number}, {where}", "primary", f"10.17487/RFC{number}")


class Response(Parametrized):
    """Base of rules and laws: a rate in packets/s as a function of the loss event rate p and the round-trip time.

    Subclasses define their closed form (`formula`) and the numbers for the symbols of their
    parameters (`bindings`).

    Attributes
    ----------
    reference
        Source; `cite` prints it.
    domain
        Smallest and largest loss event rate for which the response is meant; see `in_domain`.
    monotone
        Whether the rate falls with p everywhere, so that there is an inverse.
    why_no_inverse
        Reason in the error of `invert` otherwise.
    capacity
        Whether the rate depends on the path's capacity: ``"ignored"``, ``"optional"`` or ``"needed"``.
    dynamics
        Dynamics in LaTeX, for rules without `formula`.
    solved_by
        Method for the rate without a formula; ``"none"`` without a rate.
    package
        Package that exports the class.
    catalogue_kind
        Kind in the catalogue: ``"rule"`` (of a window), ``"rate rule"``, ``"delivery rule"`` or ``"law"``.
    catalogue_rows
        Parameters of each row of the class in the catalogue; a class without its own value has one row at the
        defaults.
    """

    SWEPT_BY = "responsefn.sweeps"

    package: ClassVar[str] = "responsefn"
    catalogue_kind: ClassVar[str] = "law"
    catalogue_rows: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    reference: ClassVar[Reference | None] = None
    domain: ClassVar[tuple[float, float]] = (0.0, 1.0)
    monotone: ClassVar[bool] = True
    why_no_inverse: ClassVar[str] = "its rate does not fall with p everywhere"
    capacity: ClassVar[str] = "ignored"
    dynamics: ClassVar[str] = ""
    solved_by: ClassVar[str] = "numerical cycle"

    def cite(self) -> str:
        """Return the source of the rule or law, and whether the source itself was read."""
        if self.reference is None:
            return f"{type(self).__name__}: no source stated"
        return str(self.reference)

    def _repr_html_(self) -> str:
        return table_of([self])

    @quantities(p="share")
    def in_domain(self, p: ArrayLike) -> NDArray[np.bool_]:
        """Return which loss event rates are within ``domain``.

        `rate` also accepts others; curves, tables and plots mark them.

        Examples
        --------
        >>> from responsefn import Reno
        >>> Reno().in_domain([0.01, 0.1])
        array([ True, False])
        """
        low, high = self.domain
        p = np.asarray(p, dtype=np.float64)
        return (p >= low * (1.0 - AT_END)) & (p <= high * (1.0 + AT_END))

    def formula(self) -> Formula | None:
        """Return the closed form in the symbols of `responsefn.closed_forms.symbolic`, or None."""
        return None

    def closed_form(self) -> Formula:
        """Return `formula`; raise TypeError without one."""
        formula = formula_of(self)
        if formula is None:
            name = type(self).__name__
            raise TypeError(f"{name} states no closed form: define {name}.formula()")
        return formula

    def bindings(self, rtt: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return the numbers for the parameters' symbols, by the symbols' names.

        Parameters
        ----------
        rtt
            Round-trip time in s, for parameters whose default follows from it.
        """
        fields = self.params._asdict().items()
        return {name: value for name, value in fields if not isinstance(value, str)}

    def check_inverse(self, rtt: NDArray[np.float64]) -> None:
        """Raise ValueError where the rate does not fall with p everywhere; called by `invert`."""

    @property
    def expression(self) -> sympy.Expr:
        """The rate in packets/s as a SymPy expression, the source of the numerical code."""
        return self.closed_form().rate

    def _code(self, name: str) -> Code:
        """Return the code of an attribute of the closed form."""
        return cast("Code", self.closed_form().code(name))

    @quantities(rtt="time", bandwidth="rate", p="share")
    @keeps_labels
    def rate(self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True) -> Rates:
        """Return the rate in packets/s.

        For a window rule it is the closed form where that holds (`closed_form_holds`), otherwise the rate of the
        numerical cycle.

        Parameters
        ----------
        p
            Loss event rate, 0 < p <= 1, any shape.
        rtt
            Round-trip time without queue in s, any shape that broadcasts with ``p``.
        bandwidth
            Capacity in packets/s, for rules that depend on the queue (``capacity``); others ignore it.
        unit_check
            Whether to refuse an ``rtt`` of 5 s or more, which was probably meant in ms.

        Returns
        -------
        A float for two numbers, otherwise an array of the broadcast shape.

        Raises
        ------
        ValueError
            For an invalid argument, with its value and the allowed range.
        ArithmeticError
            If the window of a rule without a closed form still drifts after four million loss events.
        """
        return self._rate(p, rtt, bandwidth, unit_check)

    def _rate(
        self,
        p: Any,
        rtt: Any,
        bandwidth: float | None,  # noqa: ARG002
        unit_check: bool,
    ) -> Rates:
        """Return `rate` of plain arrays, by the closed form; other responses override this."""
        losses, rtt = LossRates(p), round_trip(rtt, unit_check)
        shape = same_shape(p=losses.values, rtt=rtt)
        return plain(spread(self.value_at(self._code("rate"), losses, rtt), shape))

    @quantities(rtt="time", bandwidth="rate", p="share")
    @quiet()
    @keeps_labels
    def elasticity(
        self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True
    ) -> Rates:
        """Return d log T / d log p: -1/2 for a square-root law, -3/4 for CUBIC's.

        SymPy differentiates a closed form. Otherwise, and where that derivative overflows, it is a
        central difference of the rate over 1 % in p to either side. Parameters and shapes as for `rate`.
        """
        p, rtt = loss_rate(p), round_trip(rtt, unit_check)
        p, rtt = np.broadcast_arrays(p, rtt) if same_shape(p=p, rtt=rtt) != p.shape else (p, rtt)
        slope = np.empty(p.shape)
        closed = np.zeros(p.shape, dtype=bool)
        if self.uses_closed_form(bandwidth):
            closed = np.broadcast_to(self.closed_form_holds(p, rtt), p.shape)
            try:
                slope[...] = self.value_of(self._code("log_slope"), p=p, R=rtt)
            except ArithmeticError:  # a power of p beyond the range of numbers
                slope[...] = np.nan
            closed = closed & np.isfinite(slope)
        if not closed.all():
            rtts = np.broadcast_to(rtt, p.shape)[~closed]
            up, down = np.minimum(p[~closed] * 1.01, 1.0), p[~closed] / 1.01
            high, low = (np.log(self.rate(at, rtts, bandwidth, unit_check=unit_check)) for at in (up, down))
            slope[~closed] = (high - low) / np.log(up / down)
        return plain(slope)

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:  # noqa: ARG002
        """Return whether `rate` evaluates the closed form (otherwise the numerical cycle)."""
        return True

    @quantities(rtt="time", p="share")
    def closed_form_holds(self, p: ArrayLike, rtt: ArrayLike) -> NDArray[np.bool_]:
        """Return whether the closed form is the response at each loss event rate and round-trip time.

        Parameters
        ----------
        p, rtt
            Loss event rate, and round-trip time in s: checked, shapes that broadcast.

        Examples
        --------
        >>> from responsefn import Scalable
        >>> Scalable().closed_form_holds([0.004, 0.005], 0.1)
        array([ True, False])
        """
        formula = formula_of(self)
        p, rtt = np.asarray(p, dtype=np.float64), np.asarray(rtt, dtype=np.float64)
        shape = np.broadcast_shapes(p.shape, rtt.shape)
        condition = None if formula is None else formula.code("condition")
        if condition is None:
            return np.full(shape, formula is not None)
        return np.broadcast_to(self.value_of(condition, p=p, R=rtt), shape)

    def value_of(self, expression: Code | sympy.Basic, **values: Any) -> NDArray[Any]:
        """Evaluate the code of this object's formula, or an expression; ``values`` as checked arrays by symbol."""
        if not isinstance(expression, Code):
            from responsefn.closed_forms.printing import code_of

            expression = code_of(expression)
        return evaluate(expression, self.bindings(values.get("R")) | values)

    def value_at(self, code: Code, losses: LossRates, rtt: NDArray[np.float64]) -> NDArray[Any]:
        """Evaluate the code of this object's formula, and check the loss event rates piece by piece."""
        if rtt.ndim or "p" not in code.names:
            losses.check_all()
        check = None if losses.checked else losses.check
        values = self.bindings(rtt) | {"p": losses.values, "R": rtt}
        result = evaluate(code, values, check)
        losses.checked = True
        return result


@lru_cache(maxsize=1024)
def range_of(response: Response, rtt: float) -> tuple[float, float] | None:
    """Return a range of p in which the closed form of a response holds; None if its condition is not bounds of p.

    All bounds of p in the condition must hold, or one of several upper bounds. The range ends at a relative distance
    `BORDER` inside of them.

    Examples
    --------
    >>> from responsefn import HSTCP
    >>> low, high = range_of(HSTCP(), 0.1)
    >>> round(low, 9), round(high, 9)
    (1e-07, 0.166666667)
    """
    bounds = response.closed_form().bounds()
    if bounds is None:
        return None
    one_suffices, bound_codes = bounds
    lows: list[float] = [0.0]
    highs: list[float] = []
    for lower, code in bound_codes:
        end = float(response.value_of(code, R=np.asarray(rtt)))
        (lows if lower else highs).append(end * (1.0 + BORDER if lower else 1.0 - BORDER))
    return max(lows), (max if one_suffices else min)(highs, default=math.inf)
