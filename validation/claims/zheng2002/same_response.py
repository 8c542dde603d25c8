"""Whether a = 3b/(2-b) makes the responses of TCP(a, b) the same (Z02)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from responsefn import AIMD
from validation.checks import claim
from validation.claims.zheng2002 import loss_sweeps, more_flows
from validation.claims.zheng2002.loss_sweeps import INDEPENDENT, LIFT, PERIODIC, REFERENCE, RULES
from validation.claims.zheng2002.pairs import FACTOR
from validation.claims.zheng2002.precise_form import is_zero
from validation.display.drawing import figure, label
from validation.judgements.verdicts import Judgement, Sides, Verdict, model_only, packets_only
from validation.statistics import LEVEL, Estimate, Values, combine, everywhere

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OTHERS = tuple(rule for rule in RULES if rule != REFERENCE)
MIDDLE = OTHERS[0]
TOLERANCE = 0.5
"""Relative difference of rates that are reasonably fair: the paper's Sect. 2.2 calls a rate within a factor of two so, and one
half of TCP's is this much less."""
LINKS = (more_flows.SLOW, more_flows.FAST)
"""The links of 15 and 60 Mb/s of Sect. 3.2."""
DOMAIN = 50
"""Smallest k = 1/p: AIMD's forms are not meant for p above 0.02."""
LOSSES = (1e-4, 1e-3, 0.01, 0.02, 0.05)
OUTSIDE_K, CROWDED_K, LONG_K = 33, 20, 5000
"""k at which TCP(1/5,1/8) is outside, that of the largest p, and one with long loss intervals."""


@dataclass(frozen=True)
class SameResponse:
    """Rates over TCP(1,1/2)'s at the same loss and random numbers.

    Attributes
    ----------
    forms
        Whether SymPy finds a form equal for TCP(3b/(2-b), b) and TCP(1,1/2).
    ratios
        ns-2's ratios, by kind of loss and rule.
    beside
        Logarithm of ns-2's rate over that of TCP(1,1/2) on one link, by link, rule and flows of each kind.
    """

    forms: dict[str, bool]
    ratios: dict[str, dict[str, loss_sweeps.Points]]
    beside: dict[str, dict[str, dict[int, Estimate]]]

    def beside_span(self, rule: str) -> tuple[float, float]:
        """Return the smallest and the largest ratio of a rule on one link."""
        gaps = [gap.value for rules in self.beside.values() for gap in rules[rule].values()]
        return math.exp(min(gaps)), math.exp(max(gaps))

    def inside(self, loss: str) -> dict[str, loss_sweeps.Points]:
        """Return the ratios at the p that the forms are meant for, by rule."""
        return {rule: points.between(DOMAIN) for rule, points in self.ratios[loss].items()}

    @property
    def corrected(self) -> dict[str, float]:
        """Largest deviation from 1 of the ratio by the recovery-corrected form, by rule."""
        p = np.geomspace(1e-4, 1 / DOMAIN, 50)
        return {rule: float(np.max(np.abs(recovery_ratio(p, rule) - 1))) for rule in OTHERS}

    @property
    def limit(self) -> dict[str, float]:
        """The ratio under independent loss as p -> 0, derived, by rule."""
        return {rule: LIFT[rule] / LIFT[REFERENCE] for rule in OTHERS}

    @property
    def fair_increase(self) -> dict[str, float]:
        """The a that gives TCP(1,1/2)'s rate under independent loss as p -> 0, by rule."""
        return {rule: RULES[rule][0] * (LIFT[REFERENCE] / LIFT[rule]) ** 2 for rule in OTHERS}

    @property
    def cycles(self) -> dict[str, float]:
        """Measured round trips of a periodic loss cycle at p = 1/33, by rule."""
        return {rule: loss_sweeps.cycle(rule, OUTSIDE_K) for rule in RULES}

    @property
    def timeouts(self) -> dict[str, float]:
        """Fraction of the window cuts under independent loss at p = 1/20 that were timeouts."""
        return {rule: timeouts(rule, CROWDED_K) for rule in RULES}

    def recovery(self, p: float, rule: str) -> float:
        """Return the ratio by the recovery-corrected form."""
        return float(recovery_ratio(np.array(p), rule))

    def deficit(self, rule: str) -> Values:
        """Return the deficit of a rule against TCP(1,1/2) under independent loss, in per cent."""
        return 100 * (1 - self.inside(INDEPENDENT)[rule].ratio)

    def closed(self, rule: str) -> float:
        """Return which part of the deviation from 1 goes away when loss intervals are equal."""
        one, other = (abs(float(self.ratios[loss][rule].at(LONG_K).ratio[0]) - 1.0) for loss in (INDEPENDENT, PERIODIC))
        return 1.0 - other / one


def recovery_ratio(p: Values, rule: str) -> Values:
    """Return the rate of a rule over TCP(1,1/2)'s by the recovery-corrected form."""
    windows = [AIMD(*RULES[name], form="recovery").mean_window(p) for name in (rule, REFERENCE)]
    return np.asarray(windows[0] / windows[1])


def same_form(form: str) -> bool:
    """Return whether SymPy finds a form equal for TCP(3b/(2-b), b) and TCP(1,1/2)."""
    import sympy as sp

    from responsefn.closed_forms.symbolic import a, b

    rate = AIMD(form=form).formula().rate
    chosen = rate.subs(a, 3 * b / (2 - b))
    return is_zero(chosen - rate.subs({a: sp.Integer(1), b: sp.Rational(1, 2)}))


def timeouts(rule: str, k: int) -> float:
    """Return the fraction of the window cuts under independent loss that were timeouts."""
    runs = loss_sweeps.rows_at(INDEPENDENT, rule, k)
    return float(runs["timeouts"].sum() / runs["cuts"].sum())


@claim("Z02", cases=(*loss_sweeps.bundled(PERIODIC, INDEPENDENT), *LINKS, more_flows.LATER_TCP))
def measure() -> SameResponse:
    """Compare the forms by algebra, and the rates of ns-2 run by run."""
    return SameResponse(
        {form: same_form(form) for form in ("sqrt", "precise")},
        {
            loss: {
                rule: loss_sweeps.paired(loss_sweeps.rows(loss, rule), loss_sweeps.rows(loss, REFERENCE))
                for rule in OTHERS
            }
            for loss in (PERIODIC, INDEPENDENT)
        },
        {link: {rule: more_flows.gap(link, rule, REFERENCE) for rule in OTHERS} for link in LINKS},
    )


measure.constants_of(loss_sweeps)


@measure.judge
def judge(
    found: SameResponse, *, tolerance: float = TOLERANCE, factor: float = FACTOR, level: float = LEVEL
) -> Judgement:
    """Judge the forms by algebra, the rates at equal loss within a tolerance, and those on one link within a factor."""

    def packets(loss: str) -> Verdict:
        return Verdict.all_of(points.keeps(tolerance, level) for points in found.inside(loss).values())

    corrected = max(found.corrected.values()) <= tolerance
    limit = max(abs(ratio - 1) for ratio in found.limit.values()) <= tolerance
    allowed = Estimate(math.log(factor), 0.0)
    inside = [
        combine((allowed, gap), (1.0, sign))
        for rules in found.beside.values()
        for gaps in rules.values()
        for gap in gaps.values()
        for sign in (1.0, -1.0)
    ]
    return {
        "sqrt": model_only(Verdict.of(found.forms["sqrt"])),
        "precise": model_only(Verdict.of(found.forms["precise"])),
        "periodic": Sides(Verdict.of(corrected), packets(PERIODIC)),
        "independent": Sides(Verdict.of(limit), packets(INDEPENDENT)),
        "compete": packets_only(everywhere(inside, level)),
    }


@measure.draw
def rates(found: SameResponse) -> Figure:
    """Draw the ratios over the loss rate, periodic and independent."""
    fig, axes = figure(6.4, 5.6, nrows=2, sharex=True)
    p = np.geomspace(1e-4, 0.05, 100)
    for ax, (loss, each) in zip(axes, found.ratios.items(), strict=True):
        loss_sweeps.shade(ax, {DOMAIN: TOLERANCE})
        for rule, points in each.items():
            loss_sweeps.draw_points(ax, rule, points)
            if loss == PERIODIC:
                ax.plot(p, recovery_ratio(p, rule), color=loss_sweeps.COLOUR[rule], lw=1)
            else:
                ax.plot([8e-5, 6e-4], [found.limit[rule]] * 2, color=loss_sweeps.COLOUR[rule], lw=1)
    axes[0].set_ylabel("rate / TCP(1,1/2)'s, periodic (1)")
    axes[0].legend(fontsize=8, loc="upper left")
    label(axes[1], "loss rate p (1)", "independent (1)", log="x")
    return fig
