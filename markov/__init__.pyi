# The public names of the package by the modules that define them: read on first use, and by type checkers.
from .analysis.answer_comparisons import AnswerComparison
from .analysis.gradients import differentiable
from .analysis.lumping import Lumped, lump
from .analysis.optima import Best, best
from .analysis.relaxation import autocovariance, mixing_time
from .analysis.sampling import Paths, paths
from .analysis.sensitivity_results import NoDerivativeError, Sensitivity
from .analysis.thresholds import ThresholdAdvice, pause_thresholds
from .chains import MarkovChain
from .computing.memory import TooLargeError
from .computing.vectors import add_at
from .driver import stationary, stationary_by_class
from .errors import ConvergenceError, RuleError, RuleWarning, UndecidedError
from .exploration import Reachable, explore, generator
from .files import (
    ExplicitModel,
    FileError,
    FileModel,
    PropertyResult,
    from_networkx,
    read_explicit,
    read_jani,
    read_prism,
    read_sbml,
    to_networkx,
    write_explicit,
)
from .generators.operators import GeneratorOperator
from .methods.gth import GTH
from .methods.iterative import GaussSeidel, Power
from .methods.krylov import Krylov
from .methods.level_reduction import Levels
from .methods.multilevel import Multilevel
from .methods.solution import Method, Solution
from .methods.sparse_lu import SparseLU
from .models.gallery import MM1K, BirthDeath, Courtois, JacksonTandem
from .models.measures import Mean
from .models.pause import PauseTandem
from .models.pause_chains import PauseChain
from .models.prism_suite import Cluster, CoxTandem, Kanban, Polling
from .models.rules import NO_END, ChainModel
from .multigrid.grids.matrix_free import MatrixFree
from .phases.arrivals import MAP
from .phases.fitting import PhaseFit, fit_phase_type, phase_type_of
from .phases.phase_types import PhaseType
from .phases.quasi_birth_death.by_level import StationaryByLevel, stationary_by_level
from .phases.quasi_birth_death.chains import QuasiBirthDeath
from .phases.queues import PhaseQueue
from .phases.sojourns import SemiMarkov
from .phases.traces import MapFit, fit_map
from .results import Stationary
from .sharding import stationary_sharded
from .sweeps import sweep
from .time.passages import Passage, QuasiStationary, passage, quasi_stationary
from .time.steps import DiscreteChain, Steps
from .time.transients import Transient, transient

__all__ = [
    "GTH",
    "MAP",
    "MM1K",
    "NO_END",
    "AnswerComparison",
    "Best",
    "BirthDeath",
    "ChainModel",
    "Cluster",
    "ConvergenceError",
    "Courtois",
    "CoxTandem",
    "DiscreteChain",
    "ExplicitModel",
    "FileError",
    "FileModel",
    "GaussSeidel",
    "GeneratorOperator",
    "JacksonTandem",
    "Kanban",
    "Krylov",
    "Levels",
    "Lumped",
    "MapFit",
    "MarkovChain",
    "MatrixFree",
    "Mean",
    "Method",
    "Multilevel",
    "NoDerivativeError",
    "Passage",
    "Paths",
    "PauseChain",
    "PauseTandem",
    "PhaseFit",
    "PhaseQueue",
    "PhaseType",
    "Polling",
    "Power",
    "PropertyResult",
    "QuasiBirthDeath",
    "QuasiStationary",
    "Reachable",
    "RuleError",
    "RuleWarning",
    "SemiMarkov",
    "Sensitivity",
    "Solution",
    "SparseLU",
    "Stationary",
    "StationaryByLevel",
    "Steps",
    "ThresholdAdvice",
    "TooLargeError",
    "Transient",
    "UndecidedError",
    "add_at",
    "autocovariance",
    "best",
    "differentiable",
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
    "stationary_sharded",
    "sweep",
    "to_networkx",
    "transient",
    "write_explicit",
]
