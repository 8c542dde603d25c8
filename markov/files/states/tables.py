"""A program's transitions as tables, each over the values of the few variables that its commands depend on.

A table has the rows of one module for one action, made by the same evaluation as that of many states at
once, `markov.files.states.commands`, but over the combinations of values of these variables alone.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.files.columns import Columns
from markov.files.errors import FileError
from markov.files.states.commands import Guarded, ModuleMoves, Rows, together

if TYPE_CHECKING:
    from collections.abc import Collection

    from markov.files.binding import Bound
    from markov.files.states.moves import Moves

__all__ = ["LARGEST", "Layout", "Table", "Tabulated", "groups_of", "tabulated"]

LARGEST = 1 << 20  # combinations of values in the table of one command
MERGED = 1 << 12  # combinations up to which commands share a table: one look-up instead of several
MAX_TRANSITIONS = 1 << 14  # out of one state, which room is kept for
MAX_GROUPS = 1 << 12  # combinations of modules that synchronise
MAX_ROWS = 1 << 23  # in all tables together
CHUNK = 1 << 15  # combinations that are evaluated at once

Participant = tuple[ModuleMoves, str]
"""A module and the action by which it takes part."""


class Layout(NamedTuple):
    """Digits of the numbers of states: where they are, and how many values each has; the last one is the lowest."""

    shifts: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def masks(self) -> list[int]:
        """The bits of each digit, shifted to the right."""
        return [(1 << (count - 1).bit_length()) - 1 for count in self.counts]

    @property
    def span(self) -> int:
        """One more than the largest number."""
        return self.counts[0] << self.shifts[0] if self.counts else 1


class Table(NamedTuple):
    """Rows over the combinations of values of some digits, the last one varying fastest."""

    digits: list[int]
    strides: list[int]
    size: int
    rows: Rows

    @property
    def widest(self) -> int:
        """Most rows of one combination."""
        return int(np.bincount(self.rows.source, minlength=1).max())


class Tabulated(NamedTuple):
    """A program's transitions as tables.

    Attributes
    ----------
    layout
        Digits of the numbers of states.
    tables
        Rows of modules for actions.
    groups
        Tables that synchronise: every combination of their rows is a transition.
    rewarded
        Which of the actions with rewards each group has, -1: none.
    """

    layout: Layout
    tables: list[Table]
    groups: list[tuple[int, ...]]
    rewarded: list[int]

    @property
    def most(self) -> int:
        """Transitions that a state may have, at most."""
        widest = [table.widest for table in self.tables]
        return sum(math.prod(widest[t] for t in group) for group in self.groups)


def tabulated(moves: Moves, bound: Bound, rewarded: Collection[str]) -> Tabulated | None:
    """Return the transitions as tables; None where a command depends on too many values.

    Parameters
    ----------
    moves
        The program's transitions.
    bound
        The program, with the ranges of its variables.
    rewarded
        Actions with rewards, in the order in which they are numbered.
    """
    if bound.program.steps or bound.shifts is None:
        return None
    groups = groups_of(moves)
    if groups is None:
        return None
    tables: list[Table] = []
    places: dict[Participant, range] = {}
    for member in dict.fromkeys(member for _, members in groups for member in members):
        module, action = member
        made = _tables_of(module.commands[action], bound)
        if made is None:
            return None
        places[member] = range(len(tables), len(tables) + len(made))
        tables += made
        if sum(len(table.rows) for table in tables) > MAX_ROWS:
            return None
    order = {action: k for k, action in enumerate(rewarded)}
    combined: list[tuple[int, ...]] = []
    actions: list[int] = []
    for action, members in groups:
        choices = [places[member] for member in members]
        if len(combined) + math.prod(map(len, choices)) > MAX_GROUPS:
            return None
        combined += product(*choices)
        actions += [order.get(action, -1)] * (len(combined) - len(actions))
    layout = Layout(bound.shifts, tuple(r.count for r in bound.ranges))
    found = Tabulated(layout, tables, combined, actions)
    return found if found.most <= MAX_TRANSITIONS else None


def groups_of(moves: Moves) -> list[tuple[str, tuple[Participant, ...]]] | None:
    """Return which modules move together under which action; None: too many combinations."""
    if moves.how == "module":
        (module,) = moves.parts
        return [(action, ((module, action),)) for action in module.commands]
    parts = []
    for part in moves.parts:
        if (found := groups_of(part)) is None:
            return None
        parts.append(found)
    if moves.how in ("hidden", "renamed"):
        names = dict.fromkeys(moves.actions, "") if moves.how == "hidden" else moves.actions
        return [(names.get(action, action), members) for action, members in parts[0]]
    made: list[tuple[str, tuple[Participant, ...]]] = []
    if moves.how == "vectors":
        wanted = [(whole, list(enumerate(given))) for given, whole in moves.actions]
        wanted = [(whole, [g for g in given if g[1] is not None]) for whole, given in wanted]
        alone = [group for part in parts for group in part if not group[0]]
    else:
        wanted = [
            (action, [(k, action) for k, part in enumerate(moves.parts)
                      if moves.how == "only" or action in part.alphabet])
            for action in sorted(moves.shared)
        ]  # fmt: skip
        alone = [group for part in parts for group in part if group[0] not in moves.shared]
    for whole, takers in wanted:
        choices = [[m for name, m in parts[k] if name == action] for k, action in takers]
        if len(made) + math.prod(map(len, choices)) > MAX_GROUPS:
            return None
        if choices:
            made += [(whole, sum(chosen, ())) for chosen in product(*choices)]
    return [*alone, *made]


def _tables_of(commands: list[Guarded], bound: Bound) -> list[Table] | None:
    """Return the tables of commands, few that are small and those with more variables apart."""
    counts = [r.count for r in bound.ranges]

    def size(reads: set[int]) -> int:
        return math.prod(counts[k] for k in reads)

    lots: list[tuple[set[int], list[Guarded]]] = []
    for command in sorted(commands, key=lambda command: -size(command.reads)):
        for k, (reads, lot) in enumerate(lots):
            if size(reads | command.reads) <= max(MERGED, size(reads)):
                lots[k] = reads | command.reads, [*lot, command]
                break
        else:
            lots.append((command.reads, [command]))
    if any(size(reads) > LARGEST for reads, _ in lots):
        return None
    try:
        return [_table(sorted(reads), lot, bound) for reads, lot in lots]
    except FileError:  # in states that are perhaps never reached: those that are will tell
        return None


def _table(variables: list[int], commands: list[Guarded], bound: Bound) -> Table:
    counts = [bound.ranges[k].count for k in variables]
    strides = [math.prod(counts[k + 1 :]) for k in range(len(counts))]
    size = math.prod(counts)
    none = np.zeros(0, dtype=np.int64)
    found = [Rows(none, np.zeros(0), none)]
    lows = np.array([[r.low] for r in bound.ranges], dtype=np.int64).reshape(-1, 1)
    for low in range(0, size, CHUNK):
        entries = np.arange(low, min(low + CHUNK, size))
        codes = np.repeat(lows, len(entries), axis=1)
        for k, stride, count in zip(variables, strides, counts, strict=True):
            codes[k] += entries // stride % count * bound.ranges[k].step
        c = Columns(codes)
        everywhere = np.arange(len(entries))
        with np.errstate(all="ignore"):  # what is infinite or none shows in the rates
            parts = [rows for command in commands for rows in command.rows(c, everywhere)]
        found += [rows.at(rows.source + low) for rows in ([together(parts)] if parts else [])]
    return Table(variables, strides, size, together(found))
