# The public names of the module by the modules that define them: read on first use, and by type checkers.
from hopflow.errors import RuleError, RuleWarning
from hopflow.results import ConvergenceError, UndecidedError

from ..computing.resources import TooLargeError
from ..files.language import FileError
from ..phases.sample_fits import FitWarning
from ..sensitivities.results import NoDerivativeError

__all__ = [
    "ConvergenceError",
    "FileError",
    "FitWarning",
    "NoDerivativeError",
    "RuleError",
    "RuleWarning",
    "TooLargeError",
    "UndecidedError",
]
