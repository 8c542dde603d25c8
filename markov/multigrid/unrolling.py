"""Generated statements for the most frequent kinds of cells, without loops over slots and entries.

A pattern has the targets of the transitions of a kind of cell, but not their rates: one compiled kernel serves all
parameters of a model, and similar models. Statements are spliced into the kernels. Distances within a row are literals,
so that they become part of the machine's addresses. Rates, and distances between rows, stay arguments.

In sweeps the values just computed in the same row stay in a register: through memory, and rounded to float32 there,
each state would wait for the previous one.

Whole numbers are unsigned; ``_k3`` is three.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.multigrid.kernels.sweep_kernels import ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from markov.multigrid.grid import Aggregation, Grid

    Numbers = NDArray[np.int64]

__all__ = [
    "Candidates",
    "Pattern",
    "Sums",
    "Term",
    "balance",
    "branches",
    "drifts",
    "frequent",
    "grid_patterns",
    "outflows",
    "part_distances",
    "plus",
    "prolong",
    "residuals",
    "row_distances",
    "state_index",
    "sum_of",
    "sum_patterns",
    "sums_of_flows",
    "sums_of_rates",
    "sweeps",
    "with_constants",
]

MAX_TERMS = 100  # of a cell that is written out: more take minutes to compile
MAX_PATTERNS = 2
MIN_SHARE = 0.02  # of the cells


class Term(NamedTuple):
    """One term of a generated sum: the position of its state, and of the flow that the state is multiplied with.

    Attributes
    ----------
    lead
        Step to the row of its state, along all axes but the last.
    offset
        From the first state of the cell to that state, within its row.
    line, flow
        For a flow of a coarser grid: the row of cells within the coarse cell, and the number of the flow.
    """

    lead: tuple[int, ...]
    offset: int
    line: int = 0
    flow: int = 0


class Pattern(NamedTuple):
    """The terms of each sum that a kind of cell consists of, from which source text is generated.

    Attributes
    ----------
    spans
        Number of flows in each row of the cells within a coarse cell.
    """

    sums: tuple[tuple[Term, ...], ...]
    width: int
    spans: tuple[int, ...] = ()

    @property
    def leads(self) -> list[tuple[int, ...]]:
        """Steps to the other rows that terms lead to, sorted."""
        leads = {term.lead for terms in self.sums for term in terms}
        return sorted(lead for lead in leads if any(lead))

    @property
    def lag(self) -> int:
        """Number of cells by which a row must precede the next, so that the next reads swept values."""
        offsets = [t.offset // self.width for terms in self.sums for t in terms if any(t.lead)]
        return max([1, *map(abs, offsets)])

    @property
    def size(self) -> int:
        """Number of terms of all sums."""
        return sum(map(len, self.sums))


class Candidates(NamedTuple):
    """The terms of all sums of every kind of cell, as arrays; frequent kinds may be unrolled.

    Attributes
    ----------
    terms
        Offset, line, flow and lead of each term, shape (terms, 3 + axes - 1).
    begin
        First term of each sum, and the total.
    first
        First sum of each kind, and the total.
    spans
        Number of flows in each row of the cells within a coarse cell, for each kind.
    width
        Slots of a cell.
    """

    terms: Numbers
    begin: Numbers
    first: Numbers
    spans: Numbers
    width: int

    @property
    def sizes(self) -> Numbers:
        """Number of terms of each kind of cell, shape (kinds,)."""
        return np.diff(self.begin[self.first])

    def key(self, kind: int) -> Hashable:
        """Return a hashable key of the pattern of a kind of cell."""
        bounds = self.begin[self.first[kind] : self.first[kind + 1] + 1]
        table = self.terms[bounds[0] : bounds[-1]]
        return table.tobytes(), (bounds - bounds[0]).tobytes(), self.spans[kind].tobytes()

    def pattern(self, kind: int) -> Pattern:
        """Return the pattern of a kind of cell."""
        bounds = self.begin[self.first[kind] : self.first[kind + 1] + 1].tolist()
        rows_of_sums = (self.terms[a:b].tolist() for a, b in itertools.pairwise(bounds))
        sums = tuple(tuple(Term(tuple(t[3:]), *t[:3]) for t in rows) for rows in rows_of_sums)
        return Pattern(sums, self.width, tuple(self.spans[kind].tolist()))


def grid_patterns(grid: Grid) -> Candidates:
    """Return the patterns of a grid's kinds of cells: sums over the other states of each slot's transitions."""
    offset = grid.steps[:, -1] * grid.width + grid.others
    terms = np.column_stack([offset, 0 * offset, 0 * offset, grid.steps[:, :-1]])
    first, none = np.arange(grid.kinds + 1) * grid.width, np.empty((grid.kinds, 0), dtype=np.int64)
    return Candidates(terms, grid.begin, first, none, grid.width)


class Sums(NamedTuple):
    """Entry, row and flow number of each part of a coarser grid's flows, and the number of flows of each row."""

    entry: Numbers
    line: Numbers
    flow: Numbers
    spans: Numbers


def sum_patterns(grid: Grid, aggregation: Aggregation, sums: Sums, *, by_source: bool) -> Candidates:
    """Return the patterns of the kinds of coarse cells: sums over the parts of each of their flows.

    Parameters
    ----------
    grid, aggregation
        The finer grid, and the children of each coarse cell.
    sums
        Positions of the parts.
    by_source
        Whether a flow is weighted by its own state, or by the other state.
    """
    parts = aggregation.parts
    lines = list(np.ndindex(*aggregation.factors[:-1]))
    lead = np.array(lines, dtype=np.int64).reshape(len(lines), len(lines[0]))[sums.line]
    cell, slot = parts.cell % aggregation.last, grid.slots[sums.entry]
    if not by_source:
        step = grid.steps[sums.entry]
        lead, cell, slot = lead + step[:, :-1], cell + step[:, -1], grid.others[sums.entry]
    terms = np.column_stack([cell * grid.width + slot, sums.line, sums.flow, lead])
    return Candidates(terms, parts.begin, parts.first, sums.spans, grid.width)


def frequent(candidates: Candidates, shares: NDArray[np.float64]) -> tuple[list[Pattern], NDArray[np.uint64]]:
    """Return the most frequent patterns, and the number (from 1) of each kind's pattern, 0 for none.

    Parameters
    ----------
    candidates
        Of each kind.
    shares
        Fraction of the cells of each kind; zero excludes a kind.
    """
    kinds_by_pattern: dict[Hashable, list[int]] = {}
    for kind in np.flatnonzero((shares > 0.0) & (candidates.sizes <= MAX_TERMS)).tolist():
        kinds_by_pattern.setdefault(candidates.key(kind), []).append(kind)
    sums = [float(shares[kinds].sum()) for kinds in kinds_by_pattern.values()]
    order = sorted(zip(sums, kinds_by_pattern.values(), strict=True), key=lambda pair: -pair[0])
    chosen = [kinds for n, (share, kinds) in enumerate(order[:MAX_PATTERNS]) if not n or share >= MIN_SHARE]
    special = np.zeros(len(shares), dtype=np.uint64)
    for number, kinds in enumerate(chosen, 1):
        special[kinds] = number
    return [candidates.pattern(kinds[0]) for kinds in chosen], special


def branches(
    patterns: Sequence[Pattern],
    statements: Callable[[Pattern], list[str]],
    special: str = "frequent.special[number]",
) -> str:
    """Return source text with an ``if`` branch for each pattern, which contains the pattern's statements."""
    lines: list[str] = []
    for number, pattern in enumerate(patterns, 1):
        lines.append(f"{'if' if number == 1 else 'elif'} {special} == _k{number}:")
        lines += [f"    {line}" for line in statements(pattern)]
    return "\n".join(with_constants(lines)) if lines else "pass"


def with_constants(lines: list[str]) -> list[str]:
    """Return lines of source after lines that define the constants ``_k0``, ``_k1``, ... that they use."""
    used = sorted({int(n) for n in re.findall(r"\b_k(\d+)\b", "\n".join(lines))})
    return [*(f"_k{n} = uint64({n})" for n in used), *lines]


def row_distances(pattern: Pattern) -> list[str]:
    """Return lines of source that set the distances ``_w0``, ... to other rows, from an entry that leads there."""
    return _distances(pattern, "grid.begin[base]", "grid.step", per_sum=1)


def part_distances(pattern: Pattern) -> list[str]:
    """Return lines of source that set the distances ``_w0``, ... to other rows, from a part of a flow."""
    return _distances(pattern, "parts.part_begin[parts.begins[kind]]", "parts.source", per_sum=0)


def _distances(pattern: Pattern, begin: str, steps: str, per_sum: int) -> list[str]:
    """Return lines of source that set the distances to other rows by the first term that leads to each.

    ``begin`` and ``steps`` are source text of the number of the first term and of the array with the steps of terms,
    which begin at the state of their sum (``per_sum`` 1) or of the first sum (0).
    """
    lines, number = [f"_b = {begin}"], 0
    first_terms: dict[tuple[int, ...], tuple[int, int]] = {}
    for r, terms in enumerate(pattern.sums):
        for term in terms:
            first_terms.setdefault(term.lead, (number, term.offset - per_sum * r))
            number += 1
    for d, lead in enumerate(pattern.leads):
        number, offset = first_terms[lead]
        lines.append(f"_w{d} = {plus(f'{steps}[_b + _k{number}]', -offset)}")
    return lines


def state_index(pattern: Pattern, term: Term, s: str) -> str:
    """Return source text for the index of the state of a term, in a cell whose first state is ``s``."""
    base = f"_p{pattern.leads.index(term.lead)}" if any(term.lead) else s
    return plus(base, term.offset)


def plus(base: str, number: int) -> str:
    """Return source text for an index plus a constant."""
    if number == 0:
        return base
    return f"{base} + _k{number}" if number > 0 else f"{base} - _k{-number}"


def sum_of(terms: Sequence[str]) -> str:
    """Return source text for a sum of terms; the last one is added last, since it has just been computed."""
    return " + ".join(terms) if terms else "0.0"


CELL_LOOP = "for _ in range(grid.starts[k], grid.stops[k]):"
SUMS = "parts.special[kind]"
"""The pattern of a coarse cell, whose number is the kind."""


def balance(patterns: Sequence[Pattern]) -> str:
    """Return source text that sums |inflow - outflow|, outflow and x over a segment of cells."""
    return branches(patterns, _balance)


def _balance(pattern: Pattern) -> list[str]:
    """Return the lines of source of `balance` for a pattern."""
    total, slots = pattern.size, range(len(pattern.sums))
    head = [*row_distances(pattern), *(f"_q{e} = rates.rate[_b + _k{e}]" for e in range(total))]
    for r in slots:
        head += [f"_f{r} = rates.exit_rate[base + _k{r}]", f"_x{r} = _y{r} = _z{r} = 0.0"]
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for r, terms in enumerate(pattern.sums):
        flow = sum_of([f"x[{state_index(pattern, t, 's')}] * _q{number + e}" for e, t in enumerate(terms)])
        body += [f"_m{r} = x[{plus('s', r)}]", f"_o{r} = _m{r} * _f{r}", f"_x{r} += _m{r}"]
        body += [f"_y{r} += _o{r}", f"_z{r} += abs({flow} - _o{r})"]
        number += len(terms)
    body.append(f"s += _k{pattern.width}")
    after = [f"mass += {sum_of([f'_x{r}' for r in slots])}"]
    after += [f"flow += {sum_of([f'_y{r}' for r in slots])}"]
    after += [f"off += {sum_of([f'_z{r}' for r in slots])}"]
    return [*head, CELL_LOOP, *(f"    {line}" for line in body), *after]


def outflows(patterns: Sequence[Pattern]) -> str:
    """Return source text that sums the flows out of states over a segment of cells."""
    return branches(patterns, _outflows)


def _outflows(pattern: Pattern) -> list[str]:
    """Return the lines of source of `outflows` for a pattern."""
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for terms in pattern.sums:
        for term in terms:
            body.append(f"scale[{state_index(pattern, term, 's')}] += values[v + _k{number}]")
            number += 1
    body += [f"s += _k{pattern.width}", f"v += _k{number}"]
    return [*row_distances(pattern), CELL_LOOP, *(f"    {line}" for line in body)]


def residuals(patterns: Sequence[Pattern]) -> str:
    """Return source text that restricts the residual of hitting times over a segment of cells."""

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
        lines = _by_cell(pattern, "for cell in range(grid.starts[k], grid.stops[k]):", body)
        return ["_t = target.aggregate_of_cell[grid.starts[k]]", *begin, *lines, *done]

    return branches(patterns, statements)


def drifts(patterns: Sequence[Pattern], roundings: int, unit: float) -> str:
    """Return source text that computes the largest drift of hitting times, rounded up, over a segment of cells.

    The bound on rounding errors has ``roundings`` terms of ``unit``, and one more for each transition.
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

    return branches(patterns, statements)


def _differences(pattern: Pattern) -> list[list[str]]:
    """Return source text for the differences of h to ``_m`` times rates, a list for each slot."""
    lines, number = [], 0
    for terms in pattern.sums:
        positions = [state_index(pattern, term, "s") for term in terms]
        lines.append([f"(h[{p}] - _m) * _q{number + e}" for e, p in enumerate(positions)])
        number += len(terms)
    return lines


def _by_cell(pattern: Pattern, loop: str, body: list[str]) -> list[str]:
    """Return lines of source with a loop over the cells of a segment of the finest grid."""
    body = [*(f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))), *body]
    body.append(f"s += _k{pattern.width}")
    rates = [f"_q{e} = equations.rate[_b + _k{e}]" for e in range(pattern.size)]
    return [*row_distances(pattern), *rates, loop, *(f"    {line}" for line in body)]


def sums_of_rates(patterns: Sequence[Pattern]) -> str:
    """Return source text that sums the finest grid's rates to flows, for a segment of coarse cells."""

    def statements(pattern: Pattern) -> list[str]:
        head = [
            *part_distances(pattern),
            *(f"_q{p} = rates.rate[_b + _k{p}]" for p in range(pattern.size)),
        ]
        return head + _sum_loop(pattern, "weight(weighted.x[{}], weighted.minimum)", lambda _, p: f"_q{p}", [])

    return branches(patterns, statements, SUMS)


def sums_of_flows(patterns: Sequence[Pattern]) -> str:
    """Return source text that sums a coarse grid's flows to flows, for a segment of coarser cells."""

    def statements(pattern: Pattern) -> list[str]:
        rows = range(len(pattern.spans))
        head = [*part_distances(pattern), *(f"_l{c} = fine.positions[coarse, _k{c}]" for c in rows)]
        on = [f"_l{c} += _k{span}" for c, span in enumerate(pattern.spans)]
        lines = _sum_loop(pattern, "x[{}]", lambda t, _: f"fine.values[{plus(f'_l{t.line}', t.flow)}]", on)
        return [*head, *lines, *(f"fine.positions[coarse, _k{c}] = _l{c}" for c in rows)]

    return branches(patterns, statements, SUMS)


def _sum_loop(pattern: Pattern, weight: str, rate: Callable[[Term, int], str], advance: list[str]) -> list[str]:
    """Return lines of source with a loop over coarse cells; ``weight`` is a format for the weight of a state."""
    body, number = [f"_p{d} = s + _w{d}" for d in range(len(pattern.leads))], 0
    for e, terms in enumerate(pattern.sums):
        states = [weight.format(state_index(pattern, t, "s")) for t in terms]
        rates = [rate(t, number + n) for n, t in enumerate(terms)]
        products = [f"{x} * {q}" for x, q in zip(states, rates, strict=True)]
        body.append(f"values[v + _k{e}] = {sum_of(products)}")
        number += len(terms)
    body += [f"v += _k{len(pattern.sums)}", f"s += children.last * _k{pattern.width}", *advance]
    return ["for _ in range(grid.starts[i], grid.stops[i]):", *(f"    {line}" for line in body)]


def prolong(width: int, last: int) -> str:
    """Return source text that multiplies a row of cells, ``last`` per coarse cell, by their factors."""
    lines = [f"while remaining >= _k{last}:"]
    body = [f"_c{r} = coarse[t + _k{r}]" for r in range(width)]
    body += [f"x[s + _k{c * width + r}] *= _c{r}" for c in range(last) for r in range(width)]
    body += [f"s += _k{width * last}", f"t += _k{width}", f"remaining -= _k{last}"]
    return "\n".join(with_constants([*lines, *(f"    {line}" for line in body)]))


SWEEP_ARGUMENTS = "grid, plan, equations, backward, x"
SPECIAL = "plan.special[grid.numbers[k]]"


class Equation(NamedTuple):
    """Source text of the equation of a state that a loop over cells solves.

    Attributes
    ----------
    arrays
        The arrays in its argument ``equations``.
    first, term
        The first number of a sum, and a term for an entry, given the other state and the rate.
    begin, value
        A statement before them, and the new value of the state.
    flows
        Whether every cell has its own flows.
    slot
        The array with a number for each slot of a kind.
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


def sweeps(patterns: Sequence[Pattern], cells: str, rows: str | None) -> dict[str, str]:
    """Return the source text of the parts of a sweep by name.

    ``cells`` and ``rows`` are the names of the loops over the cells of one row, and of several rows side by side.
    """
    one_by_one = f"{cells}((group_row, k, low, high), {SWEEP_ARGUMENTS})"
    if not patterns:
        side_by_side = "pass" if rows is None else f"{rows}((row, k, cell), {SWEEP_ARGUMENTS})"
        return {"unrolled": "pass", "one_by_one": one_by_one, "side_by_side": side_by_side}
    return {
        "unrolled": _row_sweep(patterns, EQUATIONS[cells]),
        "one_by_one": one_by_one,
        "side_by_side": _side_by_side(patterns, EQUATIONS[cells]),
    }


def _row_sweep(patterns: Sequence[Pattern], equation: Equation) -> str:
    """Return source text that sweeps the cells low .. high - 1 of one row."""

    def statements(pattern: Pattern) -> list[str]:
        lines = _preamble(pattern, equation)
        for name, backward in (("if backward:", True), ("else:", False)):
            body = _cell_sweep(pattern, equation, 0, backward)
            cell = "high - _k1" if backward else "low"
            begin = [
                f"_s0 = (group_row * grid.cells + {cell}) * grid.width",
                *_read_before(pattern, 0, backward),
            ]
            first = f"({cell} - grid.starts[k]) * _k{pattern.size}"
            begin += [f"_v0 = value_begin[group_row] + before[k] + {first}"] if equation.flows else []
            lines += [name, *_loop(begin, "range(low, high)", body)]
        return lines

    return branches(patterns, statements, SPECIAL)


def _side_by_side(patterns: Sequence[Pattern], equation: Equation) -> str:
    """Return source text that sweeps the middle of a segment in ``ROWS`` rows side by side."""
    together = int(ROWS)

    def statements(pattern: Pattern) -> list[str]:
        lines = _preamble(pattern, equation)
        for name, backward in (("if backward:", True), ("else:", False)):
            begin, body = [], []
            for n in range(together):
                row = plus("row", -n if backward else n)
                done = f"plan.lag * _k{together - 1 - n}"
                cell = f"(grid.stops[k] - _k1 - {done})" if backward else f"(grid.starts[k] + {done})"
                begin.append(f"_s{n} = (({row}) * grid.cells + {cell}) * grid.width")
                begin += _read_before(pattern, n, backward)
                first = f"({cell} - grid.starts[k]) * _k{pattern.size}"
                begin += [f"_v{n} = value_begin[{row}] + before[k] + {first}"] if equation.flows else []
                body += _cell_sweep(pattern, equation, n, backward)
            count = f"grid.stops[k] - grid.starts[k] - plan.lag * _k{together - 1}"
            lines += [name, *_loop(begin, f"range(_k0, {count})", body)]
        return lines

    return branches(patterns, statements, SPECIAL)


def _loop(begin: list[str], numbers: str, body: list[str]) -> list[str]:
    """Return indented lines of source with a loop, after the lines ``begin``."""
    lines = [*begin, f"for _ in {numbers}:", *(f"    {line}" for line in body)]
    return [f"    {line}" for line in lines]


def _preamble(pattern: Pattern, equation: Equation) -> list[str]:
    """Return lines of source for the values that all cells of a kind share."""
    lines = [f"{equation.arrays} = equations", *row_distances(pattern)]
    if not equation.flows:
        lines += [f"_q{e} = rate[_b + _k{e}]" for e in range(pattern.size)]
    slots = range(len(pattern.sums) if equation.slot else 0)
    return lines + [f"_f{r} = {equation.slot}[base + _k{r}]" for r in slots]


def _cell_sweep(pattern: Pattern, equation: Equation, n: int, backward: bool) -> list[str]:
    """Return lines of source that sweep one cell of row ``n`` of several."""
    body, sums, number = [f"_p{d} = _s{n} + _w{d}" for d in range(len(pattern.leads))], [], 0
    for r, terms in enumerate(pattern.sums):
        numbers, state = range(number, number + len(terms)), plus(f"_s{n}", r)
        rates = [f"values[_v{n} + _k{e}]" if equation.flows else f"_q{e}" for e in numbers]
        states = [_state_value(pattern, term, r, n, backward) for term in terms]
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


def _state_value(pattern: Pattern, term: Term, r: int, n: int, backward: bool) -> str:
    """Return source text for the value of a term's state: just computed, of the previous cell, or read."""
    slot = term.offset
    if not any(term.lead):
        if slot in (range(r + 1, pattern.width) if backward else range(r)):
            return f"_e{n}_{slot}"
        if (before := slot + _ahead(pattern, backward)) in range(pattern.width):
            return f"_c{n}_{before}"
    return f"x[{state_index(pattern, term, f'_s{n}')}]"


def _ahead(pattern: Pattern, backward: bool) -> int:
    """Return the number of states from the swept cell to the previous one, with a sign."""
    return -pattern.width if backward else pattern.width


def _reused_slots(pattern: Pattern, backward: bool) -> list[int]:
    """Return the sorted slots of the previous cell that a cell of a pattern reads."""
    offsets = [t.offset for terms in pattern.sums for t in terms if not any(t.lead)]
    before = {offset + _ahead(pattern, backward) for offset in offsets}
    return sorted(before & set(range(pattern.width)))


def _read_before(pattern: Pattern, n: int, backward: bool) -> list[str]:
    """Return lines of source that read the cell before the first swept cell into variables."""
    ahead = _ahead(pattern, backward)
    return [f"_c{n}_{r} = 1.0 * x[{plus(f'_s{n}', r - ahead)}]" for r in _reused_slots(pattern, backward)]
