"""A stationary distribution with its proof, its measures and its display."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.results import Result, figure
from hopflow.status import Status
from markov.measures import measures_of

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from markov.chains import MarkovChain
    from markov.measures import Measure
    from markov.methods import Method

__all__ = ["Solved", "Stationary"]

MOST_MARKERS = 200
MOST_NAMES = 30  # of states that fit below an axis
UNPROVED = (
    "no hitting times could be verified, as where many states have next to no probability; GTH(), "
    "Levels() or SparseLU(), or a chain that knows its components, may prove one"
)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Solved(Result):
    """What every answer to pi Q = 0 has: status, proof, cost, and the model's measures.

    Attributes
    ----------
    status
        CONVERGED, or what went wrong.
    residual
        Flow that does not balance, relative to twice the flow; each subclass says over what.
    seconds
        Wall-clock time of the solution, in s.
    memory
        Bytes that the method held, by the size of its arrays.
    """

    status: Status
    residual: float
    seconds: float
    memory: int = 0

    @property
    def _measures(self) -> dict[str, Measure]:
        raise NotImplementedError

    @cached_property
    def measures(self) -> xr.Dataset:
        """The model's performance measures, with their units in ``attrs``."""
        import xarray as xr

        queues = [
            np.size(value) for dims, value, _ in self._measures.values() if dims == ("queue",)
        ]
        coords = {"queue": np.arange(1, queues[0] + 1)} if queues else {}
        return xr.Dataset(self._measures, coords=coords)

    def __getitem__(self, measure: str) -> Any:
        """Return one measure as a float or an array, without xarray."""
        return self._measures[measure][1]

    @property
    def throughput(self) -> float:
        """Throughput in packets/s of a model that has one."""
        if "throughput" not in self._measures:
            raise AttributeError(f"{type(self).__name__}: the chain has no throughput")
        return float(self["throughput"])

    def _about(self) -> dict[str, object]:
        """Return what the table shows of the chain."""
        raise NotImplementedError

    def _proof(self) -> dict[str, object]:
        """Return what the table shows of the method and of what proves the answer."""
        return {"residual": f"{self.residual:.1e}"}

    def summary(self) -> dict[str, object]:
        """Return status, chain, the scalar measures, what proves the answer, and what it cost."""
        measures = {
            name: f"{float(value):.6g} {about.get('units', '')}".removesuffix(" 1").rstrip()
            for name, (dims, value, about) in self._measures.items()
            if not dims
        }
        return {
            "status": self.status,
            **self._about(),
            **measures,
            **self._proof(),
            "memory": f"{self.memory / 1e6:.3g} MB",
            "time": f"{self.seconds:.3f} s",
        }


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Stationary(Solved):
    """The stationary distribution of a chain, or of one of its recurrent classes.

    Attributes
    ----------
    chain
        The `MarkovChain` that was solved.
    pi
        Shape (states,), in the order of ``states``; zero in the transient states.
    method, reason
        How it was solved and why so.
    residual
        ||pi Q||_1 / ||pi |Q|||_1.
    error_bound
        Rigorous upper bound on the total-variation distance to the true distribution; inf where none
        could be verified, which says nothing against pi: see `markov.certificates.error_bound` for
        what is tried. Multigrid on a chain given by its matrix alone fails where many probabilities
        are below 1e-280; with the components of a model's state known it mostly does not.
    iterations
        Of the method; 0 when it is direct.
    history
        What an iterative method reported on its way: (iteration, relative residual).
    """

    chain: MarkovChain
    pi: NDArray[np.float64]
    method: Method
    reason: str
    error_bound: float
    iterations: int = 0
    history: tuple[tuple[int, float], ...] = ()

    @property
    def smallest(self) -> float:
        """Smallest entry of pi in the recurrent class that was solved."""
        likely = int(np.argmax(self.pi))
        return min(
            float(self.pi[states].min())
            for states in self.chain.recurrent_classes
            if likely in states
        )

    @property
    def mass_defect(self) -> float:
        """How far the sum of pi is from one."""
        return abs(1.0 - math.fsum(self.pi))

    @property
    def states(self) -> Any:
        """The states in the order of pi: see `MarkovChain.states`."""
        return self.chain.states

    def probability(self, state: Any) -> float:
        """Return the probability of one state, given as a ``State``, a tuple, or a name.

        Raises
        ------
        KeyError
            When the chain has no such state.
        """
        return float(self.pi[self.chain.number_of(state)])

    def to_xarray(self) -> xr.Dataset:
        """Return pi and the measures.

        Over the components of the state where these have not many more combinations than there are
        states: those that are never entered have probability zero. Else over ``state``, with the
        values of the components as coordinates; for a matrix, with the names of its states.
        """
        import xarray as xr

        grid = self.chain.grid()
        if grid is None:
            coords = self.chain.coordinates()
            pi = xr.DataArray(self.pi, dims=["state"], coords=coords)
        else:
            values, places = grid
            spread = np.zeros([len(v) for v in values.values()])
            spread[places] = self.pi
            pi = xr.DataArray(spread, dims=list(values), coords=values)
        return self.measures.assign(pi=pi)

    def plot(self, ax: Any = None) -> Any:
        """Draw the marginal distribution of each component; those of two values are in the title."""
        if ax is None:
            _, ax = figure()
        marginals = self.chain.marginals(self.pi)
        if marginals is None:
            ax.plot(self.pi, drawstyle="steps-mid")
            ax.set(xlabel="state", ylabel="probability", ylim=(0.0, None))
            if not isinstance(self.states, range) and len(self.pi) <= MOST_NAMES:
                ax.set_xticks(range(len(self.pi)), list(map(str, self.states)))
            return ax
        shares = []
        for name, (values, marginal) in marginals.items():
            if len(values) == 2:
                shares.append(f"P({name} = {values[1]}) = {marginal[1]:.3g}")
            elif len(values) > 2:
                style = ".-" if len(values) <= MOST_MARKERS else "-"
                numbers = values if isinstance(values, range) else range(len(values))
                ax.plot(list(numbers), marginal, style, label=name)
        ax.set(xlabel="value of the component", ylabel="probability", ylim=(0.0, None))
        title = "\n".join([repr(self.chain.model), ", ".join(shares)]).strip()
        ax.set_title(title, fontsize=10)
        ax.xaxis.get_major_locator().set_params(integer=True)
        if ax.lines:
            ax.legend(frameon=False)
        return ax

    def plot_convergence(self, ax: Any = None) -> Any:
        """Draw the residual over the iterations, and the tolerance; return the matplotlib Axes.

        Raises
        ------
        ValueError
            For a method that does not iterate.
        """
        if not self.history:
            raise ValueError(f"{self.method!r} reported no residuals: it does not iterate")
        if ax is None:
            _, ax = figure()
        ax.plot(*zip(*self.history, strict=True), ".-")
        tolerance = getattr(self.method, "tolerance", None)
        if tolerance is not None:
            ax.axhline(tolerance, color="black", ls=":", lw=1)
        ax.set(yscale="log", xlabel="iteration", ylabel="relative residual")
        ax.set_title(repr(self.method), fontsize=10)
        return ax

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        model = self.chain.model
        return {} if model is None else measures_of(model, self.pi, self.chain.states)

    def _about(self) -> dict[str, object]:
        chain = self.chain
        return {
            "chain": chain.how if chain.model is None else repr(chain.model),
            "states": f"{chain.size}, {len(chain.transient_states)} of them transient",
            "transitions": int(chain.Q.nnz - np.count_nonzero(chain.exit_rates)),
            "recurrent classes": len(chain.recurrent_classes),
        }

    def _proof(self) -> dict[str, object]:
        found = math.isfinite(self.error_bound)
        return {
            "method": repr(self.method),
            "reason": self.reason,
            **super()._proof(),
            "error bound (TV)": f"{self.error_bound:.1e}" if found else f"inf: {UNPROVED}",
            "smallest entry": f"{self.smallest:.1e}",
            "mass defect": f"{self.mass_defect:.1e}",
            "iterations": self.iterations,
        }
