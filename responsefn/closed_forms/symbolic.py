"""Closed forms of rules and laws in SymPy.

This module imports SymPy; the rest of `responsefn` imports it only where a formula is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import sympy as sp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from responsefn.closed_forms.printed import Code

__all__ = ["Formula", "PowerGrowth", "R", "T", "a", "b", "log_slope", "p", "positive_root", "t_RTO"]

p, R, T, a, b, t_RTO = sp.symbols("p R T a b t_RTO", positive=True)
"""Loss event rate, round-trip time in s, rate in packets/s, the two parameters that the papers
call a and b, and the retransmission timeout in s."""


class PowerGrowth(NamedTuple):
    """A window W that grows by ``step * W^(1-exponent)`` per ACK and falls to ``decrease_factor * W`` at a loss.

    Then W^exponent before a loss is a linear function of W^exponent before the previous loss and of the
    packets between both: AIMD (exponent 2), Scalable (1), CTCP without a queue (2 - k).
    """

    exponent: sp.Expr
    step: sp.Expr
    decrease_factor: sp.Expr


@dataclass(frozen=True)
class Formula:
    """Closed form of a rule or law.

    Attributes
    ----------
    rate
        Rate in packets/s, in the symbols ``p``, ``R`` and the parameters.
    peak_window
        Window in packets just before a loss, in ``p`` and the parameters; None for a law.
    inverse
        Loss event rate in the symbols ``T`` (rate), ``R`` and the parameters; None without a
        closed form.
    growth
        The dynamics at large windows in the symbols of the parameters, where it is a power law.
    condition
        Range of the closed form, as a relation between ``p``, ``R`` and the
        parameters; elsewhere `WindowRule.rate` evaluates the numerical cycle.
    """

    rate: sp.Expr
    peak_window: sp.Expr | None = None
    inverse: sp.Expr | None = None
    growth: PowerGrowth | None = None
    condition: sp.Basic = sp.true

    @property
    def everywhere(self) -> bool:
        """Whether the condition is true; by identity, since SymPy's comparison takes 0.1 ms."""
        return self.condition is sp.true or self.condition is True

    @property
    def conditional_rate(self) -> sp.Expr:
        """The rate where the condition holds, NaN elsewhere."""
        if self.everywhere:
            return self.rate
        return sp.Piecewise((self.rate, self.condition), (sp.nan, True))

    @property
    def mean_window(self) -> sp.Expr:
        """Mean window in packets, ``rate * R``."""
        return self.rate * R

    def code(self, name: str) -> Code | None:
        """Return an attribute as Python code, or None without one.

        Parameters
        ----------
        name
            Name of an attribute; ``"log_slope"``; or ``"exponent"``, ``"step"`` or ``"decrease_factor"`` of the growth.
            A condition that is always true is None.
        """
        from responsefn.closed_forms.printing import code_of

        if name == "condition" and self.everywhere:
            return None
        if name == "log_slope":
            return code_of(log_slope(self.rate))
        of_growth = name in PowerGrowth._fields
        expression = getattr(self.growth if of_growth else self, name, None)
        return None if expression is None else code_of(sp.sympify(expression))

    def subs(self, values: Mapping[sp.Symbol, sp.Expr]) -> Formula:
        """Return the formula with parameters replaced by values."""
        forms = (self.rate, self.peak_window, self.inverse)
        rate, peak, inverse = (form if form is None else form.subs(values) for form in forms)
        growth = self.growth and PowerGrowth(*(form.subs(values) for form in self.growth))
        return Formula(rate, peak, inverse, growth, self.condition.subs(values))


def positive_root(square: sp.Expr, linear: sp.Expr) -> sp.Expr:
    """Return the root x > 0 of ``square x^2 + linear x = 1/p`` (both >= 0), free of cancellation.

    SymPy solves the equation for 1/x, whose positive root is a sum of positive terms.
    """
    two, one, u = sp.symbols("two one u", positive=True)
    roots = sp.solve(p * (two + one * u) - u**2, u)
    root = max(roots, key=lambda root: root.subs({two: 1, one: 1, p: 1}))
    return 1 / root.subs({two: square, one: linear})


@cache
def log_slope(rate: sp.Expr) -> sp.Expr:
    """Return d log(rate) / d log(p)."""
    return p * sp.diff(rate, p) / rate
