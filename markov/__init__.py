"""Continuous-time Markov chains given by rules, and answers that carry their proof.

>>> from markov import PauseTandem, stationary
>>> answer = stationary(PauseTandem(high_threshold=15, rtt=1.0))
>>> answer.throughput, answer.error_bound  # doctest: +SKIP
"""

from __future__ import annotations

from hopflow.errors import RuleError, RuleWarning
from hopflow.status import ConvergenceError
from markov.by_level import StationaryByLevel, stationary_by_level
from markov.chains import MarkovChain
from markov.exploration import Reachable, explore, generator
from markov.gallery import MM1K, BirthDeath, Courtois, JacksonTandem
from markov.generators.operators import GeneratorOperator
from markov.iterative import GaussSeidel, Power
from markov.krylov import Krylov
from markov.levels import Levels
from markov.measures import Mean
from markov.memory import TooLargeError
from markov.methods import GTH, Method, Solution, SparseLU
from markov.multilevel import Multilevel
from markov.pause import PauseTandem
from markov.pause_chains import PauseChain
from markov.quasi import QuasiBirthDeath
from markov.results import Stationary
from markov.rules import NO_END, ChainModel
from markov.solvers import stationary, stationary_by_class
from markov.suite import Cluster, CoxTandem, Kanban, Polling
from markov.sweeps import sweep
from markov.transients import Transient, transient
from markov.vectors import add_at

__all__ = [
    "GTH",
    "MM1K",
    "NO_END",
    "BirthDeath",
    "ChainModel",
    "Cluster",
    "ConvergenceError",
    "Courtois",
    "CoxTandem",
    "GaussSeidel",
    "GeneratorOperator",
    "JacksonTandem",
    "Kanban",
    "Krylov",
    "Levels",
    "MarkovChain",
    "Mean",
    "Method",
    "Multilevel",
    "PauseChain",
    "PauseTandem",
    "Polling",
    "Power",
    "QuasiBirthDeath",
    "Reachable",
    "RuleError",
    "RuleWarning",
    "Solution",
    "SparseLU",
    "Stationary",
    "StationaryByLevel",
    "TooLargeError",
    "Transient",
    "add_at",
    "explore",
    "generator",
    "stationary",
    "stationary_by_class",
    "stationary_by_level",
    "sweep",
    "transient",
]
