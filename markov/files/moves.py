"""The transitions out of many states at once, module by module and joined by their actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.memory import check_room
from markov.files.binding import Bound
from markov.files.errors import FileError
from markov.files.program import Branch, Command, Composition, Module
from markov.files.values import Value, boolean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.columns import Columns

__all__ = ["Moves", "Rows", "moves_of"]

WRONG_RATE, OUTSIDE = 1, 2


@dataclass(frozen=True)
class Rows:
    """Transitions out of some states.

    Attributes
    ----------
    source
        Which of the states, ascending, shape (rows,).
    rate
        In 1/s, shape (rows,).
    change
        By how much the state's number changes, shape (rows,).
    fault
        0, or line * 4 plus what is wrong with the command there; None: nothing is.
    gains
        Rewards that are earned on the way, shape (rewards, rows); None: nothing.
    """

    source: NDArray[np.int64]
    rate: NDArray[np.float64]
    change: NDArray[np.int64]
    fault: NDArray[np.int64] | None = None
    gains: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.source)

    def taken(self, places: NDArray[np.int64]) -> Rows:
        """Return some of the rows."""
        fault = None if self.fault is None else self.fault[places]
        gains = None if self.gains is None else self.gains[:, places]
        return Rows(self.source[places], self.rate[places], self.change[places], fault, gains)


def _together(parts: list[Rows]) -> Rows:
    """Return rows of several parts, in the order of their sources."""
    if len(parts) == 1:
        return parts[0]
    fault = gains = None
    if any(part.fault is not None for part in parts):
        fault = np.concatenate(
            [np.zeros(len(p), np.int64) if p.fault is None else p.fault for p in parts]
        )
    widths = [len(part.gains) for part in parts if part.gains is not None]
    if widths:
        shape = widths[0]
        gains = np.concatenate(
            [np.zeros((shape, len(p))) if p.gains is None else p.gains for p in parts], axis=1
        )
    sources = np.concatenate([part.source for part in parts])
    rates = np.concatenate([part.rate for part in parts])
    changes = np.concatenate([part.change for part in parts])
    rows = Rows(sources, rates, changes, fault, gains)
    return rows.taken(np.argsort(sources, kind="stable"))


def _joined(a: Rows, b: Rows, states: int) -> Rows:
    """Return every pair of rows with the same source: rates multiply, changes add up."""
    counts = np.bincount(b.source, minlength=states)
    starts = np.cumsum(counts) - counts
    times = counts[a.source]
    total = int(times.sum())
    check_room("synchronised transitions", 64.0 * total)
    left = np.repeat(np.arange(len(a)), times)
    within = np.arange(total) - np.repeat(np.cumsum(times) - times, times)
    x, y = a.taken(left), b.taken(starts[a.source[left]] + within)
    fault = (
        x.fault if y.fault is None else y.fault if x.fault is None else np.maximum(x.fault, y.fault)
    )
    gains = x.gains if y.gains is None else y.gains if x.gains is None else x.gains + y.gains
    return Rows(x.source, x.rate * y.rate, x.change + y.change, fault, gains)


class _Branch:
    """One outcome of a command."""

    def __init__(self, owner: Bound, branch: Branch, command: Command, renamed: Any) -> None:
        self.line, names = command.line, {r.name: k for k, r in enumerate(owner.ranges)}
        place = owner.place(command.line)
        self.rate = owner.scope.value(branch.rate, renamed)
        if self.rate.kind == "bool":
            raise FileError(place, "a rate is a truth value: must be a number")
        self.changes: list[tuple[int, Value]] = []
        self.ranges = owner.ranges
        self.weights = owner.weights
        for change in branch.changes:
            name, where = renamed.get(change.name, change.name), owner.place(change.line)
            if name not in names:
                raise FileError(where, f"{name!r} is no variable")
            value = owner.scope.value(change.value, renamed)
            kind = owner.ranges[names[name]].kind
            if value.kind != kind:
                raise FileError(where, f"{name}' = a {value.kind}: must be {kind}")
            if names[name] in self.writes:
                raise FileError(where, f"{name}' is assigned twice")
            self.changes.append((names[name], value))
        rewards = {name: k for k, name in enumerate(owner.program.transient)}
        self.width = len(rewards)
        self.gains = [
            (rewards[gain.name], owner.scope.value(gain.value, renamed)) for gain in branch.gains
        ]

    @property
    def writes(self) -> set[int]:
        return {k for k, _ in self.changes}

    def rows(self, c: Columns, sources: NDArray[np.int64]) -> Rows:
        """Return one row for each of the states of ``c``, which are called ``sources``."""
        given = np.asarray(self.rate.run(c), dtype=np.float64)
        rate = np.broadcast_to(given, c.count)
        fault = None
        wrong = ~(np.isfinite(given) & (given >= 0.0))
        if np.any(wrong):
            fault = np.where(np.broadcast_to(wrong, c.count), 4 * self.line + WRONG_RATE, 0)
        change = np.zeros(c.count, dtype=np.int64)
        for k, value in self.changes:
            new = np.asarray(value.run(c))
            r = self.ranges[k]
            if not (r.low <= value.low and value.high <= r.high):
                out = (new < r.low) | (new > r.high)
                if np.any(out):
                    fault = np.zeros(c.count, np.int64) if fault is None else fault
                    fault[np.broadcast_to(out, c.count)] = 4 * self.line + OUTSIDE
            change += self.weights[k] * (new.astype(np.int64) - c.codes[k])
        gains = None
        if self.width:
            gains = np.zeros((self.width, c.count))
            for k, value in self.gains:
                gains[k] = value.run(c)
        return Rows(sources, rate, change, fault, gains)


class _ModuleMoves:
    """Transitions of a module, by action."""

    def __init__(self, owner: Bound, module: Module) -> None:
        self.alphabet = module.alphabet
        self.writes: dict[str, set[int]] = {}
        self.commands: dict[str, list[tuple[Value, list[_Branch]]]] = {}
        for command in module.commands:
            action = module.renamed.get(command.action, command.action)
            guard = owner.scope.value(command.guard, module.renamed)
            boolean(guard, owner.place(command.line), "a guard")
            if guard.fixed and not guard.single():
                self.commands.setdefault(action, [])
                continue
            made = [_Branch(owner, b, command, module.renamed) for b in command.branches]
            self.commands.setdefault(action, []).append((guard, made))
            self.writes.setdefault(action, set()).update(*(b.writes for b in made))

    def rows(self, c: Columns) -> dict[str, Rows]:
        found: dict[str, Rows] = {}
        everywhere = np.arange(c.count)
        for action, commands in self.commands.items():
            parts = []
            for guard, branches in commands:
                holds = guard.run(c)
                if isinstance(holds, np.ndarray):
                    places = np.flatnonzero(np.broadcast_to(holds, c.count))
                else:
                    places = everywhere if holds else everywhere[:0]
                if len(places):
                    part = c.take(places)
                    parts += [branch.rows(part, places) for branch in branches]
            if parts:
                found[action] = _together(parts)
        return found


class Moves:
    """Transitions of a composition: a module, or several parts in parallel.

    Parameters
    ----------
    owner
        The program.
    composition
        How the parts run.
    """

    def __init__(self, owner: Bound, composition: Composition) -> None:
        self.how, self.actions = composition.how, composition.actions
        if self.how == "module":
            self.parts: list[Any] = [_ModuleMoves(owner, owner.program.modules[composition.of[0]])]
        else:
            self.parts = [Moves(owner, part) for part in composition.of]
        alphabets = [part.alphabet for part in self.parts]
        self.alphabet: set[str] = set().union(*alphabets)
        self.writes: dict[str, set[int]] = {}
        self._shared = self._synchronised(alphabets)
        if self.how == "hidden":
            self.alphabet -= set(self.actions)
        elif self.how == "renamed":
            self.alphabet = {self.actions.get(a, a) for a in self.alphabet}
        elif self.how == "vectors":
            self.alphabet = {whole for _, whole in self.actions} - {""}
        self._collect_writes(owner)

    def _synchronised(self, alphabets: list[set[str]]) -> set[str]:
        """Return the actions that more than one part takes part in together."""
        if self.how == "only":
            return set(self.actions)
        if self.how != "shared":
            return set()
        return {a for a in self.alphabet if sum(a in found for found in alphabets) > 1}

    def _collect_writes(self, owner: Bound) -> None:
        """Refuse parts of one transition that write the same variable."""
        for action in self.alphabet | {""}:
            written: set[int] = set()
            for part in self.parts:
                mine = part.writes.get(action, set())
                if self.how in ("shared", "only") and action in self._shared and written & mine:
                    name = owner.ranges[min(written & mine)].name
                    said = f"{name!r} is written by several modules in one transition [{action}]"
                    raise FileError(
                        (owner.program.file, owner.ranges[min(written & mine)].line), said
                    )
                written |= mine
            self.writes[action] = written
        if self.how in ("hidden", "renamed", "vectors"):
            everything = set().union(*(w for part in self.parts for w in part.writes.values()))
            self.writes = dict.fromkeys(self.alphabet | {""}, everything)

    def rows(self, c: Columns) -> dict[str, Rows]:
        """Return the transitions out of some states, by their actions; ``""`` has none."""
        parts: list[dict[str, Rows]] = [part.rows(c) for part in self.parts]
        if self.how == "module":
            return parts[0]
        if self.how == "vectors":
            return self._by_vectors(parts, c)
        if self.how in ("hidden", "renamed"):
            names = dict.fromkeys(self.actions, "") if self.how == "hidden" else self.actions
            return _gathered([(names.get(a, a), rows) for a, rows in parts[0].items()])
        loose = [(a, r) for part in parts for a, r in part.items() if a not in self._shared]
        found = _gathered(loose)
        for action in self._shared:
            takers = [
                part
                for part, known in zip(parts, self.parts, strict=True)
                if self.how == "only" or action in known.alphabet
            ]
            if all(action in part for part in takers):
                rows = takers[0][action]
                for part in takers[1:]:
                    rows = _joined(rows, part[action], c.count)
                if len(rows):
                    found[action] = rows
        return found

    def _by_vectors(self, parts: list[dict[str, Rows]], c: Columns) -> dict[str, Rows]:
        found: list[tuple[str, Rows]] = []
        for given, whole in self.actions:
            takers = [(k, action) for k, action in enumerate(given) if action is not None]
            if takers and all(action in parts[k] for k, action in takers):
                rows = parts[takers[0][0]][takers[0][1]]
                for k, action in takers[1:]:
                    rows = _joined(rows, parts[k][action], c.count)
                if len(rows):
                    found.append((whole, rows))
        found += [("", part[""]) for part in parts if "" in part]
        return _gathered(found)


def _gathered(found: list[tuple[str, Rows]]) -> dict[str, Rows]:
    by_action: dict[str, list[Rows]] = {}
    for action, rows in found:
        by_action.setdefault(action, []).append(rows)
    return {action: _together(parts) for action, parts in by_action.items()}


def moves_of(owner: Bound) -> Moves:
    """Return the transitions of the whole program.

    Raises
    ------
    FileError
        When a module of the composition is not defined or occurs twice, or types are wrong.
    """
    composition = owner.program.composition
    assert composition is not None
    names = _modules_in(composition)
    place = owner.program.file, None
    for name in names:
        if name not in owner.program.modules:
            raise FileError(place, f"system: module {name!r} is not defined")
        if names.count(name) > 1:
            raise FileError(place, f"system: module {name!r} occurs twice")
    if missing := set(owner.program.modules) - set(names):
        raise FileError(place, f"system: module {min(missing)!r} does not occur")
    return Moves(owner, composition)


def _modules_in(composition: Composition) -> list[str]:
    if composition.how == "module":
        return list(composition.of)
    return [name for part in composition.of for name in _modules_in(part)]
