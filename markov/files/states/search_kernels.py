"""The loops of a search by tables (`markov.files.states.table_arrays`), as templates of kernels.

Reached states are bits, 64 consecutive numbers in a word. For large product spaces an open-addressing hash table stores
the words with bits: ``keys`` has the number of the word, and a word without bits marks a free slot. ``mask`` is the
length of the table less 1, or -1 without a table. The rank of a state among the reached states is the number of bits in
earlier words, ``ranks``, plus the number of earlier bits in its word.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from numpy import uint64

__all__ = [
    "enter",
    "gather",
    "index_of",
    "insert",
    "locate",
    "look_up",
    "ones",
    "reach",
    "read",
    "write_rows",
]

SPREAD = 0x1E3779B97F4A7C15
PAIRS, NIBBLES, BYTES = 0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F
BYTE_SUM = 0x0101010101010101
INFINITE = float("inf")


def reach(progress, tables, reached, numbers):
    """Expand the queued states until the arrays are full.

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
        first, last = read(number, tables)
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
                slot = uint64(locate(target >> 6, reached))
                new = (rate > 0.0) & ((bits[slot] >> (target & 63)) & 1 == 0)
                if mask >= 0 and bits[slot] == 0:
                    keys[slot] = target >> 6
                    words += new
                bits[slot] |= new << (target & 63)
                numbers[uint64(count)] = target  # overwritten by the next one unless it is new: no branch
                count += new
        transitions += degree
        progress[6] = max(progress[6], degree)
        source += 1
        progress[0], progress[1], progress[2], progress[3] = source, count, transitions, words


def write_rows(progress, tables, reached, rows):
    """Write the generator's rows of the states in a range of words: sorted, each target once, with the diagonal.

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
            number = (base << 6) + ones(lowest - 1)
            first, last = read(number, tables)
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
                        length = insert(entry, length, column, rate, rows)
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
                length = insert(entry, length, row, -exit_rate, rows)
            entry += length
            rows.numbers[row] = number
            rows.loops[row] = loops
            row += 1
            rows.indptr[row] = entry
    progress[0], progress[1], progress[2] = progress[3], row, entry


def read(number, tables):
    """Compute the keys of a state from its number; return the start and the end of its groups in ``chosen``."""
    for k in range(len(tables.values)):
        value = 0
        for r in range(tables.reads[k], tables.reads[k + 1]):
            value += ((number >> tables.shifts[uint64(r)]) & tables.masks[uint64(r)]) * tables.strides[uint64(r)]
        tables.values[k] = value
    choice = uint64((number >> tables.shift) & tables.mask)
    return tables.starts[choice], tables.starts[choice + uint64(1)]


def gather(group, tables):
    """Return the start and the end of the rows of a group, after `read` for the state.

    Every combination of rows of several terms is a row: rates multiply, changes add up.
    """
    term, last = tables.terms[uint64(group)], tables.terms[uint64(group + 1)]
    begin, end = look_up(term, tables)
    for t in range(term + 1, last):
        if begin == end:
            break
        low, high = look_up(t, tables)
        count, start = high - low, len(tables.rates) - tables.max_transitions
        for j in range(end - 1, begin - 1, -1):  # from behind: none is overwritten before it is read
            rate, change = tables.rates[uint64(j)], tables.changes[uint64(j)]
            entry = start + (j - begin) * count
            for i in range(count):
                tables.rates[uint64(entry + i)] = rate * tables.rates[uint64(low + i)]
                tables.changes[uint64(entry + i)] = change + tables.changes[uint64(low + i)]
        begin, end = start, start + (end - begin) * count
    return begin, end


def look_up(term, tables):
    """Return the start and the end of the rows of a term, after `read` for the state."""
    value = tables.values[uint64(tables.keys[uint64(term)])]
    entry = tables.first[uint64(term)] + value
    return tables.indptr[uint64(entry)], tables.indptr[uint64(entry + 1)]


def locate(word, reached):
    """Return the slot of a word of bits, or the free slot for it."""
    if reached.mask < 0:
        return word
    spread = word * SPREAD
    slot = (spread ^ (spread >> 29)) & reached.mask
    while reached.bits[slot] != 0 and reached.keys[slot] != word:
        slot = (slot + 1) & reached.mask
    return slot


def index_of(number, reached):
    """Return the rank of a state among the reached states."""
    slot = uint64(locate(number >> 6, reached))
    return reached.ranks[slot] + ones(reached.bits[slot] & ~(-1 << (number & 63)))


def ones(word):
    """Return the number of bits in a word."""
    word -= (word >> 1) & PAIRS
    word = (word & NIBBLES) + ((word >> 2) & NIBBLES)
    word = (word + (word >> 4)) & BYTES
    return (word * BYTE_SUM) >> 56


def enter(words, bits, reached):
    """Enter bits of words into the hash table."""
    for k in range(len(words)):
        slot = locate(words[k], reached)
        reached.bits[slot] |= bits[k]
        reached.keys[slot] = words[k]


def insert(begin, length, target, value, rows):
    """Add a value to a sorted row of ``length`` entries; return the new length."""
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
