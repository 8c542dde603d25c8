"""A fault-tolerant multiprocessor: what can it do, and how often is it down?

Each of n processors fails at rate gamma and is repaired at rate tau, one at a time. With
probability c a fault is covered and the others carry on after a short reconfiguration;
otherwise the system must be rebooted, which takes longer. Every working processor earns
one unit of computing power: a performability model.

Field: reliability.
Source: J. F. Meyer, On evaluating the performability of degradable computing systems, IEEE
Transactions on Computers C-29(8), 1980; K. S. Trivedi, Probability and Statistics with
Reliability, Queuing, and Computer Science Applications, 2nd edition, 2002, chapter 8.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from markov import explore, stationary

Mode = Enum("Mode", ["UP", "RECONFIGURING", "REBOOTING"])


class Computer(NamedTuple):
    up: int
    mode: Mode = Mode.UP


PARAMS = {"gamma": 1 / 6000, "tau": 1.0, "delta": 360.0, "beta": 6.0, "c": 0.95, "n": 4}  # per hour


def rules(s, q):
    if s.mode is Mode.UP:
        if s.up > 1:
            yield Computer(s.up - 1, Mode.RECONFIGURING), s.up * q.gamma * q.c
            yield Computer(s.up - 1, Mode.REBOOTING), s.up * q.gamma * (1 - q.c)
        elif s.up == 1:
            yield Computer(0), q.gamma
        if s.up < q.n:
            yield Computer(s.up + 1), q.tau
    elif s.mode is Mode.RECONFIGURING:
        yield s._replace(mode=Mode.UP), q.delta
    else:
        yield s._replace(mode=Mode.UP), q.beta


def rewards(s):
    works = s.mode is Mode.UP
    return {"power": works * s.up, "down": not (works and s.up > 0)}


def closed_form(n, gamma, tau, delta, beta, c):
    """pi(k up) by cuts: k gamma pi(k) = tau pi(k - 1); the others by what goes through them."""
    up = np.cumprod([1.0, *(tau / (k * gamma) for k in range(1, n + 1))])
    through = gamma * np.arange(2, n + 1) * up[2:]
    pauses = through.sum() * (c / delta + (1 - c) / beta)
    total = up.sum() + pauses
    return np.arange(n + 1) @ up / total, (up[0] + pauses) / total


for n in (1, 2, 4, 8):
    params = {**PARAMS, "n": n}
    answer = stationary(explore(rules, start=Computer(n), params=params, rewards=rewards))
    power, down = answer["power"], answer["down"]
    print(f"{n} processors: {power:.5f} of them work, down {525_600 * down:.2f} minutes a year")
    # at most 23 states, each a few roundings
    np.testing.assert_allclose((power, down), closed_form(**params), rtol=1e-12)
print("check: the closed form agrees to 1e-12; past a few processors coverage is what counts")
