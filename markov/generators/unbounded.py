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

__all__ = ["Layout", "Mode", "Move", "Part", "Run", "Substitution", "parts_of", "polynomial_bounds"]


# Components

MAX_MODE_VALUES = 4
"""Values of a component of a mode; with more, the component may be unbounded."""

Mode = tuple[Any, ...]
Move = tuple[Mode, tuple[Any, ...], Any]
"""Mode and other components of a target, and the rate."""


class Layout:
    """Division of a model's state into integer components that may be unbounded, and a mode: all other components.

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
        replace = Substitution().substitute if substitute else lambda v: v
        self._rules, self._q = replace(calls.rules), replace(calls.q)
        self.space = Space.of_states(calls.model.State, states)
        self.free = tuple(
            k
            for k, column in enumerate(zip(*map(self.space.flatten, states), strict=True))
            if k in promoted or (len(set(column)) > MAX_MODE_VALUES and all(type(v) is int for v in column))
        )
        self.width = len(self.space.components)
        self.others = tuple(k for k in range(self.width) if k not in self.free)
        self.names = tuple(self.space.names[k] for k in self.free)

    def split(self, state: Any) -> tuple[Mode, tuple[int, ...]]:
        """Return (mode, components that may be unbounded) of a state."""
        values = self.space.flatten(state)
        return tuple(values[k] for k in self.others), tuple(values[k] for k in self.free)

    def state(self, mode: Mode, components: Sequence[Any]) -> Any:
        """Return the state with this mode and these other components, which may be polynomials, for the rules."""
        values: list[Any] = [None] * self.width
        for k, value in itertools.chain(zip(self.others, mode, strict=True), zip(self.free, components, strict=True)):
            values[k] = value
        return self.calls.name_fields(self.space.assemble(values))

    def moves(self, mode: Mode, components: Sequence[Any]) -> list[Move]:
        """Return (target mode, target components, rate) for each move out of a state, given by mode and components.

        The components may be polynomials.

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
            values = self.space.flatten(self.space.as_tuple(target))
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
    """Raised by a comparison in a run: the box has to be cut in two at an offset of one component."""

    def __init__(self, variable: int, at: int) -> None:
        self.variable, self.at = variable, at


class _Split(BaseException):
    """Raised by ``%`` in a run: the box has to be split by the remainders of one component's offset."""

    def __init__(self, variable: int, divisor: int) -> None:
        self.variable, self.divisor = variable, divisor


class Box(NamedTuple):
    """A box of states: each component is that of the corner plus an offset y >= 0 times a step.

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
        """Return a copy of the box with another corner, side and step of component ``k``."""
        corners, sides, steps = list(self.corner), list(self.sides), list(self.steps)
        corners[k], sides[k], steps[k] = corner, side, step
        return Box(tuple(corners), tuple(sides), tuple(steps))

    def cut(self, cut: _Cut) -> list[Box]:
        """Return two boxes: the states whose offset is below a cut, and those at or above it."""
        k, side, step = cut.variable, self.sides[cut.variable], self.steps[cut.variable]
        remaining = None if side is None else side - cut.at
        return [
            self.with_range(k, self.corner[k], cut.at - 1, step),
            self.with_range(k, self.corner[k] + cut.at * step, remaining, step),
        ]

    def split(self, split: _Split) -> list[Box]:
        """Return one box for each remainder of a component's offset by the divisor of a split."""
        k, side, step = split.variable, self.sides[split.variable], self.steps[split.variable]
        boxes = []
        for first in range(split.divisor if side is None else min(split.divisor, side + 1)):
            last = None if side is None else (side - first) // split.divisor
            corner = self.corner[k] + first * step
            boxes.append(self.with_range(k, corner, last, step * split.divisor))
        return boxes


class Part(NamedTuple):
    """A box of states in which all comparisons of the rules have the same answers, and the result of their run.

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
        """Indices of the components without a largest offset in this part."""
        return tuple(k for k, side in enumerate(self.sides) if side is None)

    def state(self, offsets: Sequence[int]) -> tuple[int, ...]:
        """Return the components of the state with these offsets from the corner."""
        triples = zip(self.corner, offsets, self.steps, strict=True)
        return tuple(low + y * step for low, y, step in triples)

    def offsets(self, values: Sequence[int]) -> list[int] | None:
        """Return the offsets from the corner of the state with these components; None if it is outside the part."""
        offsets = []
        for value, low, side, step in zip(values, *self[:3], strict=True):
            y, remainder = divmod(value - low, step)
            if remainder or y < 0 or (side is not None and y > side):
                return None
            offsets.append(y)
        return offsets


class Run:
    """One run of the rules on a box of states, which answers comparisons of polynomials in the offsets.

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
        """Return the components of the states of a box: polynomials, or an ``int`` for a single value."""
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
        """Return whether polynomial ``d`` is >= 0 (``strict``: > 0) in all states; raise _Cut if answers differ."""
        if strict and is_integral(d):
            one = {(0,) * self.width: (Fraction(-1), Fraction(-1))}
            return self.nonnegative(add_terms(d, one))
        low, high = polynomial_bounds(d, self.sides)
        if low > 0 or (low == 0 and not strict):
            return True
        if high < 0 or (high == 0 and strict):
            return False
        if any(a != b for a, b in d.values()):
            raise Unfollowed("a comparison of numbers that are known within bounds only")
        return self._decide({m: a for m, (a, _) in d.items() if a}, strict)

    def bounds(self, d: Terms) -> tuple[Bound, Bound]:
        """Return a lower and an upper bound on the polynomial ``d`` in the box; they may be infinite."""
        return polynomial_bounds(d, self.sides)

    def remainder(self, d: Terms, divisor: int) -> int:
        """Return the remainder of polynomial ``d`` by ``divisor`` if all states share it; otherwise raise _Split."""
        constant = (0,) * self.width
        for m, (a, _) in d.items():
            if m != constant and a % divisor:
                raise _Split(next(k for k, power in enumerate(m) if power), divisor)
        return int(d.get(constant, (Fraction(0),))[0] % divisor)

    def isolate(self, d: Terms) -> None:
        """Raise _Cut at the middle of a component of polynomial ``d``, if all its components have few values."""
        sides = {k: self.sides[k] for m in d for k, power in enumerate(m) if power}
        counts = {k: side for k, side in sides.items() if side is not None and side <= MAX_VALUES}
        if counts and len(counts) == len(sides):
            k, side = max(counts.items(), key=lambda pair: pair[1])
            raise _Cut(k, (side + 1) // 2)

    def _decide(self, d: dict[Monomial, Fraction], strict: bool) -> bool:
        """Return whether a polynomial that has both signs is >= 0 (``strict``: > 0), or raise _Cut between the signs.

        A linear polynomial in several components is not cut: both answers are followed, each with a fact.
        """
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
        """Return this run's answer to d >= 0 and add it to the facts; the other answer is left to another run."""
        yes: Terms = {m: (a, a) for m, a in d.items()}
        no = negate_terms(yes)
        if is_integral(yes) and not strict:  # d < 0 means -d >= 1
            no = add_terms(no, {(0,) * self.width: (Fraction(-1), Fraction(-1))})
        if self._follows_from_facts(yes):
            return True
        if self._follows_from_facts(no) and (is_integral(yes) or strict):
            return False
        if self.answered == len(self.choices):
            self.choices.append(True)
        answer = self.choices[self.answered]
        self.answered += 1
        self.facts.append(yes if answer else no)
        return answer

    def _follows_from_facts(self, d: Terms) -> bool:
        """Return whether d >= 0 follows from one fact of this run, or from the sum of two facts."""
        sums = [*self.facts, *(add_terms(a, b) for a, b in combinations(self.facts, 2))]
        return any(polynomial_bounds(add_terms(d, fact, -1), self.sides)[0] >= 0 for fact in sums)


def polynomial_bounds(d: Terms, sides: Sides) -> tuple[Bound, Bound]:
    """Return a lower and an upper bound on a polynomial whose offsets lie between 0 and ``sides`` (None: infinity)."""
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
    """Return the product of a fraction and a bound that may be infinite; zero times infinity is zero."""
    return Fraction(0) if a == 0 else a * b if isinstance(b, Fraction) else math.copysign(b, a)


def parts_of(
    evaluate: Callable[[list[Any]], Any],
    corner: Sequence[int],
    sides: Sides,
    max_parts: int = MAX_PARTS,
) -> list[Part]:
    """Divide a box into parts in which a function has the same comparisons; return them with its results.

    Parameters
    ----------
    evaluate
        Function of the components of a state, which may compare them.
    corner, sides
        The box.
    max_parts
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
            parts += _run_all_paths(evaluate, box)
        except _Cut as cut:
            stack += box.cut(cut)
        except _Split as split:
            stack += box.split(split)
    return parts


def _run_all_paths(evaluate: Callable[[list[Any]], Any], box: Box) -> list[Part]:
    """Return one part of a box, with its result, for each path of a function through comparisons with two answers."""
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
    """Replacement of a function such as `math.exp` that takes polynomials as well as numbers."""

    def __init__(self, original: Any, followed: Callable[..., Any]) -> None:
        self.original, self.followed = original, followed

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function for polynomials if an argument is one, otherwise the original function."""
        is_followed = any(type(value) in (Polynomial, Growing) for value in arguments)
        return (self.followed if is_followed else self.original)(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the original function or type."""
        return getattr(self.original, name)

    def __instancecheck__(self, value: Any) -> bool:
        """Return whether a value is an instance of the original type."""
        return isinstance(value, self.original)

    def __or__(self, other: Any) -> Any:
        """Return the union of the original type with another one, as in ``int | float``."""
        return self.original | other

    __ror__ = __or__


SUBSTITUTES = {
    id(original): _Substitute(original, followed)
    for name, followed in FUNCTIONS.items()
    if (original := getattr(math, name, None) or getattr(builtins, name, None))
}
SUBSTITUTES_BY_NAME = {name: SUBSTITUTES[id(getattr(builtins, name))] for name in ("float", "int")}


class _ModuleProxy:
    """Proxy of a module that returns substituted copies of its functions when they are read."""

    def __init__(self, module: types.ModuleType, substitute: Callable[[Any], Any]) -> None:
        self._module, self._substitute = module, substitute

    def __getattr__(self, name: str) -> Any:
        """Return the substituted copy of a member of the module."""
        return self._substitute(getattr(self._module, name))


class Substitution:
    """Copies rules and all objects that they refer to, and replaces functions of `math` by functions of polynomials."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}
        self._originals: list[Any] = []  # alive, so that no other object gets their id

    def substitute(self, original: Any) -> Any:
        """Return a copy of an object that calls functions of polynomials; itself if it has nothing to replace."""
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
        """Return a copy of a function, container, class or instance with substituted contents; others unchanged."""
        match original:
            case types.FunctionType():
                return self._copy_function(original)
            case types.MethodType():
                return types.MethodType(self.substitute(original.__func__), self.substitute(original.__self__))
            case functools.partial():
                keywords = {name: self.substitute(v) for name, v in original.keywords.items()}
                arguments = map(self.substitute, original.args)
                return functools.partial(self.substitute(original.func), *arguments, **keywords)
            case types.ModuleType():
                is_replaced = original is math or _is_user_code(original.__name__)
                return _ModuleProxy(original, self.substitute) if is_replaced else original
            case staticmethod() | classmethod():
                return type(original)(self.substitute(original.__func__))
            case property():
                return property(self.substitute(original.fget))
            case functools.cached_property():
                return property(self.substitute(original.func))
            case types.SimpleNamespace():
                return types.SimpleNamespace(**{name: self.substitute(v) for name, v in vars(original).items()})
            case dict() | list() | tuple():
                return self._copy_container(original)
        if isinstance(original, type):
            return self._derive_class(original)
        if hasattr(original, "cache_info") and hasattr(original, "__wrapped__"):
            return self.substitute(original.__wrapped__)
        kind = type(original)
        if not _is_user_code(kind.__module__) or not hasattr(original, "__dict__"):
            return original
        copy: Any = object.__new__(self._derive_class(kind))
        self._copies[id(original)] = copy
        copy.__dict__.update({name: self.substitute(v) for name, v in vars(original).items()})
        slots = (name for base in kind.__mro__ for name in vars(base).get("__slots__", ()))
        for name in slots:
            if name != "__dict__" and hasattr(original, name):
                object.__setattr__(copy, name, self.substitute(getattr(original, name)))
        return copy

    def _copy_function(self, original: types.FunctionType) -> types.FunctionType:
        """Return a copy of a function whose globals, closure and defaults are substituted."""
        scope = original.__globals__
        if _is_user_code(original.__module__):
            scope = dict(scope)
        cells = tuple(types.CellType() for _ in original.__closure__ or ())
        copy = types.FunctionType(original.__code__, scope, original.__name__, None, cells or None)
        self._copies[id(original)] = copy
        for name in names_in(original.__code__) if scope is not original.__globals__ else ():
            if name in scope:
                scope[name] = self.substitute(scope[name])
            elif name in SUBSTITUTES_BY_NAME:
                scope[name] = SUBSTITUTES_BY_NAME[name]
        for cell, old in zip(cells, original.__closure__ or (), strict=True):
            try:
                content = old.cell_contents
            except ValueError:  # empty
                continue
            cell.cell_contents = content if isinstance(content, type) else self.substitute(content)
        copy.__defaults__ = self.substitute(original.__defaults__)
        copy.__kwdefaults__ = self.substitute(original.__kwdefaults__)
        copy.__dict__.update(original.__dict__)
        return copy

    def _copy_container(self, original: Any) -> Any:
        """Return a copy of a dict, list or tuple with substituted entries; itself if none changes or it is large."""
        if len(original) > MAX_ENTRIES:
            return original
        if isinstance(original, dict):
            pairs = {name: self.substitute(v) for name, v in original.items()}
            return original if all(pairs[name] is original[name] for name in pairs) else pairs
        values = [self.substitute(v) for v in original]
        if all(a is b for a, b in zip(values, original, strict=True)):
            return original
        return original._make(values) if hasattr(original, "_make") else type(original)(values)

    def _derive_class(self, original: type) -> type:
        """Return a subclass of a class of the user with substituted copies of its methods; other classes unchanged."""
        if not _is_user_code(original.__module__) or issubclass(original, (tuple, enum.Enum, BaseException)):
            return original
        members = {
            name: self.substitute(member)
            for base in reversed(original.__mro__)
            if _is_user_code(base.__module__)
            for name, member in vars(base).items()
            if isinstance(member, METHODS) and not (name.startswith("__") and name != "__call__")
        }
        derived: type = types.new_class(original.__name__, (original,), exec_body=lambda scope: scope.update(members))
        return derived


def _is_user_code(module: str | None) -> bool:
    """Return whether a module name is unknown, or belongs to neither Python, NumPy, SciPy nor this toolkit."""
    return module is None or (is_user_module(module) and module.partition(".")[0] not in OWN_PACKAGES)
