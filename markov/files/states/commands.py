"""The transitions out of many states at once, command by command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.memory import check_room
from markov.files.binding import Instance
from markov.files.program import Branch, Command, Module, Program
from markov.files.values import Value, boolean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.columns import Columns
    from markov.files.syntax import Expression

__all__ = [
    "NEGATIVE",
    "NO_ONE_VALUE",
    "TOO_FEW_MOLECULES",
    "Guarded",
    "ModuleMoves",
    "Rows",
    "merge_rows",
    "synchronise",
    "transient_changes",
]

WRONG_RATE, OUTSIDE, NO_VALUE = 1, 2, 3
"""Faults of a transition: its rate, a variable out of its range, a transient variable without a unique finite value."""
NO_ONE_VALUE = "edges must assign it one finite value"
NEGATIVE = "; a law that is a difference has to be written as two reactions"
TOO_FEW_MOLECULES = "; its law must be 0 where there are fewer molecules than it takes, such as X (X - 1) for two"
"""Remedy for reactions with such a fault."""


@dataclass(frozen=True)
class Rows:
    """Transitions out of a batch of states.

    Attributes
    ----------
    source
        Index of the source in the batch, ascending, shape (rows,).
    rate
        Rate in 1/s, shape (rows,).
    change
        Change of the state's number, shape (rows,).
    fault
        0, or line * 4 plus the kind of fault, shape (rows,); None: no faults.
    transient
        Values assigned to transient variables, shape (variables, rows): NaN without an assignment; None: no variables.
    """

    source: NDArray[np.int64]
    rate: NDArray[np.float64]
    change: NDArray[np.int64]
    fault: NDArray[np.int64] | None = None
    transient: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.source)

    def at(self, source: NDArray[np.int64]) -> Rows:
        """Return the rows with other sources."""
        return replace(self, source=source)

    def take(self, indices: NDArray[np.int64]) -> Rows:
        """Return the rows at these indices."""
        fault = None if self.fault is None else self.fault[indices]
        transient = None if self.transient is None else self.transient[:, indices]
        return Rows(self.source[indices], self.rate[indices], self.change[indices], fault, transient)


def merge_rows(parts: list[Rows]) -> Rows:
    """Return rows of several parts, in the order of their sources."""
    if len(parts) == 1:
        return parts[0]
    fault = transient = None
    if any(part.fault is not None for part in parts):
        fault = np.concatenate([np.zeros(len(p), np.int64) if p.fault is None else p.fault for p in parts])
    assigned = [part.transient for part in parts if part.transient is not None]
    if assigned:
        transient = np.concatenate(assigned, axis=1)  # all parts have them, or none
    sources = np.concatenate([part.source for part in parts])
    rates = np.concatenate([part.rate for part in parts])
    changes = np.concatenate([part.change for part in parts])
    rows = Rows(sources, rates, changes, fault, transient)
    return rows.take(np.argsort(sources, kind="stable"))


def synchronise(a: Rows, b: Rows, states: int) -> Rows:
    """Return all pairs of rows with the same source: rates multiply, changes add up."""
    counts = np.bincount(b.source, minlength=states)
    starts = np.cumsum(counts) - counts
    times = counts[a.source]
    pairs = int(times.sum())
    check_room("synchronised transitions", 64.0 * pairs)
    first_rows = np.repeat(np.arange(len(a)), times)
    offsets = np.arange(pairs) - np.repeat(np.cumsum(times) - times, times)
    x, y = a.take(first_rows), b.take(starts[a.source[first_rows]] + offsets)
    fault = x.fault if y.fault is None else y.fault if x.fault is None else np.maximum(x.fault, y.fault)
    transient = None
    if x.transient is not None and y.transient is not None:
        transient = np.where(np.isnan(x.transient), y.transient, x.transient)
        conflicts = ~np.isnan(y.transient) & (transient != y.transient)
        if conflicts.any():
            fault = np.zeros(pairs, np.int64) if fault is None else fault
            fault[conflicts.any(axis=0)] = 4 + NO_VALUE
    rate = x.rate * y.rate
    for rows in (x, y):  # a product hides the sign of its factors
        if rows.fault is not None and fault is not None:
            wrong = rows.fault % 4 == WRONG_RATE
            rate, fault = np.where(wrong, rows.rate, rate), np.where(wrong, rows.fault, fault)
    return Rows(x.source, rate, x.change + y.change, fault, transient)


def transient_changes(program: Program, branch: Branch) -> list[tuple[int, Expression]]:
    """Return the assignments of a branch to transient variables, by their indices."""
    numbers = {name: k for k, name in enumerate(program.transient)}
    return [(numbers[change.name], change.value) for change in branch.transient if change.name in numbers]


class _Branch:
    """One outcome of a command."""

    def __init__(self, instance: Instance, branch: Branch, command: Command, renamed: Any) -> None:
        self.line, names = command.line, {r.name: k for k, r in enumerate(instance.ranges)}
        fault = instance.program.fault
        self.rate = instance.scope.value(branch.rate, renamed)
        if self.rate.kind == "bool":
            raise fault(command.line, "a rate is a truth value: must be a number")
        self.changes: list[tuple[int, Value]] = []
        self.ranges, self.escaped = instance.ranges, instance.escaped
        self.weights = instance.weights
        for change in branch.changes:
            name = renamed.get(change.name, change.name)
            if name not in names:
                raise fault(change.line, f"{name!r} is no variable")
            value = instance.scope.value(change.value, renamed)
            variable_kind = instance.ranges[names[name]].kind
            if value.kind != variable_kind:
                raise fault(change.line, f"{name}' = a {value.kind}: must be {variable_kind}")
            if names[name] in self.writes:
                raise fault(change.line, f"{name}' is assigned twice")
            self.changes.append((names[name], value))
        self.width = len(instance.program.transient)
        self.transient = [
            (k, instance.scope.value(value, renamed)) for k, value in transient_changes(instance.program, branch)
        ]
        variables = list(instance.program.transient.values())
        for k, value in self.transient:
            if value.kind != variables[k].kind and (value.kind, variables[k].kind) != ("int", "double"):
                raise fault(command.line, f"{variables[k].name!r} = a {value.kind}: must be {variables[k].kind}")

    @property
    def writes(self) -> set[int]:
        return {k for k, _ in self.changes}

    @property
    def reads(self) -> set[int]:
        """Variables that the row depends on, including the changed variables."""
        values = [self.rate, *(value for _, value in self.changes)]
        return self.writes.union(*(value.reads for value in values))

    def rows(self, c: Columns, sources: NDArray[np.int64]) -> Rows:
        """Return one row for each of the states of ``c``; their indices are ``sources``."""
        rates = np.asarray(self.rate.run(c), dtype=np.float64)
        rate = np.broadcast_to(rates, c.count)
        fault = None
        wrong = ~(np.isfinite(rates) & (rates >= 0.0))
        if np.any(wrong):
            fault = np.where(np.broadcast_to(wrong, c.count), 4 * self.line + WRONG_RATE, 0)
        change = np.zeros(c.count, dtype=np.int64)
        for k, value in self.changes:
            new = np.asarray(value.run(c))
            r = self.ranges[k]
            if not (r.low <= value.low and value.high <= r.high):
                out = (new < r.low) | (new > r.high)
                if np.any(out):
                    self.escaped.add(k)
                    fault = np.zeros(c.count, np.int64) if fault is None else fault
                    fault[np.broadcast_to(out, c.count)] = 4 * self.line + OUTSIDE
            change += self.weights[k] * r.in_steps(new.astype(np.int64) - c.variable(k))
        transient = None
        if self.width:
            transient = np.full((self.width, c.count), np.nan)
            for k, value in self.transient:
                transient[k] = value.run(c)
                if (wrong := ~np.isfinite(transient[k])).any():
                    fault = np.zeros(c.count, np.int64) if fault is None else fault
                    fault[wrong] = 4 * self.line + NO_VALUE
        return Rows(sources, rate, change, fault, transient)


class Guarded(NamedTuple):
    """A command: a condition and its outcomes."""

    guard: Value
    branches: list[_Branch]

    @property
    def reads(self) -> set[int]:
        """Variables that the rows depend on."""
        return set(self.guard.reads).union(*(branch.reads for branch in self.branches))

    def rows(self, c: Columns, everywhere: NDArray[np.int64]) -> list[Rows]:
        """Return the rows in a batch of states, one part per outcome; ``everywhere`` has all indices."""
        holds = self.guard.run(c)
        if isinstance(holds, np.ndarray):
            indices = np.flatnonzero(np.broadcast_to(holds, c.count))
        else:
            indices = everywhere if holds else everywhere[:0]
        if not len(indices):
            return []
        part = c.take(indices)
        return [branch.rows(part, indices) for branch in self.branches]


class ModuleMoves:
    """Transitions of a module, by action."""

    def __init__(self, instance: Instance, module: Module) -> None:
        self.name, self.alphabet = module.name, module.alphabet
        self.writes: dict[str, set[int]] = {}
        self.commands: dict[str, list[Guarded]] = {}
        for command in module.commands:
            action = module.renamed.get(command.action, command.action)
            guard = instance.scope.value(command.guard, module.renamed)
            boolean(guard, instance.location(command.line), "a guard")
            if guard.fixed and not guard.single():
                self.commands.setdefault(action, [])
                continue
            outcomes = [_Branch(instance, b, command, module.renamed) for b in command.branches]
            self.commands.setdefault(action, []).append(Guarded(guard, outcomes))
            self.writes.setdefault(action, set()).update(*(b.writes for b in outcomes))

    def rows(self, c: Columns) -> dict[str, Rows]:
        """Return the transitions out of a batch of states, by their actions."""
        everywhere = np.arange(c.count)
        parts_by_action = {
            action: [rows for command in commands for rows in command.rows(c, everywhere)]
            for action, commands in self.commands.items()
        }
        return {action: merge_rows(parts) for action, parts in parts_by_action.items() if parts}
