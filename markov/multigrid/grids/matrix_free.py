"""The method `MatrixFree`: the stationary distribution of a large model from its rules, without a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.multigrid.grids.boxes import Unsuitable
from markov.multigrid.grids.chains import GridChain
from markov.multigrid.grids.checkpoints import checkpoint_of
from markov.multigrid.grids.loops import place_kernels
from markov.multigrid.grids.loops.teams import Team
from markov.multigrid.grids.models import GridModel
from markov.multigrid.grids.multigrid import Multigrid
from markov.multigrid.grids.places import RECURRENT, SeveralClassesError
from markov.multigrid.grids.proofs import GridBound, bound_on_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.rules import ChainModel
    from markov.multigrid.grids.methods import MatrixFree

__all__ = ["GridSolution", "grid_model", "solve_on_grid"]

REACHED_SHARE = 0.5  # of the states of a grid: fewer are left to a search from the start
STATES_PER_REGION = 200  # on average: finding more regions could cost a quarter of a solution with a matrix


class GridSolution(NamedTuple):
    """Result of `solve_on_grid`.

    Attributes
    ----------
    chain
        States, and a matrix on demand.
    pi
        Shape (states,), summing to one.
    residual
        Relative, in the norm of `Stationary`.
    iterations, memory, levels
        Cycles, bytes that were held, and states and transitions of each level.
    error_bound
        On the distance in total variation; inf without proof.
    """

    chain: GridChain
    pi: NDArray[np.float64]
    residual: float
    iterations: int
    memory: int
    levels: tuple[tuple[int, int], ...]
    error_bound: float


def grid_model(model: ChainModel, requested: bool) -> GridModel | None:
    """Return a model on a grid; None where it is not requested and does not pay or is not possible.

    Raises
    ------
    ValueError
        Where it is requested and not possible.
    """
    try:
        grid = GridModel(model) if requested else GridModel(model, STATES_PER_REGION)
    except Unsuitable as error:
        if not requested:
            return None
        msg = "MatrixFree() cannot lay its transitions out on a grid; write Multilevel()"
        raise ValueError(f"{model.name}: {msg}: {error}") from None
    except SeveralClassesError:
        if not requested:
            return None  # the driver says so
        msg = "the stationary distribution is not unique; use stationary_by_class(model)"
        raise ValueError(f"{model.name}: {msg}") from None
    share = grid.states.size / grid.layout.into[0].size
    return grid if requested or share >= REACHED_SHARE else None


def solve_on_grid(grid: GridModel, method: MatrixFree, *, proof: bool, tight: bool) -> GridSolution:
    """Return the stationary distribution of a model on its grid.

    Parameters
    ----------
    grid
        The model.
    method
        When to stop.
    proof, tight
        Whether to bound the error; tight goes on, before that, as long as cycles gain something.
    """
    grid.check_room(proof=proof)
    with Team(method.threads) as team:
        return _solve(grid, method, team, proof, tight)


def _solve(grid: GridModel, method: MatrixFree, team: Team, proof: bool, tight: bool) -> GridSolution:
    states, n = grid.states, grid.layout.into[0].size
    checkpoint = checkpoint_of(method.checkpoint, grid)
    x = np.full(n, 1.0 / n)
    levels = Multigrid(grid.layout, x, team)
    checkpoint.load(x)  # levels are those of a start from nothing
    try:
        with np.errstate(all="ignore"):  # what is not finite shows in the residual
            cycles, residual = levels.solve(method.tolerance, method.max_iterations, checkpoint)
            if tight and residual <= method.tolerance:
                cycles = levels.refine(cycles)
            if proof and residual <= method.tolerance:
                cycles = levels.cycle_tails(cycles, method.max_iterations, states.marks)
    finally:  # Ctrl-C too
        checkpoint.save(x)
    levels.finest.on_states(place_kernels.clear_unmarked, RECURRENT, states.marks, x)()
    residual, mass = levels.finest.residual()
    levels.finest.multiply(1.0 / mass)
    sizes, memory = levels.sizes, levels.nbytes
    del levels  # its memory is that of the bound
    bound = GridBound(np.inf, 0.0, 0, 0)
    if proof and residual <= method.tolerance:
        bound = bound_on_grid(grid.layout, states, x, team, exact=tight)
    if residual <= method.tolerance:
        checkpoint.delete()
    pi = states.gather(x)
    copied = 0 if pi is x else pi.nbytes
    memory = states.marks.nbytes + max(memory, x.nbytes + max(bound.memory, copied))
    return GridSolution(GridChain(grid), pi, residual, cycles, memory, sizes, bound.distance)
