"""The transitions out of many states at once, of modules joined by their actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markov.files.binding import Bound
from markov.files.errors import FileError
from markov.files.program import Composition
from markov.files.states.commands import ModuleMoves, Rows, joined, together

if TYPE_CHECKING:
    from markov.files.columns import Columns

__all__ = ["Moves", "moves_of"]


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
            self.parts: list[Any] = [ModuleMoves(owner, owner.program.modules[composition.of[0]])]
        else:
            self.parts = [Moves(owner, part) for part in composition.of]
        alphabets = [part.alphabet for part in self.parts]
        self.alphabet: set[str] = set().union(*alphabets)
        self.writes: dict[str, set[int]] = {}
        self.shared = self._synchronised(alphabets)
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
                if self.how in ("shared", "only") and action in self.shared and written & mine:
                    name = owner.ranges[min(written & mine)].name
                    said = f"{name!r} is written by several modules in one transition [{action}]"
                    raise FileError((owner.program.file, owner.ranges[min(written & mine)].line), said)
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
        loose = [(a, r) for part in parts for a, r in part.items() if a not in self.shared]
        found = _gathered(loose)
        for action in self.shared:
            takers = [
                part
                for part, known in zip(parts, self.parts, strict=True)
                if self.how == "only" or action in known.alphabet
            ]
            if all(action in part for part in takers):
                rows = takers[0][action]
                for part in takers[1:]:
                    rows = joined(rows, part[action], c.count)
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
                    rows = joined(rows, parts[k][action], c.count)
                if len(rows):
                    found.append((whole, rows))
        found += [("", part[""]) for part in parts if "" in part]
        return _gathered(found)


def _gathered(found: list[tuple[str, Rows]]) -> dict[str, Rows]:
    by_action: dict[str, list[Rows]] = {}
    for action, rows in found:
        by_action.setdefault(action, []).append(rows)
    return {action: together(parts) for action, parts in by_action.items()}


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
