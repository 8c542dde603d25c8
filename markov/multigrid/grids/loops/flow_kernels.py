"""The loops over the flows between the cells of a grid, as templates of kernels.

All whole numbers are unsigned: a signed index costs a comparison each time. Negative steps wrap. A row
of cells is a list of segments of cells of one kind: ``first`` has the first segment of each kind of row,
``starts`` and ``ends`` the cells of each segment, ``numbers`` its kind. Slot r of a cell of kind k has
the entries ``begin[k * width + r]`` up to ``begin[k * width + r + 1]``; the other state of entry e is
``step[e]`` further on. On the finest grid entries have rates; on a coarse one each cell has flows of its
own, one after the other from ``values[value_begin[row]]`` on. A call does the rows from ``top`` up to
``bottom``.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from markov.multigrid.grids.loops.rate_kernels import at_cell, at_row

__all__ = [
    "entry_flows",
    "outflows",
    "prolong",
    "restrict",
    "restrict_rates",
    "weight",
]


def weight(x, least):
    """Return what a flow out of a state of probability x is weighted by."""
    return x


def restrict_rates(
    top,
    bottom,
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
    counts,
    least,
    value_begin,
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
    for coarse in range(top, bottom):
        v = value_begin[coarse]
        s = child[coarse, zero] * fine_cells * width
        for i in range(first[row_kind[coarse]], first[row_kind[coarse] + one]):
            kind = numbers[i]
            if special[kind] > zero:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            at_row(counts, kind, coarse, one)
            for cell in range(starts[i], ends[i]):
                at_cell(counts, kind, cell, one)
                for e in range(begins[kind], begins[kind + one]):
                    total = 0.0
                    for p in range(part_begin[e], part_begin[e + one]):
                        total += weight(x[s + source[p]], least) * rate[p]
                    values[v] = total
                    v += one
                s += last * width


def restrict(
    top,
    bottom,
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
    value_begin,
    one,
    x,
    values,
):
    """Sum the flows between the cells of the next coarse grid, entry by entry.

    As `restrict_rates`, but a part is the flow number ``flow`` of those that the coarse cell has in its
    row of cells ``line``; ``spans`` says how many it has in each, and ``places`` is room for as many
    numbers of each coarse row.
    """
    zero = one - one
    for coarse in range(top, bottom):
        v = value_begin[coarse]
        s = child[coarse, zero] * fine_cells * width
        for c in range(zero, zero + child.shape[1]):
            places[coarse, c] = fine_begin[child[coarse, c]] if present[coarse, c] else zero
        for i in range(first[row_kind[coarse]], first[row_kind[coarse] + one]):
            kind = numbers[i]
            if special[kind] > zero:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            for _ in range(starts[i], ends[i]):
                for e in range(begins[kind], begins[kind + one]):
                    total = 0.0
                    for p in range(part_begin[e], part_begin[e + one]):
                        total += x[s + source[p]] * fine_values[places[coarse, line[p]] + flow[p]]
                    values[v] = total
                    v += one
                for c in range(zero, zero + child.shape[1]):
                    places[coarse, c] += spans[kind, c]
                s += last * width


def outflows(
    top,
    bottom,
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    width,
    begin,
    step,
    special,
    value_begin,
    values,
    one,
    scale,
):
    """Add the flows out of each state to ``scale``: those into the states of some rows."""
    zero = one - one
    for row in range(top, bottom):
        kind = row_kind[row]
        v = value_begin[row]
        s = row * cells * width
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


def prolong(
    top, bottom, children, child, present, last, fine_cells, cells, width, special, one, coarse, x
):
    """Multiply each state by the factor of its cell."""
    zero = one - one
    for row in range(top, bottom):
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


def entry_flows(
    top, bottom, flows, own, row_kind, rows, cells, width, begin, step, value_begin, rate, one, x
):
    """Add the flow of each entry of each kind, summed over the cells."""
    for row in range(top, bottom):
        kinds = rows[row_kind[row]]
        w = value_begin[row]
        s = row * cells * width
        for cell in range(len(kinds)):
            base = kinds[cell] * width
            if not own:
                w = begin[base]
            for r in range(base, base + width):
                for e in range(begin[r], begin[r + one]):
                    flows[e] += x[s + step[e]] * rate[w]
                    w += one
                s += one
