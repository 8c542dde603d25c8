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
from markov.files.values import LARGE, Value, boolean, constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.syntax import Expression

__all__ = ["BITS", "Bound", "Range", "bound", "constants_of"]

WINDOW = 2**12
"""How far a variable without bounds may be from its initial value at first."""
FIRST_BITS = 40
"""Of the numbers of states at first, where the variables have more combinations than numbers of states."""
GROWTH = 16
"""By how much a window grows that a variable has left."""
SPARE = 8
"""Steps by which a window that follows values is wider than these at least, on either side."""
BITS = 62


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
    ends: tuple[float, float]
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
        return math.inf in self.ends or -math.inf in self.ends

    @property
    def is_window(self) -> bool:
        """Whether the file allows more values."""
        return self.low - self.step >= self.ends[0] or self.high + self.step <= self.ends[1]

    def within(self, below: float, above: float) -> Range:
        """Return the range with values at most so far from the initial one, as the file allows."""
        below, above = (WINDOW if math.isinf(far) else far for far in (below, above))
        below = min(below, self.start - self.ends[0]) // self.step * self.step
        above = min(above, self.ends[1] - self.start) // self.step * self.step
        return replace(self, low=self.start - int(below), high=self.start + int(above))

    def around(self, low: int, high: int) -> Range:
        """Return the range with some values and half as many on either side, as the file allows."""
        room = ((high - low) // self.step // 2 + SPARE) * self.step
        below = min(room, low - self.ends[0]) // self.step * self.step
        above = min(room, self.ends[1] - high) // self.step * self.step
        return replace(self, low=low - int(below), high=high + int(above))

    def stepped(self, step: int) -> Range:
        """Return the range of a variable whose changes are all multiples of a number."""
        with_step = replace(self, step=step)
        return with_step.within(self.start - self.low, self.high - self.start)


@dataclass(frozen=True)
class Bound:
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
    left: set[int] = field(default_factory=set, compare=False)

    @property
    def span(self) -> int:
        """One more than the largest number of a state."""
        return self.weights[0] * self.ranges[0].count if self.ranges else 1

    @property
    def is_numbered(self) -> bool:
        """Whether states have numbers that differ."""
        return bool(self.span < 2**BITS)

    def numbers(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of states by the values of their variables, shape (variables, ...)."""
        pairs = zip(codes, self.ranges, self.weights, strict=True)
        found = np.zeros(codes.shape[1:], dtype=np.int64)
        for values, r, weight in pairs:
            found += r.in_steps(values - r.low) * weight
        return found

    def with_names(self, more: Mapping[str, Value]) -> Bound:
        """Return the program with further names that have a meaning."""
        scope = Scope(
            self.program.file,
            {**self.scope.known, **more},
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

    def place(self, line: int) -> tuple[str, int | None]:
        """Return a place in the file."""
        return self.program.place(line)

    def narrowed(self, width: int) -> Bound:
        """Return the program with windows of at most ``width`` on either side of the initial values."""
        narrower = [
            r.within(min(width, r.start - r.low), min(width, r.high - r.start)) if r.is_window else r
            for r in self.ranges
        ]
        return _with_ranges(self.program, self.constants, narrower)

    def around(self, ends: Sequence[tuple[int, int]]) -> Bound | None:
        """Return the program with windows twice as wide as from the least to the largest given values; None: there is no room.

        Only the windows of variables that have left theirs change.
        """
        wider = [
            r.around(low, high) if k in self.left and r.is_window else r
            for k, (r, (low, high)) in enumerate(zip(self.ranges, ends, strict=True))
        ]
        return _with_ranges(self.program, self.constants, wider) if _fits(wider) else None

    def widened(self) -> Bound | None:
        """Return the program with wider windows of the variables that have left theirs; None: there is no room."""
        factor = GROWTH
        while factor > 1:
            wider = [
                r.within(factor * (r.start - r.low + r.step), factor * (r.high - r.start + r.step))
                if k in self.left and r.is_window
                else r
                for k, r in enumerate(self.ranges)
            ]
            if _fits(wider):
                return _with_ranges(self.program, self.constants, wider)
            factor //= 2
        return None

    def windowed(self, ends: Sequence[tuple[int, int]]) -> Bound:
        """Return the program with given least and largest values as windows."""
        found = [replace(r, low=low, high=high) for r, (low, high) in zip(self.ranges, ends, strict=True)]
        return _with_ranges(self.program, self.constants, found)


def _fits(ranges: Iterable[Range]) -> bool:
    return bool(math.prod(r.count for r in ranges) < 2**BITS)


def bound(program: Program, given: Mapping[str, Any] | None = None) -> Bound:
    """Return a program with its constants given.

    Parameters
    ----------
    program
        What a file says.
    given
        Values of constants by name, in place of those in the file too.

    Raises
    ------
    FileError
        When a constant has no value or a wrong one, a range is empty, or an initial value lies
        outside of it.
    ValueError
        When there is no constant of that name.
    """
    constants = constants_of(program.file, program.constants, dict(given or {}))
    scope = Scope(program.file, {name: constant(v) for name, v in constants.items()})
    scope = Scope(program.file, scope.known, program.formulas)
    ranges = [_range(v, scope) for v in program.variables.values()]
    changed = {r.name for r in ranges} if program.start is not None else _changed(program)
    narrowed = [
        r if r.name in changed else replace(r, low=r.start, high=r.start, ends=(r.start, r.start)) for r in ranges
    ]
    if program.start is None and not program.resets:
        steps = common_steps(program, narrowed, scope)
        narrowed = [r.stepped(steps[r.name]) for r in narrowed]
    return _with_ranges(program, constants, _first_windows(narrowed))


def common_steps(program: Program, ranges: Sequence[Range], scope: Scope) -> dict[str, int]:
    """Return a number for each variable that divides all of its changes from the initial value on."""
    found = {r.name: 0 if r.kind == "int" and r.count > 1 else 1 for r in ranges}
    starts = {r.name: r.start for r in ranges}
    for module in program.modules.values():
        for command in module.commands:
            for change in (c for b in command.branches for c in b.changes):
                name = module.renamed.get(change.name, change.name)
                if found.get(name, 1) != 1:
                    by = _change_by(change.value, name, module.renamed, scope, starts[name])
                    found[name] = 1 if by is None else math.gcd(found[name], by)
    return {name: step or 1 for name, step in found.items()}


def _change_by(tree: Expression, name: str, renamed: Mapping[str, str], scope: Scope, start: int) -> int | None:
    """Return c of an assignment x + c, or c - start of an assignment of c; None for others."""

    def fixed(part: Expression) -> int | None:
        used = {renamed.get(each, each) for each in names_in(part)}
        if not used <= scope.known.keys():
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
        amount = fixed(part)
        if sign not in ("+", "-") or amount is None:
            return None
        total += amount if sign == "+" else -amount
    return total


def _first_windows(ranges: list[Range]) -> list[Range]:
    """Return ranges with fewer combinations than there are numbers of states."""
    found = list(ranges)
    width = WINDOW
    while width > 1 and not math.prod(r.count for r in found) < 2**FIRST_BITS:
        if width == WINDOW and _fits(found):
            return found
        width //= 2
        found = [r.within(width, width) for r in ranges]
    return found


def _changed(program: Program) -> set[str]:
    """Return the names of the variables that a command or a reset assigns."""
    found = {change.name for reset in program.resets for change in (*reset.changes, *reset.exceeding)}
    for module in program.modules.values():
        names = (c.name for command in module.commands for b in command.branches for c in b.changes)
        found.update(module.renamed.get(name, name) for name in names)
    return found


def constants_of(
    file: str,
    declared: Mapping[str, Constant],
    given: dict[str, Any],
    others: Mapping[str, Value] | None = None,
) -> dict[str, Any]:
    """Return the values of constants, which may be defined by each other in any order."""
    for name in given:
        choice("constants", name, tuple(declared))
    found: dict[str, Any] = {}
    known: dict[str, Value] = dict(others or {})
    formulas: dict[str, Expression] = {
        name: c.value for name, c in declared.items() if c.value is not None and name not in given
    }
    scope = Scope(file, known, formulas)
    for name, value in given.items():
        found[name] = _typed(value, declared[name], (file, declared[name].line))
        known[name] = constant(found[name])
    for name, about in declared.items():
        if name not in found:
            place = file, about.line
            if about.value is None:
                said = f"constant {name!r} has no value: give constants={{{name!r}: ...}}, or --const {name}=..."
                raise FileError(place, said)
            value = scope.value(about.value)
            if not value.fixed:
                raise FileError(place, f"constant {name!r} depends on the state")
            found[name] = _typed(value.single(), about, place)
            known[name] = constant(found[name])
    return found


def _typed(value: Any, about: Constant, place: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    good = {"bool": isinstance(value, bool), "double": isinstance(value, (int, float))}
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) != (about.kind == "bool") or not good.get(about.kind, whole):
        raise FileError(place, f"constant {about.name!r} = {value!r}: must be {about.kind}")
    if about.kind == "int" and abs(value) >= LARGE:
        raise FileError(place, f"constant {about.name!r} = {value!r}: must be below 2^62")
    return {"bool": bool, "double": float, "int": int}[about.kind](value)


def _range(about: Variable, scope: Scope) -> Range:
    place = scope.file, about.line

    def whole(expression: Any, what: str, kind: str = "int") -> int:
        value = scope.value(expression, about.renamed)
        if not value.fixed or value.kind != kind:
            raise FileError(place, f"{what} of {about.name!r}: must be a constant of type {kind}")
        return int(value.single())

    if about.kind == "bool":
        start = 0 if about.start is None else whole(about.start, "initial value", "bool")
        return Range(about.name, "bool", 0, 1, start, about.line, (0, 1))
    low = -math.inf if about.low is None else whole(about.low, "lowest value")
    high = math.inf if about.high is None else whole(about.high, "highest value")
    first = 0 if about.low is None else int(low)
    start = first if about.start is None else whole(about.start, "initial value")
    if not low <= start <= high:
        said = f"{about.name!r}: initial value {start} outside of [{low}..{high}]"
        raise FileError(place, said if low <= high else f"{about.name!r}: no value in [{low}..{high}]")
    whole_range = Range(about.name, "int", start, start, start, about.line, (low, high))
    return whole_range.within(start - low, high - start)


def _with_ranges(program: Program, constants: dict[str, Any], ranges: list[Range]) -> Bound:
    counts = [r.count for r in ranges]
    known = {name: constant(value) for name, value in constants.items()}
    for k, r in enumerate(ranges):
        known[r.name] = _variable(k, r)
    scope = Scope(program.file, known, program.formulas)

    def labelled(name: str) -> Value | None:
        if name not in program.labels:
            return None
        line = program.labels[name].line
        return boolean(scope.value(program.labels[name]), (program.file, line), f'"{name}"')

    scope.labels = labelled
    widths = [(count - 1).bit_length() for count in counts]
    shifts = tuple(sum(widths[k + 1 :]) for k in range(len(counts)))
    if sum(widths) <= BITS:
        weights = tuple(1 << shift for shift in shifts)
        return Bound(program, constants, tuple(ranges), scope, weights, shifts)
    weights = tuple(math.prod(counts[k + 1 :]) for k in range(len(counts)))
    return Bound(program, constants, tuple(ranges), scope, weights, None)


def _variable(k: int, r: Range) -> Value:
    def whole(c: Columns) -> Any:
        return c.variable(k)

    def truth(c: Columns) -> Any:
        return c.variable(k) != 0

    run = truth if r.kind == "bool" else whole
    return Value(r.kind, run, r.low, r.high, reads=frozenset([k]))
