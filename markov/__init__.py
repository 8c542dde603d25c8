"""Continuous-time Markov chains given by rules, and answers that carry their proof.

>>> from markov import PauseTandem, stationary
>>> answer = stationary(PauseTandem(high_threshold=15, rtt=1.0))
>>> answer.throughput, answer.error_bound  # doctest: +SKIP
"""

from __future__ import annotations

from markov.chains import MarkovChain
from markov.methods import GTH, Method, SparseLU
from markov.pause import PauseTandem
from markov.results import Stationary
from markov.rules import ChainModel, generator
from markov.solvers import stationary, stationary_by_class

__all__ = [
    "GTH",
    "ChainModel",
    "MarkovChain",
    "Method",
    "PauseTandem",
    "SparseLU",
    "Stationary",
    "generator",
    "stationary",
    "stationary_by_class",
]
