"""The Gilbert-Elliott channel: a fading radio link with a queue in front of it.

The channel alternates between good and bad, and with it the rate at which packets get
through. Packets arrive at a constant rate, well below the mean rate of the channel; but
while the channel is bad they pile up. How many are waiting?

Field: communication.
Source: E. N. Gilbert, Capacity of a burst-noise channel, Bell System Technical Journal 39,
1960; E. O. Elliott, the same journal 42, 1963; the queue: U. Yechiali, P. Naor, Queuing
problems with heterogeneous arrivals and service, Operations Research 19(3), 1971.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import NO_END, ChainModel, stationary_by_level


class Channel(ChainModel):
    class State(NamedTuple):
        n: int
        channel: str

    class Params(NamedTuple):
        arrivals: float = 400.0  # packets per second
        mu: tuple[float, float] = (1000.0, 50.0)
        fade: float = 1.0  # per second
        recover: float = 9.0

    def space(self):
        return {"n": range(NO_END), "channel": ["good", "bad"]}

    def rewards(self, s):
        return {"queue": s.n}

    @staticmethod
    def rules(s, q):
        yield s._replace(n=s.n + 1), q.arrivals
        if s.channel == "good":
            yield s._replace(channel="bad"), q.fade
        else:
            yield s._replace(channel="good"), q.recover
        if s.n > 0:
            yield s._replace(n=s.n - 1), q.mu[0] if s.channel == "good" else q.mu[1]


def yechiali_and_naor(q):
    """Mean queue by generating functions: a root of a cubic, then two linear equations."""
    lam, mu, a = q.arrivals, np.array(q.mu), np.array([q.fade, q.recover])
    # f_i(z) = lam z (1 - z) + a_i z + mu_i (z - 1); one z in (0, 1) has f_0 f_1 = a_0 a_1 z^2
    f = [np.array([-lam, lam + a[i] + mu[i], -mu[i]]) for i in range(2)]
    cubic = np.polydiv(np.polysub(np.polymul(*f), [a[0] * a[1], 0, 0]), [1, -1])[0]
    (z,) = (z.real for z in np.roots(cubic) if 0 < z.real < 1 - 1e-9)
    share, vanishes = a[::-1] / a.sum(), [mu[0] * np.polyval(f[1], z) / z, a[1] * mu[1]]
    empty = np.linalg.solve([mu, vanishes], [mu @ share - lam, 0])
    right = [lam, mu[0] * empty[0] - (mu[0] - lam) * share[0]]
    return np.linalg.solve([mu - lam, [a[0], -a[1]]], right).sum()


for fade in (1.0, 10.0, 1000.0):
    model = Channel(fade=fade, recover=9 * fade)
    answer = stationary_by_level(model)
    empty = answer.marginal([0])[0]
    queue = answer["queue"]
    print(f"{fade:4.0f} fades a second: {queue:.4f} packets, none {empty:.2%} of the time")
    # a root of a cubic, and differences of rates up to 1e4: some six digits may go
    np.testing.assert_allclose(queue, yechiali_and_naor(model), rtol=1e-9)
