# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..diagnostics import (
    AmbiguousRateError,
    OutsideDomainWarning,
    RuleError,
    SeveralAttractorsWarning,
    SlowApproachWarning,
    UnreachableRateError,
)

__all__ = [
    "AmbiguousRateError",
    "OutsideDomainWarning",
    "RuleError",
    "SeveralAttractorsWarning",
    "SlowApproachWarning",
    "UnreachableRateError",
]
