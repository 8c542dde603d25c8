"""Statements for the cells of the most frequent kinds, with no loops over slots and entries.

They are spliced into the kernels. Distances within a row are written out as numbers, so that they
become part of the machine's addresses; rates, and distances between rows, stay arguments. Whole numbers
are unsigned, ``_k3`` is three.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markov.stencils.loops.patterns import Pattern, Term

__all__ = [
    "TOGETHER",
    "balance",
    "drifts",
    "outflows",
    "prolong",
    "remainders",
    "sums_of_flows",
    "sums_of_rates",
    "sweeps",
]

TOGETHER = 4  # rows that are swept side by side, so that none waits for its last sum
CELLS = (
    "here, k, low, high, starts, numbers, cells, width, begin, step, repeats, own, one, backward, x"
)


class Equation(NamedTuple):
    """How a loop over cells solves the equation of a state, as text.

    Attributes
    ----------
    own
        What its argument of that name consists of.
    first, term
        The first number of a sum, and the one for an entry, given the other state and the rate.
    solved
        The statements that set the state.
    flows
        Whether every cell has flows of its own.
    slot
        Which of ``own`` has a number for each slot of a kind.
    """

    own: str
    first: str = "_f{r}"
    term: str = "x[{0}] * {1}"
    solved: str = "x[{here}] = {total}"
    flows: bool = False
    slot: str = ""


EQUATIONS = {
    "cells_by_rates": Equation("rate, source", slot="source"),
    "cells_by_flows": Equation(
        "before, value_begin, values, scale, source",
        solved="x[{here}] = ({total}) * scale[{here}]",
        flows=True,
        slot="source",
    ),
    "cells_by_costs": Equation(
        "rate, scale, costs, levels, reference",
        first="costs[levels[{here}]] * _f{r}",
        slot="scale",
    ),
    "cells_by_shares": Equation(
        "before, value_begin, values, right, out, reference, leak",
        first="right[{here}]",
        term="(x[{0}] - _m) * {1}",
        solved="_m = 1.0 * x[{here}]; x[{here}] = _m + ({total})",
        flows=True,
    ),
}
"""By name of the loop."""


def sweeps(patterns: Sequence[Pattern], cells: str) -> dict[str, str]:
    """Return the statements of a sweep by name; ``cells`` is the name of the loop over cells."""
    return {
        "unrolled": _runs(patterns, EQUATIONS[cells]),
        "one_by_one": f"{cells}({CELLS})",
        "side_by_side": _side_by_side(patterns, EQUATIONS[cells]),
    }


def _runs(patterns: Sequence[Pattern], equation: Equation) -> str:
    """Return a sweep of cells ``low`` up to ``high`` of one row."""

    def written(pattern: Pattern) -> list[str]:
        lines = _given(pattern, equation)
        for name, backward in (("if backward:", True), ("else:", False)):
            body = _cell(pattern, equation, 0, backward)
            cell = "high - _k1" if backward else "low"
            begin = [f"_s0 = (here * cells + {cell}) * width"]
            at = f"({cell} - starts[k]) * _k{pattern.size}"
            begin += [f"_v0 = value_begin[here] + before[k] + {at}"] if equation.flows else []
            lines += [name, *_loop(begin, "range(low, high)", body)]
        return lines

    return _one_of(patterns, written)


def _side_by_side(patterns: Sequence[Pattern], equation: Equation) -> str:
    """Return a sweep of the middle of a segment in ``TOGETHER`` rows."""

    def written(pattern: Pattern) -> list[str]:
        lines = _given(pattern, equation)
        for name, backward in (("if backward:", True), ("else:", False)):
            begin, body = [], []
            for n in range(TOGETHER):
                row = _plus("row", -n if backward else n)
                done = f"lag * _k{TOGETHER - 1 - n}"
                cell = f"(ends[k] - _k1 - {done})" if backward else f"(starts[k] + {done})"
                begin.append(f"_s{n} = (({row}) * cells + {cell}) * width")
                at = f"({cell} - starts[k]) * _k{pattern.size}"
                begin += (
                    [f"_v{n} = value_begin[{row}] + before[k] + {at}"] if equation.flows else []
                )
                body += _cell(pattern, equation, n, backward)
            count = f"ends[k] - starts[k] - lag * _k{TOGETHER - 1}"
            lines += [name, *_loop(begin, f"range(zero, {count})", body)]
        return lines

    return _one_of(patterns, written)


def _loop(begin: list[str], numbers: str, body: list[str]) -> list[str]:
    lines = [*begin, f"for _ in {numbers}:", *(f"    {line}" for line in body)]
    return [f"    {line}" for line in lines]


def _given(pattern: Pattern, equation: Equation) -> list[str]:
    """Return statements for what all cells of a kind have in common."""
    found = [f"{equation.own} = own", *_rows(pattern)]
    if not equation.flows:
        found += [f"_q{e} = rate[_b + _k{e}]" for e in range(pattern.size)]
    slots = range(len(pattern.sums) if equation.slot else 0)
    return found + [f"_f{r} = {equation.slot}[base + _k{r}]" for r in slots]


def _cell(pattern: Pattern, equation: Equation, n: int, backward: bool) -> list[str]:
    """Return a sweep of one cell of the row number n of several."""
    found, sums, number = [f"_p{d} = _s{n} + _w{d}" for d in range(len(pattern.leads))], [], 0
    for r, terms in enumerate(pattern.sums):
        numbers, here = range(number, number + len(terms)), _plus(f"_s{n}", r)
        rates = [f"values[_v{n} + _k{e}]" if equation.flows else f"_q{e}" for e in numbers]
        places = [_at(pattern, term, f"_s{n}") for term in terms]
        own = [equation.term.format(*each) for each in zip(places, rates, strict=True)]
        own = [equation.first.format(here=here, r=r), *(own if backward else own[::-1])]
        sums.append(equation.solved.format(here=here, total=_sum(own)))
        number += len(terms)
    sign = "-" if backward else "+"
    found += sums[::-1] if backward else sums
    found.append(f"_s{n} {sign}= _k{pattern.width}")
    return [*found, f"_v{n} {sign}= _k{pattern.size}"] if equation.flows else found


def balance(patterns: Sequence[Pattern]) -> str:
    """Return the sums of what flows in less what flows out, over a segment."""
    return _one_of(patterns, _balance)


def _balance(pattern: Pattern) -> list[str]:
    total, slots = pattern.size, range(len(pattern.sums))
    head = [*_rows(pattern), *(f"_q{e} = rate[_b + _k{e}]" for e in range(total))]
    for r in slots:
        head += [f"_f{r} = exit_rate[base + _k{r}]", f"_x{r} = _y{r} = _z{r} = 0.0"]
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for r, terms in enumerate(pattern.sums):
        flow = _sum([f"x[{_at(pattern, t, 's')}] * _q{number + e}" for e, t in enumerate(terms)])
        body += [f"_m{r} = x[{_plus('s', r)}]", f"_o{r} = _m{r} * _f{r}", f"_x{r} += _m{r}"]
        body += [f"_y{r} += _o{r}", f"_z{r} += abs({flow} - _o{r})"]
        number += len(terms)
    body.append(f"s += _k{pattern.width}")
    after = [f"mass += {_sum([f'_x{r}' for r in slots])}"]
    after += [f"flow += {_sum([f'_y{r}' for r in slots])}"]
    after += [f"off += {_sum([f'_z{r}' for r in slots])}"]
    loop = "for _ in range(zero, ends[k] - starts[k]):"
    return [*head, loop, *(f"    {line}" for line in body), *after]


def outflows(patterns: Sequence[Pattern]) -> str:
    """Return the sums of flows out of states, for a segment."""
    return _one_of(patterns, _outflows)


def _outflows(pattern: Pattern) -> list[str]:
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for terms in pattern.sums:
        for term in terms:
            body.append(f"scale[{_at(pattern, term, 's')}] += values[v + _k{number}]")
            number += 1
    body += [f"s += _k{pattern.width}", f"v += _k{number}"]
    loop = "for _ in range(zero, ends[k] - starts[k]):"
    return [*_rows(pattern), loop, *(f"    {line}" for line in body)]


def remainders(patterns: Sequence[Pattern]) -> str:
    """Return the sums of what is left of the equations of hitting times, over a segment."""

    def written(pattern: Pattern) -> list[str]:
        body = ["t = under[cell]"]
        for r, terms in enumerate(_differences(pattern)):
            here = _plus("s", r)
            body += [f"_m = 1.0 * h[{here}]", f"_o = {_sum([f'costs[levels[{here}]]', *terms])}"]
            body.append(f"room[{_plus('t', r)}] += weight(pi[{here}], least) * _o")
        return _by_cell(pattern, "for cell in range(starts[k], ends[k]):", body)

    return _one_of(patterns, written)


def drifts(patterns: Sequence[Pattern], roundings: int, unit: float) -> str:
    """Return the largest drift of hitting times, rounded up, over a segment.

    Rounding errors are that of a number, ``unit``, so often and once more for each transition.
    """

    def written(pattern: Pattern) -> list[str]:
        slots, body = range(len(pattern.sums)), []
        for r, terms in enumerate(_differences(pattern)):
            names, here = [f"_d{e}" for e in range(len(terms))], _plus("s", r)
            body.append(f"_m = 1.0 * h[{here}]")
            body += [f"{name} = {term}" for name, term in zip(names, terms, strict=True)]
            size = _sum([f"abs({name})" for name in names])
            error = 1.1 * (roundings + len(terms)) * unit
            body.append(f"_u = {_sum(names)} + {error!r} * ({size})")
            body.append(f"if marks[{here}] & bit:")
            body += [f"    _y{r} += _u", f"    _z{r} = max(_z{r}, _u)"]
        begin = [line for r in slots for line in (f"_y{r} = 0.0", f"_z{r} = -1e308")]
        lines = _by_cell(pattern, "for _ in range(zero, ends[k] - starts[k]):", body)
        end = [line for r in slots for line in (f"check += _y{r}", f"worst = max(worst, _z{r})")]
        return [*begin, *lines, *end]

    return _one_of(patterns, written)


def _differences(pattern: Pattern) -> list[list[str]]:
    """Return for each slot the differences of h to ``_m``, times the rates."""
    found, number = [], 0
    for terms in pattern.sums:
        places = [_at(pattern, term, "s") for term in terms]
        found.append([f"(h[{p}] - _m) * _q{number + e}" for e, p in enumerate(places)])
        number += len(terms)
    return found


def _by_cell(pattern: Pattern, loop: str, body: list[str]) -> list[str]:
    """Return a loop over the cells of a segment of the finest grid."""
    body = [*(f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))), *body]
    body.append(f"s += _k{pattern.width}")
    rates = [f"_q{e} = rate[_b + _k{e}]" for e in range(pattern.size)]
    return [*_rows(pattern), *rates, loop, *(f"    {line}" for line in body)]


def sums_of_rates(patterns: Sequence[Pattern]) -> str:
    """Return the sums of flows of the finest grid, for a segment of coarse cells."""

    def written(pattern: Pattern) -> list[str]:
        head = [*_sources(pattern), *(f"_q{p} = rate[_b + _k{p}]" for p in range(pattern.size))]
        return head + _sums(pattern, "weight({x}, least)", lambda _, p: f"_q{p}", [])

    return _one_of(patterns, written, "kind")


def sums_of_flows(patterns: Sequence[Pattern]) -> str:
    """Return the same for a coarser grid."""

    def written(pattern: Pattern) -> list[str]:
        rows = range(len(pattern.spans))
        head = [*_sources(pattern), *(f"_l{c} = places[coarse, _k{c}]" for c in rows)]
        on = [f"_l{c} += _k{span}" for c, span in enumerate(pattern.spans)]
        found = _sums(
            pattern, "{x}", lambda t, _: f"fine_values[{_plus(f'_l{t.line}', t.flow)}]", on
        )
        return [*head, *found, *(f"places[coarse, _k{c}] = _l{c}" for c in rows)]

    return _one_of(patterns, written, "kind")


def _sums(
    pattern: Pattern, weight: str, rate: Callable[[Term, int], str], on: list[str]
) -> list[str]:
    """Return a loop over the coarse cells of a segment; ``weight`` has what becomes of x."""
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for e, terms in enumerate(pattern.sums):
        states = [weight.format(x=f"x[{_at(pattern, t, 's')}]") for t in terms]
        rates = [rate(t, number + n) for n, t in enumerate(terms)]
        own = [f"{x} * {q}" for x, q in zip(states, rates, strict=True)]
        body.append(f"values[v + _k{e}] = {_sum(own)}")
        number += len(terms)
    body += [f"v += _k{len(pattern.sums)}", f"s += last * _k{pattern.width}", *on]
    return ["for _ in range(zero, count):", *(f"    {line}" for line in body)]


def prolong(width: int, last: int) -> str:
    """Return the corrections of a row of cells of so many slots, ``last`` of which make one."""
    lines = [f"while left >= _k{last}:"]
    body = [f"_c{r} = coarse[t + _k{r}]" for r in range(width)]
    body += [f"x[s + _k{c * width + r}] *= _c{r}" for c in range(last) for r in range(width)]
    body += [f"s += _k{width * last}", f"t += _k{width}", f"left -= _k{last}"]
    return "\n".join(_constants([*lines, *(f"    {line}" for line in body)]))


# --------------------------------------------------------------------------- their parts


def _one_of(
    patterns: Sequence[Pattern], written: Callable[[Pattern], list[str]], kind: str = "numbers[k]"
) -> str:
    """Return the statements of the pattern that a kind has."""
    lines = []
    for number, pattern in enumerate(patterns, 1):
        lines.append(f"{'if' if number == 1 else 'elif'} special[{kind}] == _k{number}:")
        lines += [f"    {line}" for line in written(pattern)]
    return "\n".join(_constants(lines)) if lines else "pass"


def _constants(lines: list[str]) -> list[str]:
    """Return statements with unsigned numbers before them: sums with plain ones would be signed."""
    used = {int(n) for n in re.findall(r"\b_k(\d+)\b", "\n".join(lines))} | {0, 1}
    for n in sorted(used, reverse=True):
        used |= {1 << bit for bit in range(n.bit_length())}
    found = []
    for n in sorted(used):
        high = 1 << max(n.bit_length() - 1, 0)
        half = f"_k{high // 2} + _k{high // 2}" if n == high else ""
        rest = [f"_k{1 << bit}" for bit in range(n.bit_length()) if n >> bit & 1]
        text = {0: "zero", 1: "zero - ~zero"}.get(n, half or " + ".join(rest))
        found.append(f"_k{n} = {text}")
    return [*found, *lines]


def _rows(pattern: Pattern) -> list[str]:
    """Return statements for the distances to other rows, by an entry that leads there."""
    found, number = ["_b = begin[base]"], 0
    entry: dict[tuple[int, ...], tuple[int, int]] = {}
    for r, terms in enumerate(pattern.sums):
        for term in terms:
            entry.setdefault(term.lead, (number, term.offset - r))
            number += 1
    for d, lead in enumerate(pattern.leads):
        e, offset = entry[lead]
        found.append(f"_w{d} = {_plus(f'step[_b + _k{e}]', -offset)}")
    return found


def _sources(pattern: Pattern) -> list[str]:
    """Return the same for the parts of flows."""
    found, number = ["_b = part_begin[begins[kind]]"], 0
    entry: dict[tuple[int, ...], tuple[int, int]] = {}
    for terms in pattern.sums:
        for term in terms:
            entry.setdefault(term.lead, (number, term.offset))
            number += 1
    for d, lead in enumerate(pattern.leads):
        p, offset = entry[lead]
        found.append(f"_w{d} = {_plus(f'source[_b + _k{p}]', -offset)}")
    return found


def _at(pattern: Pattern, term: Term, s: str) -> str:
    """Return the place of a term's state."""
    base = f"_p{pattern.leads.index(term.lead)}" if any(term.lead) else s
    return _plus(base, term.offset)


def _plus(base: str, number: int) -> str:
    if number == 0:
        return base
    return f"{base} + _k{number}" if number > 0 else f"{base} - _k{-number}"


def _sum(terms: Sequence[str]) -> str:
    """Return a sum whose last term is added last: it is the one that has just been computed."""
    return " + ".join(terms) if terms else "0.0"
