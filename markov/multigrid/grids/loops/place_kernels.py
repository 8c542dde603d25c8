"""The loops over the states of a grid that say which of them count, and where they are, as templates.

Tables as in `markov.multigrid.grids.loops.flow_kernels`.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["count_entries", "fill", "follow", "keep", "spread", "survey"]


def spread(
    rows,
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    width,
    begin,
    step,
    one,
    backward,
    old,
    new,
    marks,
):
    """Add the bit ``new`` to states that one with it leads to and that have ``old``; count them."""
    zero = one - one
    found = 0
    for n in range(zero, rows):
        row = rows - one - n if backward else n
        kind = row_kind[row]
        for i in range(first[kind], first[kind + one]):
            k = first[kind + one] - one - (i - first[kind]) if backward else i
            base = numbers[k] * width
            s = (row * cells + (ends[k] - one if backward else starts[k])) * width
            for _ in range(ends[k] - starts[k]):
                for m in range(zero, width):
                    r = width - one - m if backward else m
                    if marks[s + r] & new:
                        for e in range(begin[base + r], begin[base + r + one]):
                            there = marks[s + r + step[e]]
                            if there & old and not there & new:
                                marks[s + r + step[e]] = there | new
                                found += 1
                if backward:
                    s -= width
                else:
                    s += width
    return found


def follow(row_kind, rows, cells, width, begin, step, one, stack, old, new, marks):
    """Do what `spread` does state by state: from each that has the bit on, as far as transitions lead.

    ``stack`` is room for states that are yet to be followed; where it is full they are left to another run.
    """
    zero = one - one
    found = 0
    for s in range(zero, zero + len(marks)):
        if not marks[s] & new:
            continue
        stack[zero] = s
        count = one
        while count > zero:
            count -= one
            here = stack[count]
            cell = here // width
            row = cell // cells
            r = rows[row_kind[row], cell - row * cells] * width + (here - cell * width)
            for e in range(begin[r], begin[r + one]):
                there = here + step[e]
                if marks[there] & old and not marks[there] & new:
                    marks[there] |= new
                    found += 1
                    if count < len(stack):
                        stack[count] = there
                        count += one
    return found


def fill(row_kind, first, starts, ends, numbers, width, one, present, bit, marks):
    """Set the marks of the slots that are occupied in each kind of cell to a bit, others to none."""
    s = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            for _ in range(ends[k] - starts[k]):
                for r in range(numbers[k] * width, numbers[k] * width + width):
                    marks[s] = bit if present[r] else 0
                    s += one


def count_entries(row_kind, first, starts, ends, numbers, width, begin, one, bit, marks):
    """Return how many states have a mark, and how many transitions lead out of them."""
    states = 0
    found = one - one
    s = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            for _ in range(ends[k] - starts[k]):
                for r in range(numbers[k] * width, numbers[k] * width + width):
                    if marks[s] & bit:
                        states += 1
                        found += begin[r + one] - begin[r]
                    s += one
    return states, found


def keep(top, bottom, each, bit, marks, x):
    """Set x to zero in states without a mark."""
    for s in range(top * each, bottom * each):
        if not marks[s] & bit:
            x[s] = 0.0


def survey(
    begin,
    count,
    digits,
    size,
    weight,
    ahead,
    along,
    lead,
    shift,
    ends,
    row_kind,
    rows,
    width,
    slot,
    bit,
    marks,
    numbers,
    indices,
):
    """Find the states with a mark among ``count`` numbers of the space; return how many.

    ``digits`` are the values of the components of the first number, each counted from its least; with
    each value the combination's number grows by ``weight``, and that of the row by ``ahead``. Rows lie
    along the component ``along``. States of a combination are moved by ``lead`` rows, and by ``shift``
    cells of a row, which has ``ends``.
    """
    found = 0
    place = 0
    here = 0
    for c in range(len(digits)):
        place += digits[c] * weight[c]
        here += digits[c] * ahead[c]
    for n in range(count):
        row = here + lead[place]
        last = digits[along] + shift[place]
        r = slot[rows[row_kind[row], last], place]
        if r >= 0:
            s = (row * ends + last) * width + r
            if marks[s] & bit:
                numbers[found] = begin + n
                indices[found] = s
                found += 1
        c = len(digits) - 1
        while c >= 0:
            digits[c] += 1
            place += weight[c]
            here += ahead[c]
            if digits[c] < size[c]:
                break
            place -= digits[c] * weight[c]
            here -= digits[c] * ahead[c]
            digits[c] = 0
            c -= 1
    return found
