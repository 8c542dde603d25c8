# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..responses.errors import AmbiguousRateError, RuleError, UnreachableRateError
from ..responses.response_warnings import SeveralAttractorsWarning, SlowApproachWarning

__all__ = [
    "AmbiguousRateError",
    "RuleError",
    "SeveralAttractorsWarning",
    "SlowApproachWarning",
    "UnreachableRateError",
]
