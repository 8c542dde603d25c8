"""The limit of ever shorter links (D02)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from dfcmodel.law import bare_law

from hopflow.results import figure
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


def _exact(x: NDArray[np.float64], kappa: float, time: float) -> NDArray[np.float64]:
    """Density of eq. (7) on a ring for r = 1 + sin(2 pi x)/5 and n = 1 + cos(2 pi x)/2 at t = 0."""
    decay = kappa * (2 * np.pi) ** 2
    grown = -np.expm1(-decay * time) / decay if decay > 0 else time
    amplitude = 0.5 * np.exp(-decay * time) - 0.4 * np.pi * grown
    density: NDArray[np.float64] = 1.0 + amplitude * np.cos(2 * np.pi * x)
    return density


def _law_error(
    nodes: int, scaling: str, kappa: float = 0.01, diffusion: float = 0.1
) -> tuple[float, float]:
    """Largest error of the bare law at t = 1 against eq. (7), and against (7) without diffusion."""
    h = 1.0 / nodes
    periods = round(kappa / (diffusion * h * h)) if scaling == "d ~ h^2" else 4 * nodes
    d = 1.0 / periods
    gain = kappa * d / h**2 if scaling == "d ~ h^2" else diffusion
    x = h * np.arange(0.5, nodes)
    rate = 1.0 + 0.2 * np.sin(2 * np.pi * (x + h / 2))
    packets = h * (1.0 + 0.5 * np.cos(2 * np.pi * x))
    density = bare_law(packets, gain, periods, rate=rate * d)[-1] / h
    return (
        float(np.abs(density - _exact(x, kappa, 1.0)).max()),
        float(np.abs(density - _exact(x, 0.0, 1.0)).max()),
    )


@claim("D02")
def law_converges_to_the_diffusion_equation() -> Finding:
    """Refine the chain with r prescribed, in two ways, and measure the order of convergence."""
    nodes = np.array([16, 32, 64, 128, 256])
    square = np.array([_law_error(n, "d ~ h^2")[0] for n in nodes])
    linear, vanished = np.array([_law_error(n, "d = h/c") for n in nodes]).T
    order = np.log2(square[:-1] / square[1:])
    order_vanished = np.log2(vanished[:-1] / vanished[1:])
    converges = bool(order[-1] > 1.9 and square[-1] < 1e-3)

    def draw() -> Figure:
        fig, ax = figure()
        ax.loglog(nodes, square, "o-", label="d ∝ h²: error against eq. (7)")
        ax.loglog(nodes, linear, "s-", label="d = h/c: error against eq. (7)")
        ax.loglog(nodes, vanished, "^-", label="d = h/c: error against (7) without diffusion")
        ax.loglog(nodes, 3.4 / nodes**2.0, ":", color="gray", label="slope −2")
        ax.set(xlabel="nodes on a ring of length 1", ylabel="largest error of the density")
        ax.legend(fontsize=8)
        return fig

    return Finding(
        parts=(
            Part(
                "with r prescribed and d ∝ h² the law converges to eqs. (6)-(8)",
                Verdict.of(converges),
                Verdict.NOT_APPLICABLE,
            ),
        ),
        summary=(
            f"Second order ({order[-1]:.3f}) to eq. (7), provided that r is given and the delay "
            "shrinks as the square of the node distance. For links of one propagation speed the "
            "diffusion itself vanishes."
        ),
        explanation=(
            "With node distance h the coefficient of the limit is D h²/d. Eq. (3) fixes D_i = D/d, "
            "so it stays finite only for d ∝ h². Links of speed c have d = h/c: the coefficient is "
            "D h c and the chain converges to dn/dt = -dr/dx, diffusion being a first-order "
            "remainder. And with r fed back by eq. (5), J d - D n moves upstream unchanged for "
            "alpha = 1, which is an advection, not eq. (7) with a free r."
        ),
        numbers=(
            Number(
                "order of convergence, d ∝ h²",
                ", ".join(f"{o:.2f}" for o in order),
                tolerance="2 - 0.1 at the finest pair: higher-order terms",
            ),
            Number("error with 256 nodes, d ∝ h²", f"{square[-1]:.1e}"),
            Number("error with 256 nodes against eq. (7), d = h/c", f"{linear[-1]:.2f}"),
            Number("order towards no diffusion, d = h/c", f"{order_vanished[-1]:.2f}"),
        ),
        pictures=(
            Picture(
                draw,
                "Refinement of the chain at time 1, r = 1 + sin(2πx)/5, coefficient 0.01.",
                "log-log plot of errors against the number of nodes: slope -2 when the delay "
                "shrinks as the square of the distance; against eq. (7) no convergence otherwise",
            ),
        ),
    )
