"""A program's transitions as tables, each over the values of the few variables that its commands depend on.

A table has the rows of one module for one action. `markov.files.states.commands` evaluates them, over the combinations
of values of these variables.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.files.columns import Columns
from markov.files.errors import FileError
from markov.files.states.commands import Guarded, ModuleMoves, Rows, merge_rows

if TYPE_CHECKING:
    from collections.abc import Collection

    from markov.files.binding import Instance
    from markov.files.states.moves import Moves

__all__ = ["MAX_TABLE_SIZE", "Layout", "Table", "TransitionTables", "groups_of", "tabulate"]

MAX_TABLE_SIZE = 1 << 20  # combinations of values in the table of one command
MAX_SHARED_TABLE_SIZE = 1 << 12  # combinations up to which commands share a table: one look-up instead of several
MAX_TRANSITIONS = 1 << 14  # out of one state, which room is kept for
MAX_GROUPS = 1 << 12  # combinations of modules that synchronise
MAX_ROWS = 1 << 23  # in all tables together
COMBINATIONS_PER_CHUNK = 1 << 15  # combinations that are evaluated at once

Participant = tuple[ModuleMoves, str]
"""A module and the action by which it takes part."""


class Layout(NamedTuple):
    """Digits of the numbers of states: their positions and numbers of values; the last digit is the lowest."""

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
    """Rows over the combinations of values of digits, the last digit varying fastest."""

    digits: list[int]
    strides: list[int]
    size: int
    rows: Rows

    @property
    def widest(self) -> int:
        """Maximum number of rows of one combination."""
        return int(np.bincount(self.rows.source, minlength=1).max())


class TransitionTables(NamedTuple):
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
        Index of each group's action among the actions with rewards; -1 without a reward.
    """

    layout: Layout
    tables: list[Table]
    groups: list[tuple[int, ...]]
    rewarded: list[int]

    @property
    def max_transitions(self) -> int:
        """Maximum number of transitions out of a state."""
        widest = [table.widest for table in self.tables]
        return sum(math.prod(widest[t] for t in group) for group in self.groups)


def tabulate(moves: Moves, instance: Instance, rewarded: Collection[str]) -> TransitionTables | None:
    """Return the transitions as tables; None if a command depends on too many values.

    Parameters
    ----------
    moves
        The program's transitions.
    instance
        The program, with the ranges of its variables.
    rewarded
        Actions with rewards, in the order in which they are numbered.
    """
    if instance.program.steps or instance.shifts is None:
        return None
    groups = groups_of(moves)
    if groups is None:
        return None
    tables: list[Table] = []
    table_ranges: dict[Participant, range] = {}
    for member in dict.fromkeys(member for _, members in groups for member in members):
        module, action = member
        built = _tables_of(module.commands[action], instance)
        if built is None:
            return None
        table_ranges[member] = range(len(tables), len(tables) + len(built))
        tables += built
        if sum(len(table.rows) for table in tables) > MAX_ROWS:
            return None
    order = {action: k for k, action in enumerate(rewarded)}
    combined: list[tuple[int, ...]] = []
    rewarded_numbers: list[int] = []
    for action, members in groups:
        choices = [table_ranges[member] for member in members]
        if len(combined) + math.prod(map(len, choices)) > MAX_GROUPS:
            return None
        combined += product(*choices)
        rewarded_numbers += [order.get(action, -1)] * (len(combined) - len(rewarded_numbers))
    layout = Layout(instance.shifts, tuple(r.count for r in instance.ranges))
    result = TransitionTables(layout, tables, combined, rewarded_numbers)
    return result if result.max_transitions <= MAX_TRANSITIONS else None


def groups_of(moves: Moves) -> list[tuple[str, tuple[Participant, ...]]] | None:
    """Return the actions with the modules that move together; None for too many combinations."""
    if moves.how == "module":
        (module,) = moves.parts
        return [(part_action, ((module, part_action),)) for part_action in module.commands]
    parts = []
    for part in moves.parts:
        if (part_groups := groups_of(part)) is None:
            return None
        parts.append(part_groups)
    if moves.how in ("hidden", "renamed"):
        names = dict.fromkeys(moves.actions, "") if moves.how == "hidden" else moves.actions
        return [(names.get(part_action, part_action), members) for part_action, members in parts[0]]
    synchronised: list[tuple[str, tuple[Participant, ...]]] = []
    if moves.how == "vectors":
        synchronisations = [(action, list(enumerate(part_actions))) for part_actions, action in moves.actions]
        synchronisations = [
            (action, [g for g in part_actions if g[1] is not None]) for action, part_actions in synchronisations
        ]
        alone = [group for part in parts for group in part if not group[0]]
    else:
        synchronisations = [
            (part_action, [(k, part_action) for k, part in enumerate(moves.parts)
                      if moves.how == "only" or part_action in part.alphabet])
            for part_action in sorted(moves.shared)
        ]  # fmt: skip
        alone = [group for part in parts for group in part if group[0] not in moves.shared]
    for action, participants in synchronisations:
        choices = [[m for name, m in parts[k] if name == part_action] for k, part_action in participants]
        if len(synchronised) + math.prod(map(len, choices)) > MAX_GROUPS:
            return None
        if choices:
            synchronised += [(action, sum(combination, ())) for combination in product(*choices)]
    return [*alone, *synchronised]


def _tables_of(commands: list[Guarded], instance: Instance) -> list[Table] | None:
    """Return the tables of commands: small tables are merged, commands with more variables have separate tables."""
    counts = [r.count for r in instance.ranges]

    def size(reads: set[int]) -> int:
        return math.prod(counts[k] for k in reads)

    batches: list[tuple[set[int], list[Guarded]]] = []
    for command in sorted(commands, key=lambda command: -size(command.reads)):
        for k, (reads, batch) in enumerate(batches):
            if size(reads | command.reads) <= max(MAX_SHARED_TABLE_SIZE, size(reads)):
                batches[k] = reads | command.reads, [*batch, command]
                break
        else:
            batches.append((command.reads, [command]))
    if any(size(reads) > MAX_TABLE_SIZE for reads, _ in batches):
        return None
    try:
        return [_table(sorted(reads), batch, instance) for reads, batch in batches]
    except FileError:  # in states that are perhaps never reached: those that are will tell
        return None


def _table(variables: list[int], commands: list[Guarded], instance: Instance) -> Table:
    counts = [instance.ranges[k].count for k in variables]
    strides = [math.prod(counts[k + 1 :]) for k in range(len(counts))]
    size = math.prod(counts)
    empty = np.zeros(0, dtype=np.int64)
    chunks = [Rows(empty, np.zeros(0), empty)]
    lows = np.array([[r.low] for r in instance.ranges], dtype=np.int64).reshape(-1, 1)
    for low in range(0, size, COMBINATIONS_PER_CHUNK):
        combinations = np.arange(low, min(low + COMBINATIONS_PER_CHUNK, size))
        codes = np.repeat(lows, len(combinations), axis=1)
        for k, stride, count in zip(variables, strides, counts, strict=True):
            codes[k] += combinations // stride % count * instance.ranges[k].step
        c = Columns(codes)
        everywhere = np.arange(len(combinations))
        with np.errstate(all="ignore"):  # what is infinite or none shows in the rates
            parts = [rows for command in commands for rows in command.rows(c, everywhere)]
        chunks += [rows.at(rows.source + low) for rows in ([merge_rows(parts)] if parts else [])]
    return Table(variables, strides, size, merge_rows(chunks))
