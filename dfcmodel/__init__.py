"""Fluid models of hop-by-hop flow control with end-to-end TCP on top.

>>> from dfcmodel import simulate, takano2006
>>> run = simulate(takano2006("1", dfc=True, tcp="newreno"))  # doctest: +SKIP
>>> run.efficiency.plot()  # doctest: +SKIP
"""

from __future__ import annotations

from dfcmodel.results import Trajectory
from dfcmodel.scenarios import Flow, Scenario, takano2006
from dfcmodel.simulation import simulate

__all__ = ["Flow", "Scenario", "Trajectory", "simulate", "takano2006"]
