"""A program with its constants given: ranges of variables, initial values, meanings of names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice
from markov.files.columns import Columns
from markov.files.errors import FileError
from markov.files.program import Constant, Program, Variable
from markov.files.scopes import Scope
from markov.files.values import LARGE, Value, boolean, constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.syntax import Expression

__all__ = ["Bound", "Range", "bound", "constants_of"]

WINDOW = 2**12
"""How far a variable without bounds may be from its initial value at first."""
BITS = 62


@dataclass(frozen=True)
class Range:
    """The values of one variable: whole numbers from low to high, or false and true (0 and 1).

    ``open`` tells that the model gives no bounds, and that these are provisional.
    """

    name: str
    kind: str
    low: int
    high: int
    start: int
    line: int
    open: bool = False

    @property
    def count(self) -> int:
        """How many values there are."""
        return self.high - self.low + 1


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
    """

    program: Program
    constants: dict[str, Any]
    ranges: tuple[Range, ...]
    scope: Scope
    weights: tuple[int, ...]
    shifts: tuple[int, ...] | None

    @property
    def span(self) -> int:
        """One more than the largest number of a state."""
        return self.weights[0] * self.ranges[0].count if self.ranges else 1

    def codes(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of the variables in states given by their numbers, shape (variables, states)."""
        codes = np.empty((len(self.ranges), len(numbers)), dtype=np.int64)
        rest = numbers
        for k in range(len(codes) - 1, -1, -1):
            r = self.ranges[k]
            if self.shifts is None:
                rest, codes[k] = np.divmod(rest, r.count)
            else:
                np.right_shift(numbers, self.shifts[k], out=codes[k])
                codes[k] &= (1 << (r.count - 1).bit_length()) - 1
            codes[k] += r.low
        return codes

    def valid(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of some numbers that are a state's."""
        highest = np.array([[r.high] for r in self.ranges]).reshape(-1, 1)
        return numbers[(self.codes(numbers) <= highest).all(axis=0)]

    @property
    def size(self) -> int:
        """Number of states of the product space."""
        return math.prod(r.count for r in self.ranges)

    def place(self, line: int) -> tuple[str, int]:
        """Return a place in the file."""
        return self.program.file, line

    def widened(self) -> Bound:
        """Return the program with wider provisional ranges."""
        wider = [
            replace(r, low=r.low - 15 * (r.start - r.low), high=r.high + 15 * (r.high - r.start))
            if r.open
            else r
            for r in self.ranges
        ]
        return _with_ranges(self.program, self.constants, wider)


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
        r if r.name in changed else replace(r, low=r.start, high=r.start, open=False)
        for r in ranges
    ]
    return _with_ranges(program, constants, narrowed)


def _changed(program: Program) -> set[str]:
    """Return the names of the variables that a command or a reset assigns."""
    found = {change.name for reset in program.resets for change in reset.changes}
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
        return Range(about.name, "bool", 0, 1, start, about.line)
    if about.low is None or about.high is None:
        start = 0 if about.start is None else whole(about.start, "initial value")
        return Range(
            about.name, "int", start - WINDOW, start + WINDOW, start, about.line, open=True
        )
    low, high = whole(about.low, "lowest value"), whole(about.high, "highest value")
    start = low if about.start is None else whole(about.start, "initial value")
    if not low <= start <= high:
        said = f"{about.name!r}: initial value {start} outside of [{low}..{high}]"
        raise FileError(
            place, said if low <= high else f"{about.name!r}: no value in [{low}..{high}]"
        )
    return Range(about.name, "int", low, high, start, about.line)


def _with_ranges(program: Program, constants: dict[str, Any], ranges: list[Range]) -> Bound:
    counts = [r.count for r in ranges]
    known = {name: constant(value) for name, value in constants.items()}
    for k, r in enumerate(ranges):
        known[r.name] = _variable(k, r)
    scope = Scope(program.file, known, program.formulas)
    if math.prod(counts) >= 2**BITS:
        _check_names(program, scope)
        said = (
            f"the variables have {math.prod(counts):.3g} combinations: must be fewer than 2^{BITS}"
        )
        raise FileError((program.file, None), said)

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


def _check_names(program: Program, scope: Scope) -> None:
    """Raise FileError for a name in a command that means nothing."""
    for module in program.modules.values():
        for command in module.commands:
            changes = (c.value for b in command.branches for c in b.changes)
            for expression in (command.guard, *(b.rate for b in command.branches), *changes):
                scope.value(expression, module.renamed)


def _variable(k: int, r: Range) -> Value:
    def whole(c: Columns) -> Any:
        return c.codes[k]

    def truth(c: Columns) -> Any:
        return c.codes[k] != 0

    run = truth if r.kind == "bool" else whole
    return Value(r.kind, run, r.low, r.high, reads=frozenset([k]))
