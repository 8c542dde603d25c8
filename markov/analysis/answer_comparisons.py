"""Answers of chains side by side: measures with their bounds, and marginal distributions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from hopflow.fork_safety import cached_property
from hopflow.results import SideBySide, figure, names_beside, stack_datasets
from markov.models.measures import MEASURE, functionals
from markov.models.rules import scope_of_bound
from markov.results.stationary_results import Stationary

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from markov.proofs.bounded import Bounded

__all__ = ["AnswerComparison"]

MAX_PANELS = 6
"""Components whose marginal distributions are drawn."""


@dataclass(frozen=True, repr=False, eq=False)
class AnswerComparison(SideBySide[Stationary]):
    """Stationary distributions side by side, as `hopflow.compare` returns them.

    Labels and rewards have the bound of `Stationary.bound` if the distribution has one; other measures are values
    without a bound.

    Attributes
    ----------
    compared
        The answers by label, in the order of the columns.

    Examples
    --------
    >>> from hopflow import compare
    >>> from markov import PauseTandem, stationary
    >>> comparison = compare(*(stationary(PauseTandem(high_threshold=high)) for high in (10, 20)))
    >>> comparison.to_xarray().throughput.values.round(2).tolist(), len(comparison.summary())
    ([13.13, 13.11], 13)
    """

    CALLED: ClassVar[str] = "answers of chains"

    @staticmethod
    def names_of(results: Sequence[Stationary]) -> list[str]:
        """Return default labels of the results: the repr of each model, or the origin of a chain without a model."""
        return [a.chain.how if a.chain.model is None else repr(a.chain.model) for a in results]

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """Columns of the printed table by label: measures with their bounds, error bound, states and status."""
        return {label: _column(answer) for label, answer in self.compared.items()}

    def plot(self, ax: Any = None) -> Any:
        """Draw the marginal distributions of all answers, one panel per component.

        Parameters
        ----------
        ax
            Axes to draw only the first component on; None makes a new figure, with at most six
            components, components of more than two values first.

        Returns
        -------
        The Axes of the first component.
        """
        marginals = {label: _marginals(answer) for label, answer in self.compared.items()}
        counts: dict[str, int] = {}
        for by_component in marginals.values():
            for name, (values, _) in by_component.items():
                counts[name] = max(counts.get(name, 0), len(values))
        names = sorted(counts, key=lambda name: counts[name] <= 2)[:MAX_PANELS]
        if ax is None:
            _, panels = figure(6.4, 1.2 + 2.2 * len(names), nrows=len(names), squeeze=False)
            axes = list(panels[:, 0])
        else:
            names, axes = names[:1], [ax]
        for name, panel in zip(names, axes, strict=True):
            for label, by_component in marginals.items():
                if name in by_component:
                    panel.plot(*by_component[name], ".-", ms=4, lw=0.9, label=label)
            panel.set(xlabel=name, ylabel="probability", ylim=(0.0, None))
            panel.xaxis.get_major_locator().set_params(integer=True)
        axes[0].legend(frameon=False, fontsize=8)
        return axes[0]

    def animate(self) -> NoReturn:
        """Raise TypeError: a stationary distribution does not change in time.

        Raises
        ------
        TypeError
            Always; ``transient(model, times)`` has distributions over time.
        """
        reason = "a stationary distribution does not change in time"
        raise TypeError(f"animate: {reason}; transient(model, times).plot() shows how one comes to it")

    def to_xarray(self) -> xr.Dataset:
        """Return the models' measures as a data set with ``chain`` as the first dimension.

        Raises
        ------
        ValueError
            For models whose measures differ.
        """
        remedy = "found.compared[LABEL].measures has those of one"
        data = {label: answer._measures_beside({"chain"}) for label, answer in self.compared.items()}
        return stack_datasets(data, "chain", remedy)


def _marginals(answer: Stationary) -> dict[str, tuple[Any, NDArray[np.float64]]]:
    """Return values and marginal probabilities by state component; by state if the chain has no components."""
    marginals = answer.chain.marginals(answer.pi)
    if marginals is None:
        return {"state": (range(len(answer.pi)), answer.pi)}
    return {
        name: (list(values if isinstance(values, range) else range(len(values))), marginal)
        for name, (values, marginal) in marginals.items()
    }


def _column(answer: Stationary) -> dict[str, str]:
    """Return the printed column of an answer: measures, bound, states, status and method as text, by row name."""
    measures, chain = {}, answer.chain
    with_bound: Collection[str] = ()
    if answer.proof is not None and chain.model is not None:
        with_bound = functionals(chain.model, chain.state_blocks())
    for name, (_, value, about) in answer._measures.items():
        unit = about.get("units", "1")
        if name in with_bound:
            bounds = answer.bound(name)
            cells: Iterable[str] = map(_text_with_error, bounds if isinstance(bounds, list) else [bounds])
        else:
            cells = (f"{entry:.6g}" for entry in np.ravel(value))
        measures[name if unit in ("1", "") else f"{name} ({unit})"] = ", ".join(cells)
    proved = math.isfinite(answer.error_bound)
    rows = {
        "error bound (TV)": f"{answer.error_bound:.1e}" if proved else "none",
        **scope_of_bound(answer.chain.model),
        "states": f"{answer.chain.size}",
        "status": str(answer.status),
        "method": repr(answer.method),
    }
    names = names_beside(measures, rows, MEASURE)
    return {names[name]: cells for name, cells in measures.items()} | rows


def _text_with_error(number: Bounded) -> str:
    """Return a number and its error bound as text, such as "1.5 ± 0.01"."""
    error = f" ± {number.error:.1g}" if math.isfinite(number.error) else ", no bound proved"
    return f"{number.value:.6g}{error}"
