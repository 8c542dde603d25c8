# The public names of the package by the modules that define them: read on first use, and by type checkers.
from . import errors as errors
from . import results as results
from .analysis.gradients import differentiable
from .analysis.lumping import lump
from .analysis.optima import best
from .analysis.relaxation import autocovariance, mixing_time
from .analysis.sampling import paths
from .analysis.thresholds import PausedPort, pause_thresholds
from .chains import MarkovChain
from .driver import stationary, stationary_by_class
from .exploration import explore
from .files import (
    from_networkx,
    read_explicit,
    read_jani,
    read_prism,
    read_sbml,
    to_networkx,
    write_explicit,
)
from .generators.building import generator
from .generators.operators import GeneratorOperator
from .inference.estimates import estimate
from .inference.observations import ObservedPath, Panel
from .methods.gth import GTH
from .methods.iterative import GaussSeidel, Power
from .methods.krylov import Krylov
from .methods.level_reduction import Levels
from .methods.multilevel import Multilevel
from .methods.solution import Method, Solution
from .methods.sparse_lu import SparseLU
from .models.gallery import MM1K, BirthDeath, Cluster, Courtois, CoxTandem, JacksonTandem, Kanban, Polling
from .models.measures import Mean
from .models.pause import PauseChain, PauseTandem
from .models.rules import NO_END, ChainModel, add_at
from .multigrid.matrix_free import MatrixFree
from .phases.arrivals import MAP, fit_map
from .phases.fitting import fit_phase_type, phase_type_of
from .phases.level_answers import stationary_by_level
from .phases.phase_types import PhaseType
from .phases.quasi_birth_death import QuasiBirthDeath
from .phases.queues import PhaseQueue, SemiMarkov
from .sweeps import sweep
from .time.passages import passage
from .time.perron import quasi_stationary
from .time.steps import DiscreteChain
from .time.transients import transient

__all__ = [
    "GTH",
    "MAP",
    "MM1K",
    "NO_END",
    "BirthDeath",
    "ChainModel",
    "Cluster",
    "Courtois",
    "CoxTandem",
    "DiscreteChain",
    "GaussSeidel",
    "GeneratorOperator",
    "JacksonTandem",
    "Kanban",
    "Krylov",
    "Levels",
    "MarkovChain",
    "MatrixFree",
    "Mean",
    "Method",
    "Multilevel",
    "ObservedPath",
    "Panel",
    "PauseChain",
    "PauseTandem",
    "PausedPort",
    "PhaseQueue",
    "PhaseType",
    "Polling",
    "Power",
    "QuasiBirthDeath",
    "SemiMarkov",
    "Solution",
    "SparseLU",
    "add_at",
    "autocovariance",
    "best",
    "differentiable",
    "estimate",
    "explore",
    "fit_map",
    "fit_phase_type",
    "from_networkx",
    "generator",
    "lump",
    "mixing_time",
    "passage",
    "paths",
    "pause_thresholds",
    "phase_type_of",
    "quasi_stationary",
    "read_explicit",
    "read_jani",
    "read_prism",
    "read_sbml",
    "stationary",
    "stationary_by_class",
    "stationary_by_level",
    "sweep",
    "to_networkx",
    "transient",
    "write_explicit",
]
