# The public names of the module by the modules that define them: read on first use, and by type checkers.
from .equations import DiffusionEquation, Empty, FeedbackEquation
from .law import bare_law
from .pde import Lines, evolve
from .spectra import spectrum
from .stability import stability_limit, stability_map

__all__ = [
    "DiffusionEquation",
    "Empty",
    "FeedbackEquation",
    "Lines",
    "bare_law",
    "evolve",
    "spectrum",
    "stability_limit",
    "stability_map",
]
