"""Distributions over time: measures of a model's labels and rewards, and plots."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.fork_safety import cached_property
from hopflow.results import Result, figure
from markov.computing.time_limits import MAX_SECONDS, time_limit
from markov.models.measures import functionals, measures_of, unknown_measure
from markov.models.rules import scope_of_bound
from markov.selections import selected
from markov.time.transients.limits import limit_of
from markov.time.transients.uniformization import FAR_JUMPS, Uniformized

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from hopflow.results import Status
    from markov.chains import MarkovChain

__all__ = ["Transient"]

MAX_LINES = 8  # states that are drawn when a chain has no measures


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Transient(Result):
    """The distribution of a chain at some times.

    Attributes
    ----------
    chain
        The `MarkovChain`.
    start
        The distribution at time 0, shape (states,).
    times
        In the unit of the rates, shape (times,).
    pi
        Shape (times, states), in the order of ``chain.states``.
    error_bound
        Rigorous upper bound on the total-variation distance to the true distribution, shape
        (times,): the absolute error of the probability of any event is at most this. The distribution of a passage time
        has relative errors.
    relative_error
        Bound on the relative error of every entry of pi at each time, shape (times,), where they were found by squaring;
        None elsewhere.
    tolerance
        The requested bound.
    status
        CONVERGED, or INACCURATE where the bound is useless.
    steps
        Products with the jump matrix, and solutions of equations.
    method
        How it was found, in words.
    seconds
        Wall-clock time, in s.
    timed
        Whether the state jumps at given times besides: then there is no `occupancy`.
    max_seconds
        As `transient` takes it, in s: `occupancy` and `accumulated` that are predicted to take longer are refused.

    Examples
    --------
    >>> from markov import MM1K, transient
    >>> found = transient(MM1K(capacity=5), [0.1, 1.0], start=(0,))
    >>> found.probability((0,)).round(4).tolist(), bool(found.error_bound.max() < 1e-12)
    ([0.6378, 0.359], True)
    """

    chain: MarkovChain
    start: NDArray[np.float64]
    times: NDArray[np.float64]
    pi: NDArray[np.float64]
    error_bound: NDArray[np.float64]
    tolerance: float
    status: Status
    steps: int
    method: str
    seconds: float
    timed: bool = False
    relative_error: NDArray[np.float64] | None = None
    max_seconds: float = MAX_SECONDS

    @property
    def states(self) -> Any:
        """The states in the order of pi: see `MarkovChain.states`."""
        return self.chain.states

    @cached_property
    def probabilities(self) -> xr.DataArray:
        """The probabilities over ``time`` and ``state``, with the values of the components as coordinates."""
        import xarray as xr

        coords = {**self.chain.coordinates(), "time": self.times}
        return xr.DataArray(self.pi, dims=["time", "state"], coords=coords)

    def probability(self, states: Any) -> NDArray[np.float64]:
        """Return the probability of a state or a set of states at each time, shape (times,).

        ``states`` is the name of a label, a state, a list of states, truth values of shape
        (states,), or a function of a state. Of the states in which a system works it is the
        availability A(t). That of a label without states is 0; a function that is true nowhere is refused.
        """
        return np.asarray(self.pi @ selected(self.chain, states, "states", allow_empty_label=True).astype(float))

    def __getitem__(self, measure: str) -> Any:
        """Return a measure of the model at each time, shape (times, ...); KeyError for an unknown one."""
        if measure not in self._measures[0]:
            raise unknown_measure(measure, self._measures[0])
        return np.array([found[measure][1] for found in self._measures])

    @cached_property
    def measures(self) -> xr.Dataset:
        """The model's measures over ``time``: probabilities of labels, means of rewards."""
        import xarray as xr

        found = {name: (("time", *dims), self[name], about) for name, (dims, _, about) in self._measures[0].items()}
        return xr.Dataset(found, coords={"time": self.times})

    @cached_property
    def occupancy(self) -> NDArray[np.float64]:
        """The mean time spent in each state until each time, shape (times, states).

        Raises
        ------
        ValueError
            Where it is predicted to take longer than ``max_seconds``; naming the value that allows it.
        """
        return self._occupied[0]

    @property
    def occupancy_error(self) -> NDArray[np.float64]:
        """Bound on half the sum of the absolute errors of `occupancy`, shape (times,)."""
        return self._occupied[1]

    @cached_property
    def accumulated(self) -> xr.Dataset:
        """The expected rewards until each time, over ``time``; of a label the time spent in it."""
        import xarray as xr

        model = self.chain.model
        given = {} if model is None else functionals(model, self.chain.table)
        found = {
            name: (("time", *mean.dims), np.array([mean.value(row) for row in self.occupancy]))
            for name, mean in given.items()
            if mean.over is None
        }
        return xr.Dataset(found, coords={"time": self.times})

    @cached_property
    def _occupied(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self.timed:
            raise ValueError("occupancy: of a model with events at given times it is not found")
        jumps, before = Uniformized(self.chain.Q), 0.0
        total, error = np.zeros(self.chain.size), 0.0
        powers = jumps.rate * float(self.times[-1])
        limit = limit_of(self.chain, self.start, powers) if powers > FAR_JUMPS else None
        found, errors = np.empty_like(self.pi), np.empty(len(self.times))
        vector, wrong = self.start, 0.0
        with time_limit(self.max_seconds):
            for k, moment in enumerate(self.times.tolist()):
                span = moment - before
                part = jumps.occupancy(vector, span, self.tolerance / len(self.times), limit)
                total = total + part.values
                error += part.error + span * wrong
                found[k], errors[k] = total, error
                vector, wrong, before = self.pi[k], float(self.error_bound[k]), moment
        return found, errors

    @cached_property
    def _measures(self) -> list[dict[str, Any]]:
        model = self.chain.model
        if model is None:
            return [{} for _ in self.times]
        table = copy(self.chain.table)
        table.known = {}  # the same functions at all times
        return [dict(measures_of(model, row, table)) for row in self.pi]

    def summary(self) -> dict[str, object]:
        """Return status, chain, the scalar measures at the last time, the bound and the cost."""
        last = {
            f"{name} at {self.times[-1]:g}": f"{float(value):.6g} {about.get('units', '')}".rstrip()
            for name, (dims, value, about) in self._measures[-1].items()
            if not dims
        }
        model = self.chain.model
        return {
            "status": self.status,
            "chain": self.chain.how if model is None else repr(model),
            "states": self.chain.size,
            "times": f"{len(self.times)}, {self.times[0]:g} to {self.times[-1]:g}",
            **last,
            "error bound (TV)": f"{float(self.error_bound.max()):.1e}",
            **self._relative(),
            **scope_of_bound(model),
            "method": self.method,
            "products": self.steps,
            "time": f"{self.seconds:.3f} s",
        }

    def _relative(self) -> dict[str, object]:
        """Return the row of the relative error, if there is one."""
        if self.relative_error is None:
            return {}
        return {"relative error of every entry": f"{float(self.relative_error.max()):.1e}"}

    def plot(self, ax: Any = None) -> Any:
        """Draw the scalar measures over time, or the likeliest states of a chain without measures."""
        if ax is None:
            _, ax = figure()
        names = [name for name, (dims, _, _) in self._measures[0].items() if not dims]
        marker = "." if len(self.times) < MAX_LINES else ""
        for name in names:
            ax.plot(self.times, self[name], marker=marker, label=name)
        if not names:
            likeliest = np.argsort(-self.pi.max(axis=0))[:MAX_LINES]
            for x in sorted(likeliest.tolist()):
                name = x if isinstance(self.states, range) else self.probabilities.state.values[x]
                ax.plot(self.times, self.pi[:, x], marker=marker, label=f"state {name}")
        ax.set(xlabel="time (s)", ylabel="probability or mean")
        ax.legend(frameon=False)
        return ax
