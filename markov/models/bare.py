"""A model made of plain functions: rules, a start, and parameters as a mapping or a NamedTuple."""

from __future__ import annotations

import copyreg
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from hopflow.checks import unwrap_scalar
from hopflow.errors import RuleError
from hopflow.processes import portable
from hopflow.results import same
from markov.models.rules import ChainModel, estimates_in, with_estimates

__all__ = ["FunctionModel", "named_state"]


NO_MEASURES = "none; name them in explore(..., labels=lambda s: {'empty': s.n == 0, 'mean n': s.n})"
"""Text in results of a chain without measures."""


def has_no_measures(model: object) -> bool:
    """Return whether ``model`` is a `FunctionModel` that has neither labels nor rewards."""
    if not isinstance(model, FunctionModel):
        return False
    return model.__dict__.get("labels") is model.__dict__.get("rewards") is None


class FunctionModel(ChainModel):
    """A chain whose rules are a function of the state and the parameters.

    Parameters
    ----------
    function
        ``rules(s, q)``, or ``rules(s)`` where there are no parameters: yields ``(target, rate)``.
    start
        The state to start in. A NamedTuple; a mapping, which becomes a state with fields that are
        read as ``s.n`` or ``s["n"]``; or any value that can be hashed: a number, a string, a tuple.
    params
        The argument ``q`` of the rules: a mapping is read as ``q.rate`` or ``q["rate"]``; any other object is passed on
        unchanged.
    space
        As `ChainModel.space` returns it, or None.
    labels, rewards
        As the methods of `ChainModel`: functions of a state that return mappings.
    """

    def __init__(
        self,
        function: Any,
        start: Any = None,
        params: Any = None,
        *,
        space: Any = None,
        labels: Callable[..., Mapping[str, Any]] | None = None,
        rewards: Callable[..., Mapping[str, Any]] | None = None,
    ) -> None:
        if not callable(function):
            msg = "a ChainModel, or a function of a state that yields (target, rate), is expected"
            raise RuleError(f"rules = {function!r}: {msg}")
        if space is not None and not isinstance(space, Mapping):
            msg = "must be a mapping of components to their values, or None"
            raise RuleError(f"space = {space!r}: {msg}")
        if space is not None and not space:
            raise RuleError("space = {}: must have a component at least")
        start = unwrap_scalar(start)
        if isinstance(start, Mapping):
            start = named_state("State", tuple(start))(*map(unwrap_scalar, start.values()))
        state = type(start) if isinstance(start, tuple) and hasattr(start, "_fields") else None
        if state is None and space is not None:
            state = named_state("State", tuple(space))
            if start is not None:
                start = state(*(start if isinstance(start, tuple) else (start,)))
        attributes = {
            "params": named_state("Params", tuple(params))(*params.values()) if isinstance(params, Mapping) else params,
            "rules": function,
            "State": state,
            "_start": start,
            "_values": space,
        }
        attributes |= {k: f for k, f in (("labels", labels), ("rewards", rewards)) if f is not None}
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def space(self) -> Mapping[str, Any]:
        """Return the values of each component that the model was made with as ``space``."""
        return self._values  # type: ignore[no-any-return]

    @property
    def has_space(self) -> bool:
        """Whether the model was made with a ``space``."""
        return self._values is not None

    def start(self) -> Any:
        """Return the state that the model was made with as ``start``, or None."""
        return self._start

    @property
    def name(self) -> str:
        """Name of the function of the rules, for messages."""
        return getattr(self.rules, "__qualname__", repr(self.rules)).rpartition(".")[2]

    def replace(self, **changes: Any) -> FunctionModel:
        """Return a copy of the model with changed parameters; ValueError if the parameters have no names."""
        if not hasattr(self.params, "_replace"):
            raise ValueError(f"{self.name}: params = {self.params!r} have no names to replace")
        model = FunctionModel.__new__(FunctionModel)
        model.__dict__.update(self.__dict__)
        object.__setattr__(model, "params", self.params._replace(**changes))
        return model

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments, by name, with which the constructor makes an equal model."""
        measures = {name: self.__dict__.get(name) for name in ("labels", "rewards")}
        return {
            "function": self.rules, "start": self._start, "params": self.params,
            "space": self._values, **measures,
        }  # fmt: skip

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionModel):
            return NotImplemented
        return self is other or same(self._arguments(), other._arguments())

    def __hash__(self) -> int:
        return hash((FunctionModel, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the pickled form of the model: its constructor's arguments, functions by name or by code."""
        arguments = {name: portable(value) for name, value in self._arguments().items()}
        notes = estimates_in(self)
        return _build_model, (arguments, notes) if notes else (arguments,)

    def __repr__(self) -> str:
        """Return the name of the function and its parameters, as in a call."""
        params = self.params._asdict() if hasattr(self.params, "_asdict") else {}
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in params.items())})"


def _build_model(arguments: Mapping[str, Any], estimates: tuple[str, ...] = ()) -> FunctionModel:
    """Return a `FunctionModel` from its pickled arguments and the notes about estimated parameters."""
    return with_estimates(FunctionModel(**arguments), estimates)


class _NamedStateType(type):
    """Metaclass of the classes that `named_state` makes: they are pickled by their name and fields."""


def _reduce_class(kind: Any) -> tuple[Any, ...]:
    """Return the pickled form of a class that `named_state` made: that function and its arguments."""
    return named_state, (kind.__name__, kind._fields)


copyreg.pickle(_NamedStateType, _reduce_class)


@cache
def named_state(name: str, fields: tuple[str, ...]) -> Any:
    """Return a new NamedTuple class with these fields, which can be read as ``s.n`` or ``s["n"]``."""
    base = namedtuple(name, fields)  # type: ignore[misc]  # noqa: PYI024

    def __getitem__(self: Any, key: Any) -> Any:
        """Return the field with a name or an index."""
        return tuple.__getitem__(self, fields.index(key) if isinstance(key, str) else key)

    def keys(self: Any) -> tuple[str, ...]:
        """Return the names of the fields, as a mapping does."""
        return self._fields  # type: ignore[no-any-return]

    methods = {"__slots__": (), "__getitem__": __getitem__, "keys": keys}
    return _NamedStateType(name, (base,), methods)
