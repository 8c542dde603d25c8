"""A model's rules as plain Python: calls, and error messages."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hopflow.checks import count_of
from hopflow.errors import RuleError, location_of, rule_error
from hopflow.fork_safety import cached_property
from markov.generators.identity import asks_for_identity
from markov.models.rules import ChainModel
from markov.models.spaces import fields_of

if TYPE_CHECKING:
    from markov.models.spaces import Space

__all__ = ["CHANGED", "Calls", "written"]

PAIRS = "yield (target, rate) pairs"
CHANGED = "rules give another answer when asked again"
RATE = "a rate must be finite and >= 0"


class Calls:
    """The rules of a model, ready to be called with a state.

    Parameters
    ----------
    model
        Its rules may be a static method, a method with ``self``, or take the state alone.
    space
        The states that are allowed, or None when any state is.

    Attributes
    ----------
    name
        Of the model, for messages.
    rules, q
        ``rules(s, q)`` gives the transitions out of a state ``s``.
    make
        The class of the states that rules are called with, or None where a state is no NamedTuple:
        the user's ``State``, with a quicker ``_replace``.
    """

    def __init__(self, model: ChainModel, space: Space | None) -> None:
        self.model, self.space = model, space
        self.name = model.name
        state: Any = model.State
        if state is not None:
            fields_of(state, self.name)
        if model.rules is ChainModel.rules:
            msg = f"write rules(s, q) below @staticmethod: {PAIRS}"
            raise RuleError(f"{self.name} declares no rules: {msg}")
        self.q = model.symbols()
        self.rules = model.function_of_state("rules", self.q)
        self.make = None if state is None else quick(state)

    @cached_property
    def takes_stand_ins(self) -> bool:
        """Whether the rules may run on stand-ins for whole numbers: they never ask for identity or type."""
        return not asks_for_identity(self.model.rules, self.q)

    def transitions(self, state: Any) -> list[tuple[Any, float]]:
        """Return (state, rate) for each transition out of one state, checked.

        Raises
        ------
        RuleError
            Naming the state, the transition, what is wrong with it, the file and the line.
        """
        return list(self._checked(state))

    def refused(self, state: Any, error: Exception) -> RuleError:
        """Return the error for a state in which the rules raise or yield an invalid transition.

        The rules are run once more, slowly; ``error`` is what was met the first time.
        """
        try:
            total = math.fsum(rate for _, rate in self._checked(state))
        except RuleError as found:
            return found
        except OverflowError:
            total = math.inf
        if not math.isfinite(total):
            said = f"{self.name}: {written(state)}: the sum of the rates overflows"
            return RuleError.at(location_of(self.rules), said)
        changing = f"{self.name}: {written(state)}: {CHANGED}"
        return rule_error(error, self.rules, changing)

    def _checked(self, state: Any) -> Iterator[tuple[Any, float]]:
        """Yield the transitions out of a state one by one, each looked at closely."""
        where = f"{self.name}: {written(state)}"
        try:
            found = self.rules(state, self.q)
            if found is None:
                raise RuleError.at(location_of(self.rules), f"{where}: the rules return None", PAIRS)
            items = iter(found)
        except RuleError:
            raise
        except Exception as error:  # a rule may raise anything
            raise rule_error(error, self.rules, where) from error
        while True:
            try:
                item = next(items)
            except StopIteration:
                return
            except Exception as error:  # a rule may raise anything
                raise rule_error(error, self.rules, where) from error
            place = _line_of(items) or location_of(self.rules)
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise RuleError.at(place, f"{where} yields {item!r}", PAIRS)
            yield self._transition(state, item[0], item[1], place)

    def _transition(self, state: Any, target: Any, rate: Any, place: tuple[str, int] | None) -> tuple[Any, float]:
        said = f"{self.name}: {written(state)} -> {written(target)} at rate {rate}"
        value = _number(rate)
        if value is None or not 0.0 <= value < math.inf:
            raise RuleError.at(place, f"{said}: {RATE}")
        if value > 0.0:
            try:
                target = self.known(target)
            except (TypeError, ValueError) as error:
                hint = ""
                if self.space is not None and "outside the space" in str(error):
                    hint = "guard the transition with an if, or widen space()"
                    if self.model.start() is None:
                        hint += "; with a start() only the states that it leads to count"
                raise RuleError.at(place, f"{said}: {error}", hint) from None
        return target, value

    def known(self, target: Any) -> Any:
        """Return a target as a state that the rules can be called with.

        Raises
        ------
        ValueError, TypeError
            When it is no state.
        """
        if self.space is not None:
            target = self.space.canonical(target)
        elif self.make is not None:
            fields = self.make._fields
            if isinstance(target, dict) and set(target) == set(fields):
                target = tuple(target[name] for name in fields)
            if not isinstance(target, tuple) or len(target) != len(fields):
                raise ValueError(f"a state has {count_of(len(fields), 'value')} ({', '.join(fields)})")
        hash(target)
        parts = target if isinstance(target, tuple) else (target,)
        if any(map(operator.ne, parts, parts)):
            raise ValueError("NaN equals no state, not even itself")
        return self.with_names(target)

    def with_names(self, values: Any) -> Any:
        """Return values of the fields as a state that the rules can be called with."""
        return values if self.make is None else self.make._make(values)


@functools.cache
def quick(state: Any) -> Any:
    """Return a NamedTuple class whose ``_replace`` builds no dict.

    It is the given class: rules that ask for the type of a state see their own. What was generated for
    it is exchanged for a quicker one that does the same; a ``_replace`` of its own stays.
    """
    if state.__mro__[1] is not tuple or state._replace.__module__ != "collections":
        return state
    fields = state._fields
    arguments = "".join(f", {field}=_same" for field in fields)
    values = "".join(f"_self[{k}] if {f} is _same else {f}, " for k, f in enumerate(fields))
    text = (
        f"def _replace(_self, /, *{arguments or ', _none=_same'}, **_unknown):\n"
        f" if _unknown: raise ValueError(f'Got unexpected field names: {{list(_unknown)!r}}')\n"
        f" return _new(_class(_self), ({values}))\n"
    )
    scope: dict[str, Any] = {"_same": object(), "_new": tuple.__new__, "_class": type}
    exec(text, scope)  # noqa: S102  # of the names of fields only
    scope["_replace"].__doc__ = state._replace.__doc__
    state._replace = scope["_replace"]
    return state


def _line_of(items: Any) -> tuple[str, int] | None:
    """Return the file and the line of the yield where a generator is suspended."""
    while (inner := getattr(items, "gi_yieldfrom", None)) is not None:
        items = inner
    frame = getattr(items, "gi_frame", None)
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _number(rate: Any) -> float | None:
    """Return a rate as a float, or None if it is not a real number."""
    if isinstance(rate, (str, bytes, complex)):
        return None
    try:
        return float(rate)
    except (TypeError, ValueError, OverflowError):
        return None


def written(state: Any) -> str:
    """Return a state as text, without the noise of NumPy's scalars."""
    return str(state) if isinstance(state, tuple) else repr(state)
