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
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from hopflow.parameters import Parametrized
from markov.vectors import inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MOST_INT32",
    "NO_END",
    "ChainModel",
    "Measure",
    "check_space",
    "refuse",
]

NO_END = 2**52
"""Where the values of a component end that has no last one."""
MOST_INT32 = 2**31 - 1
"""The last number of an entry or a state that 32 bits hold."""
KEPT = 50_000  # states of a space whose values are remembered

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

    def labels(self, s: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return sets of states by name: booleans over ``s``, a ``State`` of int arrays."""
        return {}

    def rewards(self, s: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return rewards per second by name: numbers over ``s``, a ``State`` of int arrays."""
        return {}

    def measures(self, pi: NDArray[np.float64]) -> dict[str, Measure]:
        """Return performance measures of the distribution ``pi``, shape (states,).

        As ``{name: (dims, values, attributes)}``, the units among the attributes; by default the
        probability of each label and the mean of each reward.
        """
        if type(self).labels is ChainModel.labels and type(self).rewards is ChainModel.rewards:
            return {}
        s = self.states()
        named = [*self.labels(s).items(), *self.rewards(s).items()]
        return {name: ((), inner(pi, np.broadcast_to(of, pi.shape)), {}) for name, of in named}

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


def refuse(model: ChainModel, place: Iterable[Any]) -> NoReturn:
    """Raise the ValueError of a state whose transitions are not allowed."""
    state = model.State(*map(int, place))
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
