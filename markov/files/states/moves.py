"""The transitions out of many states at once, of modules joined by their actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markov.files.binding import Instance
from markov.files.errors import FileError
from markov.files.program import Composition
from markov.files.states.commands import ModuleMoves, Rows, merge_rows, synchronise

if TYPE_CHECKING:
    from markov.files.columns import Columns

__all__ = ["Moves", "moves_of"]


class Moves:
    """Transitions of a composition: a module, or several parts in parallel.

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
        """Return the actions on which parts synchronise."""
        if self.how == "only":
            return set(self.actions)
        if self.how != "shared":
            return set()
        return {a for a in self.alphabet if sum(a in alphabet for alphabet in alphabets) > 1}

    def _collect_writes(self, instance: Instance) -> None:
        """Refuse parts of one transition that write the same variable."""
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

    def rows(self, c: Columns) -> dict[str, Rows]:
        """Return the transitions out of a batch of states, by their actions; ``""``: without an action."""
        parts: list[dict[str, Rows]] = [part.rows(c) for part in self.parts]
        if self.how == "module":
            return parts[0]
        if self.how == "vectors":
            return self._by_vectors(parts, c)
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

    def _by_vectors(self, parts: list[dict[str, Rows]], c: Columns) -> dict[str, Rows]:
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
    by_action: dict[str, list[Rows]] = {}
    for action, rows in transitions:
        by_action.setdefault(action, []).append(rows)
    return {action: merge_rows(parts) for action, parts in by_action.items()}


def moves_of(instance: Instance) -> Moves:
    """Return the transitions of the whole program.

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
    if composition.how == "module":
        return list(composition.of)
    return [name for part in composition.of for name in _modules_in(part)]
