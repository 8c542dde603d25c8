"""The potassium channel of the squid axon: open when its four gates are.

Each gate opens at rate alpha(V) and closes at rate beta(V), which depend on the voltage.
Hodgkin and Huxley, who saw only whole currents, found n^4; patch clamps show single
channels. Experimenters write down the matrix Q of a channel's states, and ask for its open
probability and its mean open time.

Field: chemistry.
Source: A. L. Hodgkin, A. F. Huxley, A quantitative description of membrane current and its
application to conduction and excitation in nerve, Journal of Physiology 117, 1952,
equations (12) and (13); D. Colquhoun, A. G. Hawkes, On the stochastic properties of single
ion channels, Proceedings of the Royal Society B 211, 1981.
"""

from __future__ import annotations

import math

import numpy as np

from markov import MarkovChain, stationary

STATES = ["C4", "C3", "C2", "C1", "O"]  # by the number of closed gates


def alpha(V):
    """Per ms; V in mV as displacement from rest, depolarisation negative (the paper's sign)."""
    return 0.01 * (V + 10) / (math.exp((V + 10) / 10) - 1)


def beta(V):
    return 0.125 * math.exp(V / 80)


def channel(V):
    opening = alpha(V) * np.array([4, 3, 2, 1])
    closing = beta(V) * np.array([1, 2, 3, 4])
    Q = np.diag(opening, 1) + np.diag(closing, -1)
    return MarkovChain(Q - np.diag(Q.sum(axis=1)), states=STATES)


for depolarised in (0.0, 25.0, 50.0, 100.0):
    V = -depolarised
    chain = channel(V)
    answer = stationary(chain)
    open_ = answer.probability("O")
    stays = 1 / chain.exit_rates[chain.states.index("O")]
    print(f"{depolarised:3.0f} mV up: open {open_:7.3%} of the time, {stays:.2f} ms at a time")
    n = alpha(V) / (alpha(V) + beta(V))
    binomial = [math.comb(4, k) * n**k * (1 - n) ** (4 - k) for k in range(5)]
    np.testing.assert_allclose(answer.pi, binomial, rtol=1e-13)  # five states
print("check: the gates are independent, P(open) = n^4")
