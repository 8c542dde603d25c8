"""Loops over the states of a set that moves with a distribution, as templates of kernels.

The numbers 0 and 1 are the ends of the chain: 0 where the target is entered, 1 where it is missed.
States of the set have positions in it; others have the position -1.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["count_arrivals", "flow_out", "gather", "multiply"]

BLOCK = 1024


def flow_out(states, occupied, positions, rows, flux, entered):
    """Add the mass that flows out of the set to ``flux`` of each outside state, and list these states in ``entered``.

    ``occupied`` is the mass of each state times the time it spends there. ``entered`` lists the states outside that
    have a positive ``flux``; its first entry is their number.
    """
    count = entered[0]
    for position in range(len(states)):
        state, mass = states[position], occupied[position]
        first_edge = rows.starts[state]
        for edge in range(first_edge, first_edge + rows.degrees[state]):
            target = rows.targets[edge]
            if target >= 2 and positions[target] < 0:
                inflow = mass * rows.rates[edge]
                if inflow > 0.0:
                    if flux[target] == 0.0:
                        count += 1
                        entered[count] = target
                    flux[target] += inflow
    entered[0] = count


def count_arrivals(states, positions, rows, columns):
    """Set ``columns.starts`` to running sums of the number of transitions into each state of the set, from the set."""
    starts = columns.starts
    starts[:] = 0
    for position in range(len(states)):
        first_edge = rows.starts[states[position]]
        for edge in range(first_edge, first_edge + rows.degrees[states[position]]):
            target = positions[rows.targets[edge]]
            if target >= 0:
                starts[target + 1] += 1
    for position in range(len(states)):
        starts[position + 1] += starts[position]


def gather(states, positions, rows, columns, per_rate):
    """Fill the columns of the jump matrix I + Q / q on the set, and the parts of its rows that go to the two ends.

    ``columns.starts`` is as `count_arrivals` leaves it; ``per_rate`` is 1 / q.
    """
    for k in range(len(columns.stops)):
        columns.stops[k] = columns.starts[k]
    for position in range(len(states)):
        state = states[position]
        first_edge = rows.starts[state]
        columns.stay[position] = 1.0 - rows.exits[state] * per_rate
        columns.reach[position] = 0.0
        columns.miss[position] = 0.0
        for edge in range(first_edge, first_edge + rows.degrees[state]):
            target = rows.targets[edge]
            part = rows.rates[edge] * per_rate
            if target == 0:
                columns.reach[position] += part
            elif target == 1:
                columns.miss[position] += part
            elif positions[target] >= 0:
                arrival = positions[target]
                columns.sources[columns.stops[arrival]] = position
                columns.parts[columns.stops[arrival]] = part
                columns.stops[arrival] += 1


def multiply(settings, columns, current, previous, total, sums):
    """Replace ``previous`` by the next Chebyshev vector f P current - previous, and add weight times it to ``total``.

    ``settings`` has f and the weight. ``sums`` gets the 1-norm of the new vector, and its products with the parts that
    go to the target and miss it.
    """
    factor, weight = settings[0], settings[1]
    norm, reached, missed = 0.0, 0.0, 0.0
    for first in range(0, len(current), BLOCK):
        magnitude, to_target, elsewhere = 0.0, 0.0, 0.0
        for position in range(first, min(first + BLOCK, len(current))):
            inflow = columns.stay[position] * current[position]
            for edge in range(columns.starts[position], columns.starts[position + 1]):
                inflow += columns.parts[edge] * current[columns.sources[edge]]
            new = factor * inflow - previous[position]
            previous[position] = new
            total[position] += weight * new
            magnitude += abs(new)
            to_target += columns.reach[position] * new
            elsewhere += columns.miss[position] * new
        norm += magnitude
        reached += to_target
        missed += elsewhere
    sums[0], sums[1], sums[2] = norm, reached, missed
