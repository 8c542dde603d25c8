"""Continuous-time Markov chains given by rules, and answers that carry their proof.

>>> from markov import PauseTandem, stationary
>>> answer = stationary(PauseTandem(high_threshold=15, rtt=1.0))
>>> answer.throughput, answer.error_bound  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hopflow.errors import RuleError, RuleWarning
from hopflow.status import ConvergenceError, UndecidedError
from hopflow.sweeps import sweep
from markov.analysis.answer_comparisons import AnswerComparison
from markov.chains import MarkovChain
from markov.computing.memory import TooLargeError
from markov.computing.vectors import add_at
from markov.driver import stationary, stationary_by_class
from markov.exploration import Reachable, explore, generator
from markov.generators.operators import GeneratorOperator
from markov.methods.gth import GTH
from markov.methods.iterative import GaussSeidel, Power
from markov.methods.krylov import Krylov
from markov.methods.level_reduction import Levels
from markov.methods.multilevel import Multilevel
from markov.methods.solution import Method, Solution
from markov.methods.sparse_lu import SparseLU
from markov.models.gallery import MM1K, BirthDeath, Courtois, JacksonTandem
from markov.models.measures import Mean
from markov.models.pause import PauseTandem
from markov.models.pause_chains import PauseChain
from markov.models.prism_suite import Cluster, CoxTandem, Kanban, Polling
from markov.models.rules import NO_END, ChainModel
from markov.multigrid.grids.matrix_free import MatrixFree
from markov.phases.quasi_birth_death.by_level import StationaryByLevel, stationary_by_level
from markov.phases.quasi_birth_death.chains import QuasiBirthDeath
from markov.results import Stationary

if TYPE_CHECKING:
    from markov.analysis.gradients import differentiable
    from markov.analysis.lumping import Lumped, lump
    from markov.analysis.optima import Best, best
    from markov.analysis.relaxation import autocovariance, mixing_time
    from markov.analysis.sampling import Paths, paths
    from markov.analysis.sensitivity_results import NoDerivativeError, Sensitivity
    from markov.analysis.thresholds import ThresholdAdvice, pause_thresholds
    from markov.files import (
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
    from markov.phases.arrivals import MAP
    from markov.phases.fitting import PhaseFit, fit_phase_type, phase_type_of
    from markov.phases.phase_types import PhaseType
    from markov.phases.queues import PhaseQueue
    from markov.phases.sojourns import SemiMarkov
    from markov.phases.traces import MapFit, fit_map
    from markov.sharding import stationary_sharded
    from markov.time.passages import Passage, QuasiStationary, passage, quasi_stationary
    from markov.time.steps import DiscreteChain, Steps
    from markov.time.transients import Transient, transient

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

_LOADED_ON_USE = {
    "analysis.gradients": ("differentiable",),
    "analysis.lumping": ("Lumped", "lump"),
    "analysis.optima": ("Best", "best"),
    "analysis.relaxation": ("autocovariance", "mixing_time"),
    "analysis.sampling": ("Paths", "paths"),
    "analysis.sensitivity_results": ("NoDerivativeError", "Sensitivity"),
    "analysis.thresholds": ("ThresholdAdvice", "pause_thresholds"),
    "files": (
        "ExplicitModel",
        "FileError",
        "FileModel",
        "PropertyResult",
        "from_networkx",
        "read_explicit",
        "read_jani",
        "read_prism",
        "read_sbml",
        "to_networkx",
        "write_explicit",
    ),
    "phases.arrivals": ("MAP",),
    "phases.fitting": ("PhaseFit", "fit_phase_type", "phase_type_of"),
    "phases.phase_types": ("PhaseType",),
    "phases.queues": ("PhaseQueue",),
    "phases.sojourns": ("SemiMarkov",),
    "phases.traces": ("MapFit", "fit_map"),
    "sharding": ("stationary_sharded",),
    "time.passages": ("Passage", "QuasiStationary", "passage", "quasi_stationary"),
    "time.steps": ("DiscreteChain", "Steps"),
    "time.transients": ("Transient", "transient"),
}
"""Modules that a stationary distribution does not need, with their public names."""


if not TYPE_CHECKING:  # who checks types sees the imports above, and names that do not exist

    def __getattr__(name: str) -> Any:
        """Import a public name on first use; a stationary distribution needs half of the modules."""
        for module, names in _LOADED_ON_USE.items():
            if name == module or name in names:
                loaded = importlib.import_module(f"markov.{module}")
                return loaded if name == module else getattr(loaded, name)
        msg = f"module 'markov' has no attribute {name!r}"
        raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
