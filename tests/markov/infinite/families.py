"""Rules of chains with infinitely many states, as a user writes them, random ones too, and distances of their answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def mm1(n, arrivals=0.9):
    yield n + 1, arrivals
    if n > 0:
        yield n - 1, 1.0


def tandem(s):
    a, b = s
    yield (a + 1, b), 0.6
    if a > 0:
        yield (a - 1, b + 1), 1.0
    if b > 0:
        yield (a, b - 1), 0.845


def coupled(s):
    a, b = s
    yield (a + 1, b), 0.5
    yield (a, b + 1), 0.4
    if a > 0:
        yield (a - 1, b), 1.0 if b > 0 else 1.5
    if b > 0:
        yield (a, b - 1), 1.0 if a > 0 else 1.4


def gene(s):
    m, p = s
    yield (m + 1, p), 2.0
    if m > 0:
        yield (m - 1, p), 0.5 * m
        yield (m, p + 1), 4.0 * m
    if p > 0:
        yield (m, p - 1), 1.0 * p


def epidemic(s):
    healthy, ill = s
    yield (healthy + 1, ill), 3.0
    yield (healthy, ill + 1), 0.1
    yield (healthy - 1, ill + 1), 0.05 * healthy * ill
    yield (healthy - 1, ill), 0.1 * healthy
    yield (healthy, ill - 1), 0.5 * ill


def retrial(s):
    busy, orbit = s
    if busy:
        yield (0, orbit), 1.0
        yield (1, orbit + 1), 0.5
    else:
        yield (1, orbit), 0.5
        if orbit > 0:
            yield (1, orbit - 1), 1.0 * orbit


def toggle(s):
    a, b = s
    yield (a + 1, b), 10 / (1 + b * b)
    yield (a, b + 1), 10 / (1 + a**2)
    if a > 0:
        yield (a - 1, b), 1.0 * a
    if b > 0:
        yield (a, b - 1), 1.0 * b


def mm3(n):
    yield n + 1, 2.4
    if n > 0:
        yield n - 1, 1.0 * min(n, 3)


def mminf(n):
    yield n + 1, 12.0
    yield n - 1, 1.0 * n


def batches(n):
    yield n + 5, 0.15
    if n > 0:
        yield n - 1, 1.0


def priority(s):
    a, b = s
    yield (a + 1, b), 0.3
    yield (a, b + 1), 0.4
    if a > 0:
        yield (a - 1, b), 1.0
    elif b > 0:
        yield (a, b - 1), 1.0


def schloegl(n):
    yield n + 1, 6.0 + 0.15 * n * (n - 1)
    if n > 0:
        yield n - 1, 2.0 * n + 0.01 * n * (n - 1) * (n - 2)


def dimers(s):
    m, d = s
    yield (m + 1, d), 5.0
    yield (m - 1, d), 0.3 * m
    yield (m - 2, d + 1), 0.05 * m * (m - 1) / 2
    yield (m + 2, d - 1), 0.1 * d
    yield (m, d - 1), 0.2 * d


def predators(s):
    x, y = s
    yield (x + 1, y), 1.0 + 0.5 * x
    yield (x - 1, y), 0.02 * x * x
    yield (x - 1, y + 1), 0.05 * x * y
    yield (x, y - 1), 0.8 * y
    yield (x, y + 1), 0.1


def shortest(s):
    a, b = s
    if a < b:
        yield (a + 1, b), 1.2
    elif b < a:
        yield (a, b + 1), 1.2
    else:
        yield (a + 1, b), 0.6
        yield (a, b + 1), 0.6
    if a > 0:
        yield (a - 1, b), 1.0
    if b > 0:
        yield (a, b - 1), 1.0


def shortest_first(s):
    a, b = s
    if a <= b:
        yield (a + 1, b), 1.2
    else:
        yield (a, b + 1), 1.2
    if a > 0:
        yield (a - 1, b), 1.0
    if b > 0:
        yield (a, b - 1), 1.0


def polling(s):
    a, b, server = s
    yield (a + 1, b, server), 0.3
    yield (a, b + 1, server), 0.3
    if (a if server == 0 else b) > 0:
        yield ((a - 1, b, server) if server == 0 else (a, b - 1, server)), 1.0
    else:
        yield (a, b, 1 - server), 5.0


def jackson(s):
    a, b, c = s
    yield (a + 1, b, c), 0.3
    if a > 0:
        yield (a - 1, b + 1, c), 1.0
    if b > 0:
        yield (a, b - 1, c + 1), 0.7
        yield (a + 1, b - 1, c), 0.3
    if c > 0:
        yield (a, b, c - 1), 0.9


def repressilator(s):
    for k in range(3):
        up = (*s[:k], s[k] + 1, *s[k + 1 :])
        yield up, 8 / (1 + s[k - 1] ** 2)
        if s[k] > 0:
            yield (*s[:k], s[k] - 1, *s[k + 1 :]), 1.0 * s[k]


def modulated(s):
    on, n = s
    if on:
        yield (0, n), 1.0
        yield (1, n + 1), 1.5
    else:
        yield (1, n), 1.0
    if n > 0:
        yield (on, n - 1), 1.0


QUICK: dict[str, tuple[Callable[..., Any], Any]] = {
    "M/M/1": (mm1, 0),
    "retrial": (retrial, (0, 0)),
    "M/M/inf": (mminf, 0),
    "batches": (batches, 0),
    "shortest queue, ties first": (shortest_first, (0, 0)),
}
SLOW: dict[str, tuple[Callable[..., Any], Any]] = {
    "modulated arrivals": (modulated, (0, 0)),
    "Schloegl": (schloegl, 0),
    "priority": (priority, (0, 0)),
    "M/M/3": (mm3, 0),
    "coupled queues": (coupled, (0, 0)),
    "toggle switch": (toggle, (0, 0)),
    "tandem": (tandem, (0, 0)),
    "gene": (gene, (0, 0)),
    "epidemic": (epidemic, (0, 0)),
    "dimers": (dimers, (0, 0)),
    "predators": (predators, (0, 0)),
    "shortest queue": (shortest, (0, 0)),
    "polling": (polling, (0, 0, 0)),
    "Jackson network": (jackson, (0, 0, 0)),
    "repressilator": (repressilator, (0, 0, 0)),
}


def random_chain(seed):
    """Return rules of one of four kinds, stable for certain, and a start."""
    rng = np.random.default_rng(seed)

    def uniform(low, high):
        return float(rng.uniform(low, high))

    if seed % 4 == 0:
        size, servers = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        arrivals = servers * uniform(0.1, 0.9) / size

        def batch(n):
            yield n + size, arrivals
            if n > 0:
                yield n - 1, 1.0 * min(n, servers)

        return batch, 0
    if seed % 4 == 1:
        again = uniform(0.0, 0.4)
        arrivals, first, second = (
            uniform(0.1, 0.5) * (1 - again),
            uniform(0.8, 1.2),
            uniform(0.8, 1.2),
        )

        def feedback(s):
            a, b = s
            yield (a + 1, b), arrivals
            if a > 0:
                yield (a - 1, b + 1), first
            if b > 0:
                yield (a, b - 1), second * (1 - again)
                yield (a + 1, b - 1), second * again

        return feedback, (0, 0)
    if seed % 4 == 2:
        made, joined, lost, gone = (
            uniform(0.5, 3),
            uniform(0.01, 0.2),
            uniform(0.3, 1),
            uniform(0.3, 1),
        )

        def bilinear(s):
            a, b = s
            yield (a + 1, b), made
            yield (a - 1, b + 1), joined * a * b + 0.1 * a
            yield (a - 1, b), lost * a
            yield (a, b - 1), gone * b

        return bilinear, (0, 0)
    arrivals, patience, servers = uniform(0.5, 3), uniform(0.05, 0.5), int(rng.integers(1, 4))

    def abandonment(n):
        yield n + 1, arrivals
        if n > 0:
            yield n - 1, 1.0 * min(n, servers) + patience * max(n - servers, 0)

    return abandonment, 0


def states_of(answer):
    columns = answer.states if isinstance(answer.states, tuple) else (answer.states,)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def distance(answer, truth):
    """Return the largest error of a set of states, for a distribution as a function or a dictionary."""
    own = dict(zip(states_of(answer), answer.pi.tolist(), strict=True))
    other = truth if isinstance(truth, dict) else {state: truth(*state) for state in own}
    off = [own.get(s, 0.0) - other.get(s, 0.0) for s in own.keys() | other.keys()]
    beside = max(math.fsum([1.0, *(-value for value in other.values())]), 0.0)
    return max(math.fsum(d for d in off if d > 0.0), beside - math.fsum(d for d in off if d < 0.0))
