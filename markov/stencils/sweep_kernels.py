"""Gauss-Seidel sweeps over the cells of a grid, and residuals, as templates of kernels.

Tables as in `markov.stencils.kernels`. ``before`` says how many flows a row has before each segment.
Where statements are spliced in, ``together`` rows of one kind are swept side by side, so that no sum
waits for the one before it. Each row is ``lag`` cells ahead of the next, so far that what those cells
read is what it would be if one row were swept after another; before and after the middle of a segment
each row goes as far as its turn is. Only transitions that are not written out, and lead to a near row
by more cells (where states are moved along an axis), may find a neighbour swept earlier or later.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["FLOOR", "balance", "sweep", "sweep_rates"]

FLOOR = 1e-280


def sweep_rates(
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
    rate,
    floor,
    repeats,
    special,
    together,
    lag,
    one,
    backward,
    x,
):
    """Give each state in turn what flows in (Gauss-Seidel), but not less than its floor.

    Rates, and floors, are those into a state over the rate out of it. ``special`` says for which kinds
    of cells the spliced statements are.
    """
    zero = one - one
    n = zero
    while n < rows:
        row = rows - one - n if backward else n
        kind = row_kind[row]
        group = one
        while group < together and n + group < rows:
            if row_kind[row - group if backward else row + group] != kind:
                break
            group += one
        if group < together:
            group = one
        n += group
        count = first[kind + one] - first[kind]
        begun = zero
        middle = False
        while begun < count:
            until = begun + one if middle else begun
            while until < count:
                k = first[kind] + (count - one - until if backward else until)
                if group > one and special[numbers[k]] > zero and ends[k] - starts[k] > lag * group:
                    break
                until += one
            for g in range(zero, group):
                here = row - g if backward else row + g
                for i in range(begun, min(until + one, count)):
                    k = first[kind] + (count - one - i if backward else i)
                    low = starts[k]
                    high = ends[k]
                    if middle and i == begun:
                        low, high = (low, low + lag * g) if backward else (high - lag * g, high)
                    if i == until:
                        m = lag * (group - one - g)
                        low, high = (high - m, high) if backward else (low, low + m)
                    base = numbers[k] * width
                    if special[numbers[k]] > zero:
                        unrolled()  # type: ignore[name-defined]  # noqa: F821
                        continue
                    s = (here * cells + (high if backward else low)) * width
                    for _ in range(low, high):
                        if backward:
                            for m in range(one, width + one):
                                r = base + width - m
                                s -= one
                                total = 0.0
                                for e in range(begin[r], begin[r + one]):
                                    total += x[s + step[e]] * rate[e]
                                x[s] = max(total, floor[r])
                        else:
                            for r in range(base, base + width):
                                total = 0.0
                                for e in range(begin[r], begin[r + one]):
                                    total += x[s + step[e]] * rate[e]
                                x[s] = max(total, floor[r])
                                s += one
                        for _ in range(one, repeats[numbers[k]]):
                            if not backward:
                                s -= width
                            for r in range(base, base + width):
                                total = 0.0
                                for e in range(begin[r], begin[r + one]):
                                    total += x[s + step[e]] * rate[e]
                                x[s] = max(total, floor[r])
                                s += one
                            if backward:
                                s -= width
            if until < count:
                k = first[kind] + (count - one - until if backward else until)
                base = numbers[k] * width
                side_by_side()  # type: ignore[name-defined]  # noqa: F821
            begun = until
            middle = True


def sweep(
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
    repeats,
    special,
    before,
    value_begin,
    values,
    scale,
    together,
    lag,
    one,
    backward,
    x,
):
    """Give each state in turn what flows in, by flows of its own."""
    zero = one - one
    n = zero
    while n < rows:
        row = rows - one - n if backward else n
        kind = row_kind[row]
        group = one
        while group < together and n + group < rows:
            if row_kind[row - group if backward else row + group] != kind:
                break
            group += one
        if group < together:
            group = one
        n += group
        count = first[kind + one] - first[kind]
        begun = zero
        middle = False
        while begun < count:
            until = begun + one if middle else begun
            while until < count:
                k = first[kind] + (count - one - until if backward else until)
                if group > one and special[numbers[k]] > zero and ends[k] - starts[k] > lag * group:
                    break
                until += one
            for g in range(zero, group):
                here = row - g if backward else row + g
                for i in range(begun, min(until + one, count)):
                    k = first[kind] + (count - one - i if backward else i)
                    low = starts[k]
                    high = ends[k]
                    if middle and i == begun:
                        low, high = (low, low + lag * g) if backward else (high - lag * g, high)
                    if i == until:
                        m = lag * (group - one - g)
                        low, high = (high - m, high) if backward else (low, low + m)
                    base = numbers[k] * width
                    if special[numbers[k]] > zero:
                        unrolled()  # type: ignore[name-defined]  # noqa: F821
                        continue
                    each = begin[base + width] - begin[base]
                    s = (here * cells + (high if backward else low)) * width
                    v = value_begin[here] + before[k]
                    v += ((high if backward else low) - starts[k]) * each
                    for _ in range(low, high):
                        if backward:
                            for m in range(one, width + one):
                                r = base + width - m
                                s -= one
                                v -= begin[r + one] - begin[r]
                                total = 0.0
                                for e in range(begin[r], begin[r + one]):
                                    total += x[s + step[e]] * values[v + e - begin[r]]
                                x[s] = max(total, FLOOR) * scale[s]
                        else:
                            for r in range(base, base + width):
                                total = 0.0
                                for e in range(begin[r], begin[r + one]):
                                    total += x[s + step[e]] * values[v]
                                    v += one
                                x[s] = max(total, FLOOR) * scale[s]
                                s += one
                        for _ in range(one, repeats[numbers[k]]):
                            if not backward:
                                s -= width
                                v -= each
                            for r in range(base, base + width):
                                total = 0.0
                                for e in range(begin[r], begin[r + one]):
                                    total += x[s + step[e]] * values[v]
                                    v += one
                                x[s] = max(total, FLOOR) * scale[s]
                                s += one
                            if backward:
                                s -= width
                                v -= each
            if until < count:
                k = first[kind] + (count - one - until if backward else until)
                base = numbers[k] * width
                side_by_side()  # type: ignore[name-defined]  # noqa: F821
            begun = until
            middle = True


def balance(
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
    rate,
    exit_rate,
    special,
    one,
    x,
):
    """Return |what flows in less what flows out|, what flows out, and x, each summed."""
    off = 0.0
    flow = 0.0
    mass = 0.0
    zero = one - one
    for row in range(zero, rows):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            s = (row * cells + starts[k]) * width
            if special[numbers[k]] > zero:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            for _ in range(zero, ends[k] - starts[k]):
                for r in range(base, base + width):
                    total = 0.0
                    for e in range(begin[r], begin[r + one]):
                        total += x[s + step[e]] * rate[e]
                    out = x[s] * exit_rate[r]
                    flow += out
                    mass += x[s]
                    off += abs(total - out)
                    s += one
    return off, flow, mass
