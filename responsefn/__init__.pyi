# The public names of the package by the modules that define them: read on first use, and by type checkers.
from . import errors as errors
from . import linux as linux
from . import results as results
from .compiled_laws import fused
from .corrections import Corrected
from .curves import curve
from .inverse import invert
from .jax_rules import rule_twin, twin
from .laws import PFTK, TFRC, Law, Mathis
from .measurements.captures import read_pcap
from .measurements.fitting import fit
from .measurements.samples import read_qlog, read_ss
from .metrics.fairness import friendliness, jain_index, match, smoothness
from .metrics.rtt_exponents import rtt_unfairness
from .metrics.tfrc_loss_intervals import LossHistory, loss_events
from .metrics.transients import aggressiveness, convergence_time, responsiveness
from .rule_catalogue import catalogue
from .rules.adaptive_reno import ARENO
from .rules.base import WindowRule
from .rules.bic import BIC
from .rules.classic import ABE, AIMD, NewReno, QUICNewReno, Relentless, Reno, Tahoe
from .rules.compound import CTCP
from .rules.cubic import CUBIC, ChromiumCUBIC
from .rules.dctcp import DCTCP
from .rules.delay_based import FAST
from .rules.deliveries.allegro import Allegro
from .rules.deliveries.bbr import BBR
from .rules.deliveries.bbr_v1 import BBRv1
from .rules.deliveries.copa import Copa
from .rules.deliveries.delivery_rule import Delivery, DeliveryRule
from .rules.deliveries.ledbat import LEDBAT, LEDBATpp
from .rules.deliveries.nscc import NSCC
from .rules.deliveries.prague import Prague
from .rules.deliveries.search import SEARCH
from .rules.deliveries.swift import Swift
from .rules.deliveries.vivace import Vivace
from .rules.fusion import Fusion
from .rules.highspeed_tcp import HSTCP
from .rules.htcp import HTCP
from .rules.illinois import Illinois
from .rules.rates.dcqcn import DCQCN
from .rules.rates.fixed_rate import FixedRate
from .rules.rates.hpcc import HPCC
from .rules.rates.rate_rule import Elapsed, Feedback, RateRule
from .rules.rates.timely import TIMELY, PatchedTIMELY
from .rules.scalable import Scalable
from .rules.slow_starts import hystart, limited_slow_start
from .rules.vegas import NS2Vegas, Vegas
from .rules.westwood import Westwood
from .simulation.losses import Deterministic, Gilbert, Independent, independent_constant
from .simulation.single_flow import DirectSimulation, simulate_curve, simulate_rule

__all__ = [
    "ABE",
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
    "NSCC",
    "PFTK",
    "SEARCH",
    "TFRC",
    "TIMELY",
    "Allegro",
    "BBRv1",
    "ChromiumCUBIC",
    "Copa",
    "Corrected",
    "Delivery",
    "DeliveryRule",
    "Deterministic",
    "DirectSimulation",
    "Elapsed",
    "Feedback",
    "FixedRate",
    "Fusion",
    "Gilbert",
    "Illinois",
    "Independent",
    "LEDBATpp",
    "Law",
    "LossHistory",
    "Mathis",
    "NS2Vegas",
    "NewReno",
    "PatchedTIMELY",
    "Prague",
    "QUICNewReno",
    "RateRule",
    "Relentless",
    "Reno",
    "Scalable",
    "Swift",
    "Tahoe",
    "Vegas",
    "Vivace",
    "Westwood",
    "WindowRule",
    "aggressiveness",
    "catalogue",
    "convergence_time",
    "curve",
    "fit",
    "friendliness",
    "fused",
    "hystart",
    "independent_constant",
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
