"""Two kinds of dimers, from a table of reactions.

    2 A <-> AA,    A + B <-> AB

The propensity of a reaction is its rate constant times the number of ways to choose the
reacting molecules. A chemist asks for the mean copy numbers.

Field: chemistry.
Source: D. F. Anderson, G. Craciun, T. G. Kurtz, Product-form stationary distributions for
deficiency zero chemical reaction networks, Bulletin of Mathematical Biology 72, 2010,
theorem 4.1: pi(x) is proportional to prod_i c_i^x_i / x_i! on what conservation allows, c
being any equilibrium of mass action.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from markov import explore, stationary


class Molecules(NamedTuple):
    A: int
    B: int
    AA: int
    AB: int


@dataclass(frozen=True)
class Reaction:
    reactants: tuple[int, ...]  # how many of each
    products: tuple[int, ...]
    constant: float

    def propensity(self, x):
        return self.constant * math.prod(map(math.comb, x, self.reactants))


REACTIONS = [
    Reaction((2, 0, 0, 0), (0, 0, 1, 0), 0.2),
    Reaction((0, 0, 1, 0), (2, 0, 0, 0), 1.0),
    Reaction((1, 1, 0, 0), (0, 0, 0, 1), 0.5),
    Reaction((0, 0, 0, 1), (1, 1, 0, 0), 0.8),
]


def rules(x, reactions):
    for r in reactions:
        if (rate := r.propensity(x)) > 0:
            yield Molecules(*(np.array(x) - r.reactants + r.products).tolist()), rate


found = explore(rules, start=Molecules(20, 12, 0, 0), params=REACTIONS)
answer = stationary(found)
means = {name: answer.pi @ n for name, n in found.states._asdict().items()}
print(f"{found.chain.size} states can be reached")
print(", ".join(f"{name}: {mean:.4f}" for name, mean in means.items()), "molecules on average")

# An equilibrium with c_A = c_B = 1: each reaction goes as fast as its reverse.
c = np.array([1.0, 1.0, 0.2 / 2 / 1.0, 0.5 / 0.8])
log = sum(x * math.log(ci) - gammaln(x + 1) for ci, x in zip(c, found.states, strict=True))
weights = np.exp(log)
# logarithms up to 60, good to 1e-16 of themselves
np.testing.assert_allclose(answer.pi, weights / weights.sum(), rtol=1e-12)
