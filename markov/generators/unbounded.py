"""The rules of a model followed for infinitely many states at once.

1. `Layout` divides a state into components that may be unbounded and a *mode* of all others.
2. `parts_of` runs the rules on a box of states, whose components are polynomials (`markov.generators.polynomials`).
   The box is cut where a comparison has two answers, or both answers are followed.
3. `Substitution` copies rules, with the functions that they call, so that `math.exp` and other functions of float64
   take polynomials as well.
"""

from __future__ import annotations

import builtins
import enum
import functools
import itertools
import math
import types
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from markov.generators.polynomials import (
    FUNCTIONS,
    Growing,
    Monomial,
    Polynomial,
    Terms,
    Unfollowed,
    add_terms,
    is_integral,
    negate_terms,
    terms_of,
)
from markov.generators.standins import is_user_module, names_in
from markov.models.spaces import Space

if TYPE_CHECKING:
    from markov.generators.plain import Calls

__all__ = ["Layout", "Mode", "Move", "Part", "Run", "Substitution", "bounds", "parts_of"]


# Components

MAX_MODE_VALUES = 4
"""Values of a component of a mode; with more, the component may be unbounded."""

Mode = tuple[Any, ...]
Move = tuple[Mode, tuple[Any, ...], Any]
"""Mode and other components of a target, and the rate."""


class Layout:
    """Division of the states into components that may be unbounded and modes.

    Parameters
    ----------
    calls
        The rules.
    states
        States that the start leads to.
    promoted
        Indices of components that count as unbounded, whatever their values in these states.
    substitute
        Whether `math.exp` and other functions of floats are replaced, wherever the rules call them.

    Attributes
    ----------
    free, others
        Indices of the components that may be unbounded, and of all others.
    names
        Names of the components that may be unbounded.
    """

    def __init__(
        self, calls: Calls, states: Sequence[Any], promoted: frozenset[int], *, substitute: bool = False
    ) -> None:
        self.calls, self.states, self.substitute = calls, states, substitute
        value = Substitution().value if substitute else lambda v: v
        self._rules, self._q = value(calls.rules), value(calls.q)
        self.space = Space.of_states(calls.model.State, states)
        self.free = tuple(
            k
            for k, column in enumerate(zip(*map(self.space.flat, states), strict=True))
            if k in promoted or (len(set(column)) > MAX_MODE_VALUES and all(type(v) is int for v in column))
        )
        self.width = len(self.space.components)
        self.others = tuple(k for k in range(self.width) if k not in self.free)
        self.names = tuple(self.space.names[k] for k in self.free)

    def split(self, state: Any) -> tuple[Mode, tuple[int, ...]]:
        """Return the mode of a state and its other components."""
        values = self.space.flat(state)
        return tuple(values[k] for k in self.others), tuple(values[k] for k in self.free)

    def state(self, mode: Mode, components: Sequence[Any]) -> Any:
        """Return the state of a mode and other components, as an argument of the rules."""
        values: list[Any] = [None] * self.width
        for k, value in itertools.chain(zip(self.others, mode, strict=True), zip(self.free, components, strict=True)):
            values[k] = value
        return self.calls.with_names(self.space.assemble(values))

    def moves(self, mode: Mode, components: Sequence[Any]) -> list[Move]:
        """Return the transitions out of a state, whose components may be polynomials.

        Raises
        ------
        Unfollowed
            For a target that is undetermined, or a rate that may be negative.
        """
        moves: list[Move] = []
        for target, rate in self._rules(self.state(mode, components), self._q):
            if type(rate) is not Polynomial and not 0.0 <= rate < float("inf"):
                raise Unfollowed(f"a rate of {rate}")
            if rate < 0:
                raise Unfollowed("a rate may be negative")
            if type(rate) is not Polynomial:
                if not rate:
                    continue
            elif not rate.may_be_positive():
                continue
            values = self.space.flat(self.space.checked(target))
            target_mode = tuple(values[k] for k in self.others)
            if any(type(value) is Polynomial for value in target_mode):
                raise Unfollowed("a component with few values is computed from one without an end")
            target_components = tuple(values[k] for k in self.free)
            width = len(components)
            if any((terms := terms_of(v, width)) is None or not is_integral(terms) for v in target_components):
                raise Unfollowed("a target that is no whole number")
            hash(target_mode)
            moves.append((target_mode, target_components, rate))
        return moves


# Runs on a box

MAX_PARTS = 600
"""Parts of a box."""
MAX_PATHS = 64
"""Paths through the comparisons of the rules in one box."""
MAX_VALUES = 60
"""Largest offset of a component whose values are followed one by one, if the rules need the number itself."""
Sides = tuple[int | None, ...]
Bound = Fraction | float


class _Cut(BaseException):
    """Request to cut the box at an offset."""

    def __init__(self, variable: int, at: int) -> None:
        self.variable, self.at = variable, at


class _Split(BaseException):
    """Request to split the box by the remainders of an offset."""

    def __init__(self, variable: int, divisor: int) -> None:
        self.variable, self.divisor = variable, divisor


class Box(NamedTuple):
    """States whose components are a corner plus multiples y >= 0 of steps.

    Attributes
    ----------
    corner
        The components at ``y = 0``.
    sides
        Largest y of each component; None: unbounded.
    steps
        Increment of each component per unit of y, >= 1.
    """

    corner: tuple[int, ...]
    sides: Sides
    steps: tuple[int, ...]

    def with_range(self, k: int, corner: int, side: int | None, step: int) -> Box:
        """Return the box with another range of one component."""

        def with_one(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
            return (*values[:k], value, *values[k + 1 :])

        return Box(with_one(self.corner, corner), with_one(self.sides, side), with_one(self.steps, step))

    def halves(self, cut: _Cut) -> list[Box]:
        """Return the states below a cut, and the others."""
        k, side, step = cut.variable, self.sides[cut.variable], self.steps[cut.variable]
        remaining = None if side is None else side - cut.at
        return [
            self.with_range(k, self.corner[k], cut.at - 1, step),
            self.with_range(k, self.corner[k] + cut.at * step, remaining, step),
        ]

    def remainders(self, split: _Split) -> list[Box]:
        """Return the states with each remainder of one offset."""
        k, side, step = split.variable, self.sides[split.variable], self.steps[split.variable]
        boxes = []
        for first in range(split.divisor if side is None else min(split.divisor, side + 1)):
            last = None if side is None else (side - first) // split.divisor
            corner = self.corner[k] + first * step
            boxes.append(self.with_range(k, corner, last, step * split.divisor))
        return boxes


class Part(NamedTuple):
    """States of a box for which all comparisons of the rules have the same answers.

    Attributes
    ----------
    corner, sides, steps
        Fields of the `Box`.
    facts
        Polynomials that are >= 0 in these states.
    result
        Result of the function in these states, or None.
    refused
        Why the rules could not be followed; None if they could.
    """

    corner: tuple[int, ...]
    sides: Sides
    steps: tuple[int, ...]
    facts: tuple[Terms, ...]
    result: Any
    refused: str | None = None

    @property
    def unbounded(self) -> tuple[int, ...]:
        """Indices of the unbounded components."""
        return tuple(k for k, side in enumerate(self.sides) if side is None)

    def state(self, offsets: Sequence[int]) -> tuple[int, ...]:
        """Return the components at these y."""
        triples = zip(self.corner, offsets, self.steps, strict=True)
        return tuple(low + y * step for low, y, step in triples)

    def offsets(self, values: Sequence[int]) -> list[int] | None:
        """Return the y of these components; None if they are not in the box."""
        offsets = []
        for value, low, side, step in zip(values, *self[:3], strict=True):
            y, remainder = divmod(value - low, step)
            if remainder or y < 0 or (side is not None and y > side):
                return None
            offsets.append(y)
        return offsets


class Run:
    """One run in a box, which decides comparisons of polynomials.

    Parameters
    ----------
    sides
        Largest offset of each component; None: unbounded.
    choices
        Answers to the first comparisons for which both answers are followed.
    """

    def __init__(self, sides: Sides, choices: Sequence[bool]) -> None:
        self.sides, self.width = sides, len(sides)
        self.choices = list(choices)
        self.answered = 0
        self.facts: list[Terms] = []

    def components(self, box: Box) -> list[Any]:
        """Return the components of the state: polynomials, or an ``int`` for a single value."""
        components: list[Any] = []
        for k, (low, side, step) in enumerate(zip(*box, strict=True)):
            if side == 0:
                components.append(low)
                continue
            monomial = tuple(int(k == j) for j in range(self.width))
            terms = {monomial: (Fraction(step), Fraction(step))}
            if low:
                terms[(0,) * self.width] = (Fraction(low), Fraction(low))
            components.append(Polynomial(self, terms))
        return components

    def nonnegative(self, d: Terms, *, strict: bool = False) -> bool:
        """Return whether d >= 0, or d > 0, in all states; raise _Cut if the answers differ."""
        if strict and is_integral(d):
            one = {(0,) * self.width: (Fraction(-1), Fraction(-1))}
            return self.nonnegative(add_terms(d, one))
        low, high = bounds(d, self.sides)
        if low > 0 or (low == 0 and not strict):
            return True
        if high < 0 or (high == 0 and strict):
            return False
        if any(a != b for a, b in d.values()):
            raise Unfollowed("a comparison of numbers that are known within bounds only")
        return self._decide({m: a for m, (a, _) in d.items() if a}, strict)

    def bounds(self, d: Terms) -> tuple[Bound, Bound]:
        """Return bounds on d in the box, which may be infinite."""
        return bounds(d, self.sides)

    def remainder(self, d: Terms, divisor: int) -> int:
        """Return the remainder of whole numbers, the same in all states; raise _Split if it differs."""
        constant = (0,) * self.width
        for m, (a, _) in d.items():
            if m != constant and a % divisor:
                raise _Split(next(k for k, power in enumerate(m) if power), divisor)
        return int(d.get(constant, (Fraction(0),))[0] % divisor)

    def isolate(self, d: Terms) -> None:
        """Raise _Cut if the components of d have few values, until each of them has one."""
        sides = {k: self.sides[k] for m in d for k, power in enumerate(m) if power}
        counts = {k: side for k, side in sides.items() if side is not None and side <= MAX_VALUES}
        if counts and len(counts) == len(sides):
            k, side = max(counts.items(), key=lambda pair: pair[1])
            raise _Cut(k, (side + 1) // 2)

    def _decide(self, d: dict[Monomial, Fraction], strict: bool) -> bool:
        constant = d.get((0,) * self.width, Fraction(0))
        used = sorted({k for m in d for k, power in enumerate(m) if power})
        linear = all(sum(m) <= 1 for m in d)
        if not linear:
            signs = {a > 0 for m, a in d.items() if any(m)}
            if len(used) > 1 and len(signs) > 1:
                raise Unfollowed("a comparison of products of components")
            powers = [m for m in d if any(m)]
            raise _Cut(max(used, key=lambda k: sum(m[k] > 0 for m in powers)), 1)
        slopes = {k: d[tuple(int(j == k) for j in range(self.width))] for k in used}
        open_components = [k for k in used if self.sides[k] is None]
        if len(used) == 1 or (open_components and len({slope > 0 for slope in slopes.values()}) == 1):
            k = open_components[0] if open_components else used[0]
            at = -constant / slopes[k]
            rising = slopes[k] > 0
            closed = rising != strict  # states with d = 0 belong above the cut
            raise _Cut(k, max(1, math.ceil(at) if closed else math.floor(at) + 1))
        return self._follow_both(d, strict)

    def _follow_both(self, d: dict[Monomial, Fraction], strict: bool) -> bool:
        """Follow both answers, each with its inequality as a fact."""
        yes: Terms = {m: (a, a) for m, a in d.items()}
        no = negate_terms(yes)
        if is_integral(yes) and not strict:  # d < 0 means -d >= 1
            no = add_terms(no, {(0,) * self.width: (Fraction(-1), Fraction(-1))})
        if self._follows(yes):
            return True
        if self._follows(no) and (is_integral(yes) or strict):
            return False
        if self.answered == len(self.choices):
            self.choices.append(True)
        answer = self.choices[self.answered]
        self.answered += 1
        self.facts.append(yes if answer else no)
        return answer

    def _follows(self, d: Terms) -> bool:
        """Whether d >= 0 follows from a fact, or from two."""
        sums = [*self.facts, *(add_terms(a, b) for a, b in combinations(self.facts, 2))]
        return any(bounds(add_terms(d, fact, -1), self.sides)[0] >= 0 for fact in sums)


def bounds(d: Terms, sides: Sides) -> tuple[Bound, Bound]:
    """Return bounds on a polynomial in a box."""
    low: Bound = Fraction(0)
    high: Bound = Fraction(0)
    for m, (a, b) in d.items():
        largest: Bound = Fraction(1)
        for power, side in zip(m, sides, strict=True):
            if power:
                largest = math.inf if side is None else largest * side**power
        if not any(m):
            low, high = low + a, high + b
        else:
            low += _times(min(a, Fraction(0)), largest)
            high += _times(max(b, Fraction(0)), largest)
    return low, high


def _times(a: Fraction, b: Bound) -> Bound:
    return Fraction(0) if a == 0 else a * b if isinstance(b, Fraction) else math.copysign(b, a)


def parts_of(
    evaluate: Callable[[list[Any]], Any],
    corner: Sequence[int],
    sides: Sides,
    max_parts: int = MAX_PARTS,
) -> list[Part]:
    """Return the parts of a box, with the result of a function of the components in each.

    Parameters
    ----------
    evaluate
        Function of the components of a state, which may compare them.
    corner, sides
        The box.
    most
        Largest number of parts.

    Raises
    ------
    Unfollowed
        When there are more parts.
    """
    parts: list[Part] = []
    stack = [Box(tuple(corner), tuple(sides), (1,) * len(sides))]
    while stack:
        if len(parts) + len(stack) > max_parts:
            raise Unfollowed(f"comparisons that cut the states into more than {max_parts} parts")
        box = stack.pop()
        try:
            parts += _paths(evaluate, box)
        except _Cut as cut:
            stack += box.halves(cut)
        except _Split as split:
            stack += box.remainders(split)
    return parts


def _paths(evaluate: Callable[[list[Any]], Any], box: Box) -> list[Part]:
    parts = []
    choices: list[bool] = []
    while True:
        run = Run(box.sides, choices)
        result, refused = None, None
        try:
            result = evaluate(run.components(box))
        except Unfollowed as stop:
            refused = str(stop)
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            refused = f"{type(error).__name__}: {error}"
        parts.append(Part(*box, tuple(run.facts), result, refused))
        if len(parts) > MAX_PATHS:
            raise Unfollowed(f"more than {MAX_PATHS} ways through the comparisons of components")
        choices = run.choices[: run.answered]
        while choices and not choices[-1]:
            choices.pop()
        if not choices:
            return parts
        choices[-1] = False


# Functions of math in rules

MAX_ENTRIES = 1000
"""Largest container that is searched for functions."""
OWN_PACKAGES = ("markov", "hopflow")
METHODS = (types.FunctionType, staticmethod, classmethod, property, functools.cached_property)


class _Substitute:
    """A function or type of plain numbers that takes polynomials as well."""

    def __init__(self, original: Any, followed: Callable[..., Any]) -> None:
        self.original, self.followed = original, followed

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        is_followed = any(type(value) in (Polynomial, Growing) for value in arguments)
        return (self.followed if is_followed else self.original)(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self.original)

    def __or__(self, other: Any) -> Any:
        return self.original | other

    __ror__ = __or__


SUBSTITUTES = {
    id(original): _Substitute(original, followed)
    for name, followed in FUNCTIONS.items()
    if (original := getattr(math, name, None) or getattr(builtins, name, None))
}
SUBSTITUTES_BY_NAME = {name: SUBSTITUTES[id(getattr(builtins, name))] for name in ("float", "int")}


class _Module:
    """A module whose functions are replaced when they are read."""

    def __init__(self, module: types.ModuleType, value: Callable[[Any], Any]) -> None:
        self._module, self._value = module, value

    def __getattr__(self, name: str) -> Any:
        return self._value(getattr(self._module, name))


class Substitution:
    """Copies of functions and of the objects that they refer to, one of each."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}
        self._originals: list[Any] = []  # alive, so that no other object gets their id

    def value(self, original: Any) -> Any:
        """Return a copy that calls the functions of polynomials; the object itself if there is nothing to replace."""
        key = id(original)
        if key in SUBSTITUTES:
            return SUBSTITUTES[key]
        if key not in self._copies:
            self._originals.append(original)
            self._copies[key] = original
            try:
                self._copies[key] = self._copy(original)
            except Exception:  # noqa: BLE001  # a class of the user may refuse a copy in any way
                self._copies[key] = original
        return self._copies[key]

    def _copy(self, original: Any) -> Any:
        match original:
            case types.FunctionType():
                return self._function(original)
            case types.MethodType():
                return types.MethodType(self.value(original.__func__), self.value(original.__self__))
            case functools.partial():
                keywords = {name: self.value(v) for name, v in original.keywords.items()}
                return functools.partial(self.value(original.func), *map(self.value, original.args), **keywords)
            case types.ModuleType():
                return (
                    _Module(original, self.value) if original is math or _is_user_code(original.__name__) else original
                )
            case staticmethod() | classmethod():
                return type(original)(self.value(original.__func__))
            case property():
                return property(self.value(original.fget))
            case functools.cached_property():
                return property(self.value(original.func))
            case types.SimpleNamespace():
                return types.SimpleNamespace(**{name: self.value(v) for name, v in vars(original).items()})
            case dict() | list() | tuple():
                return self._container(original)
        if isinstance(original, type):
            return self._class(original)
        if hasattr(original, "cache_info") and hasattr(original, "__wrapped__"):
            return self.value(original.__wrapped__)
        kind = type(original)
        if not _is_user_code(kind.__module__) or not hasattr(original, "__dict__"):
            return original
        copy: Any = object.__new__(self._class(kind))
        self._copies[id(original)] = copy
        copy.__dict__.update({name: self.value(v) for name, v in vars(original).items()})
        slots = (name for base in kind.__mro__ for name in vars(base).get("__slots__", ()))
        for name in slots:
            if name != "__dict__" and hasattr(original, name):
                object.__setattr__(copy, name, self.value(getattr(original, name)))
        return copy

    def _function(self, original: types.FunctionType) -> types.FunctionType:
        scope = original.__globals__
        if _is_user_code(original.__module__):
            scope = dict(scope)
        cells = tuple(types.CellType() for _ in original.__closure__ or ())
        copy = types.FunctionType(original.__code__, scope, original.__name__, None, cells or None)
        self._copies[id(original)] = copy
        for name in names_in(original.__code__) if scope is not original.__globals__ else ():
            if name in scope:
                scope[name] = self.value(scope[name])
            elif name in SUBSTITUTES_BY_NAME:
                scope[name] = SUBSTITUTES_BY_NAME[name]
        for cell, old in zip(cells, original.__closure__ or (), strict=True):
            try:
                content = old.cell_contents
            except ValueError:  # empty
                continue
            cell.cell_contents = content if isinstance(content, type) else self.value(content)
        copy.__defaults__ = self.value(original.__defaults__)
        copy.__kwdefaults__ = self.value(original.__kwdefaults__)
        copy.__dict__.update(original.__dict__)
        return copy

    def _container(self, original: Any) -> Any:
        if len(original) > MAX_ENTRIES:
            return original
        if isinstance(original, dict):
            pairs = {name: self.value(v) for name, v in original.items()}
            return original if all(pairs[name] is original[name] for name in pairs) else pairs
        values = [self.value(v) for v in original]
        if all(a is b for a, b in zip(values, original, strict=True)):
            return original
        return original._make(values) if hasattr(original, "_make") else type(original)(values)

    def _class(self, original: type) -> type:
        """Return a class derived from a class of the user, with copies of its methods."""
        if not _is_user_code(original.__module__) or issubclass(original, (tuple, enum.Enum, BaseException)):
            return original
        members = {
            name: self.value(member)
            for base in reversed(original.__mro__)
            if _is_user_code(base.__module__)
            for name, member in vars(base).items()
            if isinstance(member, METHODS) and not (name.startswith("__") and name != "__call__")
        }
        derived: type = types.new_class(original.__name__, (original,), exec_body=lambda scope: scope.update(members))
        return derived


def _is_user_code(module: str | None) -> bool:
    return module is None or (is_user_module(module) and module.partition(".")[0] not in OWN_PACKAGES)
