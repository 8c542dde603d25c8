"""The stationary distribution of an infinite chain in a finite set of states, which grows until a bound is met."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.chains import MarkovChain
from markov.infinite.bounds import LEFT, NOTHING, Height, distance, sides_of
from markov.infinite.truncations import Truncation, Truncations
from markov.methods.choice import choose
from markov.methods.sparse_lu import LUFactors, best_order
from markov.proofs.certificates import solvers
from markov.proofs.poisson import MultigridPoisson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.exploration import InfiniteChain
    from markov.infinite.lyapunov import Lyapunov
    from markov.methods.solution import Method, Solution
    from markov.proofs.poisson import Solver

    Vector = NDArray[np.float64]

__all__ = [
    "FIRST_STATES",
    "GROWTH",
    "LEAST_MORE",
    "Problem",
    "Step",
    "height_of",
    "include_inner",
    "next_level",
    "solved",
    "steps",
]

FIRST_STATES = 60
GROWTH = 1.4  # of the level
LARGEST_GROWTH = 2.0
AIM = 0.2  # of the bound that is asked for
ROUGH = 0.3  # bound: with a larger one the quantiles are not those of the chain
TAIL = 1e-4  # of a quantile
LEAST_MORE = 1.3  # times as many states
FRUITLESS = 7  # sets without any bound below one
STAGNANT = 3  # sets without a better bound


class Step(NamedTuple):
    """One set of states with its answer.

    Attributes
    ----------
    truncation, chain
        The set.
    pi
        Shape (n,).
    method, reason, solution
        How it was solved.
    solver
        Of Poisson's equation; None where nothing was proved.
    bound
        Of the error of any set of states.
    """

    truncation: Truncation
    chain: MarkovChain
    pi: Vector
    method: Method
    reason: str
    solution: Solution
    solver: Solver | None
    bound: float


class Shape(enum.Enum):
    """What sets of states are made of."""

    START = enum.auto()
    QUANTILES = enum.auto()
    LEVELS = enum.auto()


class Problem(NamedTuple):
    """A chain, a Lyapunov function of it, and sets of states."""

    infinite: InfiniteChain
    lyapunov: Lyapunov
    sets: Truncations

    @classmethod
    def of(cls, infinite: InfiniteChain, lyapunov: Lyapunov) -> Problem:
        """Return a chain with the states in which the drift was not verified, and some more."""
        calls, layout = lyapunov.hull.layout.calls, lyapunov.hull.layout
        ones = [1.0] * len(layout.free)
        sets = Truncations(calls, [calls.known(infinite.model.start())], _sizes(lyapunov, ones), infinite.most)
        include_inner(sets, lyapunov)
        level = 1.0
        while sets.reach(level) < FIRST_STATES:
            level *= GROWTH
        return cls(infinite, lyapunov, sets)


def _sizes(lyapunov: Lyapunov, units: Sequence[float]) -> Callable[[Sequence[Any]], Vector]:
    """Return the sum of the components over their units, from their least values on."""
    layout, least = lyapunov.hull.layout, np.min(list(lyapunov.hull.low.values()), axis=0)

    def sizes(states: Sequence[Any]) -> Vector:
        places = np.array([layout.split(state)[1] for state in states], dtype=np.float64)
        found: Vector = ((places.reshape(len(states), -1) - least) / units).sum(axis=1)
        return found

    return sizes


def include_inner(sets: Truncations, lyapunov: Lyapunov) -> None:
    """Include all states in which the drift of a function was not verified.

    States that the start cannot lead to, as all changes of a component have a common divisor, do not count.
    """
    layout = lyapunov.hull.layout
    calls = layout.calls
    inner = [
        calls.known(layout.state(mode, places)) for mode, ranges in lyapunov.inner() for places in product(*ranges)
    ]
    at_start, common = layout.split(sets.states[0])[1], _steps(lyapunov)
    inner = [s for s in inner if _on_lattice(layout.split(s)[1], at_start, common)]
    sets.reach(float(sets.heights_of([sets.states[0]])[0]))
    sets.include(inner)


def _steps(lyapunov: Lyapunov) -> list[int]:
    """Return a number for each component that divides all of its changes."""
    hull = lyapunov.hull
    found = [0] * len(hull.layout.free)
    for parts in hull.parts.values():
        for part in parts:
            for move in part.result:
                for k, by in enumerate(hull.changes(move, part)):
                    found[k] = math.gcd(found[k], by)
    return [step or 1 for step in found]


def _on_lattice(places: Sequence[int], start: Sequence[int], steps: Sequence[int]) -> bool:
    return all((a - b) % step == 0 for a, b, step in zip(places, start, steps, strict=True))


def steps(problem: Problem, method: Method | None, tolerance: float) -> Iterator[Step]:
    """Yield answers in larger and larger sets, until the bound is at most the tolerance or no longer falls.

    A set has the states whose components, each relative to a quantile, have a sum below a level. Where that
    proves nothing, as the chain leaves some of them outwards for sure, sets below the levels of V follow.
    """
    sets, lyapunov = problem.sets, problem.lyapunov
    anchor: Any = None
    shape = Shape.START
    history: list[tuple[float, float]] = []
    best, stagnant, level = 1.0, 0, 0.0
    while True:
        step = solved(problem, method, anchor)
        anchor = sets.states[int(step.truncation.numbers[int(np.argmax(step.pi))])]
        yield step
        stagnant = stagnant + 1 if step.bound >= best else 0
        best = min(best, step.bound)
        tired = stagnant >= (STAGNANT if best < 1.0 else FRUITLESS)
        if step.bound <= tolerance or (tired and shape is Shape.LEVELS):
            return
        count = len(step.pi)
        failed = shape is Shape.QUANTILES and (stagnant > 0 or step.bound == math.inf)
        if tired or (failed and best <= ROUGH):
            shape, stagnant, history = Shape.LEVELS, 0, []
            sets.reshape(lyapunov.at)
            level = max(float(lyapunov.at(sets.states[:1])[0]), lyapunov.at_inner())
        elif shape is not Shape.LEVELS and (best > ROUGH or shape is Shape.START):
            shape, history, level = Shape.QUANTILES, [(0.0, math.inf)], 1.0
            sets.reshape(_sizes(lyapunov, _units(problem, step)))
        else:
            history.append((level, step.bound))
            level = next_level(history, tolerance)
        while sets.reach(level) < LEAST_MORE * count:
            level = GROWTH * max(level, 1.0)


def _units(problem: Problem, step: Step) -> list[float]:
    """Return a quantile of each component without an end, less its least value."""
    layout = problem.lyapunov.hull.layout
    least = np.min(list(problem.lyapunov.hull.low.values()), axis=0)
    columns = step.truncation.built.codes
    found = []
    for k, low in zip(layout.free, least, strict=True):
        values = columns[k] - int(low)
        counts = np.bincount(values, step.pi)
        tail = np.cumsum(counts[::-1])[::-1]
        found.append(float(max(int(np.count_nonzero(tail > TAIL)), 2)))
    return found


def next_level(
    history: list[tuple[float, float]],
    tolerance: float,
    *,
    useful: float = 1.0,
    largest: float = LARGEST_GROWTH,
) -> float:
    """Return the level of the next set: the logarithm of a bound is nearly linear in it.

    Parameters
    ----------
    history
        Levels and bounds of the sets before.
    tolerance
        The bound that is asked for.
    useful
        Bounds below this count; without two of them, falling, the level grows by a fixed factor.
    largest
        Factor by which it grows at most.
    """
    level, bound = history[-1]
    if len(history) > 1 and 0.0 < bound < history[-2][1] < useful and level > history[-2][0]:
        before, other = history[-2]
        slope = (math.log(bound) - math.log(other)) / (level - before)
        wanted = level + math.log(AIM * tolerance / bound) / slope
        return min(max(wanted, 1.05 * level), largest * level)
    return GROWTH * level


def solved(problem: Problem, method: Method | None = None, anchor: Any = None) -> Step:
    """Return the answer in the states of the sets.

    Raises
    ------
    ValueError
        Where the chain on them has several recurrent classes.
    """
    infinite, lyapunov = problem.infinite, problem.lyapunov
    truncation = problem.sets.truncation(anchor)
    chain = MarkovChain.of_built(infinite.model, truncation.built)
    if len(chain.recurrent_classes) != 1:
        said = "the stationary distribution is not unique, or the start does not lead to all states of a finite set"
        raise ValueError(f"{infinite.model.name}: {said} in which that is not known")
    states, Q = chain.recurrent_classes[0], chain.irreducible(0)
    components = chain.components_of(states)
    reason = "requested by the caller"
    if method is None:
        method, reason = choose(Q, components)
    solution = method.solve(Q, components)
    pi = np.zeros(chain.size)
    pi[states] = solution.pi
    best, solver, likeliest = NOTHING, None, int(np.argmax(pi))
    if np.all(np.isfinite(pi)) and pi.min() >= 0.0:
        height = height_of(problem.sets, truncation, lyapunov, np.ones(chain.size))
        for found in _solvers(truncation, pi, solution if len(states) == chain.size else None):
            sides = sides_of(truncation.rates, pi, found, height)
            if max(sides) < max(best) or solver is None:
                best, solver = sides, found
            exact = not isinstance(found, MultigridPoisson) and found.reference == likeliest
            if math.isfinite(max(best)) or (exact and sides is LEFT):
                break
    bound = distance(best, pi)
    return Step(truncation, chain, pi, method, reason, solution, solver, bound)


def height_of(sets: Truncations, truncation: Truncation, lyapunov: Lyapunov, weights: Vector) -> Height:
    """Return a Lyapunov function inside and on the edge of a set."""
    inside = lyapunov.at([sets.states[k] for k in truncation.numbers])
    edge = lyapunov.at([sets.states[k] for k in truncation.edge])
    return Height(inside, float(edge.max(initial=lyapunov.least)), lyapunov.least, weights)


def _solvers(truncation: Truncation, pi: Vector, solution: Solution | None) -> Iterator[Solver]:
    """Yield solvers of Poisson's equation; with transient states (no solution), by sparse LU."""
    Q = truncation.built.Q
    if solution is None:
        yield LUFactors(Q, int(np.argmax(pi)), best_order(Q))
        return
    yield from solvers(Q, pi, np.ones_like(pi), None, solution)
