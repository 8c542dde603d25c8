"""Loops of searches by tables (`markov.files.tables`), as templates of kernels.

Search for all states: reached states are bits, 64 consecutive numbers in a word. For large product spaces an
open-addressing hash table stores the words with bits: ``keys`` has the number of the word, and a word without bits
marks a free slot. ``mask`` is the length of the table less 1, or -1 without a table. The rank of a state among the
reached states is the number of bits in earlier words, ``ranks``, plus the number of earlier bits in its word.

Rows of requested states: states have indices in the order of their discovery, which do not change. ``slots`` is an
open-addressing hash table of pairs: 1 + the index of a state, or 0, and the state's number in the product space. Four
consecutive numbers share a cache line; ``mask`` is the length of the table less 1.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from numpy import uint64

__all__ = [
    "append_rate",
    "count_bits",
    "enter_words",
    "expand_chosen",
    "gather",
    "index_of",
    "insert_sorted",
    "locate_state",
    "locate_word",
    "look_up",
    "reach",
    "read_keys",
    "rehash",
    "store_target",
    "write_listed_rows",
    "write_rows",
]

# ------------------------------------------------------------------------------------ search by tables


SPREAD = 0x1E3779B97F4A7C15
PAIRS, NIBBLES, BYTES = 0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F
BYTE_SUM = 0x0101010101010101
INFINITE = float("inf")


def reach(progress, tables, reached, numbers):
    """Expand the states queued in ``numbers``, appending new targets, until all are done or the arrays are full.

    ``progress`` has the first queued state, the number of states, of their transitions, of words with bits, the state
    to stop at, 1 after a faulty transition, and the maximum number of transitions of a state. ``numbers`` has the
    numbers of the states in the order of discovery.
    """
    source, count, transitions, words = progress[0], progress[1], progress[2], progress[3]
    bits, keys, mask = reached.bits, reached.keys, reached.mask
    while (
        source < count
        and source < progress[4]
        and count + tables.max_transitions < len(numbers)
        and (mask < 0 or 2 * (words + tables.max_transitions) <= mask + 1)
    ):
        number = numbers[source]
        first, last = read_keys(number, tables)
        degree = 0
        for c in range(first, last):
            begin, end = gather(tables.chosen[uint64(c)], tables)
            degree += end - begin
            for j in range(begin, end):
                rate = tables.rates[uint64(j)]
                if not 0.0 <= rate < INFINITE:
                    progress[5] = 1
                    return
                target = number + tables.changes[uint64(j)]
                slot = uint64(locate_word(target >> 6, reached))
                new = (rate > 0.0) & ((bits[slot] >> (target & 63)) & 1 == 0)
                if mask >= 0 and bits[slot] == 0:
                    keys[slot] = target >> 6
                    words += new
                bits[slot] |= new << (target & 63)
                numbers[uint64(count)] = target  # without a branch: the next state overwrites it unless it is new
                count += new
        transitions += degree
        progress[6] = max(progress[6], degree)
        source += 1
        progress[0], progress[1], progress[2], progress[3] = source, count, transitions, words


def write_rows(progress, tables, reached, rows):
    """Write the generator's rows of the states in a range of words, each sorted and with its diagonal entry.

    ``progress`` has the first unfinished entry of ``rows.slots``, the number of written states, of their entries, and
    the slot to stop at. Unless ``rows.ordered``, rows are unsorted and without a diagonal.
    """
    row, entry = progress[1], progress[2]
    for k in range(progress[0], progress[3]):
        slot = rows.slots[k]
        remaining = reached.bits[slot]
        base = slot if reached.mask < 0 else reached.keys[slot]
        while remaining != 0:
            lowest = remaining & -remaining
            remaining ^= lowest
            number = (base << 6) + count_bits(lowest - 1)
            first, last = read_keys(number, tables)
            length, loops = 0, 0.0
            for c in range(first, last):
                group = tables.chosen[uint64(c)]
                begin, end = gather(group, tables)
                total = 0.0
                for j in range(begin, end):
                    rate = tables.rates[uint64(j)]
                    total += rate
                    target = number + tables.changes[uint64(j)]
                    if rate == 0.0:
                        continue
                    if target == number:
                        loops += rate
                        continue
                    column = index_of(target, reached)
                    if rows.ordered:
                        length = insert_sorted(entry, length, column, rate, rows)
                    else:
                        rows.indices[entry + length] = column
                        rows.values[entry + length] = rate
                        length += 1
                action = tables.rewarded[uint64(group)]
                if action >= 0:
                    rows.rewarded_rates[action, row] += total
            if rows.ordered and length > 0:
                exit_rate = 0.0
                for e in range(entry, entry + length):
                    exit_rate += rows.values[e]
                length = insert_sorted(entry, length, row, -exit_rate, rows)
            entry += length
            rows.numbers[row] = number
            rows.loops[row] = loops
            row += 1
            rows.indptr[row] = entry
    progress[0], progress[1], progress[2] = progress[3], row, entry


def read_keys(number, tables):
    """Store the table keys of the state ``number`` in ``tables.values``; return its range of groups in ``chosen``."""
    for k in range(len(tables.values)):
        value = 0
        for r in range(tables.reads[k], tables.reads[k + 1]):
            value += ((number >> tables.shifts[uint64(r)]) & tables.masks[uint64(r)]) * tables.strides[uint64(r)]
        tables.values[k] = value
    choice = uint64((number >> tables.shift) & tables.mask)
    return tables.starts[choice], tables.starts[choice + uint64(1)]


def gather(group, tables):
    """Return the range (begin, end) of the transitions of a group, out of the state last passed to `read_keys`.

    Every combination of rows of several terms is a row: rates multiply, changes add up.
    """
    term, last = tables.terms[uint64(group)], tables.terms[uint64(group + 1)]
    begin, end = look_up(term, tables)
    for t in range(term + 1, last):
        if begin == end:
            break
        low, high = look_up(t, tables)
        count, start = high - low, len(tables.rates) - tables.max_transitions
        for j in range(end - 1, begin - 1, -1):  # in descending order: a row is read before it is overwritten
            rate, change = tables.rates[uint64(j)], tables.changes[uint64(j)]
            entry = start + (j - begin) * count
            for i in range(count):
                tables.rates[uint64(entry + i)] = rate * tables.rates[uint64(low + i)]
                tables.changes[uint64(entry + i)] = change + tables.changes[uint64(low + i)]
        begin, end = start, start + (end - begin) * count
    return begin, end


def look_up(term, tables):
    """Return the range (begin, end) of the rows of one table (term), for the state last passed to `read_keys`."""
    value = tables.values[uint64(tables.keys[uint64(term)])]
    entry = tables.first[uint64(term)] + value
    return tables.indptr[uint64(entry)], tables.indptr[uint64(entry + 1)]


def locate_word(word, reached):
    """Return the slot of the 64-bit word of number ``word`` in the bitmap or hash table, or the free slot for it."""
    if reached.mask < 0:
        return word
    spread = word * SPREAD
    slot = (spread ^ (spread >> 29)) & reached.mask
    while reached.bits[slot] != 0 and reached.keys[slot] != word:
        slot = (slot + 1) & reached.mask
    return slot


def index_of(number, reached):
    """Return the rank of the state ``number`` among the reached states, in the order of their numbers."""
    slot = uint64(locate_word(number >> 6, reached))
    return reached.ranks[slot] + count_bits(reached.bits[slot] & ~(-1 << (number & 63)))


def count_bits(word):
    """Return the number of bits that are set in a 64-bit word."""
    word -= (word >> 1) & PAIRS
    word = (word & NIBBLES) + ((word >> 2) & NIBBLES)
    word = (word + (word >> 4)) & BYTES
    return (word * BYTE_SUM) >> 56


def enter_words(words, bits, reached):
    """Set bits of 64-bit words in the hash table ``reached``, in place."""
    for k in range(len(words)):
        slot = locate_word(words[k], reached)
        reached.bits[slot] |= bits[k]
        reached.keys[slot] = words[k]


def insert_sorted(begin, length, target, value, rows):
    """Add a value at a target column to a row sorted by column, in place; return the row's new length."""
    indices, values = rows.indices, rows.values
    entry = begin + length
    while entry > begin and indices[uint64(entry - 1)] > target:
        entry -= 1
    if entry > begin and indices[uint64(entry - 1)] == target:
        values[uint64(entry - 1)] += value
        return length
    for k in range(begin + length, entry, -1):
        indices[uint64(k)] = indices[uint64(k - 1)]
        values[uint64(k)] = values[uint64(k - 1)]
    indices[uint64(entry)] = target
    values[uint64(entry)] = value
    return length + 1


# ---------------------------------------------------------------------------- rows of requested states


def expand_chosen(progress, chosen, tables, states, rows):
    """Write the matrix rows of chosen states by tables, until done or the arrays are full; equal targets are merged.

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
        first, last = read_keys(number, tables)
        for c in range(first, last):
            begin, end = gather(tables.chosen[c], tables)
            for j in range(begin, end):
                rate = tables.rates[j]
                if not 0.0 <= rate < INFINITE:
                    progress[1], progress[3] = count, 1
                    return
                if rate > 0.0 and tables.changes[j] != 0:
                    count = store_target(number + tables.changes[j], count, stop, states, rows)
                    stop = append_rate(start, stop, rate, rows)
                    leaving += rate
        rows.starts[state] = start
        rows.degrees[state] = stop - start
        rows.exits[state] = leaving
        progress[0], progress[1], progress[2] = progress[0] + 1, count, stop


def write_listed_rows(progress, chosen, edges, states, rows):
    """Write the matrix rows of chosen states from a list of transitions, which are sorted by source.

    ``progress`` as for `expand_chosen`. The arrays must have space for all rows.
    """
    edge, count, end = 0, progress[1], progress[2]
    for k in range(len(chosen)):
        begin, leaving = end, 0.0
        while edge < len(edges.sources) and edges.sources[edge] == k:
            count = store_target(edges.numbers[edge], count, end, states, rows)
            end = append_rate(begin, end, edges.rates[edge], rows)
            leaving += edges.rates[edge]
            edge += 1
        rows.starts[chosen[k]] = begin
        rows.degrees[chosen[k]] = end - begin
        rows.exits[chosen[k]] = leaving
    progress[1], progress[2] = count, end


def append_rate(begin, end, rate, rows):
    """Add a rate to the row from ``begin`` to ``end``, for the target stored at ``end``; return the row's new end."""
    target = rows.targets[end]
    for entry in range(begin, end):
        if rows.targets[entry] == target:
            rows.rates[entry] += rate
            return end
    rows.rates[end] = rate
    rows.arrivals[target] += 1
    return end + 1


def store_target(number, count, end, states, rows):
    """Store the index of the state ``number`` in ``rows.targets[end]``, as a new state if unknown; return the count."""
    slot = locate_state(number, states.slots, states.mask)
    target = states.slots[slot] - 1
    if target < 0:
        target = count
        states.numbers[count] = number
        states.slots[slot] = count + 1
        states.slots[slot + 1] = number
        count += 1
    rows.targets[end] = target
    return count


def locate_state(number, slots, mask):
    """Return the position of the pair of a state in the hash table ``slots``, or the free position for it."""
    line = (number >> 2) * SPREAD
    slot = (((line ^ (line >> 29)) << 2) | (number & 3)) & mask
    while slots[2 * slot] != 0 and slots[2 * slot + 1] != number:
        slot = (slot + 1) & mask
    return 2 * slot


def rehash(numbers, first, count, slots, mask):
    """Enter the states ``first`` to ``count - 1``, by their codes ``numbers``, into the empty hash table ``slots``."""
    for s in range(first, count):
        slot = locate_state(numbers[s], slots, mask)
        slots[slot] = s + 1
        slots[slot + 1] = numbers[s]
