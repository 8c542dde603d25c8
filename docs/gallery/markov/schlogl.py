"""Schlögl's model: a chemical switch.

    A + 2 X <-> 3 X,    B <-> X

A and B are held constant. The rate equation has two stable states and an unstable one
between them; the molecules have a single stationary distribution with two modes, between
which they jump ever more rarely the larger the vessel. How much time does the switch spend
in each position?

Field: chemistry.
Source: F. Schlögl, Chemical reaction models for non-equilibrium phase transitions,
Zeitschrift für Physik 253, 1972; M. Vellela, H. Qian, Stochastic dynamics and
non-equilibrium thermodynamics of a bistable chemical system: the Schlögl model revisited,
Journal of the Royal Society Interface 6, 2009.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from markov import ChainModel, stationary

LOW, UNSTABLE, HIGH = 0.4, 1.4, 3.6  # concentrations at rest


class Schloegl(ChainModel):
    class State(NamedTuple):
        x: int

    class Params(NamedTuple):
        V: int = 40  # volume
        k: tuple[float, ...] = (10.8, 6.0, 2.016, 7.04)  # A + 2 X -> 3 X, back; B -> X, back

    def space(self):
        return {"x": range(7 * self.V + 1)}

    @staticmethod
    def rules(s, q):
        if s.x < 7 * q.V:
            yield s._replace(x=s.x + 1), q.k[0] * comb(s.x, 2) / q.V + q.k[2] * q.V
        yield s._replace(x=s.x - 1), q.k[1] * comb(s.x, 3) / q.V**2 + q.k[3] * s.x


def detailed_balance(model):
    """pi by pi(x) up(x) = pi(x + 1) down(x + 1), in logarithms."""
    x, (k1, k2, k3, k4), V = np.arange(7.0 * model.V + 1), model.k, model.V
    up = k1 * x * (x - 1) / 2 / V + k3 * V
    down = k2 * x * (x - 1) * (x - 2) / 6 / V**2 + k4 * x
    log = np.concatenate([[0.0], np.cumsum(np.log(up[:-1] / down[1:]))])
    weights = np.exp(log - log.max())
    return weights / weights.sum()


for V in (20, 40, 80, 160):
    model = Schloegl(V=V)
    pi = stationary(model).pi
    low, valley = pi[: int(UNSTABLE * V)].sum(), pi[int(LOW * V) : int(HIGH * V)].min()
    print(f"V = {V:3}: low {low:.1%} of the time; {valley / pi.max():.0e} in the valley, the peak 1")
    # sums of up to 1120 logarithms, each with a few 1e-16
    np.testing.assert_allclose(pi, detailed_balance(model), rtol=1e-11)
