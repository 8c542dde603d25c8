"""Redundant disks: the mean time to data loss.

An array survives as many failed disks as it has parity disks; failed disks are rebuilt at
rate mu. When no redundancy is left, a latent read error spoils the rebuild with
probability h. After a loss of data a new array takes over, so the mean time to data loss
is one over the stationary rate of losses.

Field: reliability.
Source: D. A. Patterson, G. Gibson, R. H. Katz, A case for redundant arrays of inexpensive
disks (RAID), SIGMOD 1988; read errors: P. Corbett et al., Row-diagonal parity for double
disk failure correction, USENIX FAST 2004.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from markov import ChainModel, stationary


class RAID(ChainModel):
    class State(NamedTuple):
        failed: int

    class Params(NamedTuple):
        disks: int = 8
        parity: int = 2
        lam: float = 1 / 1_000_000  # per hour
        mu: float = 1 / 24
        h: float = 0.02

    def space(self):
        return {"failed": range(self.parity + 1)}

    def rewards(self, s, q):
        fatal = (q.disks - s.failed) * q.lam + q.mu * q.h if s.failed == q.parity else 0.0
        return {"losses": fatal}  # per hour

    @staticmethod
    def rules(s, q):
        failure = (q.disks - s.failed) * q.lam
        if s.failed < q.parity:
            yield s._replace(failed=s.failed + 1), failure
            if s.failed > 0:
                yield s._replace(failed=s.failed - 1), q.mu
        else:
            yield s._replace(failed=s.failed - 1), q.mu * (1 - q.h)
            yield s._replace(failed=0), failure + q.mu * q.h  # lost: a new array


def exact_mttdl(q):
    """First passage times in rational arithmetic: T(k), from k to k + 1 failed disks."""
    lam, mu, h = (Fraction(x) for x in (q.lam, q.mu, q.h))
    total = T = 1 / (q.disks * lam)
    for k in range(1, q.parity + 1):
        spoiled = h if k == q.parity else 0
        T = (1 + mu * (1 - spoiled) * T) / ((q.disks - k) * lam + mu * spoiled)
        total += T
    return float(total)


for parity in (1, 2, 3):
    model = RAID(parity=parity, disks=6 + parity)
    mttdl = 1 / stationary(model)["losses"]
    print(f"6 disks and {parity} of parity: {mttdl / 8760:.3g} years to data loss")
    # although probabilities go down to 1e-14, nothing is subtracted on the way to any of them
    assert math.isclose(mttdl, exact_mttdl(model.params), rel_tol=1e-14)
print("check: rational first passage times agree to 1e-14")
