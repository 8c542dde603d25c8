# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..levels.choices import LevelChoice
from ..levels.explanations import Explanation
from ..packet_limits import PacketLimit
from ..packets.traces import PacketTrace
from ..sharing.bbr_conformances import Conformance, JudgedCase
from ..sharing.coexistence_results import Coexistence
from ..sharing.comparisons import Comparison
from ..sharing.evaluations import Evaluation
from ..sharing.qlog_traces import QlogTrace
from ..sharing.suites.judging import SuiteVerdict
from ..sharing.suites.results import SuiteConformance
from ..sharing.trace_conformances import TraceCheck, TraceConformance
from ..sharing.worst_paths import WorstCase
from ..step_checks import StepCheck
from ..theory.spectra import Spectrum
from .completions.job_completions import JobCompletion
from .completions.slowdown_groups import Slowdowns
from .ensemble_comparisons import EnsembleComparison
from .ensembles import Ensemble
from .pause_graphs import PausePropagation
from .run_comparisons import RunComparison
from .trajectories import Trajectory

__all__ = [
    "Coexistence",
    "Comparison",
    "Conformance",
    "Ensemble",
    "EnsembleComparison",
    "Evaluation",
    "Explanation",
    "JobCompletion",
    "JudgedCase",
    "LevelChoice",
    "PacketLimit",
    "PacketTrace",
    "PausePropagation",
    "QlogTrace",
    "RunComparison",
    "Slowdowns",
    "Spectrum",
    "StepCheck",
    "SuiteConformance",
    "SuiteVerdict",
    "TraceCheck",
    "TraceConformance",
    "Trajectory",
    "WorstCase",
]
