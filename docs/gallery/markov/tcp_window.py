"""TCP's window: the inverse square root of the loss rate.

The window W grows by one packet per round trip. Each packet is lost with probability p,
and a loss halves the window (an odd one is rounded up or down at random). What is the mean
window?

Field: communication.
Source: T. J. Ott, J. H. B. Kemperman, M. Mathis, The stationary behavior of ideal TCP
congestion avoidance, 1996; the constant 1.3098...: V. Dumas, F. Guillemin, P. Robert, A
Markovian analysis of additive-increase multiplicative-decrease algorithms, Advances in
Applied Probability 34, 2002.
"""

from __future__ import annotations

import math

import numpy as np

from markov import explore, stationary


def rules(w, q):
    """Round trips are the unit of time."""
    if w < q["most"]:
        yield w + 1, 1.0
    if w > 1:
        yield w // 2, 0.5 * q["p"] * w
        yield w - w // 2, 0.5 * q["p"] * w


limit = math.sqrt(2 / math.pi) * math.prod((1 - 4.0**-n) / (1 - 2 * 4.0**-n) for n in range(1, 40))

for p in (1e-2, 1e-3, 1e-4):
    most = math.ceil(8 / math.sqrt(p))  # P(W > most) is about exp(-p most^2 / 2) = exp(-32)
    found = explore(rules, start=1, params={"p": p, "most": most})
    pi, W = stationary(found).pi, found.states
    mean = pi @ W
    print(f"p = {p:6}: mean window {mean:7.3f} = {mean * math.sqrt(p):.4f} / sqrt(p)")
    # What is added per round trip is lost again: 1 = p E[W^2; W > 1] / 2.
    assert math.isclose(pi @ np.where(W > 1, W * W, 0), 2 / p, rel_tol=1e-9)
    # Packets are whole: half a packet of some 1 / sqrt(p).
    assert abs(mean * math.sqrt(p) / limit - 1) < math.sqrt(p)
print(f"check: E[W^2] = 2/p, and the limit {limit:.4f} of small p")
