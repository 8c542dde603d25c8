"""Fluid models of hop-by-hop flow control with end-to-end TCP on top.

>>> from dfcmodel import simulate, takano2006
>>> run = simulate(takano2006("1", dfc=True, tcp="newreno"))  # doctest: +SKIP
>>> run.efficiency.plot()  # doctest: +SKIP
"""

from __future__ import annotations

from dfcmodel.disciplines import DFC, FIFO, RED, Fair, Pause, Priority
from dfcmodel.ensembles import Ensemble, ensemble
from dfcmodel.equations import DiffusionEquation, Empty, FeedbackEquation
from dfcmodel.flows import CBR, Flow, OnOff
from dfcmodel.law import bare_law
from dfcmodel.networks import Link, Scenario, from_networkx
from dfcmodel.pde import Lines, evolve
from dfcmodel.results import Trajectory
from dfcmodel.scenario_files import ScenarioFileError, load_scenario
from dfcmodel.scenario_writing import save_scenario
from dfcmodel.scenarios import chain, dumbbell, parking_lot, ring, takano2006, tree
from dfcmodel.simulation import simulate
from dfcmodel.spectra import Spectrum, spectrum
from dfcmodel.stability import stability_limit, stability_map
from dfcmodel.steps import StepCheck, check_step
from dfcmodel.twin import Twin

__all__ = [
    "CBR",
    "DFC",
    "FIFO",
    "RED",
    "DiffusionEquation",
    "Empty",
    "Ensemble",
    "Fair",
    "FeedbackEquation",
    "Flow",
    "Lines",
    "Link",
    "OnOff",
    "Pause",
    "Priority",
    "Scenario",
    "ScenarioFileError",
    "Spectrum",
    "StepCheck",
    "Trajectory",
    "Twin",
    "bare_law",
    "chain",
    "check_step",
    "dumbbell",
    "ensemble",
    "evolve",
    "from_networkx",
    "load_scenario",
    "parking_lot",
    "ring",
    "save_scenario",
    "simulate",
    "spectrum",
    "stability_limit",
    "stability_map",
    "takano2006",
    "tree",
]
