"""Classes of the results of `dfcmodel.lossless`, for `isinstance` and annotations.

Their constructors may change in any release.
"""

from __future__ import annotations

from hopflow.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
