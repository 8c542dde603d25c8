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
    """A constant; without a value the user is to give one. ``kind``: int, double or bool."""

    name: str
    kind: str
    value: Expression | None
    line: int


@dataclass(frozen=True)
class Variable:
    """A variable; ``low`` and ``high`` are None for truth values and for unbounded numbers."""

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
    """A rate with its assignments; ``transient`` are those to transient variables (JANI)."""

    rate: Expression
    changes: tuple[Assignment, ...]
    transient: tuple[Assignment, ...] = ()


@dataclass(frozen=True)
class Transient:
    """A transient variable (JANI): its value in a transition is the initial one, or that which an edge assigns."""

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
    """Commands with variables of their own; ``renamed`` maps names to their replacements."""

    name: str
    commands: tuple[Command, ...]
    line: int
    renamed: dict[str, str] = field(default_factory=dict)

    @property
    def alphabet(self) -> set[str]:
        """The actions of its commands, renamed."""
        actions = {self.renamed.get(c.action, c.action) for c in self.commands}
        return actions - {""}


@dataclass(frozen=True)
class Composition:
    """How modules run in parallel.

    Attributes
    ----------
    how
        ``"module"`` (of: its name), ``"system"`` (while a file is read; of: the name of another system), ``"shared"`` (parts synchronise on actions that both have),
        ``"interleaved"`` (on none), ``"only"`` (on ``actions``), ``"hidden"`` (``actions`` of the part
        become internal), ``"renamed"`` (``actions`` is a mapping), ``"vectors"`` (``actions`` lists
        (action of each part or None, action of the whole)).
    of
        The parts.
    actions
        As ``how`` says.
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
        Of the event, in messages.
    time
        In s, > 0, without variables.
    after
        Whether the state at that very time is the one before the assignments.
    at_execution
        Whether the values are those when the event is executed, which other events of that time may have changed.
    changes
        To variables.
    exceeding
        Assignments in place of them where a value exceeds its limit; none: it is refused.
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
        Its name, in messages.
    kind
        ``"ctmc"`` or ``"dtmc"``.
    constants, variables, formulas, modules, labels, rewards
        By name; unnamed reward structures are called ``""``, ``"#2"`` and so on.
    start
        The initial states as a condition; None: the initial values of the variables.
    composition
        How the modules run in parallel.
    transient
        Transient variables that edges may assign (JANI), by name.
    steps
        Rewards that each transition earns (JANI), by name: expressions of the variables after all assignments.
    resets
        What happens at given times (SBML).
    reactions
        Line and description of each reaction by the number that its commands have in place of a line (SBML).
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
        """Return the place in the file of a command or of an expression."""
        line, _ = self.reactions.get(line, (line, ""))
        return self.file, line or None

    def fault(self, line: int, reason: str, remedy: str = "") -> FileError:
        """Return the error of a command; of a reaction with its name, and with the remedy for its law."""
        if line not in self.reactions:
            return FileError(self.location(line), reason)
        return FileError(self.location(line), f"{self.reactions[line][1]}: {reason}{remedy}")

    def names(self) -> set[str]:
        """Return all names that are taken."""
        return {*self.constants, *self.variables, *self.formulas}

    def check_new(self, name: str, line: int) -> None:
        """Raise FileError where a name is taken."""
        if name in self.names():
            raise FileError((self.file, line), f"{name!r} is defined twice")
