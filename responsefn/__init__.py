"""responsefn: congestion-window rules of TCP and the response functions that follow.

A *rule* says what a sender does with its window (`AIMD`, `Reno`, `NewReno`, `Tahoe`; base
`WindowRule`), a *law* is a closed rate formula without a window (`TFRC`, `PFTK`; base `Law`).
Both give ``rate(p, rtt)`` in packets/s; `invert` gives p back, `curve` draws.

>>> from responsefn import Reno, TFRC, invert
>>> round(Reno().rate(0.01, rtt=0.1), 3)
122.474
>>> round(invert(Reno(), rate=122.474, rtt=0.1), 6)
0.01
"""

from __future__ import annotations

from responsefn.binary import BIC
from responsefn.catalogue import Catalogue, catalogue
from responsefn.classic import AIMD, NewReno, Reno, Tahoe
from responsefn.coexistence import coexist
from responsefn.compound import CTCP
from responsefn.cubic import CUBIC
from responsefn.curves import Curve, curve
from responsefn.delay import FAST, Illinois, Vegas
from responsefn.errors import AmbiguousRateError, UnreachableRateError
from responsefn.estimates import ARENO, Fusion, Westwood
from responsefn.fused import Fused, fused
from responsefn.highspeed import HTCP, Relentless, Scalable
from responsefn.hstcp import HSTCP
from responsefn.intervals import LossHistory, first_interval, interval_weights, loss_events
from responsefn.inverse import invert
from responsefn.laws import PFTK, TFRC, Law, Mathis
from responsefn.losses import Deterministic, Gilbert, Independent, independent_constant
from responsefn.marking import DCTCP
from responsefn.metrics import friendliness, jain_index, match, smoothness
from responsefn.reactions import aggressiveness, convergence_time, responsiveness
from responsefn.rules import WindowRule
from responsefn.shares import Coexistence
from responsefn.simulation import SimulatedResponse, simulate_curve, simulate_rule
from responsefn.twin import RuleTwin, rule_twin, twin

__all__ = [
    "AIMD",
    "ARENO",
    "BIC",
    "CTCP",
    "CUBIC",
    "DCTCP",
    "FAST",
    "HSTCP",
    "HTCP",
    "PFTK",
    "TFRC",
    "AmbiguousRateError",
    "Catalogue",
    "Coexistence",
    "Curve",
    "Deterministic",
    "Fused",
    "Fusion",
    "Gilbert",
    "Illinois",
    "Independent",
    "Law",
    "LossHistory",
    "Mathis",
    "NewReno",
    "Relentless",
    "Reno",
    "RuleTwin",
    "Scalable",
    "SimulatedResponse",
    "Tahoe",
    "UnreachableRateError",
    "Vegas",
    "Westwood",
    "WindowRule",
    "aggressiveness",
    "catalogue",
    "coexist",
    "convergence_time",
    "curve",
    "first_interval",
    "friendliness",
    "fused",
    "independent_constant",
    "interval_weights",
    "invert",
    "jain_index",
    "loss_events",
    "match",
    "responsiveness",
    "rule_twin",
    "simulate_curve",
    "simulate_rule",
    "smoothness",
    "twin",
]
