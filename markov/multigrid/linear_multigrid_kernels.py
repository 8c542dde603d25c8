"""The loops of multigrid for linear equations of a chain, as templates of kernels.

The levels lie one behind the other in arrays, as in `markov.multigrid.multilevel_kernels`; those of the
first one have rows of their own.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = [
    "advance",
    "begin",
    "begin_first",
    "correct",
    "gain",
    "leave",
    "leave_first",
    "middles_of",
    "multiply",
    "pass_on",
    "pass_on_first",
    "relax",
    "relax_first",
    "transpose",
]


def correct(
    first,
    left,
    repeats,
    sweeps,
    ordered,
    rows,
    middle,
    columns,
    entries,
    own,
    damping,
    into,
    out,
    indptr,
    middles,
    indices,
    values,
    parent,
    scale,
    x,
    right,
    inverse,
):
    """Run one cycle for ``A x = -right`` on the first level, and for its residual on the others.

    A has the ``entries`` in the ``columns`` from ``rows[s]`` on, and ``own`` on the diagonal besides, which
    is negative; its inverse is ``-damping``. On the other levels x / scale = right + values x, as for `cycle`; what a
    state leaves goes, times ``into``, to its aggregate, by whose x its own changes, times ``out``. Every
    level but the last sweeps so many times before, and after, the levels behind it have corrected it.

    Where x is zero, ``left`` is as ``repeats``. A first sweep, in turn, then reads states before each one
    alone, and leaves a residual of those behind it: if rows are ``ordered``, half of the entries each.
    """
    last = len(first) - 2
    level = 0
    while True:
        while level < last:
            low, high, end = first[level], first[level + 1], first[level + 2]
            for s in range(high, end):
                x[s] = 0.0
                right[s] = 0.0
            halves = ordered and sweeps == 1 and left[level] == repeats[level]
            if level == 0 and halves:
                begin_first(high, rows, middle, columns, entries, damping, x, right)
                pass_on_first(high, rows, middle, columns, entries, into, parent, x, right)
            elif level == 0:
                for _ in range(sweeps):
                    relax_first(high, False, rows, columns, entries, own, damping, x, right)
                leave_first(high, rows, columns, entries, own, into, parent, x, right)
            elif halves:
                begin(low, high, indptr, middles, indices, values, scale, x, right)
                pass_on(low, high, indptr, middles, indices, values, parent, x, right)
            else:
                for _ in range(sweeps):
                    relax(low, high, False, indptr, indices, values, scale, x, right)
                leave(low, high, indptr, indices, values, scale, parent, x, right)
            level += 1
            left[level] = repeats[level]
        low, high = first[last], first[last + 1]
        for i in range(high - low):
            total = 0.0
            for j in range(high - low):
                total += inverse[i, j] * right[low + j]
            x[low + i] = total
        while level > 0:
            left[level] -= 1
            if left[level] > 0 and level < last:
                break
            level -= 1
            low, high = first[level], first[level + 1]
            if level == 0:
                for s in range(high):
                    x[s] += out[s] * x[parent[s]]
                for _ in range(sweeps):
                    relax_first(high, True, rows, columns, entries, own, damping, x, right)
            else:
                for s in range(low, high):
                    x[s] += x[parent[s]]
                for _ in range(sweeps):
                    relax(low, high, True, indptr, indices, values, scale, x, right)
        if level == 0:
            left[0] = 0
            return


def relax_first(n, backward, rows, columns, entries, own, damping, x, right):
    """Solve the equations of the first level in turn."""
    for position in range(n):
        s = n - 1 - position if backward else position
        total = right[s] + own * x[s]
        for k in range(rows[s], rows[s + 1]):
            total += entries[k] * x[columns[k]]
        x[s] += total * damping[s]


def leave_first(high, rows, columns, entries, own, into, parent, x, right):
    """Add the residuals of the first level to the equations of their aggregates."""
    for s in range(high):
        rest = right[s] + own * x[s]
        for k in range(rows[s], rows[s + 1]):
            rest += entries[k] * x[columns[k]]
        right[parent[s]] += rest * into[s]


def leave(low, high, indptr, indices, values, scale, parent, x, right):
    """Add the residuals of the states low .. high - 1 to the equations of their aggregates."""
    for s in range(low, high):
        rest = right[s] - x[s] / scale[s]
        for k in range(indptr[s], indptr[s + 1]):
            rest += x[indices[k]] * values[k]
        right[parent[s]] += rest


def begin_first(n, rows, middle, columns, entries, damping, x, right):
    """Solve the equations of the first level in turn, where x is zero."""
    for s in range(n):
        total = right[s]
        for k in range(rows[s], middle[s]):
            total += entries[k] * x[columns[k]]
        x[s] = total * damping[s]


def pass_on_first(n, rows, middle, columns, entries, into, parent, x, right):
    """Add the residuals that `begin_first` leaves to the equations of their aggregates."""
    for s in range(n):
        rest = 0.0
        for k in range(middle[s], rows[s + 1]):
            rest += entries[k] * x[columns[k]]
        right[parent[s]] += rest * into[s]


def begin(low, high, indptr, middles, indices, values, scale, x, right):
    """Solve the equations of the states low .. high - 1 in turn, where x is zero."""
    for s in range(low, high):
        total = right[s]
        for k in range(indptr[s], middles[s]):
            total += x[indices[k]] * values[k]
        x[s] = total * scale[s]


def pass_on(low, high, indptr, middles, indices, values, parent, x, right):
    """Add the residuals that `begin` leaves to the equations of their aggregates."""
    for s in range(low, high):
        rest = 0.0
        for k in range(middles[s], indptr[s + 1]):
            rest += x[indices[k]] * values[k]
        right[parent[s]] += rest


def middles_of(low, high, indptr, indices, middles):
    """Write where the entries behind the diagonal begin in each row, and return whether all rows ascend."""
    ordered = True
    for s in range(low, high):
        before, place = -1, indptr[s + 1]
        for k in range(indptr[s], indptr[s + 1]):
            column = int(indices[k])
            if column <= before:
                ordered = False
            if column > s and k < place:
                place = k
            before = column
        middles[s] = place
    return ordered


def multiply(rows, columns, entries, own, x, product):
    """Write A x, A as for `correct`."""
    for s in range(len(x)):
        total = own * x[s]
        for k in range(rows[s], rows[s + 1]):
            total += entries[k] * x[columns[k]]
        product[s] = total


def relax(low, high, backward, indptr, indices, values, scale, x, right):
    """Solve the equations of the states low .. high - 1 in turn."""
    for n in range(high - low):
        s = high - 1 - n if backward else low + n
        total = right[s]
        for k in range(indptr[s], indptr[s + 1]):
            total += x[indices[k]] * values[k]
        x[s] = total * scale[s]


def transpose(low, high, indptr, indices, values, rows, columns, entries):
    """Write the transposed entries of the states low .. high - 1, in rows from ``rows[low]`` on.

    ``rows`` is zero behind its entry ``low``.
    """
    begin = rows[low]
    for k in range(indptr[low], indptr[high]):
        rows[indices[k] + 1] += 1
    for s in range(low, high):
        rows[s + 1] += rows[s]
    for s in range(low, high):
        for k in range(indptr[s], indptr[s + 1]):
            place = rows[indices[k]]
            rows[indices[k]] = place + 1
            columns[place] = s
            entries[place] = values[k]
    for n in range(high - low):
        rows[high - n] = rows[high - n - 1]
    rows[low] = begin


def gain(rest, change, former, weights, products):
    """Multiply with each other, weighted: rest, change, and the change of each former step.

    ``products`` gets rest rest, rest change, change change, and change former for each of them.
    """
    size, along, length = 0.0, 0.0, 0.0
    for s in range(len(rest)):
        weighted = change[s] * weights[s]
        size += rest[s] * rest[s] * weights[s]
        along += rest[s] * weighted
        length += change[s] * weighted
    products[0], products[1], products[2] = size, along, length
    for i in range(len(former)):
        share, moved = 0.0, former[i]
        for s in range(len(rest)):
            share += moved[s] * change[s] * weights[s]
        products[3 + i] = share


def advance(x, rest, step, change, steps, changes, shares, length):
    """Take from a step its shares of the former ones, and go along it."""
    for i in range(len(steps)):
        share, former, moved = shares[i], steps[i], changes[i]
        if share != 0.0:
            for s in range(len(x)):
                step[s] -= share * former[s]
                change[s] -= share * moved[s]
    for s in range(len(x)):
        x[s] += length * step[s]
        rest[s] += length * change[s]
