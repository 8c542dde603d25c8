"""CUBIC's loss cycle where it begins as a cubic and ends in the Reno-friendly region.

Let K be the time after which the cubic is back at the last peak W = C K^3/(1 - beta), and K_0 =
sqrt(a/(R C)) with a = 3 (1-beta)/(1+beta), so that the line beta W + a t/R of the Reno-friendly
window reaches W together with the cubic for K = K_0. For x = K/K_0 in 1/sqrt(3)..1 the window
follows the cubic up to the time tau K_0, tau = (3x - sqrt(4 - 3x^2))/2, where both meet, and then
the line up to x^3 K_0. The packets of the cycle are C K_0^4/R times ::

    g(x) = ((tau-x)^4 - x^4)/4 + tau x^3/(1-beta) + beta x^3 (x^3-tau)/(1-beta) + (x^6-tau^2)/2,

derived here, and x follows from g(x) = R/(p C K_0^4). `PlateauRatio` is that function in SymPy, with
its derivatives; its numbers are `functions.solve_plateau`'s.
"""

from __future__ import annotations

import sympy as sp

__all__ = ["PlateauRatio", "ends"]


def _packets(x: sp.Expr, beta: sp.Expr) -> sp.Expr:
    met = (3 * x - sp.sqrt(4 - 3 * x**2)) / 2
    cubic = ((met - x) ** 4 - x**4) / 4 + met * x**3 / (1 - beta)
    line = beta * x**3 * (x**3 - met) / (1 - beta) + (x**6 - met**2) / 2
    return cubic + line


def ends(beta: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return g at x = 1/sqrt(3) and at x = 1, where the region begins and ends."""
    return (beta / (1 - beta) + sp.Rational(1, 2)) / 27, 1 / (1 - beta) - sp.Rational(1, 4)


class PlateauRatio(sp.Function):  # type: ignore[misc]
    """The x with g(x) = u as a function of u and beta."""

    nargs = 2

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative by u or beta, by the theorem of implicit functions."""
        x, beta = sp.symbols("x beta_", positive=True)
        g = _packets(x, beta)
        slope = 1 if argindex == 1 else -sp.diff(g, beta)
        return (slope / sp.diff(g, x)).subs({x: self, beta: self.args[1]})

    def _eval_is_positive(self) -> bool:
        return True
