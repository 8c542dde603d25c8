"""One jump of a distribution on a set of states that moves with it, as a template of a kernel.

Two numbers stand for no states, they stand for the ends of the chain: 0 where the target is entered, 1 where it is missed.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["push"]

BLOCK = 1024
INFINITE = float("inf")


def push(sizes, settings, rows, mass, lists, sums):
    """Move the mass of the listed states one jump on, and list the states that have mass then.

    ``sizes`` has how many states are listed, are listed afterwards, and are among these without rows yet.
    ``settings`` has the mass below which a state is dropped or not entered, the largest exit rate, the reciprocal of
    the rate of jumps, and the weight of the mass in the sum over jumps. ``sums`` gets the mass that is dropped for
    being small, and in states with larger exit rates, that enters the target, and that misses it.
    """
    threshold, largest, per_rate, weight = settings[0], settings[1], settings[2], settings[3]
    now, after, total = mass.now, mass.after, mass.total
    starts, degrees, exits = rows.starts, rows.degrees, rows.exits
    targets, rates, listed, fresh = rows.targets, rows.rates, lists.after, lists.fresh
    count, waiting, dropped, fast, reached, missed = 0, 0, 0.0, 0.0, 0.0, 0.0
    for first in range(0, sizes[0], BLOCK):
        lost = 0.0
        for place in range(first, min(first + BLOCK, sizes[0])):
            state = lists.now[place]
            here = now[state]
            now[state] = 0.0
            if exits[state] > largest:
                # It is left faster than that; infinitely fast: its row has no room.
                if exits[state] < INFINITE:
                    fast += here
                else:
                    lost += here
                continue
            if weight > 0.0:
                total[state] += weight * here
            if here < threshold:
                lost += here
                continue
            moving = here * per_rate
            if after[state] == 0.0:
                listed[count] = state
                count += 1
            after[state] += here - moving * exits[state]
            begin = starts[state]
            for edge in range(begin, begin + degrees[state]):
                target = targets[edge]
                part = moving * rates[edge]
                held = after[target]
                if held > 0.0 or target < 2:
                    after[target] = held + part
                elif part < threshold:
                    lost += part
                else:
                    after[target] = part
                    listed[count] = target
                    count += 1
                    if starts[target] < 0:
                        fresh[waiting] = target
                        waiting += 1
        dropped += lost
        reached += after[0]
        missed += after[1]
        after[0] = 0.0
        after[1] = 0.0
    sizes[1], sizes[2] = count, waiting
    sums[0], sums[1], sums[2], sums[3] = dropped, fast, reached, missed
