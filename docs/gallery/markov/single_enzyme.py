"""Michaelis and Menten's law for a single enzyme molecule.

    E + S <-> ES -> E0 + P,    E0 -> E

One enzyme molecule turns substrate at concentration [S] into product, and then needs a
moment to recover. A biochemist measures the turnover rate v at several [S] and plots 1/v
against 1/[S]: is the plot still a straight line for a single molecule, and what are its
slope and intercept?

Field: chemistry.
Source: S. C. Kou, B. J. Cherayil, W. Min, B. P. English, X. S. Xie, Single-molecule
Michaelis-Menten equations, Journal of Physical Chemistry B 109, 2005; H. Lineweaver, D.
Burk, Journal of the American Chemical Society 56, 1934.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from markov import ChainModel, sweep

Enzyme = Enum("Enzyme", ["E", "ES", "E0"])


class SingleEnzyme(ChainModel):
    class State(NamedTuple):
        enzyme: Enzyme

    class Params(NamedTuple):
        S: float = 1.0  # mM
        k1: float = 50.0  # per mM and s
        k_1: float = 20.0  # per s, as the others
        k2: float = 100.0
        delta: float = 1000.0

    def space(self):
        return {"enzyme": Enzyme}

    def rewards(self, s, q):
        return {"v": q.k2 * (s.enzyme == Enzyme.ES)}

    @staticmethod
    def rules(s, q):
        reactions = {
            Enzyme.E: [(Enzyme.ES, q.k1 * q.S)],
            Enzyme.ES: [(Enzyme.E, q.k_1), (Enzyme.E0, q.k2)],
            Enzyme.E0: [(Enzyme.E, q.delta)],
        }
        for to, rate in reactions[s.enzyme]:
            yield SingleEnzyme.State(to), rate


q = SingleEnzyme()
concentrations = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
v = sweep(q, S=concentrations).v.to_numpy()

# The mean time of a turnover: 1/v = 1/k2 + 1/delta + K_M / (k2 [S]), K_M = (k_1 + k2) / k1.
slope, intercept = np.polyfit(1 / np.array(concentrations), 1 / v, 1)
print(f"v_max = {1 / intercept:.4f} per s, not k2 = {q.k2:g}: each turnover ends with 1/delta more")
print(f"K_M = {slope / intercept:.4f} mM")
K_M = (q.k_1 + q.k2) / q.k1
exact = 1 / q.k2 + 1 / q.delta + K_M / q.k2 / np.array(concentrations)
np.testing.assert_allclose(1 / v, exact, rtol=1e-13)  # three states
np.testing.assert_allclose([slope, intercept], [K_M / q.k2, 1 / q.k2 + 1 / q.delta], rtol=1e-10)
print("check: the points are on Lineweaver and Burk's line to 1e-13")
