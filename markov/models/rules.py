"""Chains given by rules: a generator of (target, rate) in plain Python, and the states it is about.

>>> from typing import NamedTuple
>>> from markov import ChainModel
>>> class Queue(ChainModel):  # M/M/1/K
...     class State(NamedTuple):
...         n: int
...
...     class Params(NamedTuple):
...         arrival_rate: float = 1.0
...         service_rate: float = 2.0
...         capacity: int = 10
...
...     def start(self):
...         return self.State(0)
...
...     @staticmethod
...     def rules(s, q):
...         if s.n < q.capacity:
...             yield s._replace(n=s.n + 1), q.arrival_rate
...         if s.n > 0:
...             yield s._replace(n=s.n - 1), q.service_rate
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hopflow.errors import RuleError
from hopflow.parameters import Parametrized
from markov.models.functions.evaluation import elementwise
from markov.models.measures import Measure, measured
from markov.models.signatures import two_arguments
from markov.models.spaces import NO_END, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NO_END", "ChainModel"]

MAX_CACHED_STATES = 50_000  # states of a space whose values are remembered


class _Undeclared:
    """Stands where a subclass declares ``State``."""

    def __get__(self, model: ChainModel | None, owner: type[Any]) -> Any:
        if model is None:
            return self
        msg = "write class State(NamedTuple) with the components of a state, rules(s, q), and start() or space()"
        raise RuleError(f"{model.name} declares no State: {msg}")


class ChainModel(Parametrized):
    """A continuous-time Markov chain given by rules.

    Subclasses declare ``State``, a NamedTuple, and ``rules``; ``Params``, a NamedTuple, where there
    are parameters; and ``space``, ``start`` or both, which say what states there are. The rules are
    plain Python, and mean what they mean in Python.

    Examples
    --------
    Three machines and one repairer:

    >>> from typing import NamedTuple
    >>> from markov import ChainModel, stationary
    >>> class Repairs(ChainModel):
    ...     class State(NamedTuple):
    ...         working: int
    ...
    ...     class Params(NamedTuple):
    ...         failure: float = 0.1
    ...         repair: float = 1.0
    ...
    ...     def start(self):
    ...         return self.State(3)
    ...
    ...     @staticmethod
    ...     def rules(s, q):
    ...         if s.working > 0:
    ...             yield s._replace(working=s.working - 1), q.failure * s.working
    ...         if s.working < 3:
    ...             yield s._replace(working=s.working + 1), q.repair
    >>> stationary(Repairs(repair=2.0)).pi.round(4).tolist()
    [0.0006, 0.0129, 0.1287, 0.8578]
    """

    SWEPT_BY = "markov.sweeps"

    State: ClassVar[Any] = _Undeclared()

    def space(self) -> Mapping[str, Any]:
        """Return the values of each component of the state, in the order of ``State``.

        A range with step 1; a list of different values, such as texts or an Enum; or a tuple of
        ranges for a vector of components, which is a tuple in the state. A range may have no last
        value, ``range(first, NO_END)``: for `stationary_by_level`. A model without a space has the
        states that its start leads to.
        """
        raise NotImplementedError

    def start(self) -> Any:
        """Return the state that the chain starts in, or None: every state of the space counts.

        With a start, only the states that it leads to count, and rules are never asked about others.
        """
        return None

    def symbols(self) -> Any:
        """Return the parameters as the rules see them (``q``); by default ``params``."""
        return self.params

    @staticmethod
    def rules(s: Any, q: Any) -> Iterable[tuple[Any, Any]]:
        """Yield ``(target state, rate in 1/s)`` for every transition out of state ``s``.

        A transition to ``s`` itself changes nothing and is dropped, as is one at rate zero; rates to
        one target add up. A subclass may make it a method, ``rules(self, s)`` or ``(self, s, q)``.
        """
        raise NotImplementedError

    @elementwise
    def labels(self, s: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return sets of states by name: whether each state ``s`` belongs to them.

        ``s`` is one state, as for `rules`, and the labels mean what they mean in Python. A subclass may
        take the parameters too, ``labels(self, s, q)``.
        """
        return {}

    @elementwise
    def rewards(self, s: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return rewards per second by name, as ``labels``: numbers, or a `markov.Mean`."""
        return {}

    def measures(self, pi: NDArray[np.float64], s: Any = None) -> dict[str, Measure]:
        """Return performance measures of a distribution.

        Parameters
        ----------
        pi
            Shape (states,).
        s
            The states, a ``State`` of arrays of shape (states,); None: the whole space.

        Returns
        -------
        dict
            ``{name: (dims, values, attributes)}``, the units among the attributes: by default the
            probability of each label and the mean of each reward.
        """
        return measured(self, pi, self.states() if s is None else s)

    @property
    def name(self) -> str:
        """The model's name in messages."""
        return type(self).__name__

    @property
    def has_space(self) -> bool:
        """Whether the model declares the values of its components."""
        return type(self).space is not ChainModel.space

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each component."""
        return self._space.shape

    @property
    def size(self) -> int:
        """Number of states of the product space."""
        return self._space.size

    @property
    def _space(self) -> Space:
        return Space.of(self.State, self.space(), self.name)

    def states(self) -> Any:
        """Return all states of the space as a ``State`` of arrays, each of shape (states,).

        The last component varies fastest; the arrays may be shared, and are read-only.
        """
        space = self._space
        if not space.plain:
            return space.columns(space.unnumbered(np.arange(space.size)))
        bounds = tuple((c.low, c.low + c.count) for c in space.components)
        return self.State(
            *(_grids if space.size <= MAX_CACHED_STATES else _grids.__wrapped__)(bounds)
        )

    def transitions(self, state: Any) -> list[tuple[Any, float]]:
        """Return the transitions out of one state by running the rules as plain Python."""
        rules: Callable[..., Any] = two_arguments(
            self.rules, f"{self.name}.rules", q := self.symbols()
        )
        return list(rules(self.State(*state), q))


@lru_cache(maxsize=16)
def _grids(bounds: tuple[tuple[int, int], ...]) -> list[NDArray[np.int64]]:
    """Return the values of each component over a product space."""
    places = np.indices([stop - start for start, stop in bounds]).reshape(len(bounds), -1)
    grids = [place + start for place, (start, _) in zip(places, bounds, strict=True)]
    for grid in grids:
        grid.flags.writeable = False
    return grids
