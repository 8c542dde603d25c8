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

    from numpy.typing import NDArray

    from markov.files.binding import Bound
    from markov.files.states.moves import Moves

__all__ = ["Tables", "groups_of", "tabulated"]

LARGEST = 1 << 20  # combinations of values in the table of one command
MERGED = 1 << 12  # combinations up to which commands share a table: one look-up instead of several
MAX_TRANSITIONS = 1 << 14  # out of one state, which room is kept for
MAX_GROUPS = 1 << 12  # combinations of modules that synchronise
MAX_ROWS = 1 << 23  # in all tables together
CHUNK = 1 << 15  # combinations that are evaluated at once

Participant = tuple[ModuleMoves, str]
"""A module and the action by which it takes part."""


class Tables(NamedTuple):
    """Transitions by groups of modules that move together, as arrays for the kernel of the search.

    Attributes
    ----------
    group_parts, parts
        Group g synchronises the participants ``parts[group_parts[g]:group_parts[g + 1]]``.
    part_tables
        Participant p has the rows of the tables ``part_tables[p] .. part_tables[p + 1] - 1``.
    table_reads, variables, strides
        Table t depends on the variables of ``table_reads[t] .. table_reads[t + 1] - 1``; its entry is
        the sum of their strides times their values, counted from 0.
    first, indptr
        Entry e of table t has the rows ``indptr[first[t] + e] .. indptr[first[t] + e + 1] - 1``.
    rates, changes, faults
        Of the rows: in 1/s, by how much the state's number changes, whether the command fails there.
    rewarded
        Which of the actions with rewards each group has, -1: none.
    most
        Transitions that a state may have, at most.
    """

    group_parts: NDArray[np.int64]
    parts: NDArray[np.int64]
    part_tables: NDArray[np.int64]
    table_reads: NDArray[np.int64]
    variables: NDArray[np.int64]
    strides: NDArray[np.int64]
    first: NDArray[np.int64]
    indptr: NDArray[np.int64]
    rates: NDArray[np.float64]
    changes: NDArray[np.int64]
    faults: NDArray[np.bool_]
    rewarded: NDArray[np.int64]
    most: int


def tabulated(moves: Moves, bound: Bound, rewarded: Collection[str]) -> Tables | None:
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
    if bound.program.transient or bound.shifts is None:
        return None
    groups = groups_of(moves)
    if groups is None:
        return None
    numbered = {member: 0 for _, members in groups for member in members}
    numbered = {member: k for k, member in enumerate(numbered)}
    tables: list[list[_Table]] = []
    rows = 0
    for module, action in numbered:
        made = _tables_of(module.commands[action], bound)
        if made is None:
            return None
        rows += sum(len(table.rows) for table in made)
        if rows > MAX_ROWS:
            return None
        tables.append(made)
    widest = [sum(table.widest for table in made) for made in tables]
    members = [[numbered[member] for member in found] for _, found in groups]
    most = sum(math.prod(widest[k] for k in found) for found in members)
    if most > MAX_TRANSITIONS:
        return None
    order = {action: k for k, action in enumerate(rewarded)}
    return _arrays(members, tables, [order.get(action, -1) for action, _ in groups], most)


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


class _Table(NamedTuple):
    """Rows over the combinations of values of some variables, the last one varying fastest."""

    variables: list[int]
    strides: list[int]
    size: int
    rows: Rows

    @property
    def widest(self) -> int:
        """Most rows of one combination."""
        return int(np.bincount(self.rows.source, minlength=1).max())


def _tables_of(commands: list[Guarded], bound: Bound) -> list[_Table] | None:
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


def _table(variables: list[int], commands: list[Guarded], bound: Bound) -> _Table:
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
    return _Table(variables, strides, size, together(found))


def _arrays(
    members: list[list[int]], tables: list[list[_Table]], rewarded: list[int], most: int
) -> Tables:
    flat = [table for made in tables for table in made]
    means = [_mean_change(made) for made in tables]
    order = sorted(range(len(members)), key=lambda g: sum(means[k] for k in members[g]))
    members, rewarded = [members[g] for g in order], [rewarded[g] for g in order]
    rows = [table.rows for table in flat]
    before = np.cumsum([0, *(len(part) for part in rows)])
    indptr = [
        np.append(0, np.cumsum(np.bincount(table.rows.source, minlength=table.size))) + start
        for table, start in zip(flat, before, strict=False)
    ]
    faults = [
        np.zeros(len(part), dtype=bool) if part.fault is None else part.fault != 0 for part in rows
    ]
    whole = np.zeros(0, dtype=np.int64)
    return Tables(
        _ends(members),
        np.array([k for found in members for k in found], dtype=np.int64),
        _ends(tables),
        _ends([table.variables for table in flat]),
        np.array([k for table in flat for k in table.variables], dtype=np.int64),
        np.array([k for table in flat for k in table.strides], dtype=np.int64),
        _ends(indptr)[:-1],
        np.concatenate([whole, *indptr]),
        np.concatenate([np.zeros(0), *(part.rate for part in rows)]),
        np.concatenate([whole, *(part.change for part in rows)]),
        np.concatenate([np.zeros(0, dtype=bool), *faults]),
        np.array(rewarded, dtype=np.int64),
        most,
    )


def _mean_change(tables: list[_Table]) -> float:
    """Return by how much a participant changes the state's number on average.

    Groups run in the order of their changes, so that the targets of a state come out nearly ascending, and its row sorted.
    """
    rows = [table.rows for table in tables if len(table.rows)]
    count = sum(map(len, rows))
    return sum(float(part.change.sum(dtype=np.float64)) for part in rows) / count if count else 0.0


def _ends(parts: Collection[Collection[object]]) -> NDArray[np.int64]:
    """Return where each of some parts begins in them all, and where the last one ends."""
    return np.cumsum([0, *(len(part) for part in parts)])
