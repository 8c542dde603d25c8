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

from responsefn.jax_rules import RuleTwin, rule_twin, twin
from responsefn.measurements.captures import read_pcap
from responsefn.measurements.fitting import Fit, fit
from responsefn.measurements.samples import Samples, read_qlog, read_ss
from responsefn.metrics.fairness import friendliness, jain_index, match, smoothness
from responsefn.metrics.rtt_exponents import UnfairnessExponents, rtt_unfairness
from responsefn.metrics.tfrc_loss_intervals import (
    LossHistory,
    first_interval,
    interval_weights,
    loss_events,
)
from responsefn.metrics.transients import aggressiveness, convergence_time, responsiveness
from responsefn.responses.closed_forms.compiled_laws import Fused, fused
from responsefn.responses.corrections import Corrected
from responsefn.responses.curves import Curve, curve
from responsefn.responses.errors import AmbiguousRateError, RuleError, UnreachableRateError
from responsefn.responses.inverse import invert
from responsefn.responses.laws import PFTK, TFRC, Law, Mathis
from responsefn.responses.response_warnings import (
    SeveralAttractorsWarning,
    SlowApproachWarning,
)
from responsefn.rule_catalogue import Catalogue, catalogue
from responsefn.rules.adaptive_reno import ARENO
from responsefn.rules.base import WindowRule
from responsefn.rules.bic import BIC
from responsefn.rules.classic import AIMD, NewReno, Reno, Tahoe
from responsefn.rules.compound import CTCP
from responsefn.rules.cubic import CUBIC
from responsefn.rules.dctcp import DCTCP
from responsefn.rules.deliveries.bbr import BBR
from responsefn.rules.deliveries.bbr_v1 import BBRv1
from responsefn.rules.deliveries.copa import Copa
from responsefn.rules.deliveries.delivery_rule import Delivery, DeliveryRule
from responsefn.rules.deliveries.ledbat import LEDBAT
from responsefn.rules.deliveries.prague import Prague
from responsefn.rules.deliveries.swift import Swift
from responsefn.rules.fast import FAST
from responsefn.rules.fusion import Fusion
from responsefn.rules.highspeed_tcp import HSTCP
from responsefn.rules.htcp import HTCP
from responsefn.rules.illinois import Illinois
from responsefn.rules.linux.bic import LinuxBIC
from responsefn.rules.linux.cubic import LinuxCUBIC
from responsefn.rules.linux.htcp import LinuxHTCP
from responsefn.rules.linux.illinois import LinuxIllinois
from responsefn.rules.linux.scalable import LinuxScalable
from responsefn.rules.linux.vegas import LinuxVegas
from responsefn.rules.linux.westwood import WestwoodPlus
from responsefn.rules.rates.dcqcn import DCQCN
from responsefn.rules.rates.fixed_rate import FixedRate
from responsefn.rules.rates.hpcc import HPCC
from responsefn.rules.rates.rate_rule import Elapsed, Feedback, RateRule
from responsefn.rules.rates.timely import TIMELY, PatchedTIMELY
from responsefn.rules.relentless import Relentless
from responsefn.rules.scalable import Scalable
from responsefn.rules.slow_starts import hystart, limited_slow_start
from responsefn.rules.vegas import NS2Vegas, Vegas
from responsefn.rules.westwood import Westwood
from responsefn.simulation.coexistence import coexist
from responsefn.simulation.coexistence_results import Coexistence
from responsefn.simulation.losses import Deterministic, Gilbert, Independent, independent_constant
from responsefn.simulation.single_flow import simulate_curve, simulate_rule
from responsefn.simulation.single_flow_results import SimulatedResponse

__all__ = [
    "AIMD",
    "ARENO",
    "BBR",
    "BIC",
    "CTCP",
    "CUBIC",
    "DCQCN",
    "DCTCP",
    "FAST",
    "HPCC",
    "HSTCP",
    "HTCP",
    "LEDBAT",
    "PFTK",
    "TFRC",
    "TIMELY",
    "AmbiguousRateError",
    "BBRv1",
    "Catalogue",
    "Coexistence",
    "Copa",
    "Corrected",
    "Curve",
    "Delivery",
    "DeliveryRule",
    "Deterministic",
    "Elapsed",
    "Feedback",
    "Fit",
    "FixedRate",
    "Fused",
    "Fusion",
    "Gilbert",
    "Illinois",
    "Independent",
    "Law",
    "LinuxBIC",
    "LinuxCUBIC",
    "LinuxHTCP",
    "LinuxIllinois",
    "LinuxScalable",
    "LinuxVegas",
    "LossHistory",
    "Mathis",
    "NS2Vegas",
    "NewReno",
    "PatchedTIMELY",
    "Prague",
    "RateRule",
    "Relentless",
    "Reno",
    "RuleError",
    "RuleTwin",
    "Samples",
    "Scalable",
    "SeveralAttractorsWarning",
    "SimulatedResponse",
    "SlowApproachWarning",
    "Swift",
    "Tahoe",
    "UnfairnessExponents",
    "UnreachableRateError",
    "Vegas",
    "Westwood",
    "WestwoodPlus",
    "WindowRule",
    "aggressiveness",
    "catalogue",
    "coexist",
    "convergence_time",
    "curve",
    "first_interval",
    "fit",
    "friendliness",
    "fused",
    "hystart",
    "independent_constant",
    "interval_weights",
    "invert",
    "jain_index",
    "limited_slow_start",
    "loss_events",
    "match",
    "read_pcap",
    "read_qlog",
    "read_ss",
    "responsiveness",
    "rtt_unfairness",
    "rule_twin",
    "simulate_curve",
    "simulate_rule",
    "smoothness",
    "twin",
]
