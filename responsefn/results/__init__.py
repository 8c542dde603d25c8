"""Classes of the results of `responsefn`.

They are public for `isinstance` and annotations; their constructors may change in any release.
"""

from __future__ import annotations

from hopflow.naming.public_names import collect

__getattr__, __dir__, __all__ = collect(__name__, __file__)
