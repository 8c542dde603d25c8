"""Formulas in SymPy and the NumPy kernels that are generated from them.

This module imports SymPy; the rest of `responsefn` imports it only where a formula is needed.
The kernel of an expression is made once and kept, so that formula and code cannot drift apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy as sp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = [
    "Formula",
    "PowerGrowth",
    "R",
    "T",
    "a",
    "b",
    "evaluate",
    "log_slope",
    "p",
    "positive_root",
    "t_RTO",
]

p, R, T, a, b, t_RTO = sp.symbols("p R T a b t_RTO", positive=True)
"""Loss event rate, round-trip time in s, rate in packets/s, the two parameters that the papers
call a and b, and the retransmission timeout in s."""


class PowerGrowth(NamedTuple):
    """A window that each ACK lets grow by ``step * W^(1-exponent)``, and a loss cuts to ``kept`` W.

    Then W^exponent before one loss is a linear function of W^exponent before the last one and of the
    packets between them: AIMD (exponent 2), Scalable (1), CTCP without a queue (2 - k).
    """

    exponent: sp.Expr
    step: sp.Expr
    kept: sp.Expr


@dataclass(frozen=True)
class Formula:
    """What is known in closed form of a rule or law.

    Attributes
    ----------
    rate
        Rate in packets/s, in the symbols ``p``, ``R`` and those of the parameters.
    peak_window
        Window in packets just before a loss, in ``p`` and the parameters; None for a law.
    inverse
        Loss event rate in the symbols ``T`` (rate), ``R`` and the parameters; None where there
        is no closed form.
    growth
        The dynamics at large windows in the symbols of the parameters, where it is a power law.
    """

    rate: sp.Expr
    peak_window: sp.Expr | None = None
    inverse: sp.Expr | None = None
    growth: PowerGrowth | None = None

    @property
    def mean_window(self) -> sp.Expr:
        """Mean window in packets, ``rate * R``."""
        return self.rate * R

    def subs(self, values: Mapping[sp.Symbol, sp.Expr]) -> Formula:
        """Return the same formula with parameters replaced by values."""
        forms = (self.rate, self.peak_window, self.inverse)
        rate, peak, inverse = (form if form is None else form.subs(values) for form in forms)
        growth = self.growth and PowerGrowth(*(form.subs(values) for form in self.growth))
        return Formula(rate, peak, inverse, growth)


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


@cache
def _kernel(expression: sp.Expr) -> tuple[tuple[str, ...], Callable[..., Any]]:
    symbols = sorted(expression.free_symbols, key=str)
    modules = [{"LambertW": _lambert_w}, "numpy"]
    return tuple(map(str, symbols)), sp.lambdify(symbols, expression, modules=modules, cse=True)


def _lambert_w(x: Any) -> Any:
    from scipy.special import lambertw

    return lambertw(x).real


def evaluate(expression: sp.Expr, values: Mapping[str, Any]) -> NDArray[np.float64]:
    """Evaluate an expression in NumPy; ``values`` are numbers or arrays by the symbols' names.

    Values that the expression does not contain are ignored; the others broadcast.
    """
    names, kernel = _kernel(expression)
    # log1p(-1) = -inf where p = 1, inside expm1, and in branches that are not taken there
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(kernel(*(values[name] for name in names)), dtype=np.float64)
