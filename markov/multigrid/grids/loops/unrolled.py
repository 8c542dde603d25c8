"""Statements for the cells of the most frequent kinds, with no loops over slots and entries.

They are spliced into the kernels. Distances within a row are written out as numbers, so that they
become part of the machine's addresses; rates, and distances between rows, stay arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markov.multigrid.grids.loops.statements import (
    added,
    at,
    constants,
    one_of,
    plus,
    rows,
    sources,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markov.multigrid.grids.loops.patterns import Pattern, Term

__all__ = [
    "balance",
    "drifts",
    "outflows",
    "prolong",
    "remainders",
    "sums_of_flows",
    "sums_of_rates",
]

CELLS = "for _ in range(grid.starts[k], grid.ends[k]):"
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
        flow = added([f"x[{at(pattern, t, 's')}] * _q{number + e}" for e, t in enumerate(terms)])
        body += [f"_m{r} = x[{plus('s', r)}]", f"_o{r} = _m{r} * _f{r}", f"_x{r} += _m{r}"]
        body += [f"_y{r} += _o{r}", f"_z{r} += abs({flow} - _o{r})"]
        number += len(terms)
    body.append(f"s += _k{pattern.width}")
    after = [f"mass += {added([f'_x{r}' for r in slots])}"]
    after += [f"flow += {added([f'_y{r}' for r in slots])}"]
    after += [f"off += {added([f'_z{r}' for r in slots])}"]
    return [*head, CELLS, *(f"    {line}" for line in body), *after]


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
    return [*rows(pattern), CELLS, *(f"    {line}" for line in body)]


def remainders(patterns: Sequence[Pattern]) -> str:
    """Return the statements that restrict the residual of hitting times, over a segment."""

    def written(pattern: Pattern) -> list[str]:
        slots = range(len(pattern.sums))
        done = [f"room[{plus('_t', r)}] += _a{r}" for r in slots]
        begin = [f"_a{r} = 0.0" for r in slots]
        body = ["t = target.under[cell]", "if t != _t:"]
        body += [f"    {line}" for line in (*done, *begin, "_t = t")]
        for r, terms in enumerate(_differences(pattern)):
            here = plus("s", r)
            body += [
                f"_m = 1.0 * h[{here}]",
                f"_o = {added([f'weights.costs[weights.levels[{here}]]', *terms])}",
            ]
            body.append(f"_a{r} += weight(weights.pi[{here}], weights.least) * _o")
        lines = _by_cell(pattern, "for cell in range(grid.starts[k], grid.ends[k]):", body)
        return ["_t = target.under[grid.starts[k]]", *begin, *lines, *done]

    return one_of(patterns, written)


def drifts(patterns: Sequence[Pattern], roundings: int, unit: float) -> str:
    """Return the largest drift of hitting times, rounded up, over a segment.

    Rounding errors are that of a number, ``unit``, so often and once more for each transition.
    """

    def written(pattern: Pattern) -> list[str]:
        slots, body = range(len(pattern.sums)), []
        for r, terms in enumerate(_differences(pattern)):
            names, here = [f"_d{e}" for e in range(len(terms))], plus("s", r)
            body.append(f"_m = 1.0 * h[{here}]")
            body += [f"{name} = {term}" for name, term in zip(names, terms, strict=True)]
            size = added([f"abs({name})" for name in names])
            error = 1.1 * (roundings + len(terms)) * unit
            body.append(f"_u = {added(names)} + {error!r} * ({size})")
            body.append(f"if marked.marks[{here}] & marked.bit:")
            body += [f"    _y{r} += _u", f"    _z{r} = max(_z{r}, _u)", "    if not _u <= limit:"]
            body += ["        if found < len(failing):", f"            failing[found] = {here}"]
            body.append("        found += _k1")
        begin = [line for r in slots for line in (f"_y{r} = 0.0", f"_z{r} = -1e308")]
        lines = _by_cell(pattern, CELLS, body)
        end = [line for r in slots for line in (f"check += _y{r}", f"worst = max(worst, _z{r})")]
        return [*begin, *lines, *end]

    return one_of(patterns, written)


def _differences(pattern: Pattern) -> list[list[str]]:
    """Return for each slot the differences of h to ``_m``, times the rates."""
    found, number = [], 0
    for terms in pattern.sums:
        places = [at(pattern, term, "s") for term in terms]
        found.append([f"(h[{p}] - _m) * _q{number + e}" for e, p in enumerate(places)])
        number += len(terms)
    return found


def _by_cell(pattern: Pattern, loop: str, body: list[str]) -> list[str]:
    """Return a loop over the cells of a segment of the finest grid."""
    body = [*(f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))), *body]
    body.append(f"s += _k{pattern.width}")
    rates = [f"_q{e} = equations.rate[_b + _k{e}]" for e in range(pattern.size)]
    return [*rows(pattern), *rates, loop, *(f"    {line}" for line in body)]


def sums_of_rates(patterns: Sequence[Pattern]) -> str:
    """Return the sums of flows of the finest grid, for a segment of coarse cells."""

    def written(pattern: Pattern) -> list[str]:
        head = [
            *sources(pattern),
            *(f"_q{p} = rates.rate[_b + _k{p}]" for p in range(pattern.size)),
        ]
        return head + _sums(pattern, "weight(weighted.x[{}], weighted.least)", lambda _, p: f"_q{p}", [])

    return one_of(patterns, written, SUMS)


def sums_of_flows(patterns: Sequence[Pattern]) -> str:
    """Return the same for a coarser grid."""

    def written(pattern: Pattern) -> list[str]:
        rows = range(len(pattern.spans))
        head = [*sources(pattern), *(f"_l{c} = fine.places[coarse, _k{c}]" for c in rows)]
        on = [f"_l{c} += _k{span}" for c, span in enumerate(pattern.spans)]
        found = _sums(pattern, "x[{}]", lambda t, _: f"fine.values[{plus(f'_l{t.line}', t.flow)}]", on)
        return [*head, *found, *(f"fine.places[coarse, _k{c}] = _l{c}" for c in rows)]

    return one_of(patterns, written, SUMS)


def _sums(pattern: Pattern, weight: str, rate: Callable[[Term, int], str], on: list[str]) -> list[str]:
    """Return a loop over the coarse cells of a segment; ``weight`` has what a state becomes."""
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for e, terms in enumerate(pattern.sums):
        states = [weight.format(at(pattern, t, "s")) for t in terms]
        rates = [rate(t, number + n) for n, t in enumerate(terms)]
        own = [f"{x} * {q}" for x, q in zip(states, rates, strict=True)]
        body.append(f"values[v + _k{e}] = {added(own)}")
        number += len(terms)
    body += [f"v += _k{len(pattern.sums)}", f"s += children.last * _k{pattern.width}", *on]
    return ["for _ in range(grid.starts[i], grid.ends[i]):", *(f"    {line}" for line in body)]


def prolong(width: int, last: int) -> str:
    """Return the corrections of a row of cells of so many slots, ``last`` of which make one."""
    lines = [f"while left >= _k{last}:"]
    body = [f"_c{r} = coarse[t + _k{r}]" for r in range(width)]
    body += [f"x[s + _k{c * width + r}] *= _c{r}" for c in range(last) for r in range(width)]
    body += [f"s += _k{width * last}", f"t += _k{width}", f"left -= _k{last}"]
    return "\n".join(constants([*lines, *(f"    {line}" for line in body)]))
