"""The loops of a search by tables (`markov.files.states.tables`), as templates of kernels.

States are numbered in the order of their discovery; their numbers in the product space have the values
of the variables, counted from 0, in bits of their own. ``slots`` has 0 or 1 + a state: at that number, or,
where the product space is large, in an open-addressing hash table, there with the number behind it. Four
numbers in a row share a cache line; ``mask`` is the length of the table less 1, -1 without one.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = [
    "append",
    "compress",
    "emit",
    "enter_rows",
    "expand",
    "expand_chosen",
    "fill",
    "gather",
    "insert",
    "locate",
    "look_up",
    "rehash",
]

SPREAD = 0x1E3779B97F4A7C15
INFINITE = float("inf")


def expand(progress, codes, tables, states, edges, room):
    """Record the transitions out of the states that wait, as long as there is room for them.

    ``progress`` has the first state that waits, how many were found, the transitions recorded, and whether
    a transition has a fault.
    """
    source, count, recorded = progress[0], progress[1], 0
    digits, mask = codes.digits, states.mask
    while (
        source < count
        and recorded + tables.most <= len(edges.targets)
        and count + tables.most <= len(states.numbers)
        and (mask < 0 or 2 * (count + tables.most) <= mask + 1)
    ):
        number, before = states.numbers[source], recorded
        for k in range(len(digits)):
            digits[k] = (number >> codes.shifts[k]) & codes.masks[k]
        for group in range(len(tables.rewarded)):
            made = gather(group, tables, digits, room)
            if made == 0:
                continue
            total = 0.0
            for j in range(made):
                rate = room.rates[j]
                total += rate
                if not 0.0 <= rate < INFINITE:
                    made = -1
                    break
                if rate > 0.0:
                    edges.rates[recorded] = rate
                    count = emit(number + room.changes[j], count, recorded, states, edges)
                    recorded += 1
            if made < 0:
                progress[3] = 1
                return
            if tables.rewarded[group] >= 0:
                states.earned[tables.rewarded[group], source] += total
        states.degrees[source] = recorded - before
        source += 1
        progress[0], progress[1], progress[2] = source, count, recorded


def expand_chosen(progress, chosen, codes, tables, states, rows, room):
    """Write the rows of chosen states, as long as there is room for them: transitions with the same target are one entry.

    ``progress`` has how many of the chosen states are done, how many states were found, how many entries the rows
    have, and whether the next of the chosen states has a transition with a fault.
    """
    digits, mask = codes.digits, states.mask
    while (
        progress[0] < len(chosen)
        and progress[1] + tables.most <= len(states.numbers)
        and progress[2] + tables.most <= len(rows.targets)
        and 2 * (progress[1] + tables.most) <= mask + 1
    ):
        state = chosen[progress[0]]
        number, count, begin = states.numbers[state], progress[1], progress[2]
        end, leaving = begin, 0.0
        for k in range(len(digits)):
            digits[k] = (number >> codes.shifts[k]) & codes.masks[k]
        for group in range(len(tables.rewarded)):
            made = gather(group, tables, digits, room)
            for j in range(made):
                rate = room.rates[j]
                if not 0.0 <= rate < INFINITE:
                    made = -1
                    break
                if rate > 0.0 and room.changes[j] != 0:
                    count = emit(number + room.changes[j], count, end, states, rows)
                    end = append(begin, end, rate, rows)
                    leaving += rate
            if made < 0:
                progress[1], progress[3] = count, 1
                return
        rows.starts[state] = begin
        rows.degrees[state] = end - begin
        rows.exits[state] = leaving
        progress[0], progress[1], progress[2] = progress[0] + 1, count, end


def enter_rows(progress, chosen, sources, edges, states, rows):
    """Write the rows of chosen states from transitions that are listed by their sources, and by their targets' numbers.

    ``progress`` as that of `expand_chosen`. There must be room for all.
    """
    edge, count, end = 0, progress[1], progress[2]
    for k in range(len(chosen)):
        begin, leaving = end, 0.0
        while edge < len(sources) and sources[edge] == k:
            count = emit(edges.numbers[edge], count, end, states, rows)
            end = append(begin, end, edges.rates[edge], rows)
            leaving += edges.rates[edge]
            edge += 1
        rows.starts[chosen[k]] = begin
        rows.degrees[chosen[k]] = end - begin
        rows.exits[chosen[k]] = leaving
    progress[1], progress[2] = count, end


def append(begin, end, rate, rows):
    """Add a rate to a row, which begins at ``begin``, for the target at its end; return the new end."""
    target = rows.targets[end]
    for entry in range(begin, end):
        if rows.targets[entry] == target:
            rows.rates[entry] += rate
            return end
    rows.rates[end] = rate
    rows.arrivals[target] += 1
    return end + 1


def gather(group, tables, digits, room):
    """Write the rows of a group in a state into ``room``; return how many, -1: one has a fault.

    Of participants every combination of their rows is one: rates multiply, changes add up.
    """
    made, fault = -1, False
    for p in range(tables.group_parts[group], tables.group_parts[group + 1]):
        part, more = tables.parts[p], 0
        rates = room.rates if made < 0 else room.new_rates
        changes = room.changes if made < 0 else room.new_changes
        for table in range(tables.part_tables[part], tables.part_tables[part + 1]):
            begin, end = look_up(table, tables, digits)
            for row in range(begin, end):
                fault |= tables.faults[row]
                rates[more] = tables.rates[row]
                changes[more] = tables.changes[row]
                more += 1
        if more == 0:
            return 0
        if made < 0:
            made = more
            continue
        for j in range(made - 1, -1, -1):  # from behind: none is overwritten before it is read
            rate, change = room.rates[j], room.changes[j]
            for i in range(more):
                room.rates[j * more + i] = rate * rates[i]
                room.changes[j * more + i] = change + changes[i]
        made *= more
    return -1 if fault else made


def look_up(table, tables, digits):
    """Return the first row of a table in a state, and the one behind the last."""
    entry = tables.first[table]
    for k in range(tables.table_reads[table], tables.table_reads[table + 1]):
        entry += tables.strides[k] * digits[tables.variables[k]]
    return tables.indptr[entry], tables.indptr[entry + 1]


def emit(number, count, recorded, states, edges):
    """Record a transition to a state by its number; return how many states there are then."""
    slots, mask = states.slots, states.mask
    place = locate(number, slots, mask)
    target = slots[place] - 1
    if target < 0:
        target = count
        states.numbers[count] = number
        slots[place] = count + 1
        if mask >= 0:
            slots[place + 1] = number
        count += 1
    edges.targets[recorded] = target
    return count


def locate(number, slots, mask):
    """Return where a state is, or the free place where it belongs."""
    if mask < 0:
        return number
    line = (number >> 2) * SPREAD
    slot = (((line ^ (line >> 29)) << 2) | (number & 3)) & mask
    while slots[2 * slot] != 0 and slots[2 * slot + 1] != number:
        slot = (slot + 1) & mask
    return 2 * slot


def rehash(numbers, first, count, slots, mask):
    """Enter the states from ``first`` on into an empty table."""
    for s in range(first, count):
        place = locate(numbers[s], slots, mask)
        slots[place] = s + 1
        slots[place + 1] = numbers[s]


def fill(source, end, degrees, edges, rank, rows):
    """Write the rows of the generator of some states: sorted, each target once, with the diagonal.

    Row r begins at ``rows.start[r]`` and gets ``rows.counts[r]`` entries.
    """
    targets, rates, start, loops = edges.targets, edges.rates, rows.start, rows.loops
    indices, values = rows.indices, rows.values
    edge = 0
    for s in range(source, end):
        row, held = rank[s], 0
        begin = start[row]
        for k in range(edge, edge + degrees[s]):
            target = rank[targets[k]]
            if target == row:
                loops[row] += rates[k]
            else:
                held = insert(begin, held, target, rates[k], indices, values)
        edge += degrees[s]
        if held > 0:
            leaves = 0.0
            for k in range(begin, begin + held):
                leaves += values[k]
            held = insert(begin, held, row, -leaves, indices, values)
        rows.counts[row] = held


def insert(begin, held, target, value, indices, values):
    """Add a value to a sorted row of ``held`` entries; return how many there are then."""
    place = begin + held
    while place > begin and indices[place - 1] > target:
        place -= 1
    if place > begin and indices[place - 1] == target:
        values[place - 1] += value
        return held
    for k in range(begin + held, place, -1):
        indices[k] = indices[k - 1]
        values[k] = values[k - 1]
    indices[place] = target
    values[place] = value
    return held + 1


def compress(start, indptr, indices, values):
    """Move rows that begin at ``start`` to where they belong, in place."""
    for row in range(len(indptr) - 1):
        shift = start[row] - indptr[row]
        if shift > 0:
            for k in range(indptr[row], indptr[row + 1]):
                indices[k] = indices[k + shift]
                values[k] = values[k + shift]
