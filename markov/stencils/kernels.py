"""The loops over the cells of a grid, as templates of kernels.

All whole numbers are unsigned: a signed index costs a comparison each time. Negative steps wrap. A row
of cells is a list of segments of cells of one kind: ``first`` has the first segment of each kind of row,
``starts`` and ``ends`` the cells of each segment, ``numbers`` its kind. Slot r of a cell of kind k has
the entries ``begin[k * width + r]`` up to ``begin[k * width + r + 1]``; the other state of entry e is
``step[e]`` further on. On the finest grid entries have rates; on a coarse one each cell has flows of its
own, one after the other from ``values[value_begin[row]]`` on.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

__all__ = [
    "blend",
    "compare",
    "entry_flows",
    "imbalance",
    "multiply",
    "outflows",
    "overcorrect",
    "prolong",
    "restrict",
    "restrict_rates",
]

TINY = 1e-300


def restrict_rates(
    child,
    width,
    last,
    fine_cells,
    row_kind,
    first,
    starts,
    ends,
    numbers,
    special,
    begins,
    part_begin,
    source,
    rate,
    one,
    x,
    values,
):
    """Sum the flows of the finest grid between cells of the first coarse one, entry by entry.

    Coarse cells of kind k have the entries from ``begins[k]`` on, entry e the parts from
    ``part_begin[e]`` on: flows at ``rate`` out of the state ``source``, counted from the first one of
    the coarse cell. ``child`` has the finer rows of each coarse row.
    """
    zero = one - one
    v = zero
    for coarse in range(zero, zero + len(row_kind)):
        s = child[coarse, zero] * fine_cells * width
        for i in range(first[row_kind[coarse]], first[row_kind[coarse] + one]):
            kind = numbers[i]
            count = ends[i] - starts[i]
            if special[kind] > zero:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            for _ in range(count):
                for e in range(begins[kind], begins[kind + one]):
                    total = 0.0
                    for p in range(part_begin[e], part_begin[e + one]):
                        total += x[s + source[p]] * rate[p]
                    values[v] = total
                    v += one
                s += last * width


def restrict(
    child,
    present,
    width,
    last,
    fine_cells,
    row_kind,
    first,
    starts,
    ends,
    numbers,
    special,
    begins,
    part_begin,
    source,
    flow,
    line,
    spans,
    places,
    fine_begin,
    fine_values,
    one,
    x,
    values,
):
    """Sum the flows between the cells of the next coarse grid, entry by entry.

    As `restrict_rates`, but a part is the flow number ``flow`` of those that the coarse cell has in its
    row of cells ``line``; ``spans`` says how many it has in each, and ``places`` is room for as many
    numbers.
    """
    zero = one - one
    v = zero
    for coarse in range(zero, zero + len(row_kind)):
        s = child[coarse, zero] * fine_cells * width
        for c in range(zero, zero + len(places)):
            places[c] = fine_begin[child[coarse, c]] if present[coarse, c] else zero
        for i in range(first[row_kind[coarse]], first[row_kind[coarse] + one]):
            kind = numbers[i]
            count = ends[i] - starts[i]
            if special[kind] > zero:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            for _ in range(count):
                for e in range(begins[kind], begins[kind + one]):
                    total = 0.0
                    for p in range(part_begin[e], part_begin[e + one]):
                        total += x[s + source[p]] * fine_values[places[line[p]] + flow[p]]
                    values[v] = total
                    v += one
                for c in range(zero, zero + len(places)):
                    places[c] += spans[kind, c]
                s += last * width


def outflows(
    row_kind, first, starts, ends, numbers, width, begin, step, special, values, scale, one, x
):
    """Set ``scale`` to the flows out of each state, inverted, and x to one."""
    zero = one - one
    for s in range(len(scale)):
        scale[s] = 0.0
        x[s] = 1.0
    v = zero
    s = zero
    for row in range(zero, zero + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            if special[numbers[k]] > zero:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            for _ in range(ends[k] - starts[k]):
                for r in range(base, base + width):
                    for e in range(begin[r], begin[r + one]):
                        scale[s + step[e]] += values[v]
                        v += one
                    s += one
    for s in range(len(scale)):
        scale[s] = 1.0 / max(scale[s], TINY)


def prolong(
    rows, children, child, present, last, fine_cells, cells, width, special, one, coarse, x
):
    """Multiply each state by the factor of its cell."""
    zero = one - one
    for row in range(zero, rows):
        for c in range(zero, children):
            if not present[row, c]:
                continue
            s = child[row, c] * fine_cells * width
            t = row * cells * width
            left = fine_cells
            if special:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
            while left > zero:
                for _ in range(min(last, left)):
                    for r in range(zero, width):
                        x[s] *= coarse[t + r]
                        s += one
                left -= min(last, left)
                t += width


def overcorrect(x):
    """Raise x to the power 1.25."""
    for s in range(len(x)):
        x[s] *= math.sqrt(math.sqrt(x[s]))


def entry_flows(own, row_kind, rows, width, begin, step, rate, one, x, flows):
    """Sum the flow of each entry of each kind over all cells."""
    zero = one - one
    w = zero
    s = zero
    for row in range(zero, zero + len(row_kind)):
        kinds = rows[row_kind[row]]
        for cell in range(len(kinds)):
            base = kinds[cell] * width
            if not own:
                w = begin[base]
            for r in range(base, base + width):
                for e in range(begin[r], begin[r + one]):
                    flows[e] += x[s + step[e]] * rate[w]
                    w += one
                s += one


def imbalance(
    row_kind, first, starts, ends, numbers, width, begin, step, rate, exit_rate, one, bit, marks, x
):
    """Return the largest quotient of what flows into a marked state and what flows out of it."""
    worst = 0.0
    s = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            for _ in range(ends[k] - starts[k]):
                for r in range(base, base + width):
                    total = 0.0
                    for e in range(begin[r], begin[r + one]):
                        total += x[s + step[e]] * rate[e]
                    if marks[s] & bit and total > worst * x[s] * exit_rate[r]:
                        worst = total / (x[s] * exit_rate[r])
                    s += one
    return worst


def compare(
    row_kind, first, starts, ends, numbers, width, begin, step, rate, exit_rate, one, x, y, z, found
):
    """Multiply residuals: of x, and of the differences of y and z to it, weighted by 1 / flow."""
    g11 = g12 = g22 = b1 = b2 = 0.0
    s = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            for _ in range(ends[k] - starts[k]):
                for r in range(base, base + width):
                    out = exit_rate[r]
                    rest = -x[s] * out
                    p = (x[s] - y[s]) * out
                    q = (x[s] - z[s]) * out
                    for e in range(begin[r], begin[r + one]):
                        t = s + step[e]
                        rest += x[t] * rate[e]
                        p += (y[t] - x[t]) * rate[e]
                        q += (z[t] - x[t]) * rate[e]
                    if x[s] > TINY and out > 0.0:
                        weight = 1.0 / (x[s] * out)
                        g11 += p * p * weight
                        g12 += p * q * weight
                        g22 += q * q * weight
                        b1 -= p * rest * weight
                        b2 -= q * rest * weight
                    s += one
    found[0], found[1], found[2], found[3], found[4] = g11, g12, g22, b1, b2


def blend(a, b, least, x, y, z):
    """Set x to x + a (y - x) + b (z - x), at least ``least`` times what it was; z to x, as it was."""
    for s in range(len(x)):
        before = x[s]
        better = before + a * (y[s] - before) + b * (z[s] - before)
        x[s] = max(better, least * before)
        z[s] = before


def multiply(factor, x):
    """Multiply x by a number."""
    for s in range(len(x)):
        x[s] *= factor
