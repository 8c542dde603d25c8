"""A sensor that lives on sunlight: how large must its battery be?

The sky is clear, cloudy or dark, and the solar cell charges the battery accordingly; the
sensor draws a constant power while there is any charge. The designer asks what fraction of
the time the sensor is dead, for each size of the battery.

Field: storage.
Source: A. E. Susu, A. Acquaviva, D. Atienza, G. De Micheli, Stochastic modeling and
analysis for environmentally powered wireless sensor nodes, WiOpt 2008.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from markov import ChainModel, sweep

Sky = Enum("Sky", ["CLEAR", "CLOUDY", "DARK"])
CHARGE = {Sky.CLEAR: 3.0, Sky.CLOUDY: 1.2, Sky.DARK: 0.0}  # steps per hour
CHANGE = {
    Sky.CLEAR: {Sky.CLOUDY: 1 / 4, Sky.DARK: 1 / 10},
    Sky.CLOUDY: {Sky.CLEAR: 1 / 3, Sky.DARK: 1 / 8},
    Sky.DARK: {Sky.CLEAR: 1 / 24, Sky.CLOUDY: 1 / 24},
}


class Sensor(ChainModel):
    class State(NamedTuple):
        sky: Sky
        charge: int

    class Params(NamedTuple):
        room: int = 20
        use: float = 1.0

    def space(self):
        return {"sky": Sky, "charge": range(self.room + 1)}

    def labels(self, s):
        return {"dead": s.charge == 0, "dead at night": s.charge == 0 and s.sky is Sky.DARK}

    @staticmethod
    def rules(s, q):
        for sky, rate in CHANGE[s.sky].items():
            yield s._replace(sky=sky), rate
        if s.charge < q.room:
            yield s._replace(charge=s.charge + 1), CHARGE[s.sky]
        if s.charge > 0:
            yield s._replace(charge=s.charge - 1), q.use


def by_kronecker(m, use):
    """P(no charge) by the matrix sky x I + diag(CHARGE) x up + I x down, solved by LAPACK."""
    sky = np.array([[CHANGE[a].get(b, 0.0) for b in Sky] for a in Sky])
    Q = np.kron(sky, np.eye(m)) + np.kron(np.diag(list(CHARGE.values())), np.eye(m, k=1))
    Q += use * np.kron(np.eye(3), np.eye(m, k=-1))
    Q -= np.diag(Q.sum(axis=1))
    Q[:, 0] = 1.0
    pi = np.linalg.solve(Q.T, np.eye(3 * m)[0]).reshape(3, m)
    return pi[:, 0].sum(), pi[2, 0]


data = sweep(Sensor(), room=[10, 20, 40, 80])
for room, dead, night in zip(data.room.values, data.dead, data["dead at night"], strict=True):
    print(f"room for {room} steps: dead {float(dead):.2%} of the time, {float(night):.2%} at night")
    np.testing.assert_allclose((dead, night), by_kronecker(room + 1, 1.0), rtol=1e-10)
