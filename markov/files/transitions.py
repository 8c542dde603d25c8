"""Transitions out of many states at once: commands, modules joined by their actions, and rewards of transitions.

In a transition a transient variable (JANI) has its initial value unless an edge assigns another. Rewards of transitions
are expressions of the variables after all assignments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.matrices import expand
from markov.computing.resources import check_room
from markov.files.language import FileError, Value, check_boolean
from markov.files.program import Branch, Command, Composition, Instance, Module, Program

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.files.language import Batch, Expression
    from markov.files.program import Transient

__all__ = [
    "NEGATIVE",
    "NO_ONE_VALUE",
    "GuardedCommand",
    "ModuleMoves",
    "Moves",
    "Rows",
    "StepRewards",
    "initial_values",
    "merge_rows",
    "moves_of",
    "synchronise",
    "transient_changes",
    "with_transient_names",
]

# -------------------------------------------------------------------------------- commands and modules


WRONG_RATE, OUTSIDE, NO_VALUE = 1, 2, 3
"""Faults of a transition: its rate, a variable out of its range, a transient variable without a unique finite value."""
NO_ONE_VALUE = "edges must assign it one finite value"
NEGATIVE = "; a law that is a difference has to be written as two reactions"
"""Remedy for reactions with such a fault."""


@dataclass(frozen=True)
class Rows:
    """Transitions out of a batch of states as arrays: source, rate, change of the state's number, fault.

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
        """Return the same transitions with other positions of their sources."""
        return replace(self, source=source)

    def take(self, indices: NDArray[np.int64]) -> Rows:
        """Return the transitions at these indices."""
        fault = None if self.fault is None else self.fault[indices]
        transient = None if self.transient is None else self.transient[:, indices]
        return Rows(self.source[indices], self.rate[indices], self.change[indices], fault, transient)


def merge_rows(parts: list[Rows]) -> Rows:
    """Return the transitions of several parts in one, stably sorted by source."""
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
    """Return all pairs of transitions of a and b from the same state: rates multiply, changes add up."""
    counts = np.bincount(b.source, minlength=states)
    starts = np.cumsum(counts) - counts
    times = counts[a.source]
    pairs = int(times.sum())
    check_room("synchronised transitions", 64.0 * pairs)
    first_rows, offsets = expand(times)
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
    """Return (index of the transient variable, value) of a branch's assignments to transient variables."""
    numbers = {name: k for k, name in enumerate(program.transient)}
    return [(numbers[change.name], change.value) for change in branch.transient if change.name in numbers]


class _Outcome:
    """One outcome of a command, evaluated over batches of states: rate, new values, transient values."""

    def __init__(self, instance: Instance, branch: Branch, command: Command, renamed: Any) -> None:
        self.line, names = command.line, {r.name: k for k, r in enumerate(instance.ranges)}
        error = instance.program.command_error
        self.rate = instance.scope.value(branch.rate, renamed)
        if self.rate.kind == "bool":
            raise error(command.line, "a rate is a truth value: must be a number")
        self.changes: list[tuple[int, Value]] = []
        self.ranges, self.escaped = instance.ranges, instance.escaped
        self.weights = instance.weights
        for change in branch.changes:
            name = renamed.get(change.name, change.name)
            if name not in names:
                raise error(change.line, f"{name!r} is no variable")
            value = instance.scope.value(change.value, renamed)
            variable_kind = instance.ranges[names[name]].kind
            if value.kind != variable_kind:
                raise error(change.line, f"{name}' = a {value.kind}: must be {variable_kind}")
            if names[name] in self.writes:
                raise error(change.line, f"{name}' is assigned twice")
            self.changes.append((names[name], value))
        self.width = len(instance.program.transient)
        self.transient = [
            (k, instance.scope.value(value, renamed)) for k, value in transient_changes(instance.program, branch)
        ]
        variables = list(instance.program.transient.values())
        for k, value in self.transient:
            if value.kind != variables[k].kind and (value.kind, variables[k].kind) != ("int", "double"):
                raise error(command.line, f"{variables[k].name!r} = a {value.kind}: must be {variables[k].kind}")

    @property
    def writes(self) -> set[int]:
        """Indices of the variables that the outcome changes."""
        return {k for k, _ in self.changes}

    @property
    def reads(self) -> set[int]:
        """Indices of the variables on which the transition depends, including the changed ones."""
        values = [self.rate, *(value for _, value in self.changes)]
        return self.writes.union(*(value.reads for value in values))

    def rows(self, c: Batch, sources: NDArray[np.int64]) -> Rows:
        """Return one transition for each state of ``c``; ``sources`` are the states' positions in the full batch."""
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


class GuardedCommand(NamedTuple):
    """A command, evaluated over batches of states: a condition and its outcomes."""

    guard: Value
    branches: list[_Outcome]

    @property
    def reads(self) -> set[int]:
        """Indices of the variables on which the command's transitions depend."""
        return set(self.guard.reads).union(*(branch.reads for branch in self.branches))

    def rows(self, c: Batch, everywhere: NDArray[np.int64]) -> list[Rows]:
        """Return the transitions out of a batch, one part per outcome; ``everywhere`` are all its positions."""
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
    """The transitions of one module, evaluated over batches of states, by action."""

    def __init__(self, instance: Instance, module: Module) -> None:
        self.name, self.alphabet = module.name, module.alphabet
        self.writes: dict[str, set[int]] = {}
        self.commands: dict[str, list[GuardedCommand]] = {}
        for command in module.commands:
            action = module.renamed.get(command.action, command.action)
            guard = instance.scope.value(command.guard, module.renamed)
            check_boolean(guard, instance.location(command.line), "a guard")
            if guard.fixed and not guard.single():
                self.commands.setdefault(action, [])
                continue
            outcomes = [_Outcome(instance, b, command, module.renamed) for b in command.branches]
            self.commands.setdefault(action, []).append(GuardedCommand(guard, outcomes))
            self.writes.setdefault(action, set()).update(*(b.writes for b in outcomes))

    def rows(self, c: Batch) -> dict[str, Rows]:
        """Return the module's transitions out of a batch of states, by action."""
        everywhere = np.arange(c.count)
        parts_by_action = {
            action: [rows for command in commands for rows in command.rows(c, everywhere)]
            for action, commands in self.commands.items()
        }
        return {action: merge_rows(parts) for action, parts in parts_by_action.items() if parts}


# ---------------------------------------------------------------------------------------- compositions


class Moves:
    """The transitions of a parallel composition, evaluated over batches of states, by action.

    Parameters
    ----------
    instance
        The program.
    composition
        Parallel composition of the parts.
    """

    def __init__(self, instance: Instance, composition: Composition) -> None:
        self.how, self.actions = composition.how, composition.actions
        if self.how == "module":
            self.parts: list[Any] = [ModuleMoves(instance, instance.program.modules[composition.of[0]])]
        else:
            self.parts = [Moves(instance, part) for part in composition.of]
        alphabets = [part.alphabet for part in self.parts]
        self.alphabet: set[str] = set().union(*alphabets)
        self.writes: dict[str, set[int]] = {}
        self.shared = self._shared_actions(alphabets)
        if self.how == "hidden":
            self.alphabet -= set(self.actions)
        elif self.how == "renamed":
            self.alphabet = {self.actions.get(a, a) for a in self.alphabet}
        elif self.how == "vectors":
            self.alphabet = {action for _, action in self.actions} - {""}
        self._collect_writes(instance)

    def _shared_actions(self, alphabets: list[set[str]]) -> set[str]:
        """Return the actions on which the parts synchronise."""
        if self.how == "only":
            return set(self.actions)
        if self.how != "shared":
            return set()
        return {a for a in self.alphabet if sum(a in alphabet for alphabet in alphabets) > 1}

    def _collect_writes(self, instance: Instance) -> None:
        """Record the variables that each action writes; FileError if two parts of a transition write the same."""
        for action in self.alphabet | {""}:
            written: set[int] = set()
            for part in self.parts:
                module_writes = part.writes.get(action, set())
                if self.how in ("shared", "only") and action in self.shared and written & module_writes:
                    name = instance.ranges[min(written & module_writes)].name
                    message = f"{name!r} is written by several modules in one transition [{action}]"
                    raise FileError(
                        (instance.program.file, instance.ranges[min(written & module_writes)].line), message
                    )
                written |= module_writes
            self.writes[action] = written
        if self.how in ("hidden", "renamed", "vectors"):
            everything = set().union(*(w for part in self.parts for w in part.writes.values()))
            self.writes = dict.fromkeys(self.alphabet | {""}, everything)

    def rows(self, c: Batch) -> dict[str, Rows]:
        """Return the transitions out of a batch of states, by action; ``""``: without an action."""
        parts: list[dict[str, Rows]] = [part.rows(c) for part in self.parts]
        if self.how == "module":
            return parts[0]
        if self.how == "vectors":
            return self._synchronise_vectors(parts, c)
        if self.how in ("hidden", "renamed"):
            names = dict.fromkeys(self.actions, "") if self.how == "hidden" else self.actions
            return _merge_by_action([(names.get(a, a), rows) for a, rows in parts[0].items()])
        unsynchronised = [(a, r) for part in parts for a, r in part.items() if a not in self.shared]
        merged = _merge_by_action(unsynchronised)
        for action in self.shared:
            participants = [
                part
                for part, part_moves in zip(parts, self.parts, strict=True)
                if self.how == "only" or action in part_moves.alphabet
            ]
            if all(action in part for part in participants):
                rows = participants[0][action]
                for part in participants[1:]:
                    rows = synchronise(rows, part[action], c.count)
                if len(rows):
                    merged[action] = rows
        return merged

    def _synchronise_vectors(self, parts: list[dict[str, Rows]], c: Batch) -> dict[str, Rows]:
        """Return the transitions by action where JANI lists which actions of the parts synchronise."""
        transitions: list[tuple[str, Rows]] = []
        for part_actions, action in self.actions:
            participants = [(k, part_action) for k, part_action in enumerate(part_actions) if part_action is not None]
            if participants and all(part_action in parts[k] for k, part_action in participants):
                rows = parts[participants[0][0]][participants[0][1]]
                for k, part_action in participants[1:]:
                    rows = synchronise(rows, parts[k][part_action], c.count)
                if len(rows):
                    transitions.append((action, rows))
        transitions += [("", part[""]) for part in parts if "" in part]
        return _merge_by_action(transitions)


def _merge_by_action(transitions: list[tuple[str, Rows]]) -> dict[str, Rows]:
    """Return the transitions of each action in one `Rows`."""
    by_action: dict[str, list[Rows]] = {}
    for action, rows in transitions:
        by_action.setdefault(action, []).append(rows)
    return {action: merge_rows(parts) for action, parts in by_action.items()}


def moves_of(instance: Instance) -> Moves:
    """Return the transitions of the whole program, to be evaluated over batches of states.

    Raises
    ------
    FileError
        If a module of the composition is not defined or occurs twice, or types are wrong.
    """
    composition = instance.program.composition
    assert composition is not None
    names = _modules_in(composition)
    location = instance.program.file, None
    for name in names:
        if name not in instance.program.modules:
            raise FileError(location, f"system: module {name!r} is not defined")
        if names.count(name) > 1:
            raise FileError(location, f"system: module {name!r} occurs twice")
    if missing := set(instance.program.modules) - set(names):
        raise FileError(location, f"system: module {min(missing)!r} does not occur")
    return Moves(instance, composition)


def _modules_in(composition: Composition) -> list[str]:
    """Return the names of the modules in a composition."""
    if composition.how == "module":
        return list(composition.of)
    return [name for part in composition.of for name in _modules_in(part)]


# ------------------------------------------------------------------------------ rewards of transitions


def initial_values(instance: Instance) -> list[Any]:
    """Return the initial values of the transient variables; FileError unless they are constants of their types."""
    return [_initial_value(variable, instance) for variable in instance.program.transient.values()]


def with_transient_names(instance: Instance) -> Instance:
    """Return the instance with transient variables as names, whose values are those in a transition."""
    variables = enumerate(instance.program.transient.values())
    return instance.with_names({variable.name: _transient_value(k, variable.kind) for k, variable in variables})


def _initial_value(variable: Transient, instance: Instance) -> Any:
    """Return the initial value of one transient variable."""
    value = instance.scope.value(variable.start)
    allowed_kinds = {"double": ("double", "int")}.get(variable.kind, (variable.kind,))
    if not value.fixed or value.kind not in allowed_kinds or not np.isfinite(value.single()):
        message = f"initial value of {variable.name!r}: must be a constant of type {variable.kind}, and finite"
        raise FileError((instance.program.file, None), message)
    return value.single()


class StepRewards:
    """Rewards that transitions earn (JANI), evaluated over many transitions at once.

    Parameters
    ----------
    instance
        The program.
    """

    def __init__(self, instance: Instance) -> None:
        self._starts = np.array(initial_values(instance), dtype=np.float64).reshape(-1, 1)
        after = with_transient_names(instance)
        self._values = {name: _step_reward(after, name) for name in instance.program.steps}

    def __len__(self) -> int:
        return len(self._values)

    def rewards(
        self, assigned_values: NDArray[np.float64] | None, targets: Callable[[NDArray[np.float64]], Batch]
    ) -> NDArray[np.float64]:
        """Return the reward that each transition earns, shape (rewards, transitions).

        Parameters
        ----------
        assigned_values
            Values of the transient variables, NaN without an assignment, shape (variables, transitions).
        targets
            Function from values of the transient variables to the batch of target states.
        """
        values = (
            np.zeros((0, 0))
            if assigned_values is None
            else np.where(np.isnan(assigned_values), self._starts, assigned_values)
        )
        c = targets(values)
        with np.errstate(all="ignore"):  # infinite and undefined values are refused
            rewards = [np.broadcast_to(np.asarray(v.run(c), dtype=np.float64), c.count) for v in self._values.values()]
        return np.array(rewards)


def _transient_value(k: int, kind: str) -> Value:
    """Return the typed expression of the transient variable of index ``k``."""
    converted: dict[str, Callable[[Batch], Any]] = {
        "double": lambda c: c.transient(k),
        "int": lambda c: c.transient(k).astype(np.int64),
        "bool": lambda c: c.transient(k) != 0.0,
    }
    return Value(kind, converted[kind])


def _step_reward(instance: Instance, name: str) -> Value:
    """Return the typed expression of a reward of transitions; FileError for a truth value."""
    tree = instance.program.steps[name]
    value = instance.scope.value(tree)
    if value.kind == "bool":
        raise FileError(instance.location(tree.line), f"a reward {name} is a truth value: must be a number")
    return value
