"""The loops over the cells of a grid, as templates of kernels.

All whole numbers are unsigned: a signed index costs a comparison, which is half of the time here. A row
of cells is a list of segments of cells of one kind: ``first`` has the first segment of each kind of row,
``starts`` and ``ends`` the cells of each segment, ``numbers`` its kind. The finest grid has its rates by
kind (``step``, ``rate`` and ``scale``, padded with zeros), ``states`` and ``entries`` are tuples as long
as a cell has states, and a state entries: known to the compiler, loops over them are unrolled. On a
coarse grid each cell has flows of its own, one after the other from ``values[value_begin[row]]`` on, and
``begin`` and ``step`` say by kind where their sources are.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = [
    "balance",
    "entry_flows",
    "outflows",
    "prolong",
    "restrict",
    "restrict_rates",
    "spread",
    "sweep",
    "sweep_rates",
]

FLOOR = 1e-280
TINY = 1e-300


# --------------------------------------------------------------------------- the finest grid


def sweep_rates(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    step,
    rate,
    scale,
    states,
    entries,
    backward,
    one,
    x,
):
    """Give each state in turn what flows in. Flows that would underflow are held at a floor."""
    zero = one - one
    width = zero + len(states)
    for n in range(zero, zero + len(row_kind)):
        row = zero + len(row_kind) - one - n if backward else n
        kind = row_kind[row]
        for i in range(first[kind], first[kind + one]):
            k = first[kind + one] - one - (i - first[kind]) if backward else i
            into, by, out = step[numbers[k]], rate[numbers[k]], scale[numbers[k]]
            count = ends[k] - starts[k]
            if backward:
                s = (row * cells + ends[k]) * width
                for _ in range(count):
                    for m in range(len(states)):
                        r = len(states) - 1 - m
                        s -= one
                        total = 0.0
                        for e in range(len(entries)):
                            total += x[s + into[r, e]] * by[r, e]
                        x[s] = max(total, FLOOR) * out[r] if total > 0.0 else 0.0
            else:
                s = (row * cells + starts[k]) * width
                for _ in range(count):
                    for r in range(len(states)):
                        total = 0.0
                        for e in range(len(entries)):
                            total += x[s + into[r, e]] * by[r, e]
                        x[s] = max(total, FLOOR) * out[r] if total > 0.0 else 0.0
                        s += one


def balance(
    row_kind, first, starts, ends, numbers, cells, step, rate, scale, states, entries, one, x
):
    """Return |what flows in less what flows out|, and what flows out, summed over all states."""
    zero = one - one
    width = zero + len(states)
    off = 0.0
    flow = 0.0
    for row in range(zero, zero + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            into, by, out = step[numbers[k]], rate[numbers[k]], scale[numbers[k]]
            s = (row * cells + starts[k]) * width
            for _ in range(ends[k] - starts[k]):
                for r in range(len(states)):
                    total = 0.0
                    for e in range(len(entries)):
                        total += x[s + into[r, e]] * by[r, e]
                    flow += x[s] * out[r]
                    off += abs(total - x[s] * out[r])
                    s += one
    return off, flow


def spread(
    row_kind, first, starts, ends, numbers, cells, step, rate, states, entries, backward, one, x
):
    """Mark with one each state that a marked state leads to; return how many were marked."""
    zero = one - one
    width = zero + len(states)
    found = 0
    for n in range(zero, zero + len(row_kind)):
        row = zero + len(row_kind) - one - n if backward else n
        kind = row_kind[row]
        for i in range(first[kind], first[kind + one]):
            k = first[kind + one] - one - (i - first[kind]) if backward else i
            into, by = step[numbers[k]], rate[numbers[k]]
            for c in range(ends[k] - starts[k]):
                cell = ends[k] - one - c if backward else starts[k] + c
                for m in range(len(states)):
                    r = len(states) - 1 - m if backward else m
                    s = (row * cells + cell) * width + r
                    if x[s] == 0.0:
                        for e in range(len(entries)):
                            if x[s + into[r, e]] > 0.0 and by[r, e] > 0.0:
                                x[s] = 1.0
                        if x[s] > 0.0:
                            found += 1
    return found


def restrict_rates(
    child_rows,
    present,
    children,
    place,
    share,
    last,
    fine_cells,
    step,
    states,
    entries,
    x,
    row_kind,
    rows,
    counts,
    value_begin,
    one,
    values,
):
    """Sum the flows between the cells of the first coarse grid; ``share`` is zero within a cell."""
    zero = one - one
    width = zero + len(states)
    for coarse in range(zero, zero + len(row_kind)):
        for v in range(value_begin[coarse], value_begin[coarse + one]):
            values[v] = 0.0
        kinds = rows[row_kind[coarse]]
        for c in range(zero, zero + child_rows.shape[1]):
            if not present[coarse, c]:
                continue
            v = value_begin[coarse]
            s = child_rows[coarse, c] * fine_cells * width
            left = fine_cells
            for cell in range(len(kinds)):
                kind = kinds[cell]
                for q in range(c * last, c * last + min(last, left)):
                    into = step[children[kind, q]]
                    places, by = place[kind, q], share[kind, q]
                    for r in range(len(states)):
                        for e in range(len(entries)):
                            values[v + places[r, e]] += x[s + into[r, e]] * by[r, e]
                        s += one
                left -= min(last, left)
                v += counts[kind]


# --------------------------------------------------------------------------- coarse grids


def sweep(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    width,
    begin,
    step,
    value_begin,
    values,
    scale,
    backward,
    one,
    x,
):
    """Give each state in turn what flows in, by flows of its own."""
    zero = one - one
    for n in range(zero, zero + len(row_kind)):
        row = zero + len(row_kind) - one - n if backward else n
        kind = row_kind[row]
        v = value_begin[row + one] if backward else value_begin[row]
        for i in range(first[kind], first[kind + one]):
            k = first[kind + one] - one - (i - first[kind]) if backward else i
            base = numbers[k] * width
            if backward:
                s = (row * cells + ends[k]) * width
                for _ in range(ends[k] - starts[k]):
                    for m in range(zero, width):
                        r = base + width - one - m
                        s -= one
                        v -= begin[r + one] - begin[r]
                        total = 0.0
                        for e in range(begin[r], begin[r + one]):
                            total += x[s + step[e]] * values[v + e - begin[r]]
                        x[s] = max(total, FLOOR) * scale[s] if total > 0.0 else 0.0
            else:
                s = (row * cells + starts[k]) * width
                for _ in range(ends[k] - starts[k]):
                    for r in range(base, base + width):
                        total = 0.0
                        for e in range(begin[r], begin[r + one]):
                            total += x[s + step[e]] * values[v]
                            v += one
                        x[s] = max(total, FLOOR) * scale[s] if total > 0.0 else 0.0
                        s += one


def restrict(
    child_rows,
    present,
    children,
    map_begin,
    target,
    none,
    last,
    fine_cells,
    width,
    begin,
    step,
    fine_begin,
    fine_values,
    x,
    row_kind,
    rows,
    counts,
    value_begin,
    one,
    values,
):
    """Sum the flows between the cells of the next coarse grid; ``none``: within a cell."""
    zero = one - one
    for coarse in range(zero, zero + len(row_kind)):
        for v in range(value_begin[coarse], value_begin[coarse + one]):
            values[v] = 0.0
        kinds = rows[row_kind[coarse]]
        for c in range(zero, zero + child_rows.shape[1]):
            if not present[coarse, c]:
                continue
            v = value_begin[coarse]
            row = child_rows[coarse, c]
            s = row * fine_cells * width
            w = fine_begin[row]
            left = fine_cells
            for cell in range(len(kinds)):
                kind = kinds[cell]
                for q in range(c * last, c * last + min(last, left)):
                    base = children[kind, q] * width
                    place = map_begin[kind, q] - begin[base]
                    for r in range(base, base + width):
                        for e in range(begin[r], begin[r + one]):
                            if target[place + e] != none:
                                values[v + target[place + e]] += x[s + step[e]] * fine_values[w]
                            w += one
                        s += one
                left -= min(last, left)
                v += counts[kind]


def outflows(
    row_kind, first, starts, ends, numbers, cells, width, begin, step, values, scale, one, x
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
            for _ in range(ends[k] - starts[k]):
                for r in range(base, base + width):
                    for e in range(begin[r], begin[r + one]):
                        scale[s + step[e]] += values[v]
                        v += one
                    s += one
    for s in range(len(scale)):
        scale[s] = 1.0 / max(scale[s], TINY)


# --------------------------------------------------------------------------- both


def prolong(child_rows, present, last, fine_cells, cells, width, coarse, one, x):
    """Multiply each state by the factor of its cell."""
    zero = one - one
    for row in range(zero, zero + child_rows.shape[0]):
        for c in range(zero, zero + child_rows.shape[1]):
            if not present[row, c]:
                continue
            s = child_rows[row, c] * fine_cells * width
            t = row * cells * width
            left = fine_cells
            for _ in range(cells):
                for _ in range(min(last, left)):
                    for r in range(zero, width):
                        x[s] *= coarse[t + r]
                        s += one
                left -= min(last, left)
                t += width


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
