# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..compiled_laws import Fused
from ..curves import Curve
from ..jax_rules import RuleTwin
from ..measurements.fitting import Fit
from ..measurements.samples import Samples
from ..metrics.rtt_exponents import UnfairnessExponents
from ..rule_catalogue import Catalogue
from ..simulation.single_flow_results import SimulatedResponse

__all__ = [
    "Catalogue",
    "Curve",
    "Fit",
    "Fused",
    "RuleTwin",
    "Samples",
    "SimulatedResponse",
    "UnfairnessExponents",
]
