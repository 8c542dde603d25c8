"""Pictures of stationary distributions and of the iterations that led to them."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from hopflow.results import figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

__all__ = ["draw_convergence", "draw_marginals"]

MAX_MARKERS = 200
MAX_STATE_NAMES = 30  # of states that fit below an axis
MAX_TITLE_LETTERS = 76  # letters that fit above an axis


def draw_marginals(chain: MarkovChain, pi: NDArray[np.float64], ax: Any = None) -> Any:
    """Draw the marginal distribution of each state component, and return the matplotlib Axes.

    Parameters
    ----------
    chain
        The chain; states of a matrix are drawn one by one.
    pi
        Their probabilities, shape (n,).
    ax
        Matplotlib Axes; None creates them.
    """
    if ax is None:
        _, ax = figure()
    marginals = chain.marginals(pi)
    if marginals is None:
        ax.plot(pi, drawstyle="steps-mid")
        ax.set(xlabel="state", ylabel="probability", ylim=(0.0, None))
        if not isinstance(chain.states, range) and len(pi) <= MAX_STATE_NAMES:
            ax.set_xticks(range(len(pi)), list(map(str, chain.states)))
        return ax
    shares = []
    if all(len(values) == 2 for values, _ in marginals.values()):
        ax.plot(list(marginals), [marginal[1] for _, marginal in marginals.values()], "o")
        ax.set(xlabel="component", ylabel="probability of the larger value", ylim=(0.0, None))
        ax.set_title(fill(repr(chain.model), MAX_TITLE_LETTERS), fontsize=10)
        return ax
    for name, (values, marginal) in marginals.items():
        if len(values) == 2:
            shares.append(f"P({name} = {values[1]}) = {marginal[1]:.3g}")
        elif len(values) > 2:
            style = ".-" if len(values) <= MAX_MARKERS else "-"
            numbers = values if isinstance(values, range) else range(len(values))
            ax.plot(list(numbers), marginal, style, label=name)
    ax.set(xlabel="value of the component", ylabel="probability", ylim=(0.0, None))
    title = "\n".join([fill(repr(chain.model), MAX_TITLE_LETTERS), ", ".join(shares)]).strip()
    ax.set_title(title, fontsize=10)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if ax.lines:
        ax.legend(frameon=False)
    return ax


def draw_convergence(history: Sequence[tuple[int, float]], method: object, ax: Any = None) -> Any:
    """Draw residuals over iterations with the method's tolerance, and return the matplotlib Axes.

    Parameters
    ----------
    history
        Pairs of an iteration and its relative residual.
    method
        The method, named in the title.
    ax
        Matplotlib Axes; None creates them.
    """
    if ax is None:
        _, ax = figure()
    ax.plot(*zip(*history, strict=True), ".-")
    tolerance = getattr(method, "tolerance", None)
    if tolerance is not None:
        ax.axhline(tolerance, color="black", ls=":", lw=1)
    ax.set(yscale="log", xlabel="iteration", ylabel="relative residual")
    ax.set_title(repr(method), fontsize=10)
    return ax
