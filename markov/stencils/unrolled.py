"""Statements for the cells of the most frequent kind, with no loops over slots and entries.

They are spliced into the kernels. How many entries each slot has is written out; steps and rates stay
arguments, so that one compiled kernel serves all parameters of a model, and models alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.stencils.grids import Grid

__all__ = [
    "frequent",
    "outflows",
    "prolong",
    "sum_of_flows",
    "sum_of_rates",
    "sweep_flows",
    "sweep_rates",
]

MOST = 64  # entries of a cell that are written out


def frequent(grid: Grid, plain: NDArray[np.bool_]) -> tuple[tuple[int, ...], NDArray[np.bool_]]:
    """Return the most frequent numbers of entries of the slots, and which kinds have them.

    Parameters
    ----------
    grid
        Its kinds of cells.
    plain
        Kinds that may be chosen.
    """
    counts = np.diff(grid.begin).reshape(-1, grid.width)
    patterns, which = np.unique(counts, axis=0, return_inverse=True)
    share = np.bincount(which.ravel(), grid.shares * plain, minlength=len(patterns))
    share[patterns.sum(axis=1) > MOST] = 0.0
    best = int(np.argmax(share))
    chosen = (which.ravel() == best) & plain & bool(share[best] > 0.0)
    return tuple(patterns[best].tolist()), chosen


def sweep_rates(counts: Sequence[int]) -> str:
    """Return a sweep of a segment of the finest grid, whose slots have so many entries."""
    total, width = sum(counts), len(counts)
    lines = [*_constants(total), "_b = begin[base]"]
    lines += [f"_o{e} = step[_b + _k{e}]" for e in range(total)]
    lines += [f"_q{e} = rate[_b + _k{e}]" for e in range(total)]
    lines += [f"_f{r} = floor[base + _k{r}]" for r in range(width)]
    terms = [[f"x[s + _o{e}] * _q{e}" for e in some] for some in _entries(counts)]
    floors = [f"_f{r}" for r in range(width)]
    backward = [
        line
        for r in reversed(range(width))
        for line in ("s -= one", f"x[s] = max({_sum(terms[r])}, {floors[r]})")
    ]
    forward = [
        line
        for r in range(width)
        for line in (f"x[s] = max({_sum(terms[r][::-1])}, {floors[r]})", "s += one")
    ]
    return "\n".join([*lines, *_both(backward, forward)])


def sweep_flows(counts: Sequence[int]) -> str:
    """Return a sweep of a segment of a coarse grid, whose slots have so many entries."""
    total, width = sum(counts), len(counts)
    lines = [*_constants(total), "_b = begin[base]"]
    lines += [f"_o{e} = step[_b + _k{e}]" for e in range(total)]
    terms = [[f"x[s + _o{e}] * values[v + _k{e}]" for e in some] for some in _entries(counts)]
    backward = [f"v -= _k{total}"]
    for r in reversed(range(width)):
        backward += ["s -= one", f"x[s] = max({_sum(terms[r])}, FLOOR) * scale[s]"]
    forward = []
    for r in range(width):
        forward += [f"x[s] = max({_sum(terms[r][::-1])}, FLOOR) * scale[s]", "s += one"]
    forward.append(f"v += _k{total}")
    return "\n".join([*lines, *_both(backward, forward)])


def outflows(counts: Sequence[int]) -> str:
    """Return the sums of flows out of states, for a segment whose slots have so many entries."""
    total, width = sum(counts), len(counts)
    lines = [*_constants(max(total, width)), "_b = begin[base]"]
    lines += [f"_o{e} = step[_b + _k{e}]" for e in range(total)]
    body = []
    for some in _entries(counts):
        body += [f"scale[s + _o{e}] += values[v + _k{e}]" for e in some]
        body.append("s += one")
    body.append(f"v += _k{total}")
    loop = "for _ in range(ends[k] - starts[k]):"
    return "\n".join([*lines, loop, *(f"    {line}" for line in body)])


def prolong(width: int, last: int) -> str:
    """Return the corrections of a row of cells of so many slots, ``last`` of which make one."""
    lines = [*_constants(width * last), f"while left >= _k{last}:"]
    body = [f"_c{r} = coarse[t + _k{r}]" for r in range(width)]
    body += [f"x[s + _k{c * width + r}] *= _c{r}" for c in range(last) for r in range(width)]
    body += [f"s += _k{width * last}", f"t += _k{width}", f"left -= _k{last}"]
    return "\n".join([*lines, *(f"    {line}" for line in body)])


def sum_of_rates(counts: Sequence[int]) -> str:
    """Return the sums of flows for a segment of coarse cells, whose entries have so many parts."""
    total = sum(counts)
    lines = [*_constants(max(total, len(counts))), "_b = part_begin[begins[kind]]"]
    lines += [f"_o{p} = source[_b + _k{p}]" for p in range(total)]
    lines += [f"_q{p} = rate[_b + _k{p}]" for p in range(total)]
    terms = [[f"x[s + _o{p}] * _q{p}" for p in some] for some in _entries(counts)]
    body = [f"values[v + _k{e}] = {_sum(some)}" for e, some in enumerate(terms)]
    body += [f"v += _k{len(counts)}", "s += last * width"]
    return "\n".join([*lines, "for _ in range(count):", *(f"    {line}" for line in body)])


def sum_of_flows(counts: Sequence[int], lines_of: Sequence[int]) -> str:
    """Return the same for a coarser grid; ``lines_of`` says in which row of cells each part is."""
    total, rows = sum(counts), max(lines_of, default=0) + 1
    lines = [*_constants(max(total, len(counts))), "_b = part_begin[begins[kind]]"]
    lines += [f"_o{p} = source[_b + _k{p}]" for p in range(total)]
    lines += [f"_q{p} = flow[_b + _k{p}]" for p in range(total)]
    lines += [f"_p{c} = places[_k{c}]" for c in range(rows)]
    lines += [f"_d{c} = spans[kind, _k{c}]" for c in range(rows)]
    terms = [
        [f"x[s + _o{p}] * fine_values[_p{lines_of[p]} + _q{p}]" for p in some]
        for some in _entries(counts)
    ]
    body = [f"values[v + _k{e}] = {_sum(some)}" for e, some in enumerate(terms)]
    body += [f"_p{c} += _d{c}" for c in range(rows)]
    body += [f"v += _k{len(counts)}", "s += last * width"]
    after = [f"places[_k{c}] = _p{c}" for c in range(rows)]
    return "\n".join([*lines, "for _ in range(count):", *(f"    {line}" for line in body), *after])


def _constants(count: int) -> list[str]:
    """Return unsigned numbers from zero on: sums of unsigned and plain ones would be floats."""
    return ["_k0 = zero", *(f"_k{n + 1} = _k{n} + one" for n in range(count))]


def _entries(counts: Sequence[int]) -> list[range]:
    ends = np.cumsum(counts).tolist()
    return [range(end - count, end) for end, count in zip(ends, counts, strict=True)]


def _sum(terms: Sequence[str]) -> str:
    """Return a sum whose last term is added last: it is the one that has just been computed."""
    return " + ".join(terms) if terms else "0.0"


def _both(backward: Sequence[str], forward: Sequence[str]) -> list[str]:
    found = ["if backward:", "    s = (row * cells + ends[k]) * width"]
    found += ["    for _ in range(ends[k] - starts[k]):", *(f"        {line}" for line in backward)]
    found += ["else:", "    s = (row * cells + starts[k]) * width"]
    return [
        *found,
        "    for _ in range(ends[k] - starts[k]):",
        *(f"        {line}" for line in forward),
    ]
