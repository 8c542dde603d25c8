"""Fluid models of hop-by-hop flow control with end-to-end TCP on top.

>>> from dfcmodel import simulate, takano2006
>>> run = simulate(takano2006("1", dfc=True, tcp="newreno"), level="fluid")  # doctest: +SKIP
>>> run.efficiency.plot()  # doctest: +SKIP
"""

from __future__ import annotations

import lazy_loader

__distribution__ = "hopflow"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    each for each in __all__ if each != "lossless"
]  # a package, which is reached by its name
