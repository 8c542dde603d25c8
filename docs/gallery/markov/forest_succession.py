"""Forest succession: what will the woods look like?

Below the trees of a forest in New Jersey, Horn counted the saplings that will replace
them. This gives the probability that, fifty years on, a tree of one species stands where
another did. Left alone for centuries, which trees will the forest consist of?

Field: ecology.
Source: H. S. Horn, Markovian properties of forest succession, in M. L. Cody, J. M. Diamond
(editors), Ecology and Evolution of Communities, 1975, and Succession, in R. M. May
(editor), Theoretical Ecology, 2nd edition, 1981: the table of four species.
"""

from __future__ import annotations

import numpy as np

from markov import MarkovChain, stationary

SPECIES = ["grey birch", "blackgum", "red maple", "beech"]
P = np.array(
    [
        [0.05, 0.36, 0.50, 0.09],
        [0.01, 0.57, 0.25, 0.17],
        [0.00, 0.14, 0.55, 0.31],
        [0.00, 0.01, 0.03, 0.96],
    ]
)  # from now (row) to fifty years later (column)

answer = stationary(MarkovChain(P - np.eye(4), states=SPECIES))  # fifty years are the unit of time
share = dict(zip(SPECIES, answer.pi, strict=True))
print("in the end:", ", ".join(f"{name} {p:.1%}" for name, p in share.items()))

age = np.linalg.matrix_power(P, 4)[0]
print("after 200 years from grey birch:", ", ".join(f"{p:.0%}" for p in age))

long_after = np.linalg.matrix_power(P, 4096)[0]  # of 12 squarings, each with a few roundings
np.testing.assert_allclose(answer.pi, long_after, rtol=1e-11)
print("check: the table to the power 4096 agrees to 1e-11")
