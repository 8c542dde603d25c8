"""Ratios of closed forms to direct simulations of their rules over p, the table of the docs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hopflow.intervals import spawn_seeds
from hopflow.results import Result, figure
from responsefn.diagnostics import quiet
from responsefn.rules.base import WindowRule
from responsefn.rules.bic import BIC
from responsefn.rules.classic import AIMD, Relentless, Reno, Tahoe
from responsefn.rules.compound import CTCP
from responsefn.rules.cubic import CUBIC
from responsefn.rules.dctcp import DCTCP
from responsefn.rules.highspeed_tcp import HSTCP
from responsefn.rules.htcp import HTCP
from responsefn.rules.illinois import Illinois
from responsefn.rules.scalable import Scalable
from responsefn.simulation.losses import Deterministic, Independent
from responsefn.simulation.single_flow import DirectSimulation, simulate_curve

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["EXACT", "RatioTable", "ratios"]

RTT = 0.1
LOSS_RATES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
TOLERANCE = 0.005

EXACT: Mapping[WindowRule, tuple[float, float]] = {
    Reno(): (1e-7, 0.02),
    AIMD(0.2, 0.125): (1e-7, 0.1),
    Tahoe(): (1e-7, 5e-5),
    Scalable(): (1e-7, 0.1),
    CUBIC(friendly=0): (1e-7, 1e-3),
    CUBIC(): (1e-7, 0.02),
    Relentless(): (1e-7, 0.1),
    Illinois(): (1e-7, 0.1),
    CTCP(): (1e-7, 0.1),
    HSTCP(form="cycle"): (1e-7, 0.1),
    HSTCP(table=1): (1e-7, 0.1),
    HTCP(): (1e-7, 0.1),
    BIC(fast_convergence=0): (1e-7, 0.01),
}
"""Where closed form (or numerical cycle) and deterministic simulation agree within 0.5 %, at an RTT of
0.1 s: smallest and largest p."""

PUBLISHED: tuple[WindowRule, ...] = (
    Scalable(form="published"),
    HSTCP(),
    BIC(),
    CUBIC(fast_convergence=1),
    DCTCP(),
)
"""Published forms, and rules whose fast convergence keeps them below: in the table without a claim."""


@dataclass(frozen=True, repr=False, eq=False)
class RatioTable(Result):
    """Closed form or numerical cycle over the simulation.

    Attributes
    ----------
    rules
        n rules.
    p
        Loss event rates, shape (m,).
    deterministic, independent, half_width
        Ratios, and the half width of the 95 % interval of the latter, shape (n, m). It covers formula over long-run
        rate: the half width of the simulated rate (`SimulatedResponse.half_width`) over the rate, times the ratio. NaN
        where the simulation is too short. The losses of all entries are independent of each other.
    """

    rules: tuple[WindowRule, ...]
    p: Floats
    deterministic: Floats
    independent: Floats
    half_width: Floats
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "p": ("loss",), "deterministic": ("rule", "loss"),
        "independent": ("rule", "loss"), "half_width": ("rule", "loss"),
    }  # fmt: skip

    def to_xarray(self) -> xr.Dataset:
        """Return the ratios as a Dataset, with the rules as a coordinate."""
        return super().to_xarray().assign_coords(rule=[str(rule) for rule in self.rules])

    def inside(self, rule: WindowRule) -> NDArray[np.bool_]:
        """Return where the ratio is claimed to be 1 within 0.5 %, shape (m,)."""
        low, high = EXACT.get(rule, (np.inf, -np.inf))
        return (self.p >= low * (1 - 1e-9)) & (self.p <= high * (1 + 1e-9))

    def markdown(self, independent: bool = False) -> str:
        """Return the table; ratios inside the stated domain are bold."""
        values = self.independent if independent else self.deterministic
        head = "| rule | " + " | ".join(f"{p:g}" for p in self.p) + " |"
        lines = [head, "|---|" + "---|" * len(self.p)]
        for n, rule in enumerate(self.rules):
            bold = self.inside(rule) & (not independent)
            cells = [
                f"**{value:.4f}**" if strong else f"{value:.4f}" for value, strong in zip(values[n], bold, strict=True)
            ]
            if independent:
                halves = self.half_width[n]
                cells = [
                    f"{v:.3f} ± {h:.3f}" if np.isfinite(h) else f"{v:.3f}"
                    for v, h in zip(values[n], halves, strict=True)
                ]
            lines.append(f"| `{rule!r}` | " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def summary(self) -> dict[str, object]:
        """Return the deterministic ratios by rule."""
        return {
            repr(rule): "  ".join(f"{value:.4f}" for value in row)
            for rule, row in zip(self.rules, self.deterministic, strict=True)
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the deterministic ratios over p; return the Axes."""
        axes: Axes = figure()[1] if ax is None else ax
        for rule, row in zip(self.rules, self.deterministic, strict=True):
            axes.semilogx(self.p, row, ".-", label=repr(rule))
        axes.set(xlabel="loss event rate p", ylabel="formula / simulation", ylim=(0.9, 1.1))
        axes.legend(fontsize=6)
        return axes


@quiet()
def ratios(
    rules: tuple[WindowRule, ...] | None = None,
    p: tuple[float, ...] = LOSS_RATES,
    *,
    events: int = 200,
    seed: int | np.random.Generator = 1,
) -> RatioTable:
    """Return formula over simulation, under deterministic and independent loss, at an RTT of 0.1 s.

    Parameters
    ----------
    rules
        Rules; None: the rules of `EXACT` and the published forms that fail.
    p
        Loss event rates.
    events
        Losses per deterministic simulation; independent simulations have ten times as many.
    seed
        Integer >= 0 or a `numpy.random.Generator`, from which the independent losses of each rule are spawned.
    """
    chosen = (*EXACT, *PUBLISHED) if rules is None else rules
    shape = len(chosen), len(p)
    deterministic, independent, half = np.empty(shape), np.empty(shape), np.empty(shape)
    for n, (rule, rule_seed) in enumerate(zip(chosen, spawn_seeds(seed, len(chosen)).tolist(), strict=True)):
        # one generator for all p, which continues from one p to the next: entries share no losses
        options = DirectSimulation(seed=np.random.default_rng(rule_seed))
        formula = np.asarray(rule.rate(p, RTT))
        counts = [events] * len(p)
        if isinstance(rule, DCTCP):  # its average of marks settles in 1/(g p) marks and more
            counts = [max(events, int(min(20 / loss, 2e4))) for loss in p]
        periodic = simulate_curve(rule, p, RTT, Deterministic(), events=counts)
        random = simulate_curve(rule, p, RTT, Independent(), events=10 * events, options=options)
        deterministic[n] = formula / [run.rate for run in periodic]
        rates = np.array([run.rate for run in random])
        independent[n] = formula / rates
        half[n] = independent[n] * [run.half_width for run in random] / rates
    return RatioTable(tuple(chosen), np.array(p), deterministic, independent, half)
