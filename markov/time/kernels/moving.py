"""Loops over the states of a set that moves with a distribution, as templates of kernels.

Two numbers stand for no states, they stand for the ends of the chain: 0 where the target is entered, 1 where it is missed.
States of the set have places in it; others have the place -1.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["count_arrivals", "flow_out", "gather", "multiply"]

BLOCK = 1024


def flow_out(states, occupied, places, rows, flux, found):
    """Add the mass that flows from states to states outside of the set, and return how many of these are listed.

    ``occupied`` is the mass of each state times the time it spends there. ``found`` lists the states outside that have
    a positive ``flux``; its first entry is their number.
    """
    count = found[0]
    for place in range(len(states)):
        state, mass = states[place], occupied[place]
        begin = rows.starts[state]
        for edge in range(begin, begin + rows.degrees[state]):
            target = rows.targets[edge]
            if target >= 2 and places[target] < 0:
                more = mass * rows.rates[edge]
                if more > 0.0:
                    if flux[target] == 0.0:
                        count += 1
                        found[count] = target
                    flux[target] += more
    found[0] = count


def count_arrivals(states, places, rows, columns):
    """Count the transitions into each state of the set, from the set: ``columns.starts`` gets their running sum."""
    starts = columns.starts
    starts[:] = 0
    for place in range(len(states)):
        begin = rows.starts[states[place]]
        for edge in range(begin, begin + rows.degrees[states[place]]):
            target = places[rows.targets[edge]]
            if target >= 0:
                starts[target + 1] += 1
    for place in range(len(states)):
        starts[place + 1] += starts[place]


def gather(states, places, rows, columns, per_rate):
    """Fill the columns of the jump matrix I + Q / q on the set, and the parts that go to the ends of the chain.

    ``columns.starts`` is as `count_arrivals` leaves it; ``per_rate`` is 1 / q.
    """
    for k in range(len(columns.ends)):
        columns.ends[k] = columns.starts[k]
    for place in range(len(states)):
        state = states[place]
        begin = rows.starts[state]
        columns.stay[place] = 1.0 - rows.exits[state] * per_rate
        columns.reach[place] = 0.0
        columns.miss[place] = 0.0
        for edge in range(begin, begin + rows.degrees[state]):
            end = rows.targets[edge]
            part = rows.rates[edge] * per_rate
            if end == 0:
                columns.reach[place] += part
            elif end == 1:
                columns.miss[place] += part
            elif places[end] >= 0:
                target = places[end]
                columns.sources[columns.ends[target]] = place
                columns.parts[columns.ends[target]] = part
                columns.ends[target] += 1


def multiply(settings, columns, now, before, total, sums):
    """Replace ``before`` by f P now - before, and add ``weight`` times it to ``total``.

    ``settings`` has f and the weight. ``sums`` gets the 1-norm of the new vector, and its products with the parts that
    go to the target and miss it.
    """
    factor, weight = settings[0], settings[1]
    norm, reached, missed = 0.0, 0.0, 0.0
    for first in range(0, len(now), BLOCK):
        size, to_target, elsewhere = 0.0, 0.0, 0.0
        for place in range(first, min(first + BLOCK, len(now))):
            into = columns.stay[place] * now[place]
            for edge in range(columns.starts[place], columns.starts[place + 1]):
                into += columns.parts[edge] * now[columns.sources[edge]]
            new = factor * into - before[place]
            before[place] = new
            total[place] += weight * new
            size += abs(new)
            to_target += columns.reach[place] * new
            elsewhere += columns.miss[place] * new
        norm += size
        reached += to_target
        missed += elsewhere
    sums[0], sums[1], sums[2] = norm, reached, missed
