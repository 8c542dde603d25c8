"""Two pumps out of three: common causes and imperfect coverage.

A plant needs two of its three pumps. A fraction beta of all failures has a common cause
and takes out every working pump (the beta-factor model). Of the others, a fraction 1 - c
is not covered: the faulty pump is not isolated and the plant is tripped until it is reset.
Both limit what redundancy can achieve.

Field: reliability.
Source: K. N. Fleming, A reliability model for common mode failures in redundant safety
systems, General Atomic report GA-A13284, 1974; W. G. Bouricius, W. C. Carter, P. R.
Schneider, Reliability modeling techniques for self-repairing computer systems, Proceedings
of the ACM National Conference, 1969.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from markov import explore, stationary

q = SimpleNamespace(failure=1e-4, repair=0.05, reset=2.0, beta=0.05, c=0.98)  # per hour


def rules(state, q):
    if state == "tripped":
        yield 2, q.reset  # one pump is isolated by hand
        return
    own = state * (1 - q.beta) * q.failure
    if state > 0:
        yield 0, q.beta * q.failure * state
    if state == 3:
        yield 2, own * q.c
        yield "tripped", own * (1 - q.c)
    elif state > 0:
        yield state - 1, own
    if state < 3:
        yield state + 1, q.repair


def unavailability(q):
    labels = lambda state: {"down": state in (1, 0, "tripped")}
    return stationary(explore(rules, start=3, params=q, labels=labels))["down"]


def by_hand(q):
    """The balance equations of the states 3, 2, 1, 0 and tripped, written out and solved."""
    a, b = (1 - q.beta) * q.failure, q.beta * q.failure
    r, t = q.repair, q.reset
    A = np.array(
        [
            [-3 * (a + b), r, 0, 0, 0],
            [3 * a * q.c, -2 * (a + b) - r, r, 0, t],
            [0, 2 * a, -(a + b) - r, r, 0],
            [3 * a * (1 - q.c), 0, 0, 0, -t],
            [1, 1, 1, 1, 1],
        ]
    )
    return np.linalg.solve(A, [0, 0, 0, 0, 1])[2:].sum()


for change in ({}, {"beta": 0.0}, {"c": 1.0}, {"beta": 0.0, "c": 1.0}):
    case = SimpleNamespace(**{**vars(q), **change})
    what = " and ".join(f"{k} = {v:g}" for k, v in change.items()) or "as it is"
    print(f"{what:20}: the plant is down {8760 * unavailability(case):.4f} hours a year")
    # the solver of NumPy loses the condition number, some 1e5, of its 16 digits
    assert math.isclose(unavailability(case), by_hand(case), rel_tol=1e-8)
