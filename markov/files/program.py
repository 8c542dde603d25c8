"""A model as a file describes it: constants, variables, modules and rewards, not yet evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from markov.files.errors import FileError
from markov.files.syntax import Expression

__all__ = [
    "Assignment",
    "Branch",
    "Command",
    "Composition",
    "Constant",
    "Module",
    "Program",
    "Reset",
    "RewardItem",
    "Transient",
    "Variable",
]


@dataclass(frozen=True)
class Constant:
    """A constant, to which the user must assign a value if it has none. ``kind``: int, double or bool."""

    name: str
    kind: str
    value: Expression | None
    line: int


@dataclass(frozen=True)
class Variable:
    """A variable; ``low`` and ``high`` are None for truth values and unbounded integers."""

    name: str
    kind: str
    low: Expression | None
    high: Expression | None
    start: Expression | None
    line: int
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Assignment:
    """``(name' = value)``."""

    name: str
    value: Expression
    line: int


@dataclass(frozen=True)
class Branch:
    """A rate with its assignments; ``transient`` has assignments to transient variables (JANI)."""

    rate: Expression
    changes: tuple[Assignment, ...]
    transient: tuple[Assignment, ...] = ()


@dataclass(frozen=True)
class Transient:
    """A transient variable (JANI): its value in a transition is the initial value unless an edge assigns another."""

    name: str
    kind: str
    start: Expression


@dataclass(frozen=True)
class Command:
    """``[action] guard -> rate: changes + ...``; the action ``""`` is never shared."""

    action: str
    guard: Expression
    branches: tuple[Branch, ...]
    line: int


@dataclass(frozen=True)
class Module:
    """Commands of one module; ``renamed`` maps names to their replacements."""

    name: str
    commands: tuple[Command, ...]
    line: int
    renamed: dict[str, str] = field(default_factory=dict)

    @property
    def alphabet(self) -> set[str]:
        """Actions of the commands, after renaming."""
        actions = {self.renamed.get(c.action, c.action) for c in self.commands}
        return actions - {""}


@dataclass(frozen=True)
class Composition:
    """Parallel composition of modules.

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
    """``guard: value`` in states, or ``[action] guard: value`` on transitions (action not None)."""

    action: str | None
    guard: Expression
    value: Expression
    line: int


@dataclass(frozen=True)
class Reset:
    """Assignments at a given time, all from the values before them (SBML).

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
    """Contents of a model file.

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
        Line and description of each reaction (SBML), by the number that its commands have instead of a line.
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

    def location(self, line: int) -> tuple[str, int | None]:
        """Return the location of a command or an expression in the file."""
        line, _ = self.reactions.get(line, (line, ""))
        return self.file, line or None

    def fault(self, line: int, reason: str, remedy: str = "") -> FileError:
        """Return the error of a command; for a reaction with its name and the remedy for its law."""
        if line not in self.reactions:
            return FileError(self.location(line), reason)
        return FileError(self.location(line), f"{self.reactions[line][1]}: {reason}{remedy}")

    def names(self) -> set[str]:
        """Return all declared names."""
        return {*self.constants, *self.variables, *self.formulas}

    def check_new(self, name: str, line: int) -> None:
        """Raise FileError if a name is declared already."""
        if name in self.names():
            raise FileError((self.file, line), f"{name!r} is defined twice")
