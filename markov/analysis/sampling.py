"""Paths of a chain by the stochastic simulation algorithm, many side by side.

D. T. Gillespie, Exact stochastic simulation of coupled chemical reactions, Journal of Physical
Chemistry 81, 1977: an exponential time in each state, and a jump by the rates out of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hopflow.checks import integer, one_number, random_generator
from hopflow.deprecations import accept_old_names, attribute_alias
from hopflow.results import Result, figure
from hopflow.units import WithUnit, quantities
from markov.computing.memory import check_room
from markov.computing.progress import Counter
from markov.models.measures import chosen
from markov.selections import as_chain, distribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from markov.chains import MarkovChain

MOST_JUMPS = 1e10
"""Expected jumps of all paths, at the largest exit rate, beyond which no paths are drawn."""
__all__ = ["Paths", "paths"]

MAX_DRAWN = 5
LOOK = 64  # jumps of each path between two looks at the memory
BYTES_PER_JUMP = 60.0


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Paths(Result):
    """Paths of a chain from time 0 to a given time, jump by jump.

    Attributes
    ----------
    chain
        The `MarkovChain`.
    duration
        In s.
    first
        Where each path begins in ``times`` and ``states``, shape (runs + 1,).
    times
        When each state was entered, in s, path after path, shape (visits,).
    states
        Its number, shape (visits,).

    Examples
    --------
    >>> import numpy as np
    >>> from markov import paths
    >>> found = paths(np.array([[-1.0, 1.0], [3.0, -3.0]]), 10.0, start=0, runs=3, seed=1)
    >>> found.at([0.0]).ravel().tolist(), found.time_average([1.0, 0.0]).shape
    ([0, 0, 0], (3,))
    """

    chain: MarkovChain
    duration: float
    first: NDArray[np.int64]
    times: NDArray[np.float64]
    states: NDArray[np.int64]
    horizon = attribute_alias("horizon", "duration")

    @property
    def runs(self) -> int:
        """Number of paths."""
        return len(self.first) - 1

    def path(self, run: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return when one path entered which states: times in s and numbers, shape (visits,)."""
        part = slice(self.first[run], self.first[run + 1])
        return self.times[part], self.states[part]

    @quantities(times="time")
    def at(self, times: ArrayLike) -> NDArray[np.int64]:
        """Return the numbers of the states at some times, shape (runs, times)."""
        moments = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if not ((moments >= 0.0) & (moments <= self.duration)).all():
            raise ValueError(f"times = {times!r}: must be between 0 and {self.duration:g} s")
        found = [
            visited[np.searchsorted(entered, moments, side="right") - 1]
            for entered, visited in map(self.path, range(self.runs))
        ]
        return np.array(found)

    def time_average(self, measure: str | ArrayLike) -> NDArray[np.float64]:
        """Return the mean of a reward over time in each path, shape (runs,).

        ``measure`` is the name of a label or reward, or numbers of shape (states,). The variance of
        these means is nearly ``stationary(model).variance(measure) / duration``.
        """
        mean = chosen(measure, self.chain.model, self.chain.table, np.arange(self.chain.size))
        if mean.over is not None or mean.of.ndim != 1:
            raise ValueError(f"measure = {measure!r}: must be one number for each state")
        ends = np.append(self.times[1:], self.duration)
        ends[self.first[1:] - 1] = self.duration
        return np.add.reduceat(mean.of[self.states] * (ends - self.times), self.first[:-1]) / (self.duration)

    def summary(self) -> dict[str, object]:
        """Return chain, number of paths and of jumps."""
        model = self.chain.model
        return {
            "chain": self.chain.how if model is None else repr(model),
            "paths": f"{self.runs} of {self.duration:g} s",
            "jumps": len(self.times) - self.runs,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the numbers of the states over time, of the first paths."""
        if ax is None:
            _, ax = figure()
        for run in range(min(self.runs, MAX_DRAWN)):
            times, states = self.path(run)
            ax.step(np.append(times, self.duration), np.append(states, states[-1]), where="post")
        ax.set(xlabel="time (s)", ylabel="number of the state")
        return ax


@accept_old_names(horizon="duration", rng="seed")
@quantities(duration="time")
def paths(model: Any, duration: WithUnit, *, start: Any = None, runs: int = 1, seed: Any = None) -> Paths:
    """Return simulated paths of a chain.

    Parameters
    ----------
    model
        A `ChainModel`, a `MarkovChain`, what `explore` found, a model read from a file, or a
        generator matrix.
    duration
        Length of each path in s, > 0.
    start
        The state at time 0, or a distribution of shape (states,); None: the start of the model.
    runs
        Number of independent paths.
    seed
        A seed or a `numpy.random.Generator`; None: another result each time.

    Raises
    ------
    ValueError
        For bad input.
    TooLargeError
        When the jumps would not fit into memory.

    Notes
    -----
    Jumps are chosen with a resolution of (number of states) * 2^-53.

    Examples
    --------
    >>> from markov import MM1K, paths, stationary
    >>> found = paths(MM1K(capacity=5), 50.0, start=(0,), runs=200, seed=3)
    >>> means = found.time_average([0, 1, 2, 3, 4, 5])
    >>> bool(abs(means.mean() - stationary(MM1K(capacity=5)).pi @ range(6)) < 0.2)
    True
    """
    duration = one_number("duration", duration, above=0.0)
    runs = integer("runs", runs, 1, 10**9)
    random = random_generator("seed", seed)
    chain = as_chain(model)
    begin = distribution(chain, start)
    expected = runs * duration * float(np.abs(chain.exit_rates).max())
    if expected > MOST_JUMPS:
        raise ValueError(f"duration = {duration:g}: up to {expected:.1e} jumps, more than {MOST_JUMPS:.0e}")
    states = random.choice(chain.size, size=runs, p=begin / begin.sum())
    jumps = _Jumps(chain)
    return Paths(chain=chain, duration=duration, **jumps.run(states, duration, random))


class _Jumps:
    """Jumps of many paths at once: targets by one search in the running sums of all rows."""

    def __init__(self, chain: MarkovChain) -> None:
        entries = sp.coo_matrix(chain.Q)
        off = (entries.row != entries.col) & (entries.data > 0.0)
        self.exit_rates = np.abs(chain.exit_rates)  # an absorbing state's may be -0.0
        self.targets = entries.col[off].astype(np.int64)
        rows, rates = entries.row[off], entries.data[off]
        self.ends = np.searchsorted(rows, np.arange(chain.size), side="right")
        sums = np.cumsum(rates / self.exit_rates[rows])
        before = np.append(0.0, sums)[np.searchsorted(rows, rows)]
        self.keys = rows + np.minimum(sums - before, 1.0)

    def run(self, states: NDArray[np.int64], horizon: float, random: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return the arrays of `Paths`."""
        who, now = np.arange(len(states)), np.zeros(len(states))
        found = [(who, now, states)]
        total = len(states)
        with Counter("jumps") as bar:
            while len(who):
                rates = self.exit_rates[states]
                with np.errstate(divide="ignore"):
                    now = now + random.exponential(1.0, len(who)) / rates
                going = now < horizon
                who, now, states = who[going], now[going], states[going]
                picked = np.searchsorted(self.keys, states + random.random(len(who)), side="right")
                states = self.targets[np.minimum(picked, self.ends[states] - 1)]
                found.append((who, now, states))
                total += len(who)
                bar.show(total)
                if len(found) % LOOK == 0:
                    check_room(f"{total} jumps", BYTES_PER_JUMP * total)
        runs, times, visited = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(runs, kind="stable")
        counts = np.bincount(runs)
        return {
            "first": np.append(0, np.cumsum(counts)),
            "times": times[order],
            "states": visited[order],
        }
