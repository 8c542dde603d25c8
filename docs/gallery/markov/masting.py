"""Masting: why do neighbouring trees bear fruit in the same years?

Pistachio trees alternate between heavy and light crops, and neighbours tend to agree.
Which of the two phases a tree is in is a spin; trees coupled through their roots form an
Ising model, and a tree changes its phase at Glauber's rates. How well do trees at opposite
corners of an orchard agree?

Field: ecology.
Source: A. E. Noble, T. S. Rosenstock, P. H. Brown, J. Machta, A. Hastings, Spatial
patterns of tree yield explained by endogenous forces through a correspondence between the
Ising model and ecology, Proceedings of the National Academy of Sciences 115(8), 2018; R.
J. Glauber, Time-dependent statistics of the Ising model, Journal of Mathematical Physics
4, 1963.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from markov import explore, stationary

ROWS, COLUMNS = 3, 3
TREES = list(itertools.product(range(ROWS), range(COLUMNS)))
NEIGHBOURS = [[j for j, other in enumerate(TREES) if math.dist(tree, other) == 1.0] for tree in TREES]


class Orchard(NamedTuple):
    J: float  # coupling, in units of the noise
    h: float = 0.0  # a common cause, such as frost


def rules(spin, q):
    for i, s in enumerate(spin):
        field = q.h + q.J * sum(spin[j] for j in NEIGHBOURS[i])
        yield (*spin[:i], -s, *spin[i + 1 :]), 0.5 * (1 - s * math.tanh(field))


def gibbs(spins, q):
    """Boltzmann's weights of the Ising model, one column of spins per state."""
    bonds = sum(spins[i] * spins[j] for i in range(len(spins)) for j in NEIGHBOURS[i] if i < j)
    weights = np.exp(q.J * bonds + q.h * spins.sum(axis=0))
    return weights / weights.sum()


for J in (0.1, 0.4, 0.7):
    found = explore(rules, start=(1,) * len(TREES), params=Orchard(J, h=0.05))
    answer, spins = stationary(found), np.array(found.states)
    agree = answer.pi @ (spins[0] == spins[-1])
    print(f"J = {J}: {found.chain.size} states, opposite corners agree {agree:.1%} of the time")
    np.testing.assert_allclose(answer.pi, gibbs(spins, Orchard(J, h=0.05)), rtol=1e-11)
print("check: Gibbs' distribution agrees in every one of the 512 states to 1e-11")
