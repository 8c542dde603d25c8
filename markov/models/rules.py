"""Chains defined by rules: a generator of (target, rate) in plain Python, and its states.

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

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from hopflow.deprecations import attribute_alias
from hopflow.errors import RuleError, location_of
from hopflow.parameters import Parametrized
from markov.models.functions import elementwise
from markov.models.measures import Measure, default_measures
from markov.models.spaces import NO_END, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "NO_END",
    "ChainModel",
    "add_at",
    "estimates_in",
    "reduced_with_estimates",
    "scope_of_bound",
    "scope_row",
    "with_estimates",
]

M = TypeVar("M")

MAX_CACHED_STATES = 50_000
"""Largest space whose values are cached."""


class _UndeclaredState:
    """Descriptor in place of ``State`` in a model without one: it raises RuleError when an instance reads it."""

    def __get__(self, model: ChainModel | None, owner: type[Any]) -> Any:
        """Return this descriptor when the class reads ``State``; RuleError when an instance does."""
        if model is None:
            return self
        msg = "write class State(NamedTuple) with the components of a state, rules(s, q), and start() or space()"
        raise RuleError(f"{model.name} declares no State: {msg}")


class ChainModel(Parametrized):
    """A continuous-time Markov chain given by rules.

    Subclasses declare ``State``, a NamedTuple, and ``rules``; ``Params``, a NamedTuple, where there
    are parameters; and ``space``, ``start`` or both, which say what states there are. The rules are
    plain Python, with its semantics.

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

    State: ClassVar[Any] = _UndeclaredState()

    def space(self) -> Mapping[str, Any]:
        """Return {component: its values} for the state's components, in the order of ``State``.

        A range with step 1; a list of different values, such as texts or an Enum; or a tuple of
        ranges for a vector of components, which is a tuple in the state. A range may have no last
        value, ``range(first, NO_END)``: for `stationary_by_level`. A model without a space has the
        states that its start leads to.
        """
        raise NotImplementedError

    def start(self) -> Any:
        """Return the state that the chain starts in, or None: every state of the space counts.

        With a start, the chain has only the states that it leads to, and errors of rules in others are ignored.
        """
        return None

    def start_probabilities(self) -> Mapping[Any, float] | None:
        """Return the probabilities of the states at time 0, `start` among them; None: it starts in that one."""
        return None

    def symbols(self) -> Any:
        """Return the parameters that the rules take as ``q``; by default ``params``."""
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
        """Return the labels of state ``s``, {name: truth value}: the sets of states to which it belongs.

        ``s`` is one state, as for `rules`, with plain Python values. A subclass may
        take the parameters as well, ``labels(self, s, q)``.
        """
        return {}

    @elementwise
    def rewards(self, s: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the rewards per second in state ``s``, {name: number or `markov.Mean`}; arguments as `labels`."""
        return {}

    def measures(self, pi: NDArray[np.float64], s: Any = None) -> dict[str, Measure]:
        """Return the performance measures, by name, of a distribution ``pi`` over the states.

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
        return default_measures(self, pi, self.states() if s is None else s)

    @property
    def state_outside(self) -> int | None:
        """Index of the state that stands for all beyond limits (SBML), with amounts of 0; None without one."""
        return None

    def unproved_inputs(self, measures: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the inputs that the error bound of an answer does not cover: fits and estimates of parameters.

        Parameters
        ----------
        measures
            Scalar measures of the answer by name.
        """
        return estimates_in(self)

    def replace(self, **changes: Any) -> Self:
        """Return a copy of the model with changed parameters, and with its notes about estimated parameters."""
        return with_estimates(super().replace(**changes), estimates_in(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the pickled form of the model, with the notes about estimated parameters."""
        return reduced_with_estimates(self, super().__reduce__())

    @property
    def name(self) -> str:
        """Name of the model in messages: that of its class."""
        return type(self).__name__

    @property
    def has_space(self) -> bool:
        """Whether the model declares the values of its components."""
        return type(self).space is not ChainModel.space

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each component of the state."""
        return self._space.shape

    @property
    def space_size(self) -> int:
        """Number of states of the product space; ``MarkovChain(model).size`` counts the states that are solved.

        A start may lead to a part of the space only.
        """
        return self._space.size

    size = attribute_alias("size", "space_size")

    @property
    def _space(self) -> Space:
        """The product space that the model declares, after validation."""
        return Space.of(self.State, self.space(), self.name)

    def states(self) -> Any:
        """Return all states of the space as a ``State`` of arrays, each of shape (states,).

        The last component varies fastest; the arrays may be shared, and are read-only.
        """
        space = self._space
        if not space.states_are_codes:
            return space.columns(space.codes_of_numbers(np.arange(space.size)))
        bounds = tuple((c.low, c.low + c.count) for c in space.components)
        return self.State(*(_grids if space.size <= MAX_CACHED_STATES else _grids.__wrapped__)(bounds))

    def transitions(self, state: Any) -> list[tuple[Any, float]]:
        """Return a list of (target state, rate in 1/s) for ``state``, by a call of the rules in plain Python."""
        rules = self.function_of_state("rules", q := self.symbols())
        return list(rules(self.State(*state), q))

    def function_of_state(self, kind: str, q: Any) -> Callable[[Any, Any], Any]:
        """Return ``rules``, ``labels`` or ``rewards`` as a function of (state, ``q``).

        It may be written with the state alone; ``q`` are the parameters.

        Raises
        ------
        RuleError
            When it takes neither one nor two arguments, or a second argument with a default although there are
            parameters.
        """
        return _with_parameters(getattr(self, kind), f"{self.name}.{kind}", q)


def with_estimates(model: M, notes: tuple[str, ...]) -> M:
    """Attach notes about estimated parameters to a model, and return it."""
    if notes:
        model.__dict__["_estimated"] = notes
    return model


def estimates_in(model: object) -> tuple[str, ...]:
    """Return the notes about estimated parameters that `with_estimates` attached to a model; empty without any."""
    notes: tuple[str, ...] = getattr(model, "__dict__", {}).get("_estimated", ())
    return notes


def reduced_with_estimates(model: object, plain: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the pickled form of a model with its notes about estimated parameters, from that without notes."""
    notes = estimates_in(model)
    return (_build_with_estimates, (plain, notes)) if notes else plain


def _build_with_estimates(parts: tuple[Any, ...], notes: tuple[str, ...]) -> Any:
    """Return a model from its pickled form (constructor, arguments), with notes about estimated parameters."""
    build, args = parts
    return with_estimates(build(*args), notes)


def scope_of_bound(model: object, measures: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the table row that names the inputs an error bound does not cover, as a dict; empty without any."""
    return scope_row(model.unproved_inputs(measures or {}) if isinstance(model, ChainModel) else estimates_in(model))


def scope_row(inputs: Sequence[str]) -> dict[str, str]:
    """Return the table row that names ``inputs`` as not covered by an error bound, as a dict; empty without any."""
    return {"bound covers": f"this chain; not {'; '.join(inputs)}"} if inputs else {}


def add_at(vector: tuple[Any, ...], place: int, amount: Any) -> tuple[Any, ...]:
    """Return a vector of components with an amount added to one of them.

    Parameters
    ----------
    vector
        A tuple of numbers, such as ``s.n`` of a state.
    place
        Index of the component, from 0.
    amount
        Number to add.

    Examples
    --------
    >>> add_at((3, 0, 2), 1, 5)
    (3, 5, 2)
    """
    return (*vector[:place], vector[place] + amount, *vector[place + 1 :])


@functools.lru_cache(maxsize=16)
def _grids(bounds: tuple[tuple[int, int], ...]) -> list[NDArray[np.int64]]:
    """Return one read-only array per component: its value in every state of a product of ranges, shape (states,)."""
    indices = np.indices([stop - start for start, stop in bounds]).reshape(len(bounds), -1)
    grids = [index + start for index, (start, _) in zip(indices, bounds, strict=True)]
    for grid in grids:
        grid.flags.writeable = False
    return grids


# Signatures of the functions of a model


def _with_parameters(function: Callable[..., Any], name: str, q: Any) -> Callable[[Any, Any], Any]:
    """Return a function of the state, or of the state and the parameters ``q``, as a function of both.

    A second argument with a default, which is not called ``q``, keeps its default: in a loop,
    ``lambda s, k=k: ...`` is a function of the state.
    """
    if not callable(function):
        raise RuleError(f"{name} = {function!r}: a function of the state is expected")
    bound = inspect.ismethod(function)
    count = _count_of_arguments(getattr(function, "__func__", function), bound)
    if count == 2 and (second := _default_argument(getattr(function, "__func__", function), bound)):
        if not (q is None or (isinstance(q, tuple) and not q)):
            message = f"{name} takes {inspect.signature(function)}: {second} would be the parameters"
            hint = f"write (s, q, {second}=...), or call it q if it is the parameters"
            raise RuleError.at(location_of(function), message, hint)
        count = 1
    if count == 2:
        return function
    if count == 1:
        wrapper = functools.wraps(function)(lambda s, _q: function(s))
        wrapper.of_state = function  # type: ignore[attr-defined]  # its source is translated
        return wrapper
    hint = "write (s, q) below @staticmethod, (self, s, q), or (self, s)"
    message = f"{name} takes {inspect.signature(function)}"
    raise RuleError.at(location_of(function), message, hint)


@functools.lru_cache(maxsize=256)
def _default_argument(function: Callable[..., Any], bound: bool) -> str | None:
    """Return the name of the second argument of a function of the state, if it has a default and is not ``q``."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[int(bound) :]
    except (TypeError, ValueError):  # built in
        return None
    second = parameters[1] if len(parameters) > 1 else None
    if second is None or second.default is inspect.Parameter.empty or second.name == "q":
        return None
    return None if second.kind is inspect.Parameter.KEYWORD_ONLY else second.name


@functools.lru_cache(maxsize=256)
def _count_of_arguments(function: Callable[..., Any], bound: bool) -> int:
    """Return the number of arguments of a function of the state, 2 or 1; 0 for any other signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in
        return 2
    first = next(iter(signature.parameters), "")
    for count in (2, 1):
        with contextlib.suppress(TypeError):
            signature.bind(*(None,) * (count + bound))
            return count if count == 2 or not bound or first in ("self", "cls") else 0
    return 0
