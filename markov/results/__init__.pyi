# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..analysis.answer_comparisons import AnswerComparison
from ..analysis.lumping import Lumped
from ..analysis.optima import Best
from ..analysis.sampling import Paths
from ..analysis.thresholds import ThresholdAdvice
from ..exploration import InfiniteChain, Reachable
from ..files.explicit import ExplicitModel
from ..files.models import FileModel
from ..files.properties import PropertyResult
from ..inference.estimates import Estimate
from ..infinite.answers import InfiniteStationary
from ..phases.arrivals import MapFit
from ..phases.fitting import PhaseFit
from ..phases.level_answers import StationaryByLevel
from ..results.stationary_results import Stationary
from ..sensitivities.results import Sensitivity
from ..time.infinite_passages import InfinitePassage
from ..time.passage_results import Passage
from ..time.perron import QuasiStationary
from ..time.steps import Steps
from ..time.transients import InfiniteTransient, Transient

__all__ = [
    "AnswerComparison",
    "Best",
    "Estimate",
    "ExplicitModel",
    "FileModel",
    "InfiniteChain",
    "InfinitePassage",
    "InfiniteStationary",
    "InfiniteTransient",
    "Lumped",
    "MapFit",
    "Passage",
    "Paths",
    "PhaseFit",
    "PropertyResult",
    "QuasiStationary",
    "Reachable",
    "Sensitivity",
    "Stationary",
    "StationaryByLevel",
    "Steps",
    "ThresholdAdvice",
    "Transient",
]
