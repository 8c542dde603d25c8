"""The decrease that TCP-Fusion takes from Westwood (K11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation import evidence
from validation.checks import claim
from validation.drawing import figure, label, reference
from validation.verdicts import Judgement, Sides, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUFFERS = "kaneko2007/buffers-ns2"
SIZES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Buffers over the bandwidth-delay product."""
EQUAL = 0.05
"""Ratios within this of 1 are equal: five runs spread by 0.04."""


@dataclass(frozen=True)
class Decrease:
    """Rates over Reno's by the buffer over the BDP: mean windows derived, goodput measured.

    ``only_at_one`` is whether SymPy finds the derived ratio equal to 1 at a buffer of one BDP and
    only there.
    """

    ratios: dict[float, float]
    measured: dict[float, float]
    only_at_one: bool

    def decrease(self, size: float) -> float:
        """Return the fraction of the window that is given up when the buffer is full."""
        return decrease_at(size)


def decrease_at(size: float) -> float:
    """Return b, the fraction of the window given up by the factor RTT_min/RTT at a full buffer."""
    return size / (1 + size)


def share_ratio(size: float) -> float:
    """Return the mean window of such a flow over Reno's when both see every loss together.

    Between two losses both grow by the same g packets; a flow that gives up b of its peak W has
    b W = g and the mean (2 - b) W/2, hence the ratio (2 - b)/(3 b) to Reno's b = 1/2.
    """
    b = decrease_at(size)
    return (2 - b) / (3 * b)


def only_at_one() -> bool:
    """Return whether SymPy finds the ratio equal to 1 at buffer = BDP and only there."""
    import sympy as sp

    x = sp.Symbol("x", positive=True)
    b = x / (1 + x)
    roots = sp.solve(sp.Eq((2 - b) / (3 * b), 1), x)
    slope = sp.simplify(sp.diff((2 - b) / (3 * b), x))
    return bool(roots == [1] and slope.is_negative)


def westwood_over_reno() -> dict[float, float]:
    """Return the goodput of Westwood+ over that of the Reno flow beside it, by buffer, in ns-2."""
    flows = evidence.table(BUFFERS)
    both = flows[flows["rule"] == "westwood"].pivot_table(
        index=["buffer_bdp", "seed"], columns="flow_rule", values="goodput"
    )
    ratio = (both["westwood"] / both["reno"]).groupby("buffer_bdp").mean()
    return dict(zip(ratio.index.astype(float).tolist(), ratio.tolist(), strict=True))


@claim("K11", cases=(BUFFERS,))
def measure() -> Decrease:
    """Derive the ratio to Reno's mean window, and read that of Westwood+."""
    return Decrease({x: share_ratio(x) for x in SIZES}, westwood_over_reno(), only_at_one())


@measure.judge
def judge(found: Decrease, *, equal: float = EQUAL) -> Judgement:
    """Judge whether the share is Reno's at a buffer of one BDP and only there."""
    same = {x: abs(ratio - 1.0) < equal for x, ratio in found.measured.items()}
    only = all(same[x] == (x == 1.0) for x in same)
    return {"equal": Sides(Verdict.of(found.only_at_one), Verdict.of(only))}


@measure.draw
def ratios(found: Decrease) -> Figure:
    """Draw the ratio over the size of the buffer, with and without Fusion's bound."""
    fig, ax = figure(6.4, 3.2)
    x = np.geomspace(SIZES[0], SIZES[-1], 100)
    seen = found.measured
    ax.plot(list(seen), list(seen.values()), "o", color="black", label="ns-2, Westwood+")
    ratio = np.array([share_ratio(value) for value in x])
    ax.plot(x, ratio, label="keeps RTT_min/RTT")
    ax.plot(x, np.maximum(ratio, 1.0), "--", label="keeps max(RTT_min/RTT, 1/2)")
    reference(ax, 1.0, color="0.4")
    label(ax, "buffer over bandwidth-delay product (1)", "mean window / Reno's (1)", log="x")
    ax.legend(fontsize=8)
    return fig
