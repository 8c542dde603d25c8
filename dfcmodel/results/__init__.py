"""Results of simulations and analyses: recorded arrays, trajectories, measures, plots.

Functions return instances of the public classes. The classes are here for `isinstance` and annotations; their
constructors may change in any release.
"""

from __future__ import annotations

from hopflow.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
