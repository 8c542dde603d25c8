"""A program with its constants given: ranges of variables, initial values, meanings of names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice
from markov.files.columns import Columns
from markov.files.errors import FileError
from markov.files.program import Constant, Program, Variable
from markov.files.scopes import Scope
from markov.files.syntax import Chain, Name, names_in
from markov.files.values import INT_LIMIT, Value, boolean, constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.syntax import Expression

__all__ = ["NUMBER_BITS", "Instance", "Range", "constants_of", "instantiate"]

FIRST_WINDOW = 2**12
"""How far a variable without bounds may be from its initial value at first."""
FIRST_NUMBER_BITS = 40
"""Of the numbers of states at first, where the variables have more combinations than numbers of states."""
WINDOW_GROWTH = 16
"""By how much a window grows that a variable has left."""
SPARE_STEPS = 8
"""Steps by which a window that follows values is wider than these at least, on either side."""
NUMBER_BITS = 62


@dataclass(frozen=True)
class Range:
    """The values of one variable: whole numbers from low to high, or false and true (0 and 1).

    ``ends`` are those of the file, infinite where it gives none. The others are a window, where that is
    narrower: states are numbered by it, and it grows when the variable leaves it. All changes are multiples
    of ``step``, and low and high differ by one from the initial value.
    """

    name: str
    kind: str
    low: int
    high: int
    start: int
    line: int
    limits: tuple[float, float]
    step: int = 1

    @property
    def count(self) -> int:
        """How many values there are."""
        return (self.high - self.low) // self.step + 1

    def in_steps(self, differences: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return differences of values in steps; most variables have steps of one, which need no division."""
        return differences if self.step == 1 else differences // self.step

    @property
    def open(self) -> bool:
        """Whether the file gives no bounds, or one."""
        return math.inf in self.limits or -math.inf in self.limits

    @property
    def is_window(self) -> bool:
        """Whether the file allows more values."""
        return self.low - self.step >= self.limits[0] or self.high + self.step <= self.limits[1]

    def within(self, below: float, above: float) -> Range:
        """Return the range with values at most so far from the initial one, as the file allows."""
        below, above = (FIRST_WINDOW if math.isinf(distance) else distance for distance in (below, above))
        below = min(below, self.start - self.limits[0]) // self.step * self.step
        above = min(above, self.limits[1] - self.start) // self.step * self.step
        return replace(self, low=self.start - int(below), high=self.start + int(above))

    def widen_around(self, low: int, high: int) -> Range:
        """Return the range with some values and half as many on either side, as the file allows."""
        margin = ((high - low) // self.step // 2 + SPARE_STEPS) * self.step
        below = min(margin, low - self.limits[0]) // self.step * self.step
        above = min(margin, self.limits[1] - high) // self.step * self.step
        return replace(self, low=low - int(below), high=high + int(above))

    def with_step(self, step: int) -> Range:
        """Return the range of a variable whose changes are all multiples of a number."""
        with_step = replace(self, step=step)
        return with_step.within(self.start - self.low, self.high - self.start)


@dataclass(frozen=True)
class Instance:
    """A program whose constants are given.

    Attributes
    ----------
    program
        What the file says.
    constants
        Their values.
    ranges
        Of the variables, in the order of the file; one value where no command changes it.
    scope
        What names mean.
    weights
        By how much a state's number grows with each variable; the last one varies fastest.
    shifts
        How many bits stand behind those of each variable in the number; None: variables have no bits of
        their own, since they would be more than 62.
    left
        Numbers of the variables that have left their windows in a state that was evaluated.
    """

    program: Program
    constants: dict[str, Any]
    ranges: tuple[Range, ...]
    scope: Scope
    weights: tuple[int, ...]
    shifts: tuple[int, ...] | None
    escaped: set[int] = field(default_factory=set, compare=False)

    @property
    def span(self) -> int:
        """One more than the largest number of a state."""
        return self.weights[0] * self.ranges[0].count if self.ranges else 1

    @property
    def is_numbered(self) -> bool:
        """Whether states have numbers that differ."""
        return bool(self.span < 2**NUMBER_BITS)

    def numbers(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of states by the values of their variables, shape (variables, ...)."""
        pairs = zip(codes, self.ranges, self.weights, strict=True)
        numbers = np.zeros(codes.shape[1:], dtype=np.int64)
        for values, r, weight in pairs:
            numbers += r.in_steps(values - r.low) * weight
        return numbers

    def with_names(self, symbols: Mapping[str, Value]) -> Instance:
        """Return the program with further names that have a meaning."""
        scope = Scope(
            self.program.file,
            {**self.scope.symbols, **symbols},
            self.program.formulas,
            self.scope.labels,
        )
        return replace(self, scope=scope)

    def codes(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of the variables in states given by their numbers, shape (variables, states)."""
        codes = np.empty((len(self.ranges), len(numbers)), dtype=np.int64)
        for k, row in enumerate(codes):
            self.code(k, numbers, row)
        return codes

    def code(self, k: int, numbers: NDArray[np.int64], out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return the values of one variable in states given by their numbers, shape (states,), as ``out`` if it is given."""
        r = self.ranges[k]
        if self.shifts is None:
            out = np.floor_divide(numbers, self.weights[k], out=out)
            out %= r.count
        else:
            out = np.right_shift(numbers, self.shifts[k], out=out)
            out &= (1 << (r.count - 1).bit_length()) - 1
        if r.step != 1:
            out *= r.step
        out += r.low
        return out

    def valid(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of some numbers that are a state's."""
        highest = np.array([[r.high] for r in self.ranges]).reshape(-1, 1)
        return numbers[(self.codes(numbers) <= highest).all(axis=0)]

    @property
    def size(self) -> int:
        """Number of states of the product space."""
        return math.prod(r.count for r in self.ranges)

    def location(self, line: int) -> tuple[str, int | None]:
        """Return a place in the file."""
        return self.program.location(line)

    def narrow(self, width: int) -> Instance:
        """Return the program with windows of at most ``width`` on either side of the initial values."""
        narrower = [
            r.within(min(width, r.start - r.low), min(width, r.high - r.start)) if r.is_window else r
            for r in self.ranges
        ]
        return _with_ranges(self.program, self.constants, narrower)

    def widen_around(self, extremes: Sequence[tuple[int, int]]) -> Instance | None:
        """Return the program with windows twice as wide as from the least to the largest given values; None: there is no room.

        Only the windows of variables that have left theirs change.
        """
        wider = [
            r.widen_around(low, high) if k in self.escaped and r.is_window else r
            for k, (r, (low, high)) in enumerate(zip(self.ranges, extremes, strict=True))
        ]
        return _with_ranges(self.program, self.constants, wider) if _fits(wider) else None

    def widen(self) -> Instance | None:
        """Return the program with wider windows of the variables that have left theirs; None: there is no room."""
        factor = WINDOW_GROWTH
        while factor > 1:
            wider = [
                r.within(factor * (r.start - r.low + r.step), factor * (r.high - r.start + r.step))
                if k in self.escaped and r.is_window
                else r
                for k, r in enumerate(self.ranges)
            ]
            if _fits(wider):
                return _with_ranges(self.program, self.constants, wider)
            factor //= 2
        return None

    def with_windows(self, windows: Sequence[tuple[int, int]]) -> Instance:
        """Return the program with given least and largest values as windows."""
        ranges = [replace(r, low=low, high=high) for r, (low, high) in zip(self.ranges, windows, strict=True)]
        return _with_ranges(self.program, self.constants, ranges)


def _fits(ranges: Iterable[Range]) -> bool:
    return bool(math.prod(r.count for r in ranges) < 2**NUMBER_BITS)


def instantiate(program: Program, overrides: Mapping[str, Any] | None = None) -> Instance:
    """Return a program with its constants given.

    Parameters
    ----------
    program
        What a file says.
    overrides
        Values of constants by name, in place of those in the file too.

    Raises
    ------
    FileError
        When a constant has no value or a wrong one, a range is empty, or an initial value lies
        outside of it.
    ValueError
        When there is no constant of that name.
    """
    constants = constants_of(program.file, program.constants, dict(overrides or {}))
    scope = Scope(program.file, {name: constant(v) for name, v in constants.items()})
    scope = Scope(program.file, scope.symbols, program.formulas)
    ranges = [_range(v, scope) for v in program.variables.values()]
    changed = {r.name for r in ranges} if program.start is not None else _assignment_targets(program)
    narrowed = [
        r if r.name in changed else replace(r, low=r.start, high=r.start, limits=(r.start, r.start)) for r in ranges
    ]
    if program.start is None and not program.resets:
        steps = common_steps(program, narrowed, scope)
        narrowed = [r.with_step(steps[r.name]) for r in narrowed]
    return _with_ranges(program, constants, _first_windows(narrowed))


def common_steps(program: Program, ranges: Sequence[Range], scope: Scope) -> dict[str, int]:
    """Return a number for each variable that divides all of its changes from the initial value on."""
    divisors = {r.name: 0 if r.kind == "int" and r.count > 1 else 1 for r in ranges}
    starts = {r.name: r.start for r in ranges}
    for module in program.modules.values():
        for command in module.commands:
            for change in (c for b in command.branches for c in b.changes):
                name = module.renamed.get(change.name, change.name)
                if divisors.get(name, 1) != 1:
                    increment = _increment(change.value, name, module.renamed, scope, starts[name])
                    divisors[name] = 1 if increment is None else math.gcd(divisors[name], increment)
    return {name: step or 1 for name, step in divisors.items()}


def _increment(tree: Expression, name: str, renamed: Mapping[str, str], scope: Scope, start: int) -> int | None:
    """Return c of an assignment x + c, or c - start of an assignment of c; None for others."""

    def fixed(part: Expression) -> int | None:
        used = {renamed.get(name, name) for name in names_in(part)}
        if not used <= scope.symbols.keys():
            return None
        try:
            value = scope.value(part, renamed)
        except FileError:  # which is reported where the command is read
            return None
        return int(value.single()) if value.kind == "int" else None

    if (constant_value := fixed(tree)) is not None:
        return constant_value - start
    if not isinstance(tree, Chain) or not isinstance(tree.first, Name):
        return None
    if renamed.get(tree.first.name, tree.first.name) != name:
        return None
    total = 0
    for sign, part in tree.rest:
        summand = fixed(part)
        if sign not in ("+", "-") or summand is None:
            return None
        total += summand if sign == "+" else -summand
    return total


def _first_windows(ranges: list[Range]) -> list[Range]:
    """Return ranges with fewer combinations than there are numbers of states."""
    windows = list(ranges)
    width = FIRST_WINDOW
    while width > 1 and not math.prod(r.count for r in windows) < 2**FIRST_NUMBER_BITS:
        if width == FIRST_WINDOW and _fits(windows):
            return windows
        width //= 2
        windows = [r.within(width, width) for r in ranges]
    return windows


def _assignment_targets(program: Program) -> set[str]:
    """Return the names of the variables that a command or a reset assigns."""
    targets = {change.name for reset in program.resets for change in (*reset.changes, *reset.exceeding)}
    for module in program.modules.values():
        names = (c.name for command in module.commands for b in command.branches for c in b.changes)
        targets.update(module.renamed.get(name, name) for name in names)
    return targets


def constants_of(
    file: str,
    declared: Mapping[str, Constant],
    overrides: dict[str, Any],
    other_symbols: Mapping[str, Value] | None = None,
) -> dict[str, Any]:
    """Return the values of constants, which may be defined by each other in any order."""
    for name in overrides:
        choice("constants", name, tuple(declared))
    values: dict[str, Any] = {}
    symbols: dict[str, Value] = dict(other_symbols or {})
    formulas: dict[str, Expression] = {
        name: c.value for name, c in declared.items() if c.value is not None and name not in overrides
    }
    scope = Scope(file, symbols, formulas)
    for name, value in overrides.items():
        values[name] = _convert_constant(value, declared[name], (file, declared[name].line))
        symbols[name] = constant(values[name])
    for name, constant_declaration in declared.items():
        if name not in values:
            location = file, constant_declaration.line
            if constant_declaration.value is None:
                message = f"constant {name!r} has no value: give constants={{{name!r}: ...}}, or --const {name}=..."
                raise FileError(location, message)
            value = scope.value(constant_declaration.value)
            if not value.fixed:
                raise FileError(location, f"constant {name!r} depends on the state")
            values[name] = _convert_constant(value.single(), constant_declaration, location)
            symbols[name] = constant(values[name])
    return values


def _convert_constant(value: Any, declaration: Constant, location: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    is_right = {"bool": isinstance(value, bool), "double": isinstance(value, (int, float))}
    is_integer = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) != (declaration.kind == "bool") or not is_right.get(declaration.kind, is_integer):
        raise FileError(location, f"constant {declaration.name!r} = {value!r}: must be {declaration.kind}")
    if declaration.kind == "int" and abs(value) >= INT_LIMIT:
        raise FileError(location, f"constant {declaration.name!r} = {value!r}: must be below 2^62")
    return {"bool": bool, "double": float, "int": int}[declaration.kind](value)


def _range(variable: Variable, scope: Scope) -> Range:
    location = scope.file, variable.line

    def constant_of(expression: Any, role: str, kind: str = "int") -> int:
        value = scope.value(expression, variable.renamed)
        if not value.fixed or value.kind != kind:
            raise FileError(location, f"{role} of {variable.name!r}: must be a constant of type {kind}")
        return int(value.single())

    if variable.kind == "bool":
        start = 0 if variable.start is None else constant_of(variable.start, "initial value", "bool")
        return Range(variable.name, "bool", 0, 1, start, variable.line, (0, 1))
    low = -math.inf if variable.low is None else constant_of(variable.low, "lowest value")
    high = math.inf if variable.high is None else constant_of(variable.high, "highest value")
    first = 0 if variable.low is None else int(low)
    start = first if variable.start is None else constant_of(variable.start, "initial value")
    if not low <= start <= high:
        message = f"{variable.name!r}: initial value {start} outside of [{low}..{high}]"
        raise FileError(location, message if low <= high else f"{variable.name!r}: no value in [{low}..{high}]")
    initial_range = Range(variable.name, "int", start, start, start, variable.line, (low, high))
    return initial_range.within(start - low, high - start)


def _with_ranges(program: Program, constants: dict[str, Any], ranges: list[Range]) -> Instance:
    counts = [r.count for r in ranges]
    symbols = {name: constant(value) for name, value in constants.items()}
    for k, r in enumerate(ranges):
        symbols[r.name] = _variable(k, r)
    scope = Scope(program.file, symbols, program.formulas)

    def label_value(name: str) -> Value | None:
        if name not in program.labels:
            return None
        line = program.labels[name].line
        return boolean(scope.value(program.labels[name]), (program.file, line), f'"{name}"')

    scope.labels = label_value
    widths = [(count - 1).bit_length() for count in counts]
    shifts = tuple(sum(widths[k + 1 :]) for k in range(len(counts)))
    if sum(widths) <= NUMBER_BITS:
        weights = tuple(1 << shift for shift in shifts)
        return Instance(program, constants, tuple(ranges), scope, weights, shifts)
    weights = tuple(math.prod(counts[k + 1 :]) for k in range(len(counts)))
    return Instance(program, constants, tuple(ranges), scope, weights, None)


def _variable(k: int, r: Range) -> Value:
    def value(c: Columns) -> Any:
        return c.variable(k)

    def truth(c: Columns) -> Any:
        return c.variable(k) != 0

    run = truth if r.kind == "bool" else value
    return Value(r.kind, run, r.low, r.high, reads=frozenset([k]))
