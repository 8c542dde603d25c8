"""Chains given by rules: finite components, and a generator of (target, rate) in plain Python.

>>> class Queue(ChainModel):  # M/M/1/K
...     class State(NamedTuple):
...         n: int
...
...     class Params(NamedTuple):
...         arrival_rate: float = 1.0
...         service_rate: float = 2.0
...         capacity: int = 10
...
...     def space(self):
...         return {"n": range(self.capacity + 1)}
...
...     @staticmethod
...     def rules(s, q):
...         if s.n < q.capacity:
...             yield s._replace(n=s.n + 1), q.arrival_rate
...         if s.n > 0:
...             yield s._replace(n=s.n - 1), q.service_rate
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import scipy.sparse as sp

from hopflow.parameters import Parametrized
from markov.memory import check_room
from markov.splicing import spliced

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "NO_END",
    "ChainModel",
    "Measure",
    "check_space",
    "doubled",
    "generator",
    "refuse",
    "with_diagonal",
]

NO_END = 2**52
"""Where the values of a component end that has no last one."""
FIRST_ROOM = 8  # entries per row of a generator
MOST_INT32 = 2**31 - 1
KEPT = 50_000  # states of a space whose values are remembered
SAMPLED = 100  # states by which the memory of a matrix is predicted

Measure = tuple[tuple[str, ...], Any, dict[str, Any]]
"""A performance measure as xarray takes it: dimensions, values, attributes."""


class ChainModel(Parametrized):
    """A continuous-time Markov chain on a product of finite components, given by rules.

    Subclasses declare ``State`` (a NamedTuple of ints), ``Params`` (a NamedTuple), ``space`` and
    ``rules``. The rules are plain Python and run as they stand; `generator` compiles them.
    """

    State: ClassVar[type[Any]]

    def space(self) -> Mapping[str, range]:
        """Return the values of each component of the state, in the order of ``State``.

        One of them may have no last value, ``range(first, NO_END)``: for `stationary_by_level`.
        """
        raise NotImplementedError

    def start(self) -> Any:
        """Return the state that the chain starts in, or None: every state of the space counts.

        A product space may hold states that the chain never enters; those that lie in closed
        classes of their own do not make the stationary distribution ambiguous when the start is
        known.
        """
        return None

    def symbols(self) -> Any:
        """Return the parameters as the rules see them (``q``); by default ``params``."""
        return self.params

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield ``(target state, rate in 1/s)`` for every transition out of state ``s``.

        A transition to ``s`` itself changes nothing and is dropped; rates to one target add up.
        """
        raise NotImplementedError

    def measures(self, pi: NDArray[np.float64]) -> dict[str, Measure]:  # noqa: ARG002
        """Return performance measures of the distribution ``pi``, shape (states,).

        By default none; as ``{name: (dims, values, attributes)}``, the units among the attributes.
        """
        return {}

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each component."""
        return tuple(len(values) for values in self.space().values())

    @property
    def size(self) -> int:
        """Number of states of the product space."""
        return math.prod(self.shape)

    def states(self) -> Any:
        """Return all states as a NamedTuple of int arrays, each of shape (states,).

        The last component varies fastest; the arrays may be shared, and are read-only.
        """
        bounds = tuple((values.start, values.stop) for values in self.space().values())
        few = math.prod(stop - start for start, stop in bounds) <= KEPT
        return self.State(*(_grids if few else _grids.__wrapped__)(bounds))

    def transitions(self, state: Any) -> list[tuple[Any, float]]:
        """Return the transitions out of one state by running the rules as plain Python."""
        return list(self.rules(self.State(*state), self.symbols()))


@lru_cache(maxsize=16)
def _grids(bounds: tuple[tuple[int, int], ...]) -> list[NDArray[np.int64]]:
    """Return the values of each component over a product space."""
    places = np.indices([stop - start for start, stop in bounds]).reshape(len(bounds), -1)
    grids = [place + start for place, (start, _) in zip(places, bounds, strict=True)]
    for grid in grids:
        grid.flags.writeable = False
    return grids


def generator(model: ChainModel, *, compiled: bool = True, canonical: bool = True) -> sp.csr_matrix:
    """Return the generator matrix Q of a model over its whole product space.

    Parameters
    ----------
    model
        The chain's rules and parameters.
    compiled
        False runs the rules as plain Python: slow, the reference of the tests. So does True where
        Numba is not installed.

    Returns
    -------
    scipy.sparse.csr_matrix, shape (states, states)
        Off-diagonal rates in 1/s, and the diagonal that makes every row sum to zero.

    Raises
    ------
    ValueError
        When a rule leaves the space or gives a rate that is negative or not finite, with the state;
        when the space is not one of ranges with step 1 over the fields of ``State``.
    KernelError
        When a rule cannot be compiled; with the file and line.
    TooLargeError
        When the matrix would not fit into memory, before it is built.
    """
    check_space(model)
    check_room(f"{type(model).__name__}: a matrix on {model.size} states", _predicted(model))
    if not compiled or find_spec("numba") is None:
        return _interpreted(model)
    space = model.space().values()
    low, size = tuple(values.start for values in space), tuple(map(len, space))
    q, states = tuple(model.symbols()), math.prod(size)
    room, done, full = FIRST_ROOM * states, 0, True
    kind: Any = np.int32 if room < MOST_INT32 else np.int64
    indptr = np.zeros(states + 1, dtype=kind)
    indices, rates = np.empty(room, dtype=kind), np.empty(room)
    while full:
        done, full = spliced(fill, model, q, indptr)(q, low, size, done, indptr, indices, rates)
        if full:
            indices, rates = doubled(indices), doubled(rates)
            if len(indices) > MOST_INT32:
                indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    if done < states:
        refuse(model, model.State(*(component[done : done + 1] for component in model.states())))
    entries = int(indptr[-1])
    found: Any = rates[:entries], indices[:entries], indptr
    return sp.csr_matrix(found, shape=(states, states))


def _predicted(model: ChainModel) -> float:
    """Return the bytes of a model's matrix, by the rows of a few states."""
    rng = np.random.default_rng(0)
    space, q = model.space().values(), model.symbols()
    rows: list[int] = []
    for _ in range(SAMPLED if model.size > KEPT else 0):
        state = model.State(*(int(rng.integers(v.start, v.stop)) for v in space))
        rows.append(1 + sum(1 for _ in model.rules(state, q)))
    return model.size * (4.0 + 12.0 * float(np.mean(rows or [1])))


def doubled(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of twice the length that begins with this one."""
    longer = np.empty(2 * len(array), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def with_diagonal(rates: sp.csr_matrix) -> sp.csr_matrix:
    """Return the generator of off-diagonal rates, shape (n, n): every row sums to zero."""
    exit_rates = np.asarray(rates.sum(axis=1)).ravel()
    return sp.csr_matrix(rates - sp.diags(exit_rates, format="csr"))


def check_space(model: ChainModel) -> None:
    """Raise ValueError unless the space is one of ranges over the fields of ``State``."""
    name, fields = type(model).__name__, model.State._fields
    space: Mapping[str, Any] = model.space()
    if tuple(space) != fields:
        raise ValueError(f"{name}.space() has {', '.join(space)}: must be {', '.join(fields)}")
    for component, values in space.items():
        if not isinstance(values, range) or values.step != 1 or not values:
            allowed = "must be a range with step 1, not empty"
            raise ValueError(f"{name}.space(): {component} = {values!r}: {allowed}")


def refuse(model: ChainModel, failed: Any) -> NoReturn:
    """Raise the ValueError of a state, given as a NamedTuple of arrays of shape (1,)."""
    state = model.State(*(int(component[0]) for component in failed))
    for target, rate in model.transitions(state):
        bad_rate = not (np.isfinite(rate) and rate >= 0)
        outside = any(
            value not in values
            for value, values in zip(target, model.space().values(), strict=True)
        )
        if bad_rate or outside:
            why = (
                "a rate must be finite and >= 0" if bad_rate else "the target is outside the space"
            )
            raise ValueError(f"{type(model).__name__}: {state} -> {target} at rate {rate}: {why}")
    if not math.isfinite(sum(rate for _, rate in model.transitions(state))):
        raise ValueError(f"{type(model).__name__}: {state}: the sum of the rates overflows")
    msg = (
        "compiled, a rule gives a rate or a target that is not allowed; in plain Python it does not"
    )
    raise ValueError(f"{type(model).__name__}: {state}: {msg}")


def fill(parameters, low, size, done, indptr, indices, rates):  # type: ignore[no-untyped-def]
    """Write the rows of the generator from the state number ``done`` on (the template).

    Each in the order of its columns, the diagonal included unless it is zero. Returns the first state without a row, and whether that is
    for lack of room; else it has a transition that is not allowed, or is one more than the last.
    """
    unpack()  # type: ignore[name-defined]  # noqa: F821
    x = done
    k = int(indptr[x])
    decode()  # type: ignore[name-defined]  # noqa: F821
    while x < len(indptr) - 1:
        own = x  # noqa: F841
        begin()  # type: ignore[name-defined]  # noqa: F821
        for target, rate in rules(s, q):  # type: ignore[name-defined]  # noqa: B007, F821
            encode()  # type: ignore[name-defined]  # noqa: F821
            if not inside:  # type: ignore[name-defined]  # noqa: F821
                return x, False
            if rate > 0.0:
                if step != 0:  # type: ignore[name-defined]  # noqa: F821
                    if k >= len(indices):
                        return x, True
                    column = x + step  # type: ignore[name-defined]  # noqa: F821, F841
                    record()  # type: ignore[name-defined]  # noqa: F821
            elif rate != 0.0:
                return x, False
        if not total < math.inf:  # type: ignore[name-defined]  # noqa: F821
            return x, False
        if k >= len(indices):
            return x, True
        end()  # type: ignore[name-defined]  # noqa: F821
        indptr[x + 1] = k
        x += 1
        advance()  # type: ignore[name-defined]  # noqa: F821
    return x, False


def _interpreted(model: ChainModel) -> sp.csr_matrix:
    """Return what `generator` does, with the rules run as plain Python."""
    q, size = model.symbols(), model.shape
    low = tuple(values.start for values in model.space().values())
    rows, columns, rates = [], [], []
    for x, state in enumerate(zip(*model.states(), strict=True)):
        s = model.State(*map(int, state))
        for target, rate in model.rules(s, q):
            place = [t - first for t, first in zip(target, low, strict=True)]
            inside = all(0 <= t < n and t == int(t) for t, n in zip(place, size, strict=True))
            if not inside or not (np.isfinite(rate) and rate >= 0):
                refuse(model, model.State(*(np.array([value]) for value in s)))
            if not math.isfinite(sum(map(float, (r for _, r in model.rules(s, q))))):
                refuse(model, model.State(*(np.array([value]) for value in s)))
            if target != s and rate > 0:
                rows.append(x)
                columns.append(int(np.ravel_multi_index([*map(int, place)], size)))
                rates.append(float(rate))
    entries = np.array(rates), (np.array(rows, dtype=int), np.array(columns, dtype=int))
    return with_diagonal(sp.csr_matrix(entries, shape=(model.size, model.size)))
