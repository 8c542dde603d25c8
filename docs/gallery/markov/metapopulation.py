"""A butterfly in a landscape: Hanski's metapopulation.

Patches of meadow are occupied or empty. The population of a patch goes extinct at a rate
inversely proportional to its area; an empty patch is colonised from the occupied ones, the
more so the nearer and larger they are, and now and then from far away. Which patches
matter to the species?

Field: ecology.
Source: I. Hanski, A practical model of metapopulation dynamics, Journal of Animal Ecology
63, 1994; R. Levins, Some demographic and genetic consequences of environmental
heterogeneity for biological control, Bulletin of the Entomological Society of America 15,
1969.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from markov import add_at, explore, stationary


class Landscape(NamedTuple):
    area: np.ndarray
    distance: np.ndarray
    e: float = 0.3  # extinction of a patch of area 1, per year
    c: float = 0.4
    far: float = 0.01


def rules(x, q):
    """x[i]: whether patch i is occupied (1) or empty (0)."""
    for i, occupied in enumerate(x):
        if occupied:
            yield add_at(x, i, -1), q.e / q.area[i]
        else:
            near = q.c * sum(q.area * x * np.exp(-q.distance[i]))
            yield add_at(x, i, 1), near + q.far


def occupancy(q):
    found = explore(rules, start=(1,) * len(q.area), params=q)
    pi = stationary(found).pi
    return np.array([pi @ x for x in found.states])


def levins(n, e, c, far):
    """Equal patches, equally near: a birth-death process of the number that is occupied."""
    k = np.arange(n)
    up, down = (n - k) * (c * k + far), (k + 1) * e
    weights = np.cumprod(np.concatenate([[1.0], up / down]))
    return weights @ np.arange(n + 1) / weights.sum() / n


places = np.array([0, 1, 1j, 1 + 1j, 3 + 1j, 4 + 1j, 4 + 2j, 7 + 3j])  # kilometres
distance = abs(places[:, None] - places)
meadows = Landscape(np.array([1.0, 0.5, 0.5, 2.0, 1.0, 0.5, 0.5, 1.0]), distance)
shares = occupancy(meadows)
print("occupied:", *(f"{share:.1%}" for share in shares))
for lost in (3, 7):
    rest = np.delete(np.arange(8), lost)
    left = occupancy(Landscape(meadows.area[rest], distance[np.ix_(rest, rest)])).sum()
    print(f"without patch {lost}: {left:.3f} others occupied instead of {shares[rest].sum():.3f}")

alike = Landscape(np.ones(8), np.full((8, 8), 1.0))
expected = levins(8, alike.e, alike.c * math.exp(-1), alike.far)
np.testing.assert_allclose(occupancy(alike), expected, rtol=1e-11)  # 256 states against nine
print("check: with patches that are alike, all have the mean of Levins' birth-death process")
