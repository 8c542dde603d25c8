"""`MatrixFree`, a method for models on grids, and the test for spaces of whole numbers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from hopflow.parameters import param, validate_parameters
from markov.models.spaces import Space
from markov.multigrid.cycle import StoppingRule

if TYPE_CHECKING:
    from markov.models.rules import ChainModel


__all__ = ["MatrixFree", "is_numbered", "stopping_rule_of"]


@validate_parameters
@dataclass(frozen=True)
class MatrixFree:
    """Aggregation multigrid on the grid of a model's states, with rates from its rules: no matrix.

    For a `ChainModel` on a space of whole numbers, with the same rules on each of few boxes of the space, which change
    components of many values by small steps: chains of queues with thresholds, for example. The
    algorithm is that of `Multilevel`, in a fifth of its memory or less, and faster from about 30,000
    states on; pi and its states are the same. The bound on the error is computed in the same
    way. A matrix is built only if it is needed, such as by ``answer.chain.Q``.

    Parameters
    ----------
    tolerance
        Relative residual at which to stop.
    max_iterations
        Maximum number of cycles. The solution also ends if 30 consecutive cycles do not halve the residual.
    checkpoint
        A file for x, 8 bytes per state, written every two minutes, at Ctrl-C, and when pi is computed; None:
        no file. If the file exists and is of the same chain, the solution continues from it, and its cycles count. It
        is deleted once the answer is complete, its bound included, and remains if the tolerance was not reached.
    threads
        Maximum number of threads, at most 4 and as many as the process may use; None: that number. It
        does not change a bit of the result.

    Raises
    ------
    ValueError
        By `stationary`, for a model whose transitions do not form a grid, with the reason; and for a
        checkpoint that is not one, is truncated, or is of another chain or other parameters.
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

    tolerance: float = param(1e-12, above=0.0)
    max_iterations: int = param(500, at_least=1, at_most=10**9)
    checkpoint: str | os.PathLike[str] | None = None
    threads: int | None = param(None, at_least=1, at_most=10**9)

    def __post_init__(self) -> None:
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise TypeError(f"checkpoint = {self.checkpoint!r}: must be a path, or None")

    def solve(self, Q: object, components: object = None) -> NoReturn:  # noqa: ARG002
        """Raise ValueError: `Multilevel` is the method for a chain that has a matrix already."""
        msg = "works on the rules of a ChainModel; for a chain or a matrix write Multilevel()"
        raise ValueError(f"method = {self!r}: {msg}")


def stopping_rule_of(method: MatrixFree, done: int) -> StoppingRule:
    """Return the rule that ends the cycles of a method, of which a checkpoint has ``done``."""
    return StoppingRule(method.tolerance, method.max_iterations, done=done)


def is_numbered(model: ChainModel) -> bool:
    """Return whether a model declares a space in which all components are whole numbers."""
    return model.has_space and Space.of(model.State, model.space(), model.name).has_only_integers
