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
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import scipy.sparse as sp

from hopflow.parameters import Parametrized

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ChainModel",
    "Measure",
    "check_space",
    "generator",
    "refuse",
    "spliced",
    "with_diagonal",
]

Measure = tuple[tuple[str, ...], Any, dict[str, Any]]
"""A performance measure as xarray takes it: dimensions, values, attributes."""


class ChainModel(Parametrized):
    """A continuous-time Markov chain on a product of finite components, given by rules.

    Subclasses declare ``State`` (a NamedTuple of ints), ``Params`` (a NamedTuple), ``space`` and
    ``rules``. The rules are plain Python and run as they stand; `generator` compiles them.
    """

    State: ClassVar[type[Any]]

    def space(self) -> Mapping[str, range]:
        """Return the values of each component of the state, in the order of ``State``."""
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
        return int(np.prod(self.shape))

    def states(self) -> Any:
        """Return all states as a NamedTuple of int arrays, each of shape (states,).

        The last component varies fastest.
        """
        grids = np.meshgrid(
            *(np.arange(v.start, v.stop) for v in self.space().values()), indexing="ij"
        )
        return self.State(*(grid.ravel() for grid in grids))

    def transitions(self, state: Any) -> list[tuple[Any, float]]:
        """Return the transitions out of one state by running the rules as plain Python."""
        return list(self.rules(self.State(*state), self.symbols()))


def generator(model: ChainModel, *, compiled: bool = True) -> sp.csr_matrix:
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
    """
    check_space(model)
    low = tuple(values.start for values in model.space().values())
    size = model.shape
    q = tuple(model.symbols())
    with_numba = compiled and find_spec("numba") is not None
    run = spliced(fill, model, q) if with_numba else _interpreted(model)
    states = model.size
    indptr = np.zeros(states + 1, dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
    failed = run(q, low, size, indptr, *nothing, False)
    if failed >= 0:
        refuse(
            model, model.State(*(component[failed : failed + 1] for component in model.states()))
        )
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], dtype=np.int64)
    rates = np.empty(indptr[-1])
    run(q, low, size, indptr, indices, rates, True)
    matrix = sp.csr_matrix((rates, indices, indptr), shape=(states, states))
    matrix.sum_duplicates()
    return with_diagonal(matrix)


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
    msg = (
        "compiled, a rule gives a rate or a target that is not allowed; in plain Python it does not"
    )
    raise ValueError(f"{type(model).__name__}: {state}: {msg}")


def spliced(
    template: Callable[..., Any], model: ChainModel, q: tuple[Any, ...], *, compiled: bool = True
) -> Any:
    """Return a template with the model's rules and its components spliced in.

    ``x``, the number of a state in the product space, is decoded to ``s``; ``target`` is encoded to
    ``y``, and ``inside`` says whether it is in the space.
    """
    from hopflow.kernels import build, shape_of

    fields = model.State._fields
    decode = [f"_r{n}" for n in range(len(fields))]
    lines = ["_rest = x"]
    for n in reversed(range(len(fields))):
        lines += [f"{decode[n]} = low[{n}] + _rest % size[{n}]", f"_rest //= size[{n}]"]
    lines.append(f"s = State({', '.join(decode)})")
    places = [f"_t{n} = int(target.{f}) - low[{n}]" for n, f in enumerate(fields)]
    checks = [f"0 <= _t{n} < size[{n}]" for n in range(len(fields))]
    checks += [f"_t{n} + low[{n}] == target.{f}" for n, f in enumerate(fields)]
    index = "0"
    for n in range(len(fields)):
        index = f"({index}) * size[{n}] + _t{n}"
    symbols = model.symbols()._fields
    unpack = ", ".join(f"parameters[{n}]" for n in range(len(symbols)))
    return build(
        template,
        rules={"rules": model.rules},
        snippets={
            "unpack": f"q = Symbols({unpack},)",
            "decode": "\n".join(lines),
            "encode": "\n".join([*places, f"inside = {' and '.join(checks)}", f"y = {index}"]),
        },
        tuples={"State": fields, "Symbols": symbols},
        salt=shape_of(q) + str(len(fields)),
        compiled=compiled,
    )


def fill(parameters, low, size, indptr, indices, rates, write):  # type: ignore[no-untyped-def]
    """Count the transitions of every state in ``indptr[x + 1]``, or write them (the template).

    Returns the first state with a transition that is not allowed, -1 when there is none.
    """
    unpack()  # type: ignore[name-defined]  # noqa: F821
    states = 1
    for n in size:
        states *= n
    for x in range(states):
        decode()  # type: ignore[name-defined]  # noqa: F821
        k = indptr[x] if write else 0
        for target, rate in rules(s, q):  # type: ignore[name-defined]  # noqa: B007, F821
            encode()  # type: ignore[name-defined]  # noqa: F821
            if not inside or not 0.0 <= rate < math.inf:  # type: ignore[name-defined]  # noqa: F821
                return x
            if y != x and rate > 0.0:  # type: ignore[name-defined]  # noqa: F821
                if write:
                    indices[k] = y  # type: ignore[name-defined]  # noqa: F821
                    rates[k] = rate
                k += 1
        if not write:
            indptr[x + 1] = k
    return -1


def _interpreted(model: ChainModel) -> Any:
    """Return what `fill` does, with the rules run as plain Python."""
    q = model.symbols()

    def fill(_, low, size, indptr, indices, rates, write):  # type: ignore[no-untyped-def]
        for x, state in enumerate(zip(*model.states(), strict=True)):
            s = model.State(*map(int, state))
            row = []
            for target, rate in model.rules(s, q):
                place = [t - first for t, first in zip(target, low, strict=True)]
                inside = all(0 <= t < n and t == int(t) for t, n in zip(place, size, strict=True))
                if not inside or not (np.isfinite(rate) and rate >= 0):
                    return x
                if target != s and rate > 0:
                    row.append((int(np.ravel_multi_index([*map(int, place)], size)), float(rate)))
            if write:
                for k, (y, rate) in enumerate(row, start=indptr[x]):
                    indices[k], rates[k] = y, rate
            else:
                indptr[x + 1] = len(row)
        return -1

    return fill
