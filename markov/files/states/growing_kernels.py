"""The loops that write the rows of chosen states by tables, as templates of kernels.

States have indices in the order of their discovery, which do not change. ``slots`` is an open-addressing hash table of
pairs: 1 + the index of a state, or 0, and the state's number in the product space. Four consecutive numbers share a
cache line; ``mask`` is the length of the table less 1.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from markov.files.states.search_kernels import INFINITE, SPREAD, gather, read

__all__ = ["append", "emit", "enter_rows", "expand_chosen", "locate", "rehash"]


def expand_chosen(progress, chosen, tables, states, rows):
    """Write the rows of chosen states until the arrays are full; transitions with the same target are one entry.

    ``progress`` counts the finished chosen states, all states, and the entries of the rows; its last entry is 1 if the
    next chosen state has a faulty transition.
    """
    while (
        progress[0] < len(chosen)
        and progress[1] + tables.max_transitions <= len(states.numbers)
        and progress[2] + tables.max_transitions <= len(rows.targets)
        and 2 * (progress[1] + tables.max_transitions) <= states.mask + 1
    ):
        state = chosen[progress[0]]
        number, count, start = states.numbers[state], progress[1], progress[2]
        stop, leaving = start, 0.0
        first, last = read(number, tables)
        for c in range(first, last):
            begin, end = gather(tables.chosen[c], tables)
            for j in range(begin, end):
                rate = tables.rates[j]
                if not 0.0 <= rate < INFINITE:
                    progress[1], progress[3] = count, 1
                    return
                if rate > 0.0 and tables.changes[j] != 0:
                    count = emit(number + tables.changes[j], count, stop, states, rows)
                    stop = append(start, stop, rate, rows)
                    leaving += rate
        rows.starts[state] = start
        rows.degrees[state] = stop - start
        rows.exits[state] = leaving
        progress[0], progress[1], progress[2] = progress[0] + 1, count, stop


def enter_rows(progress, chosen, edges, states, rows):
    """Write the rows of chosen states from a list of transitions, by sources and numbers of targets.

    ``progress`` as for `expand_chosen`. The arrays must have space for all rows.
    """
    edge, count, end = 0, progress[1], progress[2]
    for k in range(len(chosen)):
        begin, leaving = end, 0.0
        while edge < len(edges.sources) and edges.sources[edge] == k:
            count = emit(edges.numbers[edge], count, end, states, rows)
            end = append(begin, end, edges.rates[edge], rows)
            leaving += edges.rates[edge]
            edge += 1
        rows.starts[chosen[k]] = begin
        rows.degrees[chosen[k]] = end - begin
        rows.exits[chosen[k]] = leaving
    progress[1], progress[2] = count, end


def append(begin, end, rate, rows):
    """Add a rate to a row, which begins at ``begin``, for the target stored at its end; return the new end."""
    target = rows.targets[end]
    for entry in range(begin, end):
        if rows.targets[entry] == target:
            rows.rates[entry] += rate
            return end
    rows.rates[end] = rate
    rows.arrivals[target] += 1
    return end + 1


def emit(number, count, end, states, rows):
    """Store the target of a transition by its number, as a new state if unknown; return the number of states."""
    slot = locate(number, states.slots, states.mask)
    target = states.slots[slot] - 1
    if target < 0:
        target = count
        states.numbers[count] = number
        states.slots[slot] = count + 1
        states.slots[slot + 1] = number
        count += 1
    rows.targets[end] = target
    return count


def locate(number, slots, mask):
    """Return the position of a state in ``slots``, or the free position for it."""
    line = (number >> 2) * SPREAD
    slot = (((line ^ (line >> 29)) << 2) | (number & 3)) & mask
    while slots[2 * slot] != 0 and slots[2 * slot + 1] != number:
        slot = (slot + 1) & mask
    return 2 * slot


def rehash(numbers, first, count, slots, mask):
    """Enter the states from ``first`` on into an empty table."""
    for s in range(first, count):
        slot = locate(numbers[s], slots, mask)
        slots[slot] = s + 1
        slots[slot + 1] = numbers[s]
