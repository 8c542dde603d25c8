"""From a model or a plain function to its states and the chain on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from hopflow.errors import RuleError
from hopflow.fork_safety import cached_property
from hopflow.parameters import param, validate_parameters
from hopflow.results import same, table_html
from markov.chains import MarkovChain
from markov.computing.resources import InfiniteStatesError
from markov.generators.building import MAX_STATES, build_chain
from markov.models.bare import FunctionModel
from markov.models.rules import ChainModel

if TYPE_CHECKING:
    from markov.generators.hulls import Hull

__all__ = ["InfiniteChain", "Reachable", "explore"]


class Reachable(NamedTuple):
    """Result of `explore`: the reachable states and their chain, accepted by `stationary`.

    Attributes
    ----------
    states
        The reachable states as a ``State`` of arrays, each of shape (n,), ascending by their
        components; other values than whole numbers in the order of their discovery.
    chain
        The `MarkovChain` on them, numbered in that order.

    Examples
    --------
    >>> from markov import explore, stationary
    >>> found = explore(lambda n: [((n + 1) % 3, 1.0)], start=0)
    >>> stationary(found).pi.round(3).tolist()
    [0.333, 0.333, 0.333]
    """

    states: Any
    chain: MarkovChain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reachable) and same(tuple(self), tuple(other))

    def __ne__(self, other: object) -> bool:  # that of tuples compares arrays
        return not self == other

    def __hash__(self) -> int:
        return hash(self.chain)

    def __repr__(self) -> str:
        """Return the description of the chain: its model and its number of states."""
        return repr(self.chain)

    def _repr_html_(self) -> str:
        return table_html("Reachable", {"chain": repr(self.chain)}, ())


Reachable.SWEPT_BY = "markov.sweeps"  # type: ignore[attr-defined] # in the class it would be a field


class InfiniteChain(Reachable):
    """Result of `explore` where a start leads to infinitely many states.

    `stationary`, `passage` and `transient` accept it. It has no matrix and no list of states: functions that need
    these refuse it.

    Attributes
    ----------
    model
        Its rules and parameters.
    most
        Largest number of states in which an answer may be computed.

    Examples
    --------
    >>> from markov import explore, stationary
    >>> def queue(n):
    ...     yield n + 1, 1.0
    ...     if n > 0:
    ...         yield n - 1, 2.0
    >>> answer = stationary(explore(queue, start=0))
    >>> answer.probability(0), answer.error_bound < 1e-9
    (0.5, True)
    """

    model: ChainModel
    most: int

    def __new__(cls, model: ChainModel, most: int = MAX_STATES) -> Self:
        """Return the chain, a tuple without entries, with the model and the limit on states as attributes."""
        self = tuple.__new__(cls, ())
        self.model, self.most = model, most
        return self

    @classmethod
    def of_error(cls, error: InfiniteStatesError) -> InfiniteChain:
        """Return the chain of the model in an error of `explore`, with the closed set that the error carries."""
        chain = cls(error.hull.layout.calls.model, error.most)
        chain.__dict__["hull"] = error.hull
        return chain

    @cached_property
    def hull(self) -> Hull:
        """A closed set of states, described by bounds, that contains all states reachable from the start."""
        try:
            build_chain(self.model, by="python", max_states=self.most)
        except InfiniteStatesError as error:
            return error.hull  # type: ignore[no-any-return]
        raise RuleError(f"{self.model.name}: the start leads to finitely many states")

    def _raise_no_list(self) -> NoReturn:
        """Raise ValueError: a chain with infinitely many states has no matrix and no list of states."""
        message = "the chain has infinitely many states: there is no matrix and no list of them"
        raise ValueError(f"{self.model.name}: {message}; stationary(), passage() and transient() accept it")

    @property
    def states(self) -> Any:
        """Raise ValueError: there is no list of the states."""
        self._raise_no_list()

    @property
    def chain(self) -> MarkovChain:
        """Raise ValueError: there is no matrix."""
        self._raise_no_list()

    def __iter__(self) -> NoReturn:
        self._raise_no_list()

    def __len__(self) -> int:
        return self._raise_no_list()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InfiniteChain) and self.model == other.model

    def __hash__(self) -> int:
        return hash(self.model)

    def __reduce__(self) -> Any:
        return InfiniteChain, (self.model, self.most)

    def __repr__(self) -> str:
        """Return the class, the model and the words "infinitely many states"."""
        return f"InfiniteChain of {self.model!r}: infinitely many states"

    def _repr_html_(self) -> str:
        return table_html("InfiniteChain", {"chain": repr(self)}, ())


@validate_parameters
def explore(
    model: ChainModel | Callable[..., Any],
    *,
    start: Any = None,
    params: Any = None,
    space: Mapping[str, Any] | None = None,
    labels: Callable[..., Mapping[str, Any]] | None = None,
    rewards: Callable[..., Mapping[str, Any]] | None = None,
    most: int = param(MAX_STATES, at_least=1, at_most=2**31),
    compiled: bool = param(True),
) -> Reachable:
    """Return the states reachable from a start, and the Markov chain on them.

    Parameters
    ----------
    model
        A `ChainModel` with a start, or a plain function ``rules(s, q)`` that yields
        ``(target, rate in 1/s)``; the other parameters down to ``rewards`` go with a function.
    start
        The state to start in: a NamedTuple, a mapping of names to values, or any value that can be
        hashed.
    params
        The argument ``q`` of the function: a mapping, a NamedTuple, any object.
    space
        The values of each component, as `ChainModel.space` returns them. Optional; it makes the search for many states
        faster.
    labels, rewards
        Functions of the state, or of the state and ``q``, that return mappings, as the methods of `ChainModel`. A
        label that depends on a parameter reads it from ``q``, so that a sweep changes both:
        ``lambda s, q: {"full": s.n == q.room}``.
    most
        Largest number of states; with more, TooLargeError.
    compiled
        False runs the rules state by state in plain Python, whatever the number of states.

    Returns
    -------
    Reachable
        Where it is proved that there are infinitely many states, an `InfiniteChain`, which `stationary`, `passage`
        and `transient` accept.

    Raises
    ------
    RuleError
        Without a start; when the rules fail in a state that the start leads to, with the state,
        the file and the line.
    TooLargeError
        A MemoryError: when there are more than ``most`` states, or more would not fit into memory.

    Examples
    --------
    >>> def repairs(s, q):
    ...     if s.working > 0:
    ...         yield s._replace(working=s.working - 1), q.failure * s.working
    ...     if s.working < 2:
    ...         yield s._replace(working=s.working + 1), q.repair
    >>> found = explore(repairs, start={"working": 2}, params={"failure": 0.1, "repair": 1.0})
    >>> found.states.working.tolist(), found.chain.Q.toarray()[1].tolist()
    ([0, 1, 2], [0.1, -1.1, 1.0])
    """
    if isinstance(model, ChainModel):
        options = (start, params, space, labels, rewards)
        if any(value is not None for value in options):
            msg = "start, params, space, labels and rewards go with a function of the state"
            raise RuleError(f"{model.name}: {msg}; a model brings its own")
    else:
        model = FunctionModel(model, start, params, space=space, labels=labels, rewards=rewards)
    state = model.start()
    if state is None:
        msg = "exploring needs a state to start in, which may be any value that can be hashed except None"
        raise RuleError(f"{model.name}: start is None: {msg}")
    parts = state if isinstance(state, tuple) else (state,)
    if any(isinstance(value, float) and math.isnan(value) for value in parts):
        raise RuleError(f"{model.name}: start = {state!r}: NaN equals no state, not even itself")
    try:
        built = build_chain(model, by=None if compiled else "python", max_states=most)
    except InfiniteStatesError as error:
        return InfiniteChain.of_error(error)
    chain = MarkovChain.of_built(model, built)
    return Reachable(chain.states, chain)
