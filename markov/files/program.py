"""A model as a file describes it, and the same with values of its constants.

A `Program` has constants, variables, modules and rewards as trees: PRISM, JANI and SBML files become the same program.
An `Instance` has values of the constants, ranges and initial values of the variables, and the scope of names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice
from markov.files.language import (
    INT_LIMIT,
    Batch,
    Chain,
    Expression,
    FileError,
    Name,
    Scope,
    Value,
    check_boolean,
    constant,
    names_in,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.chains import ListedStates

__all__ = [
    "FIRST_EVENT",
    "FIRST_REACTION",
    "NUMBER_BITS",
    "Assignment",
    "Branch",
    "Command",
    "Composition",
    "Constant",
    "Instance",
    "Module",
    "Program",
    "Range",
    "Reset",
    "RewardItem",
    "Transient",
    "Variable",
    "evaluate_constants",
    "instantiate",
]

# ---------------------------------------------------------------------------------- contents of a file


FIRST_REACTION = 10**9
"""Number of the first reaction, in place of a line: beyond all lines, since a line may have several reactions."""
FIRST_EVENT = 2 * FIRST_REACTION
"""Number of the first reaction with the event that it triggers."""
TOO_FEW_MOLECULES = "; its law must be 0 where there are fewer molecules than it takes, such as X (X - 1) for two"
WRONG_EVENT = "; it must assign whole numbers from 0 to the limit"
"""Remedies for reactions and events that set a variable beyond its range."""


@dataclass(frozen=True)
class Constant:
    """Declaration of a constant: name, type (int, double, bool), and the expression of its value or None."""

    name: str
    kind: str
    value: Expression | None
    line: int


@dataclass(frozen=True)
class Variable:
    """Declaration of a variable: name, type, bounds (None for bool and for unbounded integers) and initial value."""

    name: str
    kind: str
    low: Expression | None
    high: Expression | None
    start: Expression | None
    line: int
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Assignment:
    """An update of one variable in a command: ``(name' = value)``."""

    name: str
    value: Expression
    line: int


@dataclass(frozen=True)
class Branch:
    """One outcome of a command: a rate with its assignments; ``transient`` are those of transient variables (JANI)."""

    rate: Expression
    changes: tuple[Assignment, ...]
    transient: tuple[Assignment, ...] = ()


@dataclass(frozen=True)
class Transient:
    """Declaration of a transient variable (JANI), which has its initial value in transitions that do not assign it."""

    name: str
    kind: str
    start: Expression


@dataclass(frozen=True)
class Command:
    """A guarded command ``[action] guard -> rate: changes + ...``; the action ``""`` is never shared."""

    action: str
    guard: Expression
    branches: tuple[Branch, ...]
    line: int


@dataclass(frozen=True)
class Module:
    """The commands of one module; ``renamed`` maps names in them to their replacements."""

    name: str
    commands: tuple[Command, ...]
    line: int
    renamed: dict[str, str] = field(default_factory=dict)

    @property
    def alphabet(self) -> set[str]:
        """The actions of the module's commands, after renaming."""
        actions = {self.renamed.get(c.action, c.action) for c in self.commands}
        return actions - {""}


@dataclass(frozen=True)
class Composition:
    """Parallel composition of modules, a tree.

    Attributes
    ----------
    how
        ``"module"`` (``of``: its name), ``"system"`` (only during parsing; ``of``: the name of another system),
        ``"shared"`` (parts synchronise on common actions), ``"interleaved"`` (on no actions), ``"only"`` (on
        ``actions``), ``"hidden"`` (``actions`` of the part become internal), ``"renamed"`` (``actions`` is a mapping),
        ``"vectors"`` (``actions`` lists pairs of the action of each part, or None, and the resulting action).
    of
        The parts.
    actions
        Argument of ``how``.
    """

    how: str
    of: tuple[Any, ...]
    actions: Any = ()


@dataclass(frozen=True)
class RewardItem:
    """One reward: ``guard: value`` in states, or ``[action] guard: value`` on transitions (action is not None)."""

    action: str | None
    guard: Expression
    value: Expression
    line: int


@dataclass(frozen=True)
class Reset:
    """An event of SBML at a fixed time: assignments that use the values before it.

    Attributes
    ----------
    name
        Name of the event, in messages.
    time
        Time in s, > 0, an expression without variables.
    after
        Whether the assignments happen after that time: the state at that time is still the previous state.
    at_execution
        Whether values are computed at execution, after other events of the same time.
    changes
        Assignments to variables.
    exceeding
        Assignments if a value exceeds its limit; empty: such a value is refused.
    """

    name: str
    time: Expression
    after: bool
    at_execution: bool
    changes: tuple[Assignment, ...]
    exceeding: tuple[Assignment, ...] = ()


@dataclass(frozen=True)
class Program:
    """The contents of a PRISM, JANI or SBML file: declarations, modules and rewards as trees.

    Attributes
    ----------
    file
        Name of the file, in messages.
    kind
        ``"ctmc"`` or ``"dtmc"``.
    constants, variables, formulas, modules, labels, rewards
        Declarations by name; unnamed reward structures are called ``""``, ``"#2"`` and so on.
    start
        Condition on the initial states; None: the initial values of the variables.
    composition
        Parallel composition of the modules.
    transient
        Transient variables that edges may assign (JANI), by name.
    steps
        Rewards of each transition (JANI), by name: expressions of the variables after all assignments.
    resets
        Events at given times (SBML).
    reactions
        Line and description of each reaction (SBML), and of each event that a reaction triggers, by the number that its
        commands have instead of a line.
    listed
        States, rates, labels and rewards of a file that lists them, in place of commands; otherwise None.
    fixed_constants
        Constants that keep the value in the file, by name, with the reason: the initial state was computed from it.
    checks
        Functions of the program with values of its constants. Each raises FileError for values that are not read.
    """

    file: str
    kind: str
    constants: dict[str, Constant] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    formulas: dict[str, Expression] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    labels: dict[str, Expression] = field(default_factory=dict)
    rewards: dict[str, tuple[RewardItem, ...]] = field(default_factory=dict)
    start: Expression | None = None
    composition: Composition | None = None
    transient: dict[str, Transient] = field(default_factory=dict)
    steps: dict[str, Expression] = field(default_factory=dict)
    resets: tuple[Reset, ...] = ()
    reactions: dict[int, tuple[int, str]] = field(default_factory=dict)
    listed: ListedStates | None = None
    fixed_constants: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[Callable[[Instance], None], ...] = ()

    def location(self, line: int) -> tuple[str, int | None]:
        """Return (file, line) of a command or an expression from its line number; the line is None if unknown."""
        line, _ = self.reactions.get(line, (line, ""))
        return self.file, line or None

    def command_error(self, line: int, reason: str, remedy: str = "") -> FileError:
        """Return the FileError of a faulty command; for a reaction with its name and the remedy for its law."""
        if line not in self.reactions:
            return FileError(self.location(line), reason)
        return FileError(self.location(line), f"{self.reactions[line][1]}: {reason}{remedy}")

    def range_error(self, line: int, reason: str) -> FileError:
        """Return the FileError of a command that sets a variable beyond its range."""
        return self.command_error(line, reason, TOO_FEW_MOLECULES if line < FIRST_EVENT else WRONG_EVENT)

    def names(self) -> set[str]:
        """Return the names of all constants, variables and formulas."""
        return {*self.constants, *self.variables, *self.formulas}

    def check_new(self, name: str, line: int) -> None:
        """Raise FileError if a constant, variable or formula of this name exists."""
        if name in self.names():
            raise FileError((self.file, line), f"{name!r} is defined twice")


# ---------------------------------------------------------------------------- with values of constants


FIRST_WINDOW = 2**12
"""Distance of a variable without bounds from its initial value, in the first window."""
FIRST_NUMBER_BITS = 40
"""Bits of the numbers of states in the first windows, where all combinations of values would need more than 62."""
WINDOW_GROWTH = 16
"""Factor by which a window grows after a variable has left it."""
SPARE_STEPS = 8
"""Minimum margin of a window around the reached values, in steps on either side."""
NUMBER_BITS = 62


@dataclass(frozen=True)
class Range:
    """The values that one variable may take: integers from low to high, or false and true as 0 and 1.

    ``limits`` is the range in the file, infinite without a bound. ``low`` and ``high`` may be a narrower window:
    states are numbered by it, and it grows when the variable leaves it. All changes are multiples of ``step``, as
    are the distances of ``low`` and ``high`` from the initial value.
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
        """Number of values of the variable."""
        return (self.high - self.low) // self.step + 1

    def in_steps(self, differences: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return differences of the variable's values, which are multiples of its step, in units of this step."""
        return differences if self.step == 1 else differences // self.step

    @property
    def open(self) -> bool:
        """Whether the file gives the variable no lower or no upper bound."""
        return math.inf in self.limits or -math.inf in self.limits

    @property
    def is_window(self) -> bool:
        """Whether the file allows values of the variable beyond ``low`` and ``high``."""
        return self.low - self.step >= self.limits[0] or self.high + self.step <= self.limits[1]

    def within(self, below: float, above: float) -> Range:
        """Return the range from ``below`` under to ``above`` over the initial value, cut at the file's bounds.

        Both distances are rounded down to whole steps. An infinite distance stands for `FIRST_WINDOW`.
        """
        below, above = (FIRST_WINDOW if math.isinf(distance) else distance for distance in (below, above))
        below = min(below, self.start - self.limits[0]) // self.step * self.step
        above = min(above, self.limits[1] - self.start) // self.step * self.step
        return replace(self, low=self.start - int(below), high=self.start + int(above))

    def widen_around(self, low: int, high: int) -> Range:
        """Return a range around low to high, wider by half of that width on either side, cut at the file's bounds."""
        margin = ((high - low) // self.step // 2 + SPARE_STEPS) * self.step
        below = min(margin, low - self.limits[0]) // self.step * self.step
        above = min(margin, self.limits[1] - high) // self.step * self.step
        return replace(self, low=low - int(below), high=high + int(above))

    def with_step(self, step: int) -> Range:
        """Return the range with another step, with its limits cut to whole steps from the initial value.

        The caller takes a step that divides all changes of the variable.
        """
        with_step = replace(self, step=step)
        return with_step.within(self.start - self.low, self.high - self.start)


@dataclass(frozen=True)
class Instance:
    """A program with values of its constants: ranges of variables, typed names, and the code of states as numbers.

    Attributes
    ----------
    program
        Contents of the file.
    constants
        Values by name.
    ranges
        Ranges of the variables, in the order of the file; a single value for a variable that no command changes.
    scope
        Meanings of names.
    weights
        Increase of a state's number with a step of each variable; the last variable varies fastest.
    shifts
        Position of each variable's lowest bit in the number; None: the variables share bits, as they would need more
        than 62.
    escaped
        Indices of the variables that left their windows in an evaluated state.
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
        """Upper bound, exclusive, on the numbers of states: the size of a table by number, with unused bit patterns."""
        return self.weights[0] * self.ranges[0].count if self.ranges else 1

    @property
    def is_numbered(self) -> bool:
        """Whether each state of the product space has a number of its own below 2^62."""
        return bool(self.span < 2**NUMBER_BITS)

    def numbers(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of states from the values of their variables, shape (variables, ...)."""
        pairs = zip(codes, self.ranges, self.weights, strict=True)
        numbers = np.zeros(codes.shape[1:], dtype=np.int64)
        for values, r, weight in pairs:
            numbers += r.in_steps(values - r.low) * weight
        return numbers

    def with_names(self, symbols: Mapping[str, Value]) -> Instance:
        """Return the instance with further typed expressions by name in its scope."""
        scope = Scope(
            self.program.file,
            {**self.scope.symbols, **symbols},
            self.program.formulas,
            self.scope.labels,
        )
        return replace(self, scope=scope)

    def codes(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of all variables in the states of these numbers, shape (variables, states)."""
        codes = np.empty((len(self.ranges), len(numbers)), dtype=np.int64)
        for k, row in enumerate(codes):
            self.code(k, numbers, row)
        return codes

    def code(self, k: int, numbers: NDArray[np.int64], out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return the values of variable ``k`` in the states of these numbers, shape (states,), in ``out`` if set."""
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
        """Return the numbers that stand for a state; a bit field may hold values beyond its variable's range."""
        highest = np.array([[r.high] for r in self.ranges]).reshape(-1, 1)
        return numbers[(self.codes(numbers) <= highest).all(axis=0)]

    @property
    def size(self) -> int:
        """Number of states of the product space."""
        return math.prod(r.count for r in self.ranges)

    def location(self, line: int) -> tuple[str, int | None]:
        """Return (file, line) for a line number of the program."""
        return self.program.location(line)

    def narrow(self, width: int) -> Instance:
        """Return the instance with windows of at most ``width`` on either side of the initial values."""
        narrower = [
            r.within(min(width, r.start - r.low), min(width, r.high - r.start)) if r.is_window else r
            for r in self.ranges
        ]
        return _with_ranges(self.program, self.constants, narrower)

    def widen_around(self, extremes: Sequence[tuple[int, int]]) -> Instance | None:
        """Return the instance with wider windows of escaped variables, around the reached values; None if too wide.

        Only the windows of variables that have left theirs change.
        """
        wider = [
            r.widen_around(low, high) if k in self.escaped and r.is_window else r
            for k, (r, (low, high)) in enumerate(zip(self.ranges, extremes, strict=True))
        ]
        return _with_ranges(self.program, self.constants, wider) if _fits(wider) else None

    def widen(self) -> Instance | None:
        """Return the instance with wider windows of the escaped variables; None if states would need too many bits."""
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
        """Return the instance with these (low, high) pairs as the windows of its variables."""
        ranges = [replace(r, low=low, high=high) for r, (low, high) in zip(self.ranges, windows, strict=True)]
        return _with_ranges(self.program, self.constants, ranges)


def _fits(ranges: Iterable[Range]) -> bool:
    """Return whether the combinations of values in these ranges have numbers below 2^62."""
    return bool(math.prod(r.count for r in ranges) < 2**NUMBER_BITS)


def instantiate(program: Program, overrides: Mapping[str, Any] | None = None) -> Instance:
    """Return a program with values of its constants, its ranges and its scope.

    Parameters
    ----------
    program
        Contents of a file.
    overrides
        Values of constants by name; they replace values in the file.

    Raises
    ------
    FileError
        If a constant has no value or a wrong value, a range is empty, or an initial value lies
        outside of it.
    ValueError
        If there is no constant of that name, or it must keep the value in the file and has another one.
    """
    values = dict(overrides or {})
    kept = {name: values.pop(name) for name in sorted(program.fixed_constants.keys() & values.keys())}
    constants = evaluate_constants(program.file, program.constants, values)
    for name, value in kept.items():
        if value != constants[name]:
            raise ValueError(f"constants = {{{name!r}: ...}}: {program.fixed_constants[name]}")
    scope = Scope(program.file, {name: constant(v) for name, v in constants.items()})
    scope = Scope(program.file, scope.symbols, program.formulas)
    ranges = [_initial_range(v, scope) for v in program.variables.values()]
    changed = {r.name for r in ranges} if program.start is not None else _assignment_targets(program)
    narrowed = [
        r if r.name in changed else replace(r, low=r.start, high=r.start, limits=(r.start, r.start)) for r in ranges
    ]
    if program.start is None and not program.resets:
        steps = common_steps(program, narrowed, scope)
        narrowed = [r.with_step(steps[r.name]) for r in narrowed]
    instance = _with_ranges(program, constants, _first_windows(narrowed))
    for check in program.checks:
        check(instance)
    return instance


def common_steps(program: Program, ranges: Sequence[Range], scope: Scope) -> dict[str, int]:
    """Return, by variable, a common divisor of all its changes: its values are then start + k * step."""
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
    """Return c of an assignment x' = x + c, or c - start of x' = c; None for other assignments."""

    def integer_value(part: Expression) -> int | None:
        """Return the value of a constant integer expression; None for other expressions."""
        used = {renamed.get(name, name) for name in names_in(part)}
        if not used <= scope.symbols.keys():
            return None
        try:
            value = scope.value(part, renamed)
        except FileError:  # reported when the command is read
            return None
        return int(value.single()) if value.kind == "int" else None

    if (constant_value := integer_value(tree)) is not None:
        return constant_value - start
    if not isinstance(tree, Chain) or not isinstance(tree.first, Name):
        return None
    if renamed.get(tree.first.name, tree.first.name) != name:
        return None
    total = 0
    for sign, part in tree.rest:
        summand = integer_value(part)
        if sign not in ("+", "-") or summand is None:
            return None
        total += summand if sign == "+" else -summand
    return total


def _first_windows(ranges: list[Range]) -> list[Range]:
    """Return the ranges with windows so narrow that all combinations of values have distinct numbers."""
    windows = list(ranges)
    width = FIRST_WINDOW
    while width > 1 and not math.prod(r.count for r in windows) < 2**FIRST_NUMBER_BITS:
        if width == FIRST_WINDOW and _fits(windows):
            return windows
        width //= 2
        windows = [r.within(width, width) for r in ranges]
    return windows


def _assignment_targets(program: Program) -> set[str]:
    """Return the names of the variables that a command or an event assigns."""
    targets = {change.name for reset in program.resets for change in (*reset.changes, *reset.exceeding)}
    for module in program.modules.values():
        names = (c.name for command in module.commands for b in command.branches for c in b.changes)
        targets.update(module.renamed.get(name, name) for name in names)
    return targets


def evaluate_constants(
    file: str,
    declared: Mapping[str, Constant],
    overrides: dict[str, Any],
    other_symbols: Mapping[str, Value] | None = None,
) -> dict[str, Any]:
    """Return the values of declared constants by name; they may refer to each other in any order."""
    for name in overrides:
        choice("constants", name, tuple(declared))
    for name, declaration in declared.items():  # before others are evaluated, which may refer to it
        if declaration.value is None and name not in overrides:
            message = f"constant {name!r} has no value: give constants={{{name!r}: ...}}, or --const {name}=..."
            raise FileError((file, declaration.line), message)
    values: dict[str, Any] = {}
    symbols: dict[str, Value] = dict(other_symbols or {})
    formulas: dict[str, Expression] = {
        name: c.value for name, c in declared.items() if c.value is not None and name not in overrides
    }
    scope = Scope(file, symbols, formulas)
    for name, value in overrides.items():
        values[name] = _convert_constant(value, declared[name], (file, declared[name].line))
        symbols[name] = constant(values[name])
    for name, declaration in declared.items():
        if name not in values:
            location = file, declaration.line
            value = scope.value(declaration.value)
            if not value.fixed:
                raise FileError(location, f"constant {name!r} depends on the state")
            values[name] = _convert_constant(value.single(), declaration, location)
            symbols[name] = constant(values[name])
    return values


def _convert_constant(value: Any, declaration: Constant, location: Any) -> Any:
    """Return a constant's value as bool, int or float; FileError unless it is of the declared type."""
    value = value.item() if isinstance(value, np.generic) else value
    is_right = {"bool": isinstance(value, bool), "double": isinstance(value, (int, float))}
    is_integer = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) != (declaration.kind == "bool") or not is_right.get(declaration.kind, is_integer):
        raise FileError(location, f"constant {declaration.name!r} = {value!r}: must be {declaration.kind}")
    if declaration.kind == "int" and abs(value) >= INT_LIMIT:
        raise FileError(location, f"constant {declaration.name!r} = {value!r}: must be below 2^62")
    return {"bool": bool, "double": float, "int": int}[declaration.kind](value)


def _initial_range(variable: Variable, scope: Scope) -> Range:
    """Return the range of a declared variable; where it has no bounds, a window around its initial value."""
    location = scope.file, variable.line

    def constant_of(expression: Any, role: str, kind: str = "int") -> int:
        """Return the integer or truth value of an expression that must be constant."""
        value = scope.value(expression, variable.renamed)
        if not value.fixed or value.kind != kind:
            raise FileError(location, f"{role} of {variable.name!r}: must be a constant of type {kind}")
        try:
            return int(value.single())
        except FileError as error:
            raise FileError(location, f"{role} of {variable.name!r}: {error.reason}") from None

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
    """Return the instance of a program with these ranges of its variables."""
    counts = [r.count for r in ranges]
    symbols = {name: constant(value) for name, value in constants.items()}
    for k, r in enumerate(ranges):
        symbols[r.name] = _variable_value(k, r)
    scope = Scope(program.file, symbols, program.formulas)

    def label_value(name: str) -> Value | None:
        """Return the typed expression of a label; None if it is not defined."""
        if name not in program.labels:
            return None
        line = program.labels[name].line
        return check_boolean(scope.value(program.labels[name]), (program.file, line), f'"{name}"')

    scope.labels = label_value
    widths = [(count - 1).bit_length() for count in counts]
    shifts = tuple(sum(widths[k + 1 :]) for k in range(len(counts)))
    if sum(widths) <= NUMBER_BITS:
        weights = tuple(1 << shift for shift in shifts)
        return Instance(program, constants, tuple(ranges), scope, weights, shifts)
    weights = tuple(math.prod(counts[k + 1 :]) for k in range(len(counts)))
    return Instance(program, constants, tuple(ranges), scope, weights, None)


def _variable_value(k: int, r: Range) -> Value:
    """Return the typed expression of the variable of index ``k``."""

    def value(c: Batch) -> Any:
        return c.variable(k)

    def truth(c: Batch) -> Any:
        return c.variable(k) != 0

    run = truth if r.kind == "bool" else value
    return Value(r.kind, run, r.low, r.high, reads=frozenset([k]))
