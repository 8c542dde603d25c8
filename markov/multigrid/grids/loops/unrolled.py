"""Statements for the cells of the most frequent kinds, with no loops over slots and entries.

They are spliced into the kernels. Distances within a row are written out as numbers, so that they
become part of the machine's addresses; rates, and distances between rows, stay arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markov.multigrid.grids.loops.statements import (
    at,
    constants,
    one_of,
    plus,
    rows,
    sources,
    sum_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markov.multigrid.grids.loops.patterns import Pattern, Term

__all__ = [
    "balance",
    "drifts",
    "outflows",
    "prolong",
    "residuals",
    "sums_of_flows",
    "sums_of_rates",
]

CELL_LOOP = "for _ in range(grid.starts[k], grid.ends[k]):"
SUMS = "parts.special[kind]"
"""The pattern of a coarse cell, whose number is the kind."""


def balance(patterns: Sequence[Pattern]) -> str:
    """Return the sums of what flows in less what flows out, over a segment."""
    return one_of(patterns, _balance)


def _balance(pattern: Pattern) -> list[str]:
    total, slots = pattern.size, range(len(pattern.sums))
    head = [*rows(pattern), *(f"_q{e} = rates.rate[_b + _k{e}]" for e in range(total))]
    for r in slots:
        head += [f"_f{r} = rates.exit_rate[base + _k{r}]", f"_x{r} = _y{r} = _z{r} = 0.0"]
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for r, terms in enumerate(pattern.sums):
        flow = sum_of([f"x[{at(pattern, t, 's')}] * _q{number + e}" for e, t in enumerate(terms)])
        body += [f"_m{r} = x[{plus('s', r)}]", f"_o{r} = _m{r} * _f{r}", f"_x{r} += _m{r}"]
        body += [f"_y{r} += _o{r}", f"_z{r} += abs({flow} - _o{r})"]
        number += len(terms)
    body.append(f"s += _k{pattern.width}")
    after = [f"mass += {sum_of([f'_x{r}' for r in slots])}"]
    after += [f"flow += {sum_of([f'_y{r}' for r in slots])}"]
    after += [f"off += {sum_of([f'_z{r}' for r in slots])}"]
    return [*head, CELL_LOOP, *(f"    {line}" for line in body), *after]


def outflows(patterns: Sequence[Pattern]) -> str:
    """Return the sums of flows out of states, for a segment."""
    return one_of(patterns, _outflows)


def _outflows(pattern: Pattern) -> list[str]:
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for terms in pattern.sums:
        for term in terms:
            body.append(f"scale[{at(pattern, term, 's')}] += values[v + _k{number}]")
            number += 1
    body += [f"s += _k{pattern.width}", f"v += _k{number}"]
    return [*rows(pattern), CELL_LOOP, *(f"    {line}" for line in body)]


def residuals(patterns: Sequence[Pattern]) -> str:
    """Return the statements that restrict the residual of hitting times, over a segment."""

    def statements(pattern: Pattern) -> list[str]:
        slots = range(len(pattern.sums))
        done = [f"sums[{plus('_t', r)}] += _a{r}" for r in slots]
        begin = [f"_a{r} = 0.0" for r in slots]
        body = ["t = target.aggregate_of_cell[cell]", "if t != _t:"]
        body += [f"    {line}" for line in (*done, *begin, "_t = t")]
        for r, terms in enumerate(_differences(pattern)):
            state = plus("s", r)
            body += [
                f"_m = 1.0 * h[{state}]",
                f"_o = {sum_of([f'weights.costs[weights.levels[{state}]]', *terms])}",
            ]
            body.append(f"_a{r} += weight(weights.pi[{state}], weights.minimum) * _o")
        lines = _by_cell(pattern, "for cell in range(grid.starts[k], grid.ends[k]):", body)
        return ["_t = target.aggregate_of_cell[grid.starts[k]]", *begin, *lines, *done]

    return one_of(patterns, statements)


def drifts(patterns: Sequence[Pattern], roundings: int, unit: float) -> str:
    """Return the largest drift of hitting times, rounded up, over a segment.

    Rounding errors are that of a number, ``unit``, so often and once more for each transition.
    """

    def statements(pattern: Pattern) -> list[str]:
        slots, body = range(len(pattern.sums)), []
        for r, terms in enumerate(_differences(pattern)):
            names, state = [f"_d{e}" for e in range(len(terms))], plus("s", r)
            body.append(f"_m = 1.0 * h[{state}]")
            body += [f"{name} = {term}" for name, term in zip(names, terms, strict=True)]
            size = sum_of([f"abs({name})" for name in names])
            error = 1.1 * (roundings + len(terms)) * unit
            body.append(f"_u = {sum_of(names)} + {error!r} * ({size})")
            body.append(f"if marked.marks[{state}] & marked.bit:")
            body += [f"    _y{r} += _u", f"    _z{r} = max(_z{r}, _u)", "    if not _u <= limit:"]
            body += ["        if n_failing < len(failing):", f"            failing[n_failing] = {state}"]
            body.append("        n_failing += _k1")
        begin = [line for r in slots for line in (f"_y{r} = 0.0", f"_z{r} = -1e308")]
        lines = _by_cell(pattern, CELL_LOOP, body)
        end = [line for r in slots for line in (f"check += _y{r}", f"worst = max(worst, _z{r})")]
        return [*begin, *lines, *end]

    return one_of(patterns, statements)


def _differences(pattern: Pattern) -> list[list[str]]:
    """Return for each slot the differences of h to ``_m``, times the rates."""
    lines, number = [], 0
    for terms in pattern.sums:
        positions = [at(pattern, term, "s") for term in terms]
        lines.append([f"(h[{p}] - _m) * _q{number + e}" for e, p in enumerate(positions)])
        number += len(terms)
    return lines


def _by_cell(pattern: Pattern, loop: str, body: list[str]) -> list[str]:
    """Return a loop over the cells of a segment of the finest grid."""
    body = [*(f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))), *body]
    body.append(f"s += _k{pattern.width}")
    rates = [f"_q{e} = equations.rate[_b + _k{e}]" for e in range(pattern.size)]
    return [*rows(pattern), *rates, loop, *(f"    {line}" for line in body)]


def sums_of_rates(patterns: Sequence[Pattern]) -> str:
    """Return the sums of flows of the finest grid, for a segment of coarse cells."""

    def statements(pattern: Pattern) -> list[str]:
        head = [
            *sources(pattern),
            *(f"_q{p} = rates.rate[_b + _k{p}]" for p in range(pattern.size)),
        ]
        return head + _sums(pattern, "weight(weighted.x[{}], weighted.minimum)", lambda _, p: f"_q{p}", [])

    return one_of(patterns, statements, SUMS)


def sums_of_flows(patterns: Sequence[Pattern]) -> str:
    """Return the same for a coarser grid."""

    def statements(pattern: Pattern) -> list[str]:
        rows = range(len(pattern.spans))
        head = [*sources(pattern), *(f"_l{c} = fine.positions[coarse, _k{c}]" for c in rows)]
        on = [f"_l{c} += _k{span}" for c, span in enumerate(pattern.spans)]
        lines = _sums(pattern, "x[{}]", lambda t, _: f"fine.values[{plus(f'_l{t.line}', t.flow)}]", on)
        return [*head, *lines, *(f"fine.positions[coarse, _k{c}] = _l{c}" for c in rows)]

    return one_of(patterns, statements, SUMS)


def _sums(pattern: Pattern, weight: str, rate: Callable[[Term, int], str], advance: list[str]) -> list[str]:
    """Return a loop over the coarse cells of a segment; ``weight`` has what a state becomes."""
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for e, terms in enumerate(pattern.sums):
        states = [weight.format(at(pattern, t, "s")) for t in terms]
        rates = [rate(t, number + n) for n, t in enumerate(terms)]
        products = [f"{x} * {q}" for x, q in zip(states, rates, strict=True)]
        body.append(f"values[v + _k{e}] = {sum_of(products)}")
        number += len(terms)
    body += [f"v += _k{len(pattern.sums)}", f"s += children.last * _k{pattern.width}", *advance]
    return ["for _ in range(grid.starts[i], grid.ends[i]):", *(f"    {line}" for line in body)]


def prolong(width: int, last: int) -> str:
    """Return the corrections of a row of cells of so many slots, ``last`` of which make one."""
    lines = [f"while remaining >= _k{last}:"]
    body = [f"_c{r} = coarse[t + _k{r}]" for r in range(width)]
    body += [f"x[s + _k{c * width + r}] *= _c{r}" for c in range(last) for r in range(width)]
    body += [f"s += _k{width * last}", f"t += _k{width}", f"remaining -= _k{last}"]
    return "\n".join(constants([*lines, *(f"    {line}" for line in body)]))
