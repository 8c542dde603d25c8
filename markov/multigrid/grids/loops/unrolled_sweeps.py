"""Statements for sweeps over the cells of the most frequent kinds, with no loops over slots and entries.

They are spliced into `sweep_kernels.sweep`. What has just been computed in the same row stays in a register:
through memory, and rounded to float32 there, each state would wait for the one before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markov.multigrid.grids.loops.statements import at, one_of, plus, rows, sum_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markov.multigrid.grids.loops.patterns import Pattern, Term

__all__ = ["TOGETHER", "sweeps"]

TOGETHER = 4  # rows that are swept side by side, so that none waits for its last sum
CELLS = "(group_row, k, low, high), grid, plan, equations, backward, x"
SPECIAL = "plan.special[grid.numbers[k]]"


class Equation(NamedTuple):
    """How a loop over cells solves the equation of a state, as text.

    Attributes
    ----------
    arrays
        What its argument of that name consists of.
    first, term
        The first number of a sum, and the one for an entry, given the other state and the rate.
    begin, value
        A statement before them, and what the state becomes.
    flows
        Whether every cell has flows of its own.
    slot
        Which of ``arrays`` has a number for each slot of a kind.
    """

    arrays: str
    first: str = "_f{r}"
    term: str = "{0} * {1}"
    begin: str = ""
    value: str = "{total}"
    flows: bool = False
    slot: str = ""


EQUATIONS = {
    "cells_by_rates": Equation("rate, source", slot="source"),
    "cells_by_flows": Equation(
        "before, value_begin, values, scale, source",
        value="({total}) * scale[{state}]",
        flows=True,
        slot="source",
    ),
    "cells_by_costs": Equation(
        "rate, scale, costs, levels, reference",
        first="costs[levels[{state}]] * _f{r}",
        slot="scale",
    ),
    "cells_by_shares": Equation(
        "before, value_begin, values, right, out, reference, leak",
        first="right[{state}]",
        term="({0} - _m) * {1}",
        begin="_m = 1.0 * x[{state}]",
        value="_m + ({total})",
        flows=True,
    ),
}
"""By name of the loop."""


def sweeps(patterns: Sequence[Pattern], cells: str) -> dict[str, str]:
    """Return the statements of a sweep by name; ``cells`` is the name of the loop over cells."""
    if not patterns:
        return {"unrolled": "pass", "one_by_one": f"{cells}({CELLS})", "side_by_side": "pass"}
    return {
        "unrolled": _runs(patterns, EQUATIONS[cells]),
        "one_by_one": f"{cells}({CELLS})",
        "side_by_side": _side_by_side(patterns, EQUATIONS[cells]),
    }


def _runs(patterns: Sequence[Pattern], equation: Equation) -> str:
    """Return a sweep of cells ``low`` up to ``high`` of one row."""

    def statements(pattern: Pattern) -> list[str]:
        lines = _preamble(pattern, equation)
        for name, backward in (("if backward:", True), ("else:", False)):
            body = _cell(pattern, equation, 0, backward)
            cell = "high - _k1" if backward else "low"
            begin = [
                f"_s0 = (group_row * grid.cells + {cell}) * grid.width",
                *_read(pattern, 0, backward),
            ]
            first = f"({cell} - grid.starts[k]) * _k{pattern.size}"
            begin += [f"_v0 = value_begin[group_row] + before[k] + {first}"] if equation.flows else []
            lines += [name, *_loop(begin, "range(low, high)", body)]
        return lines

    return one_of(patterns, statements, SPECIAL)


def _side_by_side(patterns: Sequence[Pattern], equation: Equation) -> str:
    """Return a sweep of the middle of a segment in ``TOGETHER`` rows."""

    def statements(pattern: Pattern) -> list[str]:
        lines = _preamble(pattern, equation)
        for name, backward in (("if backward:", True), ("else:", False)):
            begin, body = [], []
            for n in range(TOGETHER):
                row = plus("row", -n if backward else n)
                done = f"plan.lag * _k{TOGETHER - 1 - n}"
                cell = f"(grid.ends[k] - _k1 - {done})" if backward else f"(grid.starts[k] + {done})"
                begin.append(f"_s{n} = (({row}) * grid.cells + {cell}) * grid.width")
                begin += _read(pattern, n, backward)
                first = f"({cell} - grid.starts[k]) * _k{pattern.size}"
                begin += [f"_v{n} = value_begin[{row}] + before[k] + {first}"] if equation.flows else []
                body += _cell(pattern, equation, n, backward)
            count = f"grid.ends[k] - grid.starts[k] - plan.lag * _k{TOGETHER - 1}"
            lines += [name, *_loop(begin, f"range(_k0, {count})", body)]
        return lines

    return one_of(patterns, statements, SPECIAL)


def _loop(begin: list[str], numbers: str, body: list[str]) -> list[str]:
    lines = [*begin, f"for _ in {numbers}:", *(f"    {line}" for line in body)]
    return [f"    {line}" for line in lines]


def _preamble(pattern: Pattern, equation: Equation) -> list[str]:
    """Return statements for what all cells of a kind have in common."""
    lines = [f"{equation.arrays} = equations", *rows(pattern)]
    if not equation.flows:
        lines += [f"_q{e} = rate[_b + _k{e}]" for e in range(pattern.size)]
    slots = range(len(pattern.sums) if equation.slot else 0)
    return lines + [f"_f{r} = {equation.slot}[base + _k{r}]" for r in slots]


def _cell(pattern: Pattern, equation: Equation, n: int, backward: bool) -> list[str]:
    """Return a sweep of one cell of the row number n of several."""
    body, sums, number = [f"_p{d} = _s{n} + _w{d}" for d in range(len(pattern.leads))], [], 0
    for r, terms in enumerate(pattern.sums):
        numbers, state = range(number, number + len(terms)), plus(f"_s{n}", r)
        rates = [f"values[_v{n} + _k{e}]" if equation.flows else f"_q{e}" for e in numbers]
        states = [_state(pattern, term, r, n, backward) for term in terms]
        products = [equation.term.format(*pair) for pair in zip(states, rates, strict=True)]
        products = [equation.first.format(state=state, r=r), *(products if backward else products[::-1])]
        value = equation.value.format(state=state, total=sum_of(products))
        lines = [f"_e{n}_{r} = {value}", f"x[{state}] = _e{n}_{r}"]
        sums.append([equation.begin.format(state=state), *lines] if equation.begin else lines)
        number += len(terms)
    sign = "-" if backward else "+"
    body += [line for lines in (sums[::-1] if backward else sums) for line in lines]
    body += [f"_c{n}_{r} = _e{n}_{r}" for r in _reused_slots(pattern, backward)]
    body.append(f"_s{n} {sign}= _k{pattern.width}")
    return [*body, f"_v{n} {sign}= _k{pattern.size}"] if equation.flows else body


def _state(pattern: Pattern, term: Term, r: int, n: int, backward: bool) -> str:
    """Return the number of the state of a term of slot r: just computed, of the cell before, or read."""
    slot = term.offset
    if not any(term.lead):
        if slot in (range(r + 1, pattern.width) if backward else range(r)):
            return f"_e{n}_{slot}"
        if (before := slot + _ahead(pattern, backward)) in range(pattern.width):
            return f"_c{n}_{before}"
    return f"x[{at(pattern, term, f'_s{n}')}]"


def _ahead(pattern: Pattern, backward: bool) -> int:
    """Return how many states the cell that is swept is ahead of the one before it."""
    return -pattern.width if backward else pattern.width


def _reused_slots(pattern: Pattern, backward: bool) -> list[int]:
    """Return the slots of the cell before that a cell reads."""
    offsets = [t.offset for terms in pattern.sums for t in terms if not any(t.lead)]
    before = {offset + _ahead(pattern, backward) for offset in offsets}
    return sorted(before & set(range(pattern.width)))


def _read(pattern: Pattern, n: int, backward: bool) -> list[str]:
    """Return statements that read the cell before the first one."""
    ahead = _ahead(pattern, backward)
    return [f"_c{n}_{r} = 1.0 * x[{plus(f'_s{n}', r - ahead)}]" for r in _reused_slots(pattern, backward)]
