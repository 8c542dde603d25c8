"""A program's transitions as tables, each over the values of the few variables that its commands depend on.

A table has the rows of one module for one action. `markov.files.transitions` evaluates them, over the combinations of
values of these variables. `Tables` has all tables as arrays, for the compiled kernels of searches.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.files.language import Batch, FileError
from markov.files.transitions import GuardedCommand, ModuleMoves, Rows, merge_rows

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from markov.files.program import Instance
    from markov.files.transitions import Moves

__all__ = [
    "MAX_TABLE_SIZE",
    "Layout",
    "Table",
    "Tables",
    "TransitionTables",
    "synchronisation_groups",
    "table_arrays",
    "tabulate",
]

# ---------------------------------------------------------------------------------- tables of commands


MAX_TABLE_SIZE = 1 << 20  # combinations of values in the table of one command
MAX_SHARED_TABLE_SIZE = 1 << 12  # combinations up to which commands share a table: one look-up instead of several
MAX_TRANSITIONS = 1 << 14  # out of one state: size of the workspace
MAX_GROUPS = 1 << 12  # combinations of modules that synchronise
MAX_ROWS = 1 << 23  # in all tables together
COMBINATIONS_PER_CHUNK = 1 << 15  # combinations that are evaluated at once

Participant = tuple[ModuleMoves, str]
"""A module and the action by which it takes part."""


class Layout(NamedTuple):
    """Bit fields of the numbers of states: position and number of values of each variable, the last one lowest."""

    shifts: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def masks(self) -> list[int]:
        """Mask of each bit field, shifted to the lowest bit: 2^bits - 1, which may exceed the field's largest value."""
        return [(1 << (count - 1).bit_length()) - 1 for count in self.counts]

    @property
    def span(self) -> int:
        """Upper bound, exclusive, on the numbers of states: the size of a table by number, with unused bit patterns."""
        return self.counts[0] << self.shifts[0] if self.counts else 1


class Table(NamedTuple):
    """Transitions of one module for one action, over the combinations of values of the variables that they read."""

    digits: list[int]
    strides: list[int]
    size: int
    rows: Rows

    @property
    def widest(self) -> int:
        """Maximum number of transitions of one combination of values."""
        return int(np.bincount(self.rows.source, minlength=1).max())


class TransitionTables(NamedTuple):
    """A program's transitions as tables of modules, with the groups of tables that synchronise.

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
        """Upper bound on the number of transitions out of a state."""
        widest = [table.widest for table in self.tables]
        return sum(math.prod(widest[t] for t in group) for group in self.groups)


def tabulate(moves: Moves, instance: Instance, rewarded: Collection[str]) -> TransitionTables | None:
    """Return the program's transitions as tables; None if a command reads too many combinations of values.

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
    groups = synchronisation_groups(moves)
    if groups is None:
        return None
    tables: list[Table] = []
    table_ranges: dict[Participant, range] = {}
    for member in dict.fromkeys(member for _, members in groups for member in members):
        module, action = member
        built = _build_tables(module.commands[action], instance)
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


def synchronisation_groups(moves: Moves) -> list[tuple[str, tuple[Participant, ...]]] | None:
    """Return (action, participants) of all synchronisations; None for too many combinations of modules."""
    if moves.how == "module":
        (module,) = moves.parts
        return [(part_action, ((module, part_action),)) for part_action in module.commands]
    parts = []
    for part in moves.parts:
        if (part_groups := synchronisation_groups(part)) is None:
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
            (
                part_action,
                [
                    (k, part_action)
                    for k, part in enumerate(moves.parts)
                    if moves.how == "only" or part_action in part.alphabet
                ],
            )
            for part_action in sorted(moves.shared)
        ]
        alone = [group for part in parts for group in part if group[0] not in moves.shared]
    for action, participants in synchronisations:
        choices = [[m for name, m in parts[k] if name == part_action] for k, part_action in participants]
        if len(synchronised) + math.prod(map(len, choices)) > MAX_GROUPS:
            return None
        if choices:
            synchronised += [(action, sum(combination, ())) for combination in product(*choices)]
    return [*alone, *synchronised]


def _build_tables(commands: list[GuardedCommand], instance: Instance) -> list[Table] | None:
    """Return tables of commands, merged while they stay small; None if a command needs too large a table."""
    counts = [r.count for r in instance.ranges]

    def size(reads: set[int]) -> int:
        """Return the number of combinations of values of these variables."""
        return math.prod(counts[k] for k in reads)

    batches: list[tuple[set[int], list[GuardedCommand]]] = []
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
        return [_build_table(sorted(reads), batch, instance) for reads, batch in batches]
    except FileError:  # in states that may be unreachable: the search reports reachable states
        return None


def _build_table(variables: list[int], commands: list[GuardedCommand], instance: Instance) -> Table:
    """Return the table of commands over all combinations of values of the variables that they read."""
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
        c = Batch(codes)
        everywhere = np.arange(len(combinations))
        with np.errstate(all="ignore"):  # infinite and undefined values show in the rates
            parts = [rows for command in commands for rows in command.rows(c, everywhere)]
        chunks += [rows.at(rows.source + low) for rows in ([merge_rows(parts)] if parts else [])]
    return Table(variables, strides, size, merge_rows(chunks))


# ---------------------------------------------------------------------------------- arrays for kernels


MAX_CHOICES = 1 << 20  # values of a digit times groups


class Tables(NamedTuple):
    """All tables of a program as arrays for the compiled kernels, with workspace for one state.

    Attributes
    ----------
    shift, mask
        Position of the digit of a state's number that selects groups.
    starts, chosen
        For a value v of this digit, the groups ``chosen[starts[v]:starts[v + 1]]`` may have transitions.
    terms
        Group g combines the rows of the terms ``terms[g] .. terms[g + 1] - 1``.
    keys, first, indptr
        A term has a key, which depends on the state. For a value e of the key, the rows are
        ``indptr[first[term] + e]`` .. ``indptr[first[term] + e + 1] - 1``.
    rates, changes
        Rates of the rows in 1/s, NaN if the command fails, and changes of the state's number. Behind the rows is a
        workspace for the maximum number of transitions of a state, combined from rows.
    rewarded
        Index of each group's action among the actions with rewards; -1 without a reward.
    reads, shifts, masks, strides
        The value of key k is the sum of digits times strides over ``reads[k]`` .. ``reads[k + 1] - 1``.
    values
        Workspace for the values of the keys in one state.
    most
        Maximum number of transitions out of a state.
    """

    shift: int
    mask: int
    starts: NDArray[np.int64]
    chosen: NDArray[np.int64]
    terms: NDArray[np.int64]
    keys: NDArray[np.int64]
    first: NDArray[np.int64]
    indptr: NDArray[np.int64]
    rates: NDArray[np.float64]
    changes: NDArray[np.int64]
    rewarded: NDArray[np.int64]
    reads: NDArray[np.int64]
    shifts: NDArray[np.int64]
    masks: NDArray[np.int64]
    strides: NDArray[np.int64]
    values: NDArray[np.int64]
    max_transitions: int


def table_arrays(transitions: TransitionTables) -> Tables:
    """Return the tables of transitions as arrays for the kernels.

    Groups are in the order of their changes, so that the targets of a state are nearly ascending, and its row sorted.
    """
    means = [_mean_change(table) for table in transitions.tables]
    order = sorted(range(len(transitions.groups)), key=lambda g: sum(means[t] for t in transitions.groups[g]))
    groups = [transitions.groups[g] for g in order]
    digit, starts, chosen = _most_selective_field(transitions, groups)
    rows = [table.rows for table in transitions.tables]
    before = np.cumsum([0, *map(len, rows)])
    indptr = [
        np.append(0, np.cumsum(np.bincount(table.rows.source, minlength=table.size))) + start
        for table, start in zip(transitions.tables, before, strict=False)
    ]
    first = _offsets(indptr)
    rates = [part.rate if part.fault is None else np.where(part.fault != 0, np.nan, part.rate) for part in rows]
    keys: dict[tuple[int, ...], int] = {}
    for table in transitions.tables:
        keys.setdefault(tuple(table.digits), len(keys))
    reads = [k for digits in keys for k in digits]
    strides = {tuple(table.digits): table.strides for table in transitions.tables}
    layout, none, workspace = transitions.layout, np.zeros(0, dtype=np.int64), np.zeros(transitions.max_transitions)
    terms = [t for group in groups for t in group]
    return Tables(
        layout.shifts[digit] if layout.counts else 0,
        layout.masks[digit] if layout.counts else 0,
        starts,
        chosen,
        _offsets(groups),
        np.array([keys[tuple(transitions.tables[t].digits)] for t in terms], dtype=np.int64),
        np.array([first[t] for t in terms], dtype=np.int64),
        np.concatenate([*indptr, none]),
        np.concatenate([*rates, workspace]),
        np.concatenate([*(part.change for part in rows), workspace.astype(np.int64)]),
        np.array([transitions.rewarded[g] for g in order], dtype=np.int64),
        _offsets(list(keys)),
        np.array([layout.shifts[k] for k in reads], dtype=np.int64),
        np.array([layout.masks[k] for k in reads], dtype=np.int64),
        np.array([stride for digits in keys for stride in strides[digits]], dtype=np.int64),
        np.zeros(len(keys), dtype=np.int64),
        transitions.max_transitions,
    )


def _most_selective_field(
    transitions: TransitionTables, groups: list[tuple[int, ...]]
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the bit field with fewest groups per value, and the groups of each value as offsets and indices."""
    choice = 0, np.array([0, len(groups)]), np.arange(len(groups))
    best_mean = math.inf
    for k, count in enumerate(transitions.layout.counts):
        if count * len(groups) > MAX_CHOICES:
            continue
        rows_by_table = {
            t: _values_with_rows(table, k, count) for t, table in enumerate(transitions.tables) if k in table.digits
        }
        possible = np.ones((count, len(groups)), dtype=bool)
        for g, group in enumerate(groups):
            for t in rows_by_table.keys() & set(group):
                possible[:, g] &= rows_by_table[t]
        if possible.mean() < best_mean:
            best_mean = float(possible.mean())
            per_value = possible.sum(axis=1)
            choice = k, np.append(0, np.cumsum(per_value)), np.nonzero(possible)[1]
    return choice


def _values_with_rows(table: Table, digit: int, count: int) -> NDArray[np.bool_]:
    """Return whether a table has transitions for each value of a variable, booleans of shape (count,)."""
    stride = table.strides[table.digits.index(digit)]
    has_rows = np.zeros(count, dtype=bool)
    has_rows[table.rows.source // stride % count] = True
    return has_rows


def _mean_change(table: Table) -> float:
    """Return the mean change of the state's number over a table's transitions; 0 without any."""
    count = len(table.rows)
    return float(table.rows.change.sum(dtype=np.float64)) / count if count else 0.0


def _offsets(parts: Collection[Collection[object]]) -> NDArray[np.int64]:
    """Return the offsets of parts in their concatenation: the start of each part, and the end."""
    return np.cumsum([0, *map(len, parts)])
