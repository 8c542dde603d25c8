"""A chain and flows that tests of shards share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import ChainModel


class Tandem(ChainModel):
    """M/M/1/K to M/M/1/L, losses at both; every state is recurrent, and there is no start."""

    class State(NamedTuple):
        i: int
        j: int

    def space(self):
        return {"i": range(30), "j": range(40)}

    @staticmethod
    def rules(s, q):
        if s.i < 29:
            yield s._replace(i=s.i + 1), 0.8
        if s.i > 0:
            yield s._replace(i=s.i - 1, j=min(s.j + 1, 39)), 1.0
        if s.j > 0:
            yield s._replace(j=s.j - 1), 0.9


class Switch(ChainModel):
    """Two states: fewer than multigrid needs."""

    class State(NamedTuple):
        on: int

    def space(self):
        return {"on": range(2)}

    @staticmethod
    def rules(s, q):
        if s.on:
            yield s._replace(on=0), 1.0
        if not s.on:
            yield s._replace(on=1), 2.0


SHAPE = (5, 4, 2)


def random_flows(changes):
    """Flows along changes, none out of the box."""
    rng = np.random.default_rng(3)
    found = rng.uniform(0.5, 2.0, size=(len(changes), *SHAPE))
    for flow, change in zip(found, changes, strict=True):
        for place in np.ndindex(*SHAPE):
            target = np.add(place, change)
            if (target < 0).any() or (target >= SHAPE).any():
                flow[place] = 0.0
    return found


def edges(flows, changes):
    """All transitions, (from, to): flow."""
    return {
        (place, tuple(np.add(place, change).tolist())): float(flow[place])
        for flow, change in zip(flows, changes, strict=True)
        for place in np.ndindex(*flow.shape)
        if flow[place] > 0.0
    }
