"""Fluid models of hop-by-hop flow control with end-to-end TCP on top.

>>> from dfcmodel import simulate, takano2006
>>> run = simulate(takano2006("1", dfc=True, tcp="newreno"), level="fluid")  # doctest: +SKIP
>>> run.efficiency.plot()  # doctest: +SKIP
"""

from __future__ import annotations

from hopflow.public_names import attach

__distribution__ = "hopflow"
__getattr__, __dir__, __all__ = attach(__name__, __file__)
