"""Results of the functions of `markov`.

The classes are here for `isinstance` and annotations; their constructors may change in any release.
"""

from __future__ import annotations

from hopflow.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
