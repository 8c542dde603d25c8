"""The bridge: a network that is neither series nor parallel.

Five components, each with its own repair crew. The system works while there is a path from
left to right: through 1 and 4, through 2 and 5, or across component 3; this is its
structure function phi. Besides the availability, an engineer asks how often the system
fails and which component is to blame.

Field: reliability.
Source: R. E. Barlow, F. Proschan, Statistical Theory of Reliability and Life Testing,
1975, chapters 1 and 2; Z. W. Birnbaum, On the importance of different components in a
multicomponent system, in Multivariate Analysis II, 1969.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import ChainModel, add_at, stationary

PATHS = [(0, 3), (1, 4), (0, 2, 4), (1, 2, 3)]


def phi(x):
    return max(min(x[i] for i in path) for path in PATHS)


class Bridge(ChainModel):
    class State(NamedTuple):
        x: tuple[int, ...]  # of each component: 1 works, 0 does not

    class Params(NamedTuple):
        failure: tuple[float, ...] = (1 / 100, 1 / 200, 1 / 50, 1 / 300, 1 / 100)  # per hour
        repair: tuple[float, ...] = (1 / 4, 1 / 8, 1 / 2, 1 / 10, 1 / 5)

    def space(self):
        return {"x": (range(2),) * 5}

    def rewards(self, s, q):
        lost = [phi(s.x) - phi(add_at(s.x, i, -1)) if s.x[i] else 0 for i in range(5)]
        due = {f"due to {i + 1}": q.failure[i] * lost[i] for i in range(5)}
        return {"available": phi(s.x), **due}

    @staticmethod
    def rules(s, q):
        for i, works in enumerate(s.x):
            if works:
                yield s._replace(x=add_at(s.x, i, -1)), q.failure[i]
            else:
                yield s._replace(x=add_at(s.x, i, 1)), q.repair[i]


def h(p):
    """The reliability function, by pivoting on component 3."""
    either = lambda a, b: a + b - a * b
    open_, closed = either(p[0] * p[3], p[1] * p[4]), either(p[0], p[1]) * either(p[3], p[4])
    return p[2] * closed + (1 - p[2]) * open_


answer, q = stationary(Bridge()), Bridge().params
p = np.divide(q.repair, np.add(q.failure, q.repair))
print(f"unavailable {1 - answer['available']:.3e}")
np.testing.assert_allclose(answer["available"], h(p), rtol=1e-13)  # some 32 sums of roundings
for i in range(5):  # Birnbaum's importance
    importance = h(np.where(np.arange(5) == i, 1.0, p)) - h(np.where(np.arange(5) == i, 0.0, p))
    np.testing.assert_allclose(answer[f"due to {i + 1}"], importance * p[i] * q.failure[i], 1e-10)
shares = np.array([answer[f"due to {i + 1}"] for i in range(5)])
due = (100 * shares / shares.sum()).round(1)
print(f"{8760 * shares.sum():.3f} failures a year, by component: {due} %")
