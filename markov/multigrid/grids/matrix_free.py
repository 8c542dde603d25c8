"""`MatrixFree`: the stationary distribution of a large model from its rules, without a matrix."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from hopflow.checks import one_number, whole
from markov.multigrid.grids.boxes import Unsuitable
from markov.multigrid.grids.chains import GridChain
from markov.multigrid.grids.checkpoints import checkpoint_of
from markov.multigrid.grids.loops import place_kernels
from markov.multigrid.grids.loops.teams import Team
from markov.multigrid.grids.models import GridModel, is_numbered
from markov.multigrid.grids.multigrid import Multigrid
from markov.multigrid.grids.places import RECURRENT, SeveralClassesError
from markov.multigrid.grids.proofs import GridBound, bound_on_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.rules import ChainModel

__all__ = ["GridSolution", "MatrixFree", "grid_model", "solve_on_grid"]

MIN_STATES, MAX_STATES = (
    1_000_000,
    300_000_000,
)  # states of spaces that are tried without being asked to
REACHED_SHARE = 0.5  # of the states of a grid: fewer are left to a search from the start


@dataclass(frozen=True)
class MatrixFree:
    """Aggregation multigrid on the grid of a model's states, with rates from its rules: no matrix.

    For a `ChainModel` on a space of whole numbers whose rules are alike on few boxes of it, and change
    components of many values by small steps: chains of queues with thresholds, for example. The
    algorithm is that of `Multilevel`, in a fifth of its memory or less, and faster from some hundred
    thousand states on; pi and its states are the same. The bound on the error is found in the same
    way. A matrix is made only by what needs one, such as ``answer.chain.Q``.

    Parameters
    ----------
    tolerance
        Relative residual at which to stop.
    max_iterations
        Most cycles. A chain on which thirty in a row gain nothing is given up.
    checkpoint
        A file to write x to every two minutes, on Ctrl-C, and when pi is found, 8 bytes per state; None:
        none. If it is there and of the same chain, the solution goes on from it, and its cycles count. It
        is deleted once the answer is complete, its bound included, and kept where the tolerance was not
        reached.
    threads
        At most so many, and never more than the process may use or 4; None: as many as that. Their
        number does not change a bit of the result.

    Raises
    ------
    ValueError
        By `stationary`, for a model whose transitions cannot be laid out on a grid, saying why; and for a
        checkpoint that is not one, not whole, or of another chain or other parameters.
    TooLargeError
        By `stationary`, before arrays are allocated that would not fit into memory.

    Notes
    -----
    It needs Numba. See `Multilevel` for the sources of the algorithm. Probabilities below 1e-280 are
    held there.

    Examples
    --------
    ``stationary(PauseTandem(buffers=(1000, 2000), high_threshold=1500), MatrixFree())`` has 4 million
    states; its kernels compile once on a machine.

    >>> from markov import MatrixFree
    >>> MatrixFree(tolerance=1e-10)
    MatrixFree(tolerance=1e-10, max_iterations=500, checkpoint=None, threads=None)
    """

    tolerance: float = 1e-12
    max_iterations: int = 500
    checkpoint: str | os.PathLike[str] | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        one_number("tolerance", self.tolerance, above=0.0)
        whole("max_iterations", self.max_iterations, 1, 10**9)
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise TypeError(f"checkpoint = {self.checkpoint!r}: must be a path, or None")
        if self.threads is not None:
            whole("threads", self.threads, 1, 10**9)

    def solve(self, Q: object, components: object = None) -> NoReturn:  # noqa: ARG002
        """Raise ValueError: there is a matrix already, so `Multilevel` is the method for it."""
        msg = "works on the rules of a ChainModel; for a chain or a matrix write Multilevel()"
        raise ValueError(f"method = {self!r}: {msg}")


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
    if not requested and not (is_numbered(model) and MIN_STATES <= model.size <= MAX_STATES):
        return None
    try:
        grid = GridModel(model)
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
    share = grid.places.size / grid.layout.into[0].size
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
        return _solved(grid, method, team, proof, tight)


def _solved(
    grid: GridModel, method: MatrixFree, team: Team, proof: bool, tight: bool
) -> GridSolution:
    places, n = grid.places, grid.layout.into[0].size
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
                cycles = levels.cycle_tails(cycles, method.max_iterations, places.marks)
    finally:  # Ctrl-C too
        checkpoint.save(x)
    levels.finest.on_states(place_kernels.keep, RECURRENT, places.marks, x)()
    residual, mass = levels.finest.residual()
    levels.finest.multiply(1.0 / mass)
    sizes, memory = levels.sizes, levels.nbytes
    del levels  # its memory is that of the bound
    bound = GridBound(np.inf, 0.0, 0, 0)
    if proof and residual <= method.tolerance:
        bound = bound_on_grid(grid.layout, places, x, team, exact=tight)
    if residual <= method.tolerance:
        checkpoint.delete()
    pi = places.gathered(x)
    copied = 0 if pi is x else pi.nbytes
    memory = places.marks.nbytes + max(memory, x.nbytes + max(bound.memory, copied))
    return GridSolution(GridChain(grid), pi, residual, cycles, memory, sizes, bound.distance)
