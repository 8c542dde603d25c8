"""The loops of aggregation multigrid, as templates of kernels.

All levels of a hierarchy lie one behind the other in the same arrays; states and entries are numbered
through. Level l has the states ``first[l] .. first[l + 1] - 1``; state s has the entries ``indptr[s]
.. indptr[s + 1] - 1``, which say what it takes from the state ``indices[k]`` per unit of that one's
``x``. Its aggregate, a state of the next level, is ``parent[s]``; entry k is part of the entry
``target[k]``, or, within an aggregate, of one of several dummy entries at the end.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = [
    "advance",
    "blend",
    "compare",
    "correct",
    "cycle",
    "eliminate",
    "gain",
    "leave",
    "leave_first",
    "match",
    "merge",
    "moves",
    "multiply",
    "relax",
    "relax_first",
    "restrict",
    "sweep",
    "transpose",
]

FLOOR = 1e-280
TINY = 1e-300
HUGE = 1e100
STRONG = 0.25


# --------------------------------------------------------------------------- pi


def cycle(first, left, repeats, sweeps, indptr, indices, values, target, parent, scale, x, dense):
    """Run one cycle from the first level, which goes to level l ``repeats[l]`` times in a row.

    Every level but the last sweeps forward before, and backward after, the levels behind it have
    corrected it. ``left`` is room for as many numbers as there are levels.
    """
    last = len(first) - 2
    level = 0
    while True:
        while level < last:  # down
            low, high, end = first[level], first[level + 1], first[level + 2]
            for _ in range(sweeps):
                sweep(low, high, False, indptr, indices, values, scale, x)
            restrict(low, high, end, indptr, indices, values, target, scale, x)
            level += 1
            left[level] = repeats[level]
        eliminate(first[last], first[last + 1], indptr, indices, values, scale, x, dense)
        while level > 0:  # up, to a level that is to correct once more
            left[level] -= 1
            if left[level] > 0 and level < last:
                break
            level -= 1
            low, high = first[level], first[level + 1]
            for s in range(low, high):
                x[s] *= x[parent[s]]
            for _ in range(sweeps):
                sweep(low, high, True, indptr, indices, values, scale, x)
        if level == 0:
            return


def sweep(low, high, backward, indptr, indices, values, scale, x):
    """Relax the states low .. high - 1 in turn (Gauss-Seidel): set each flow to its inflow.

    Flows that would underflow are held at a floor, positive.
    """
    for n in range(high - low):
        s = high - 1 - n if backward else low + n
        total = 0.0
        for k in range(indptr[s], indptr[s + 1]):
            total += x[indices[k]] * values[k]
        x[s] = max(total, FLOOR) * scale[s]


def restrict(low, high, end, indptr, indices, values, target, scale, x):
    """Sum the flows between aggregates: the states low .. high - 1 are those of high .. end - 1."""
    for k in range(indptr[high], indptr[end]):
        values[k] = 0.0
    for s in range(low, high):
        for k in range(indptr[s], indptr[s + 1]):
            values[target[k]] += x[indices[k]] * values[k]
    for s in range(high, end):
        x[s] = 1.0
        scale[s] = 0.0
    for k in range(indptr[high], indptr[end]):
        scale[indices[k]] += values[k]
    for s in range(high, end):
        scale[s] = 1.0 / max(scale[s], TINY)


def eliminate(low, high, indptr, indices, values, scale, x, dense):
    """Solve the last level by elimination without subtractions; the total flow stays the same."""
    m = high - low
    for i in range(m):
        for j in range(m):
            dense[i, j] = 0.0
    for s in range(low, high):
        for k in range(indptr[s], indptr[s + 1]):
            dense[indices[k] - low, s - low] = values[k]
    for n in range(m - 1):
        k = m - 1 - n
        total = 0.0
        for j in range(k):
            total += dense[k, j]
        for i in range(k):
            share = dense[i, k] / max(total, TINY)
            dense[i, k] = share
            if share > 0.0:
                for j in range(k):
                    dense[i, j] += share * dense[k, j]
    x[low] = 1.0
    for k in range(1, m):
        total = 0.0
        for i in range(k):
            total += x[low + i] * dense[i, k]
        x[low + k] = total
        if total > HUGE:
            for i in range(k + 1):
                x[low + i] /= total
    flow = 0.0
    wanted = 0.0
    for s in range(low, high):
        flow += x[s] / scale[s]
        wanted += 1.0 / scale[s]
    for s in range(low, high):
        x[s] *= wanted / flow


def compare(flow, residual, flows, residuals, products):
    """Multiply the differences of residuals, and the last one itself, weighted by 1 / flow."""
    m = len(flows)
    for i in range(m):
        for j in range(m + 1):
            products[i, j] = 0.0
    for s in range(len(flow)):
        for i in range(m):
            weighted = (residuals[i, s] - residual[s]) / flow[s]
            products[i, m] -= weighted * residual[s]
            for j in range(i + 1):
                products[i, j] += weighted * (residuals[j, s] - residual[s])
    for i in range(m):
        for j in range(i):
            products[j, i] = products[i, j]


def blend(flow, flows, shares, least, better):
    """Combine flows, each at least ``least`` times its old value. Return the sum."""
    total = 0.0
    for s in range(len(flow)):
        value = flow[s]
        for i in range(len(flows)):
            value += shares[i] * (flows[i, s] - flow[s])
        better[s] = max(value, least * flow[s])
        total += better[s]
    return total


# --------------------------------------------------------------------------- linear equations


def correct(
    first,
    left,
    repeats,
    rows,
    columns,
    entries,
    own,
    damping,
    into,
    out,
    indptr,
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
    state leaves goes, times ``into``, to its aggregate, by whose x its own changes, times ``out``.
    """
    last = len(first) - 2
    level = 0
    while True:
        while level < last:
            low, high, end = first[level], first[level + 1], first[level + 2]
            for s in range(high, end):
                x[s] = 0.0
                right[s] = 0.0
            if level == 0:
                relax_first(high, False, rows, columns, entries, own, damping, x, right)
                leave_first(high, rows, columns, entries, own, into, parent, x, right)
            else:
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
                relax_first(high, True, rows, columns, entries, own, damping, x, right)
            else:
                for s in range(low, high):
                    x[s] += x[parent[s]]
                relax(low, high, True, indptr, indices, values, scale, x, right)
        if level == 0:
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
    m = len(former)
    for i in range(m + 3):
        products[i] = 0.0
    for s in range(len(rest)):
        weighted = change[s] * weights[s]
        products[0] += rest[s] * rest[s] * weights[s]
        products[1] += rest[s] * weighted
        products[2] += change[s] * weighted
        for i in range(m):
            products[3 + i] += former[i, s] * weighted


def advance(x, rest, step, change, steps, changes, shares, length):
    """Take from a step its shares of the former ones, and go along it."""
    for s in range(len(x)):
        for i in range(len(steps)):
            step[s] -= shares[i] * steps[i, s]
            change[s] -= shares[i] * changes[i, s]
        x[s] += length * step[s]
        rest[s] += length * change[s]


# --------------------------------------------------------------------------- coarsening


def moves(component, indptr, indices, flows):
    """Return the flow of the transitions that change a component, and of those that do by one."""
    total = 0.0
    by_one = 0.0
    for s in range(len(component)):
        here = component[s]
        for k in range(indptr[s], indptr[s + 1]):
            distance = abs(component[indices[k]] - here)
            if distance > 0:
                total += flows[k]
                if distance == 1:
                    by_one += flows[k]
    return total, by_one


def match(indptr, indices, flows, mass, least, strongest, labels):
    """Pair each state with its most strongly coupled neighbour that is free.

    The coupling is the exchange relative to the smaller mass; what is below a share ``least`` of the
    strongest of either, now or ``strongest`` before, does not count. A state with a neighbour four times
    as strong that is not free joins the pair of that one. Returns the number of labels; they are -1
    before.
    """
    for s in range(len(labels)):
        for k in range(indptr[s], indptr[s + 1]):
            coupling = flows[k] / min(mass[s], mass[indices[k]])
            if coupling > strongest[s] and indices[k] != s:
                strongest[s] = coupling
    count = 0
    for s in range(len(labels)):
        if labels[s] >= 0:
            continue
        free, most_free, near, most = -1, 0.0, -1, 0.0
        for k in range(indptr[s], indptr[s + 1]):
            other = indices[k]
            if other == s:
                continue
            coupling = flows[k] / min(mass[s], mass[other])
            if coupling < least * max(strongest[s], strongest[other]):
                continue
            if labels[other] < 0 and coupling > most_free:
                free, most_free = other, coupling
            if labels[other] >= 0 and coupling > most:
                near, most = other, coupling
        if free >= 0 and most_free >= STRONG * most:
            labels[s] = count
            labels[free] = count
            count += 1
        elif near >= 0:
            labels[s] = labels[near]
        else:
            labels[s] = count
            count += 1
    return count


def merge(labels, order, bounds, indptr, indices, target, coarse_indptr, coarse_indices, seen):
    """Find the entries of the aggregates, and of which of them each entry is a part.

    ``order`` has the states by aggregate, ``bounds`` where each aggregate begins; ``target`` gets -1
    for entries within an aggregate; ``seen`` is -1 for each aggregate before. Returns the number of
    entries.
    """
    count = 0
    for a in range(len(bounds) - 1):
        begin = count
        for p in range(bounds[a], bounds[a + 1]):
            s = order[p]
            for k in range(indptr[s], indptr[s + 1]):
                b = labels[indices[k]]
                if b == a:
                    target[k] = -1
                    continue
                place = seen[b]
                if place < begin:
                    place = count
                    seen[b] = count
                    coarse_indices[count] = b
                    count += 1
                target[k] = place
        coarse_indptr[a + 1] = count
    return count
