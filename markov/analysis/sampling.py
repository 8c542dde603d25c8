"""Paths of a chain by the stochastic simulation algorithm, many paths in one pass.

D. T. Gillespie, Exact stochastic simulation of coupled chemical reactions, Journal of Physical
Chemistry 81, 1977: an exponential time in each state, and a jump by the rates out of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from hopflow.checks import random_generator
from hopflow.deprecations import accept_old_names, attribute_alias
from hopflow.parameters import param, validate_parameters
from hopflow.results import Result, figure, short_text
from hopflow.units import WithUnit
from markov.computing.resources import Counter, check_room
from markov.models.measures import resolve_function
from markov.selections import as_chain, distribution

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    from markov.chains import MarkovChain

__all__ = ["Paths", "paths"]

MAX_JUMPS = 1e10
"""Largest expected number of jumps of all paths, at the largest exit rate."""
MAX_PLOTTED_PATHS = 5
JUMPS_PER_MEMORY_CHECK = 64  # of a path
BYTES_PER_JUMP = 60.0


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Paths(Result):
    """Simulated paths of a chain from time 0 to a fixed time, jump by jump: the result of `paths`.

    Attributes
    ----------
    chain
        The `MarkovChain`.
    duration
        Length of the paths in s.
    first
        Offsets of the paths in ``times`` and ``states``, shape (runs + 1,).
    times
        Entry times of the states in s, path after path, shape (visits,).
    states
        Numbers of the states, shape (visits,).

    Examples
    --------
    >>> import numpy as np
    >>> from markov import paths
    >>> sample = paths(np.array([[-1.0, 1.0], [3.0, -3.0]]), 10.0, start=0, runs=3, seed=1)
    >>> sample.at([0.0]).ravel().tolist(), sample.time_average([1.0, 0.0]).shape
    ([0, 0, 0], (3,))
    """

    chain: MarkovChain
    duration: float
    first: NDArray[np.int64]
    times: NDArray[np.float64]
    states: NDArray[np.int64]
    horizon = attribute_alias("horizon", "duration")
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "first": ("path",), "times": ("visit",), "states": ("visit",),
    }  # fmt: skip
    ROW_DIMENSIONS: ClassVar[tuple[str, ...]] = ("visit",)

    @property
    def runs(self) -> int:
        """Number of paths."""
        return len(self.first) - 1

    def to_xarray(self) -> xr.Dataset:
        """Return the visits as a Dataset, with the number of the path of each as ``run``."""
        runs = np.repeat(np.arange(self.runs), np.diff(self.first))
        return super().to_xarray().assign(run=("visit", runs))

    def path(self, run: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return entry times in s and numbers of the states of path number ``run``, shape (visits,) each."""
        part = slice(self.first[run], self.first[run + 1])
        return self.times[part], self.states[part]

    @validate_parameters
    def at(self, times: ArrayLike = param(unit="time")) -> NDArray[np.int64]:
        """Return the state numbers of all paths at times in s, shape (runs, times); at a jump the state after it.

        Raises
        ------
        ValueError
            For a time below 0 or above ``duration``; both limits are allowed.
        """
        moments = np.atleast_1d(times)
        if not ((moments >= 0.0) & (moments <= self.duration)).all():
            raise ValueError(f"times = {times!r}: must be between 0 and {self.duration:g} s")
        rows = [
            states[np.searchsorted(entry_times, moments, side="right") - 1]
            for entry_times, states in map(self.path, range(self.runs))
        ]
        return np.array(rows)

    def time_average(self, measure: str | ArrayLike) -> NDArray[np.float64]:
        """Return the time average of a reward over each path, shape (runs,).

        ``measure`` is the name of a label or reward, or numbers of shape (states,). The variance of
        these means is nearly ``stationary(model).variance(measure) / duration``.
        """
        f = resolve_function(measure, self.chain.model, self.chain.table, np.arange(self.chain.size))
        exit_times = np.append(self.times[1:], self.duration)
        exit_times[self.first[1:] - 1] = self.duration
        return np.add.reduceat(f[self.states] * (exit_times - self.times), self.first[:-1]) / self.duration

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: chain, number of paths and number of jumps."""
        model = self.chain.model
        return {
            "chain": self.chain.how if model is None else short_text(model),
            "paths": f"{self.runs} of {self.duration:g} s",
            "jumps": len(self.times) - self.runs,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the numbers of the states of the first paths over time, and return the Axes."""
        if ax is None:
            _, ax = figure()
        for run in range(min(self.runs, MAX_PLOTTED_PATHS)):
            times, states = self.path(run)
            ax.step(np.append(times, self.duration), np.append(states, states[-1]), where="post")
        ax.set(xlabel="time (s)", ylabel="number of the state")
        return ax


@accept_old_names(horizon="duration", rng="seed")
@validate_parameters
def paths(
    model: Any,
    duration: WithUnit = param(unit="time", above=0.0),
    *,
    start: Any = None,
    runs: int = param(1, at_least=1, at_most=10**9),
    seed: Any = None,
) -> Paths:
    """Return simulated paths of a chain over a fixed duration.

    Parameters
    ----------
    model
        A `ChainModel`, a `MarkovChain`, a result of `explore`, a model read from a file, or a
        generator matrix.
    duration
        Length of each path in s, > 0.
    start
        The state at time 0, or a distribution of shape (states,); None: the start of the model.
    runs
        Number of independent paths.
    seed
        A seed or a `numpy.random.Generator`; None: another result in every call.

    Raises
    ------
    ValueError
        For bad input.
    TooLargeError
        If the jumps do not fit into memory.

    Notes
    -----
    Jumps are chosen with a resolution of (number of states) * 2^-53.

    Examples
    --------
    >>> from markov import MM1K, paths, stationary
    >>> sample = paths(MM1K(capacity=5), 50.0, start=(0,), runs=200, seed=3)
    >>> means = sample.time_average([0, 1, 2, 3, 4, 5])
    >>> bool(abs(means.mean() - stationary(MM1K(capacity=5)).pi @ range(6)) < 0.2)
    True
    """
    rng = random_generator("seed", seed)
    chain = as_chain(model)
    initial = distribution(chain, start)
    exit_rates = np.abs(chain.exit_rates)  # an absorbing state may have -0.0
    expected = runs * duration * float(exit_rates.max())
    if expected > MAX_JUMPS:
        raise ValueError(f"duration = {duration:g}: up to {expected:.1e} jumps, more than {MAX_JUMPS:.0e}")
    # All paths jump together. A target is found by one search for row number + random number in the keys: row
    # numbers plus the cumulative probabilities of the rows.
    entries = sp.coo_matrix(chain.Q)
    off = (entries.row != entries.col) & (entries.data > 0.0)
    targets = entries.col[off].astype(np.int64)
    rows, rates = entries.row[off], entries.data[off]
    row_stops = np.searchsorted(rows, np.arange(chain.size), side="right")
    sums = np.cumsum(rates / exit_rates[rows])
    keys = rows + np.minimum(sums - np.append(0.0, sums)[np.searchsorted(rows, rows)], 1.0)

    states = rng.choice(chain.size, size=runs, p=initial / initial.sum())
    active, now = np.arange(runs), np.zeros(runs)
    visits = [(active, now, states)]
    total = runs
    with Counter("jumps") as bar:
        while len(active):
            with np.errstate(divide="ignore"):
                now = now + rng.exponential(1.0, len(active)) / exit_rates[states]
            going = now < duration
            active, now, states = active[going], now[going], states[going]
            chosen_keys = np.searchsorted(keys, states + rng.random(len(active)), side="right")
            states = targets[np.minimum(chosen_keys, row_stops[states] - 1)]
            visits.append((active, now, states))
            total += len(active)
            bar.show(total)
            if len(visits) % JUMPS_PER_MEMORY_CHECK == 0:
                check_room(f"{total} jumps", BYTES_PER_JUMP * total)
    path_numbers, times, visited = map(np.concatenate, zip(*visits, strict=True))
    order = np.argsort(path_numbers, kind="stable")
    return Paths(
        chain=chain,
        duration=duration,
        first=np.append(0, np.cumsum(np.bincount(path_numbers))),
        times=times[order],
        states=visited[order],
    )
