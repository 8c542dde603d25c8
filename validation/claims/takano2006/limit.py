"""The limit of ever shorter links (D02)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.theory.law import bare_law
from validation.checks import claim
from validation.display.drawing import figure, label
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.statistics import Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NODES = (16, 32, 64, 128, 256)
KAPPA, DIFFUSION = 0.01, 0.1
SLACK = 0.1
"""Allowed shortfall of the order from 2 at the finest pair: terms of higher order."""
ERROR = 1e-3
"""Largest error of the density with the most nodes for the law to have converged."""


@dataclass(frozen=True)
class Refinement:
    """Errors at time 1 by the number of nodes, shape (n,), as the delay shrinks with the distance h.

    Attributes
    ----------
    square
        Against eq. (7), with d as h^2.
    linear, vanished
        Against eq. (7), and against (7) without diffusion, with d as h.
    """

    nodes: Values
    square: Values
    linear: Values
    vanished: Values

    @property
    def orders(self) -> Values:
        """Orders of convergence to eq. (7), d as h^2, of each pair of refinements."""
        return np.log2(self.square[:-1] / self.square[1:])

    @property
    def order_vanished(self) -> float:
        """Order of convergence to eq. (7) without diffusion, d as h, of the finest pair."""
        return float(np.log2(self.vanished[-2] / self.vanished[-1]))


def density(x: Values, kappa: float, time: float) -> Values:
    """Return the density of eq. (7) on a ring, from r = 1 + sin(2 pi x)/5, n = 1 + cos(2 pi x)/2."""
    decay = kappa * (2 * np.pi) ** 2
    grown = -np.expm1(-decay * time) / decay if decay > 0 else time
    amplitude = 0.5 * np.exp(-decay * time) - 0.4 * np.pi * grown
    found: Values = 1.0 + amplitude * np.cos(2 * np.pi * x)
    return found


def law_error(nodes: int, square: bool) -> tuple[float, float]:
    """Return the largest errors of the bare law at time 1, against eq. (7) and without diffusion.

    The delay shrinks as the square of the node distance, or in proportion to it.
    """
    h = 1.0 / nodes
    periods = round(KAPPA / (DIFFUSION * h * h)) if square else 4 * nodes
    d = 1.0 / periods
    gain = KAPPA * d / h**2 if square else DIFFUSION
    x = h * np.arange(0.5, nodes)
    rate = 1.0 + 0.2 * np.sin(2 * np.pi * (x + h / 2))
    packets = h * (1.0 + 0.5 * np.cos(2 * np.pi * x))
    found = bare_law(packets, gain, periods, rate=rate * d)[-1] / h
    return tuple(float(np.abs(found - density(x, k, 1.0)).max()) for k in (KAPPA, 0.0))  # type: ignore[return-value]


@claim("D02")
def measure() -> Refinement:
    """Refine the chain with r prescribed, in two ways."""
    square = np.array([law_error(n, True)[0] for n in NODES])
    linear, vanished = np.array([law_error(n, False) for n in NODES]).T
    return Refinement(np.array(NODES, float), square, linear, vanished)


@measure.judge
def judge(found: Refinement, *, slack: float = SLACK, error: float = ERROR) -> Judgement:
    """Judge by the order of the finest pair and the error with the most nodes."""
    converges = found.orders[-1] > 2.0 - slack and found.square[-1] < error
    return {"converges": model_only(Verdict.of(bool(converges)))}


@measure.readings
def readings(found: Refinement, *, slack: float = SLACK, error: float = ERROR) -> dict[str, Judgement]:
    """Judge a delay that is proportional to the distance, as on links of one length each."""
    orders = np.log2(found.linear[:-1] / found.linear[1:])
    converges = bool(orders[-1] > 2.0 - slack and found.linear[-1] < error)
    return {"delay d proportional to h": {"converges": model_only(Verdict.of(converges))}}


@measure.draw
def errors(found: Refinement) -> Figure:
    """Draw the errors over the number of nodes."""
    fig, ax = figure()
    for style, values, name in (
        ("o-", found.square, "d ∝ h²: error against eq. (7)"),
        ("s-", found.linear, "d = h/c: error against eq. (7)"),
        ("^-", found.vanished, "d = h/c: error against (7) without diffusion"),
    ):
        ax.plot(found.nodes, values, style, label=name)
    ax.plot(found.nodes, 3.4 / found.nodes**2, ":", color="gray", label="slope −2")
    label(ax, "nodes on a ring of length 1", "largest error of the density", log="xy")
    ax.legend(fontsize=8)
    return fig
