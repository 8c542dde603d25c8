"""Quasi-birth-death chains: many levels or infinitely many, without listing their states."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import format_value, integer, number
from hopflow.labels import refuse_labels
from markov.chains import ROW_SUM_TOLERANCE, MarkovChain
from markov.methods.block_reduction import Rows
from markov.methods.gth import GTH
from markov.models.rules import ChainModel
from markov.models.spaces import NO_END
from markov.phases.quasi_birth_death.level_kinds import Repeating, repeating

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["QuasiBirthDeath"]


class QuasiBirthDeath:
    """A chain on levels 0, 1, 2, ... whose transitions change the level by at most one.

    Parameters
    ----------
    down, local, up
        The blocks of the generator for a step to the level below, within the level and to the level
        above (A2, A1, A0), in 1/s, shape (m, m) each; together their rows sum to zero.
    boundary
        ``(local, up, down)``: the blocks of level 0, with b states of its own, shapes (b, b) and
        (b, m), and the one from level 1 down to it, shape (m, b). None: level 0 is like the others,
        except for the steps down, which do not happen there.
    levels
        How many there are; in the highest one the steps up do not happen. None: infinitely many.

    Attributes
    ----------
    levels
        Runs of levels with equal rows, from the lowest to the highest.
    model, component
        The model that the levels came from, and its component that counts them; None where there is
        none.
    space, codes
        Of the model's states, and of those of a level, as `markov.models.spaces.Space` numbers them.

    Raises
    ------
    ValueError
        Naming the block, its first bad entry or row and what is allowed. For infinitely many levels
        with a mean drift up that is not below the one down: such a chain has no stationary
        distribution.

    Notes
    -----
    M. F. Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981; D. A. Bini, G. Latouche,
    B. Meini, Numerical Methods for Structured Markov Chains, 2005.

    Examples
    --------
    An M/M/1 queue:

    >>> from markov import stationary_by_level
    >>> queue = QuasiBirthDeath(down=[[10.0]], local=[[-17.0]], up=[[7.0]])
    >>> stationary_by_level(queue).mean_level  # doctest: +ELLIPSIS
    2.3333...
    """

    def __init__(
        self,
        down: ArrayLike,
        local: ArrayLike,
        up: ArrayLike,
        boundary: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        levels: int | None = None,
    ) -> None:
        A2, A1, A0 = _block("down", down), _block("local", local), _block("up", up)
        m = len(A1)
        for name, block in (("down", A2), ("local", A1), ("up", A0)):
            _shaped(name, block, (m, m))
        _balanced("down, local and up", A2, A1, A0)
        inner = Rows(A2, _rates(A1), A0)
        low = [Repeating(0, 0, inner._replace(down=np.zeros((m, 0))))]
        if boundary is not None:
            given: Any = boundary
            if not isinstance(given, (tuple, list)) or len(given) != 3:
                raise ValueError(f"boundary = {format_value(boundary)}: must be three matrices, (B1, B0, B2)")
            B1, B0, B2 = (_block(f"boundary[{k}]", block) for k, block in enumerate(boundary))
            b = len(B1)
            _shaped("boundary[0]", B1, (b, b))
            _shaped("boundary[1]", B0, (b, m))
            _shaped("boundary[2]", B2, (m, b))
            _balanced("boundary[0] and boundary[1]", B1, B0)
            _balanced("boundary[2], local and up", B2, A1, A0)
            lowest = Rows(np.zeros((b, 0)), _rates(B1), B0)
            low = [Repeating(0, 0, lowest), Repeating(1, 1, inner._replace(down=B2))]
        first = len(low)
        if levels is None:
            self.levels = (*low, Repeating(first, None, inner))
            _check_drift(Rows(A2, inner.local, A0))
        else:
            high = integer("levels", levels, first + 2, NO_END) - 1
            highest = Repeating(high, high, inner._replace(up=np.zeros((m, 0))))
            self.levels = (*low, Repeating(first, high - 1, inner), highest)
        self.model: ChainModel | None = None
        self.component: str | None = None
        self.space: Any = None
        self.codes: Any = None

    @classmethod
    def of(cls, model: Any, component: str | None = None) -> QuasiBirthDeath:
        """Return the levels of a model on a product space, by one of its components.

        Its rules are run for one level of each kind only; see `markov.phases.quasi_birth_death.level_kinds.repeating`.

        Parameters
        ----------
        model
            Any number of states.
        component
            The one that counts the levels, which transitions change by at most one; None is the one
            with most values.

        Raises
        ------
        ValueError
            See `markov.phases.quasi_birth_death.level_kinds.repeating`. For infinitely many levels with a mean drift up that is
            not below the one down.
        """
        if not isinstance(model, ChainModel):
            msg = "must be a model by rules; for blocks there is QuasiBirthDeath(down, local, up)"
            raise ValueError(f"model = {format_value(model)}: {msg}")  # noqa: TRY004
        space = model.space()
        chain = cls.__new__(cls)
        chain.component = max(space, key=lambda k: len(space[k])) if component is None else component
        levels, chain.space, chain.codes = repeating(model, chain.component)
        chain.levels, chain.model = tuple(levels), model
        if levels[-1].high is None:
            _check_drift(levels[-1].rows)
        return chain

    @property
    def phases(self) -> Any:
        """The states of a level as a ``State`` of arrays of shape (m,), the level's component at 0.

        None where the levels did not come from a model.
        """
        return None if self.space is None else self.space.columns(self.codes)

    @property
    def size(self) -> float:
        """Number of states; infinite where there is no last level."""
        return sum(len(run.rows.local) * (run.length or math.inf) for run in self.levels)

    def rows(self, k: int) -> Rows:
        """Return the rates out of a level."""
        return next(r.rows for r in self.levels if r.high is None or k <= r.high)

    def __repr__(self) -> str:
        states = max(len(run.rows.local) for run in self.levels)
        count = sum(run.length or math.inf for run in self.levels)
        many = "infinitely many" if count == math.inf else f"{count:.0f}"
        origin = "" if self.model is None else f" of {self.model!r} by {self.component}"
        kinds = f"{len(self.levels)} kinds"
        return f"QuasiBirthDeath{origin}: {many} levels of {states} states, {kinds}"


def _block(name: str, value: ArrayLike) -> NDArray[np.float64]:
    refuse_labels(name, value)
    block = number(name, value)
    if block.ndim != 2 or not block.size:
        raise ValueError(f"{name} has shape {block.shape}: a matrix with at least one row is expected")
    return block


def _shaped(name: str, block: NDArray[np.float64], shape: tuple[int, int]) -> None:
    if block.shape != shape:
        raise ValueError(f"{name} has shape {block.shape}: must be {shape}")
    inner = ~np.eye(*shape, dtype=bool) if name in ("local", "boundary[0]") else np.ones(shape, bool)
    bad = np.argwhere((block < 0) & inner)
    if len(bad):
        row, column = bad[0]
        raise ValueError(f"{name}[{row}, {column}] = {block[row, column]:g}: rates must be >= 0")


def _balanced(names: str, *blocks: NDArray[np.float64]) -> None:
    whole_rows = np.hstack(blocks)
    off = np.abs(whole_rows.sum(axis=1)) > ROW_SUM_TOLERANCE * np.abs(whole_rows).max(axis=1)
    if off.any():
        row = int(np.flatnonzero(off)[0])
        total = whole_rows[row].sum()
        raise ValueError(f"row {row} of {names} sums to {total:g}: must be 0, as of a generator")


def _rates(local: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a block without its diagonal."""
    rates = local.copy()
    np.fill_diagonal(rates, 0.0)
    return rates


def _check_drift(inner: Rows) -> None:
    """Raise ValueError unless the mean drift of an infinite run of levels is down."""
    jumps = inner.down + inner.local + inner.up
    np.fill_diagonal(jumps, 0.0)
    phases = MarkovChain(jumps - np.diag(jumps.sum(axis=1)))
    for states in phases.recurrent_classes:
        alpha = GTH().solve(phases.restricted(states).Q).pi
        up, down = (float(alpha @ block[states].sum(axis=1)) for block in (inner.up, inner.down))
        if not up < down:
            msg = f"the mean drift is {up:.6g} up and {down:.6g} down (levels/s)"
            raise ValueError(f"{msg}: not positive recurrent, up must be < down")
