"""The loops of a bound on a grid, as templates of kernels: hitting times by multigrid, and their check.

Tables as in `markov.stencils.kernels`, of transitions by source. ``reference`` is a state, or the cell
that has it, out of which a flow ``leak`` ends.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = [
    "add",
    "costs_and_weights",
    "drift",
    "leave",
    "leave_rates",
    "misfit",
    "relax",
    "relax_rates",
    "row_sums",
]

U = 1.1102230246251565e-16
TINY = 1e-300


def costs_and_weights(power, least, largest, x, found):
    """Set costs per second that grow as a power of 1 / x, and raise x to a least value, if positive."""
    for s in range(len(x)):
        if x[s] > 0.0:
            x[s] = max(x[s], least)
        found[s] = (max(x[s], least) / largest) ** power


def relax_rates(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    width,
    begin,
    step,
    rate,
    scale,
    reference,
    leaking,
    one,
    backward,
    w,
    h,
):
    """Solve the equation of each state in turn (Gauss-Seidel); ``leaking`` is the reference's scale."""
    zero = one - one
    for n in range(zero, zero + len(row_kind)):
        row = zero + len(row_kind) - one - n if backward else n
        kind = row_kind[row]
        for i in range(first[kind], first[kind + one]):
            k = first[kind + one] - one - (i - first[kind]) if backward else i
            base = numbers[k] * width
            s = (row * cells + (ends[k] if backward else starts[k])) * width
            for _ in range(ends[k] - starts[k]):
                for m in range(zero, width):
                    r = base + m
                    if backward:
                        r = base + width - one - m
                        s -= one
                    total = float(w[s])
                    for e in range(begin[r], begin[r + one]):
                        total += h[s + step[e]] * rate[e]
                    h[s] = total * (leaking if s == reference else scale[r])
                    if not backward:
                        s += one


def leave_rates(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    width,
    begin,
    step,
    rate,
    parent,
    bits,
    coarse_cells,
    reference,
    leak,
    one,
    pi,
    w,
    h,
    right,
):
    """Sum what is left of the equations over the cells of the first coarse grid, weighted by pi."""
    for t in range(len(right)):
        right[t] = 0.0
    zero = one - one
    for row in range(zero, zero + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            s = (row * cells + starts[k]) * width
            for cell in range(starts[k], ends[k]):
                t = (parent[row] * coarse_cells + (cell >> bits)) * width
                for m in range(zero, width):
                    r = base + m
                    total = float(w[s])
                    for e in range(begin[r], begin[r + one]):
                        total += (h[s + step[e]] - h[s]) * rate[e]
                    if s == reference:
                        total -= leak * h[s]
                    right[t + m] += pi[s] * total
                    s += one


def add(rows, cells, width, parent, bits, coarse_cells, one, coarse, h):
    """Add to each state the amount of its cell."""
    zero = one - one
    s = zero
    for row in range(zero, zero + rows):
        for cell in range(zero, cells):
            t = (parent[row] * coarse_cells + (cell >> bits)) * width
            for m in range(zero, width):
                h[s] += coarse[t + m]
                s += one


def relax(
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
    one,
    backward,
    right,
    h,
):
    """Solve the equation of each state of a coarse grid in turn."""
    zero = one - one
    for n in range(zero, zero + len(row_kind)):
        row = zero + len(row_kind) - one - n if backward else n
        kind = row_kind[row]
        v = value_begin[row + one] if backward else value_begin[row]
        for i in range(first[kind], first[kind + one]):
            k = first[kind + one] - one - (i - first[kind]) if backward else i
            base = numbers[k] * width
            s = (row * cells + (ends[k] if backward else starts[k])) * width
            for _ in range(ends[k] - starts[k]):
                for m in range(zero, width):
                    r = base + m
                    if backward:
                        r = base + width - one - m
                        s -= one
                        v -= begin[r + one] - begin[r]
                    total = right[s]
                    for e in range(begin[r], begin[r + one]):
                        total += h[s + step[e]] * values[v + e - begin[r]]
                    h[s] = total * scale[s]
                    if not backward:
                        v += begin[r + one] - begin[r]
                        s += one


def leave(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    width,
    begin,
    step,
    values,
    parent,
    bits,
    coarse_cells,
    reference,
    leak,
    one,
    right,
    h,
    coarse,
):
    """Sum what is left of the equations over the cells of the next coarse grid."""
    for t in range(len(coarse)):
        coarse[t] = 0.0
    zero = one - one
    s = zero
    v = zero
    for row in range(zero, zero + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            for cell in range(starts[k], ends[k]):
                t = (parent[row] * coarse_cells + (cell >> bits)) * width
                for m in range(zero, width):
                    r = base + m
                    total = right[s]
                    for e in range(begin[r], begin[r + one]):
                        total += (h[s + step[e]] - h[s]) * values[v]
                        v += one
                    if s == reference:
                        total -= leak * h[s]
                    coarse[t + m] += total
                    s += one


def row_sums(
    row_kind, first, starts, ends, numbers, width, begin, reference, leak, one, values, scale
):
    """Set ``scale`` to the flow out of each state, the leak included, inverted; zero where none is."""
    s = one - one
    v = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            for _ in range(ends[k] - starts[k]):
                for r in range(numbers[k] * width, numbers[k] * width + width):
                    total = leak if s == reference else 0.0
                    for _ in range(begin[r], begin[r + one]):
                        total += values[v]
                        v += one
                    scale[s] = 1.0 / total if total > TINY else 0.0
                    s += one


def drift(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    width,
    begin,
    step,
    rate,
    reference,
    one,
    bit,
    marks,
    h,
):
    """Return the largest (Q h)(s), rounded up, of the marked states but the reference."""
    worst = -1e308
    s = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            for _ in range(ends[k] - starts[k]):
                for r in range(base, base + width):
                    total = 0.0
                    size = 0.0
                    count = 4.0
                    for e in range(begin[r], begin[r + one]):
                        term = (h[s + step[e]] - h[s]) * rate[e]
                        total += term
                        size += abs(term)
                        count += 1.0
                    if marks[s] & bit and s != reference:
                        upper = total + 1.1 * count * U * size
                        if not upper <= worst:
                            worst = upper
                    s += one
    return worst


def misfit(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    width,
    begin,
    step,
    rate,
    exit_rate,
    least,
    one,
    bit,
    marks,
    h,
    x,
):
    """Return the sum of |(x Q)(s)| (h(s) - least), rounded up, and the sum of x, over marked states.

    Transitions are those into each state. The sum of x is compensated (Neumaier).
    """
    off = 0.0
    mass = 0.0
    low = 0.0
    s = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            for _ in range(ends[k] - starts[k]):
                for r in range(base, base + width):
                    total = 0.0
                    count = 6.0
                    for e in range(begin[r], begin[r + one]):
                        total += x[s + step[e]] * rate[e]
                        count += 1.0
                    out = x[s] * exit_rate[r]
                    error = 1.1 * count * U * (total + out)
                    if marks[s] & bit:
                        off += (abs(total - out) + error) * max(h[s] - least, 0.0)
                        new = mass + x[s]
                        if mass >= x[s]:
                            low += (mass - new) + x[s]
                        else:
                            low += (x[s] - new) + mass
                        mass = new
                    s += one
    return off, mass, low
