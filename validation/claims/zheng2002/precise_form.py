"""zheng2002's precise response function of TCP(a, b) (Z01)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from responsefn import AIMD
from validation.checks import claim
from validation.display.drawing import figure, label
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.statistics import Values

if TYPE_CHECKING:
    import sympy
    from matplotlib.figure import Figure

LOSSES = (1e-4, 1e-3, 0.01, 0.05)
SMALL_LOSS_RATES = (1e-8, 1e-6)
"""Loss rates between which the order is measured."""


@dataclass(frozen=True)
class PreciseForm:
    """Properties of the printed form, found with SymPy.

    Attributes
    ----------
    inverts, unique
        Whether the printed T satisfies the printed p(W), and is the only positive T that does.
    same
        Whether it is the form that responsefn derives from the loss cycle.
    forgotten
        Packets of a cycle that the text before the formula leaves out.
    slope
        The factor of sqrt(p) by which the form of TCP(1,1/2) starts to fall below the square-root law.
    """

    inverts: bool
    unique: bool
    same: bool
    forgotten: sympy.Expr
    slope: sympy.Expr

    @property
    def below(self) -> dict[float, float]:
        """Relative deficit of the form against the square-root law for TCP(1,1/2), by p."""
        return {p: float(below_square_root(np.array(p))) for p in LOSSES}

    @property
    def order(self) -> float:
        """The order in p with which the two meet."""
        gap = below_square_root(np.array(SMALL_LOSS_RATES))
        return float(np.diff(np.log(gap))[0] / np.diff(np.log(SMALL_LOSS_RATES))[0])


def printed_response() -> sympy.Expr:
    """Return the precise response function as zheng2002 prints it (Sect. 2.1), packets/s."""
    import sympy as sp

    from responsefn.closed_forms.symbolic import R, a, b, p

    root = sp.sqrt(p * (b - 2) * a * (p * b * a - 8 * b - 2 * p * a))
    return (p * a * (b - 2) + root) / (4 * p * b * R)


def printed_loss_rate(window: sympy.Expr) -> sympy.Expr:
    """Return p of the peak window in packets as zheng2002 prints it (Sect. 2.1)."""
    from responsefn.closed_forms.symbolic import a, b

    return 2 * a / (b * (2 - b) * window**2 + a * (2 - b) * window)


def is_zero(expression: sympy.Expr) -> bool:
    """Return whether an expression in positive symbols and 0 < b < 1 is zero."""
    import sympy as sp

    return bool(sp.simplify(signed(expression)) == 0)


def signed(expression: sympy.Expr) -> sympy.Expr:
    """Return an expression with b = x/(1+x), x > 0, so that SymPy knows the sign of 1 - b.

    Radicands are factored, so that roots of squares simplify.
    """
    import sympy as sp

    from responsefn.closed_forms.symbolic import b

    x = sp.Symbol("x", positive=True)
    plain = expression.subs(b, x / (1 + x)).replace(
        lambda part: part.is_Pow and part.exp in (sp.S.Half, -sp.S.Half),
        lambda part: sp.factor(sp.together(part.base)) ** part.exp,
    )
    return sp.factor(sp.together(plain))


def below_square_root(p: Values) -> Values:
    """Return the relative deficit of the precise form against the square-root law, TCP(1,1/2)."""
    return np.asarray(1 - AIMD(form="precise").mean_window(p) / AIMD(form="sqrt").mean_window(p))


def expansion() -> sympy.Expr:
    """Return the factor of sqrt(p) by which the printed form of TCP(1,1/2) starts to fall."""
    import sympy as sp

    from responsefn.closed_forms.symbolic import R, a, b, p

    root_p = sp.Symbol("s", positive=True)
    tcp = printed_response().subs({a: 1, b: sp.Rational(1, 2), p: root_p**2})
    ratio = sp.simplify(tcp * R * root_p / sp.sqrt(sp.Rational(3, 2)))
    return -sp.series(ratio, root_p, 0, 2).removeO().coeff(root_p, 1)


@claim("Z01")
def measure() -> PreciseForm:
    """Compare the printed form with the printed p(W), and with the form derived."""
    import sympy as sp

    from responsefn.closed_forms.symbolic import R, T, a, b, p

    W = sp.Symbol("W", positive=True)
    printed, ours = printed_response(), AIMD(form="precise").formula()
    loss_rate = printed_loss_rate(2 * R * T / (2 - b))
    packets = sp.Poly(sp.expand(signed(1 / loss_rate)), T)
    # every p > 0 is p(W) of one W > 0, and there the roots are those of perfect squares
    same = is_zero((printed - ours.rate).subs(p, printed_loss_rate(W)))
    return PreciseForm(
        is_zero(loss_rate.subs(T, printed) - p),
        all(signed(factor).is_positive for factor in packets.coeffs()),
        same and is_zero(loss_rate - ours.inverse),
        sp.simplify(1 / printed_loss_rate(W) - b * (2 - b) / (2 * a) * W**2),
        expansion(),
    )


@measure.judge
def judge(found: PreciseForm) -> Judgement:
    """Judge by algebra."""
    return {
        "inverts": model_only(Verdict.of(found.inverts and found.unique)),
        "derived": model_only(Verdict.of(found.same)),
    }


@measure.draw
def below_the_law(found: PreciseForm) -> Figure:
    """Draw the deficit of the precise form against the square-root law."""
    fig, ax = figure(6.4, 3.2)
    p = np.geomspace(1e-6, 0.05, 100)
    slope = float(found.slope)
    ax.plot(p, 100 * below_square_root(p), label="precise form")
    ax.plot(p, 100 * slope * np.sqrt(p), "--", label=f"{slope:.3f} sqrt(p)")
    label(ax, "loss rate p (1)", "below the square-root law (%)", log="xy")
    ax.legend()
    return fig
