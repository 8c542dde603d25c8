"""The stationary distribution of an infinite chain in a finite set of states, which grows until a bound is met."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.chains import MarkovChain
from markov.infinite.bounds import NOTHING, Height, Sides, distance, sides_of
from markov.infinite.truncations import Truncation, Truncations
from markov.methods.choice import choose
from markov.methods.sparse_lu import LUFactors, best_order
from markov.proofs import poisson_solvers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.exploration import InfiniteChain
    from markov.infinite.lyapunov import Lyapunov
    from markov.methods.solution import Method, Solution
    from markov.proofs.poisson import Solver

    Vector = NDArray[np.float64]

__all__ = ["Problem", "Step", "include_inner", "solved_below", "steps", "truncations_of"]

FIRST_STATES = 60
GROWTH = 1.4  # of the level
LARGEST_GROWTH = 2.0
AIM = 0.2  # of the bound that is asked for
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
    level
        Of V.
    """

    truncation: Truncation
    chain: MarkovChain
    pi: Vector
    method: Method
    reason: str
    solution: Solution
    solver: Solver | None
    bound: float
    level: float


class Problem(NamedTuple):
    """A chain, a Lyapunov function of it, sets of states below its levels, and the first level."""

    infinite: InfiniteChain
    lyapunov: Lyapunov
    sets: Truncations
    level: float


def truncations_of(infinite: InfiniteChain, lyapunov: Lyapunov) -> tuple[Truncations, float]:
    """Return sets of states below the levels of V, and the first level."""
    calls = lyapunov.hull.layout.calls
    start = calls.known(infinite.model.start())
    found = Truncations(calls, [start], lyapunov.at, infinite.most)
    return found, include_inner(found, lyapunov, float(lyapunov.at([start])[0]))


def include_inner(sets: Truncations, lyapunov: Lyapunov, level: float) -> float:
    """Include all states in which the drift of a function was not verified; return the level of V.

    States that the start cannot lead to, as all changes of a component have a common divisor, do not count.
    """
    layout = lyapunov.hull.layout
    calls = layout.calls
    inner = [
        calls.known(layout.state(mode, places))
        for mode, ranges in lyapunov.inner()
        for places in product(*ranges)
    ]
    at_start, common = layout.split(sets.states[0])[1], _steps(lyapunov)
    inner = [s for s in inner if _on_lattice(layout.split(s)[1], at_start, common)]
    level = max(level, float(sets.heights_of(inner).max()))
    sets.reach(level)
    sets.add(state for state in inner if state not in sets)
    sets.reach(level)
    return level


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


def steps(
    problem: Problem, method: Method | None, tolerance: float
) -> Iterator[Step]:
    """Yield answers in larger and larger sets, until the bound is at most the tolerance or no longer falls."""
    sets, level, least = problem.sets, problem.level, problem.lyapunov.least
    while sets.reach(level) < FIRST_STATES:
        level = least + max(GROWTH * (level - least), level - least + 1.0)
    anchor: Any = None
    history: list[tuple[float, float]] = []
    stagnant = 0
    while True:
        step = solved_below(problem, level, method, anchor)
        anchor = sets.states[int(step.truncation.numbers[int(np.argmax(step.pi))])]
        yield step
        best = min((bound for _, bound in history), default=math.inf)
        stagnant = stagnant + 1 if step.bound >= best and best < 1.0 else 0
        if step.bound <= tolerance or stagnant >= STAGNANT:
            return
        history.append((level - least, step.bound))
        level = least + _next(history, tolerance)


def _next(history: list[tuple[float, float]], tolerance: float) -> float:
    """Return the next level: log bound is nearly linear in it."""
    level, bound = history[-1]
    if len(history) > 1 and 0.0 < bound < history[-2][1] < 1.0:
        before, other = history[-2]
        slope = (math.log(bound) - math.log(other)) / (level - before)
        wanted = level + math.log(AIM * tolerance / bound) / slope
        return min(max(wanted, 1.05 * level), LARGEST_GROWTH * level)
    return GROWTH * level


def solved_below(
    problem: Problem, level: float, method: Method | None = None, anchor: Any = None
) -> Step:
    """Return the answer in the states with V at most ``level``.

    Raises
    ------
    ValueError
        Where the chain on them has several recurrent classes.
    """
    infinite, lyapunov = problem.infinite, problem.lyapunov
    problem.sets.reach(level)
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
    best, solver = NOTHING, None
    if np.all(np.isfinite(pi)) and pi.min() >= 0.0:
        height = Height(
            truncation.heights, truncation.highest, lyapunov.least, np.ones(chain.size)
        )
        for found in _solvers(truncation, pi, solution if len(states) == chain.size else None):
            sides = sides_of(truncation, pi, found, height)
            if max(sides) < max(best) or solver is None:
                best, solver = sides, found
            if math.isfinite(max(best)):
                break
    bound = distance(best, pi)
    return Step(truncation, chain, pi, method, reason, solution, solver, bound, level)


def _solvers(truncation: Truncation, pi: Vector, solution: Solution | None) -> Iterator[Solver]:
    """Yield solvers of Poisson's equation; with transient states (no solution), by sparse LU."""
    Q = truncation.built.Q
    if solution is None:
        yield LUFactors(Q, int(np.argmax(pi)), best_order(Q))
        return
    yield from poisson_solvers.candidates(Q, pi, np.ones_like(pi), None, solution)
