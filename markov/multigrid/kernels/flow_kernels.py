"""Kernels for the flows between the cells of a grid.

On the finest grid entries have rates. On a coarse grid each cell has its own flows, stored consecutively from
``values[value_begin[row]]`` on. A call processes the rows of a span: from its first number up to its second.
A flow of a coarse grid is the sum of its parts in a fixed order; each part is a flow times the x of its state.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from markov.multigrid.kernels.rate_kernels import at_cell, at_row
from markov.multigrid.kernels.tables import ONE, ZERO
from markov.multigrid.kernels.traversals import flow_slots

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from markov.multigrid.kernels.tables import SlotRates


__all__ = [
    "FinerFlows",
    "Weighted",
    "WeightedRates",
    "entry_flows",
    "outflows",
    "prolong",
    "restrict",
    "restrict_rates",
    "weight",
]


class FinerFlows(NamedTuple):
    """A finer grid's first flow of each row, all flows, and x of its states; a buffer of positions per coarse row."""

    begin: NDArray[np.uint64]
    values: NDArray[np.floating[Any]]
    positions: NDArray[np.uint64]
    x: NDArray[np.floating[Any]]


class Weighted(NamedTuple):
    """The numbers x of states, by which flows out of them are weighted, and the minimum weight."""

    x: NDArray[np.floating[Any]]
    minimum: float


class WeightedRates(NamedTuple):
    """Rates by kind and slot, as `SlotRates`, and the numbers x of states that weigh them, as `Weighted`."""

    rates: SlotRates
    weighted: Weighted


def weight(x, minimum):
    """Return the weight of a flow out of a state of probability x, which is x."""
    return x


def restrict_rates(span, grid, children, parts, fine, values):
    """Write the flows between cells of the first coarse grid: sums of the finest grid's rates times weights.

    A part is a flow at a rate out of a state, weighted by that.
    """
    rates, weighted = fine
    for coarse in range(span[0], span[1]):
        v = grid.value_begin[coarse]
        s = children.rows[coarse, ZERO] * children.cells * children.width
        kind_of_row = grid.row_kind[coarse]
        for i in range(grid.first[kind_of_row], grid.first[kind_of_row + ONE]):
            kind = grid.numbers[i]
            if parts.special[kind] > ZERO:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            at_row(rates.counts, kind, coarse)
            for cell in range(grid.starts[i], grid.stops[i]):
                at_cell(rates.counts, kind, cell)
                for e in range(parts.begins[kind], parts.begins[kind + ONE]):
                    total = 0.0
                    for p in range(parts.part_begin[e], parts.part_begin[e + ONE]):
                        share = weight(weighted.x[s + parts.source[p]], weighted.minimum)
                        total += share * rates.rate[p]
                    values[v] = total
                    v += ONE
                s += children.last * children.width


def restrict(span, grid, children, parts, fine, values):
    """Write the flows between the cells of the next coarse grid: sums of the finer grid's flows times x.

    As `restrict_rates`, but a part is one of the flows of the finer grid in a row of the coarse cell's children.
    """
    x = fine.x
    for coarse in range(span[0], span[1]):
        v = grid.value_begin[coarse]
        s = children.rows[coarse, ZERO] * children.cells * children.width
        for c in range(ZERO, ZERO + children.rows.shape[1]):
            present = children.present[coarse, c]
            fine.positions[coarse, c] = fine.begin[children.rows[coarse, c]] if present else ZERO
        kind_of_row = grid.row_kind[coarse]
        for i in range(grid.first[kind_of_row], grid.first[kind_of_row + ONE]):
            kind = grid.numbers[i]
            if parts.special[kind] > ZERO:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            for _ in range(grid.starts[i], grid.stops[i]):
                for e in range(parts.begins[kind], parts.begins[kind + ONE]):
                    total = 0.0
                    for p in range(parts.part_begin[e], parts.part_begin[e + ONE]):
                        flow = fine.positions[coarse, parts.line[p]] + parts.flow[p]
                        total += x[s + parts.source[p]] * fine.values[flow]
                    values[v] = total
                    v += ONE
                for c in range(ZERO, ZERO + children.rows.shape[1]):
                    fine.positions[coarse, c] += parts.spans[kind, c]
                s += children.last * children.width


def outflows(span, grid, frequent, values, scale):
    """Add each flow into the states of a span of rows to ``scale`` of its source state."""
    for s, r, v in flow_slots(span, grid, frequent):
        first = grid.begin[r]
        for e in range(first, grid.begin[r + ONE]):
            scale[s + grid.step[e]] += values[v + (e - first)]


def prolong(span, grid, children, unroll, coarse, x):
    """Multiply each state of a finer grid by the factor of its coarse cell, for a span of coarse rows."""
    for row in range(span[0], span[1]):
        for c in range(ZERO, ZERO + children.rows.shape[1]):
            if not children.present[row, c]:
                continue
            s = children.rows[row, c] * children.cells * children.width
            t = row * grid.cells * grid.width
            remaining = children.cells
            if unroll:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
            while remaining > ZERO:
                for _ in range(min(children.last, remaining)):
                    for r in range(ZERO, children.width):
                        x[s] *= coarse[t + r]
                        s += ONE
                remaining -= min(children.last, remaining)
                t += children.width


def entry_flows(span, flows, grid, flows_by_cell, rate, x):
    """Add to ``flows`` the flow of each entry of each kind of cell, its rate times x, over the cells of a span."""
    for row in range(span[0], span[1]):
        kinds = grid.rows[grid.row_kind[row]]
        w = grid.value_begin[row]
        s = row * grid.cells * grid.width
        for cell in range(len(kinds)):
            base = kinds[cell] * grid.width
            if not flows_by_cell:
                w = grid.begin[base]
            for r in range(base, base + grid.width):
                for e in range(grid.begin[r], grid.begin[r + ONE]):
                    flows[e] += x[s + grid.step[e]] * rate[w]
                    w += ONE
                s += ONE
