# The public names of the package by the modules that define them: read on first use, and by type checkers.
from . import lossless as lossless
from . import recoveries as recoveries
from . import results as results
from . import theory as theory
from .comparing import compare
from .ensembles import ensemble
from .explaining import explain
from .levels.accuracies import share_intervals
from .levels.choices import choose_level
from .levels.instances import RandomRuns
from .levels.packet_sizes import shrink_packets
from .levels.refinements import Refinement, default_refinements
from .lossless import (
    Cable,
    CreditDatasheet,
    Fabric,
    PauseDatasheet,
    PausedLink,
    audit_headroom,
    credits,
    headroom,
    headroom_table,
    identify,
    overflow,
    search_worst,
    witness,
)
from .methods import Fluid, Packets
from .network.demands.collectives import FlowOptions, all_to_all, flows_from, incast, permutation
from .network.demands.connection_matrices import load_connection_matrix, read_connection_matrix
from .network.demands.mahimahi import read_mahimahi
from .network.demands.reductions import CollectiveOptions, all_gather, all_reduce, all_to_all_rounds, reduce_scatter
from .network.demands.traffic import FlowSizes, TrafficOptions, flow_sizes, random_traffic
from .network.demands.workloads import WorkloadOptions, load_workload, read_workload
from .network.elements.base import PassingPacket, PathElement
from .network.elements.delays import Aggregation, DelayTrace, Jitter, Reordering
from .network.elements.lifetimes import MaxTransitDelay
from .network.elements.losses import BurstLoss, PeriodicLoss, Policer
from .network.elements.rates import RateTrace
from .network.endpoints.arrivals import ArrivalProcess, HeavyTailed, Poisson, Replay
from .network.endpoints.native_rules import NativeRule, cc_header
from .network.endpoints.pulls import RCCC
from .network.endpoints.receivers import Credited, ReceivedPacket, ReceiverAgent
from .network.endpoints.sources import CBR, OnOff
from .network.flows import Flow, Flows
from .network.links import Link, Links, links_from
from .network.networks import Scenario, from_networkx
from .network.queueing.aqm_programs import AFD, CAKE
from .network.queueing.backpressure import BFC
from .network.queueing.buffers import ByteBuffer
from .network.queueing.class_pauses import PFC
from .network.queueing.coupled import PI2, DualPI2
from .network.queueing.disciplines import DFC, FIFO, Fair, Pause, Priority, QueueManager
from .network.queueing.fabric_programs import INT, Trimming
from .network.queueing.link_laws import Credits, LinkEvent, LinkLaw
from .network.queueing.managers import PIE, RED, CoDel
from .network.queueing.marking import RampMarking, StepMarking
from .network.queueing.programs import QueuedPacket, SwitchProgram
from .network.queueing.schedulers import (
    DeficitRoundRobin,
    FlowQueueCoDel,
    ShortestRemaining,
    WeightedFair,
)
from .network.scenario_files.toml_reading import ScenarioFileError, load_scenario
from .network.scenario_files.toml_schema import scenario_schema
from .network.scenario_files.toml_writing import save_scenario
from .network.scenarios import chain, dumbbell, parking_lot, ring, takano2006, tree
from .packet_limits import packet_limit
from .packets.exports.ns2_export import to_ns2
from .packets.exports.ns3_export import to_ns3
from .packets.repairs import SelectiveRepair
from .packets.traces import trace_packets
from .results.completions.job_completions import job_completion
from .results.completions.lower_bounds import completion_bounds
from .results.completions.slowdown_groups import slowdowns
from .results.pause_graphs import pause_propagation
from .sharing.bottlenecks import PathOptions
from .sharing.coexistence import SenderOptions, coexist
from .sharing.conformances import conformance
from .sharing.evaluations import evaluate_rfc9743
from .sharing.qlog_traces import read_qlog_trace, write_qlog
from .sharing.sweeps import coexist_sweep
from .sharing.worst_paths import JitteredPath, worst_case
from .simulation import RunSettings, simulate
from .step_checks import check_step
from .twin.twins import Twin

__all__ = [
    "AFD",
    "BFC",
    "CAKE",
    "CBR",
    "DFC",
    "FIFO",
    "INT",
    "PFC",
    "PI2",
    "PIE",
    "RCCC",
    "RED",
    "Aggregation",
    "ArrivalProcess",
    "BurstLoss",
    "ByteBuffer",
    "Cable",
    "CoDel",
    "CollectiveOptions",
    "CreditDatasheet",
    "Credited",
    "Credits",
    "DeficitRoundRobin",
    "DelayTrace",
    "DualPI2",
    "Fabric",
    "Fair",
    "Flow",
    "FlowOptions",
    "FlowQueueCoDel",
    "FlowSizes",
    "Flows",
    "Fluid",
    "HeavyTailed",
    "Jitter",
    "JitteredPath",
    "Link",
    "LinkEvent",
    "LinkLaw",
    "Links",
    "MaxTransitDelay",
    "NativeRule",
    "OnOff",
    "Packets",
    "PassingPacket",
    "PathElement",
    "PathOptions",
    "Pause",
    "PauseDatasheet",
    "PausedLink",
    "PeriodicLoss",
    "Poisson",
    "Policer",
    "Priority",
    "QueueManager",
    "QueuedPacket",
    "RampMarking",
    "RandomRuns",
    "RateTrace",
    "ReceivedPacket",
    "ReceiverAgent",
    "Refinement",
    "Reordering",
    "Replay",
    "RunSettings",
    "Scenario",
    "ScenarioFileError",
    "SelectiveRepair",
    "SenderOptions",
    "ShortestRemaining",
    "StepMarking",
    "SwitchProgram",
    "TrafficOptions",
    "Trimming",
    "Twin",
    "WeightedFair",
    "WorkloadOptions",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_rounds",
    "audit_headroom",
    "cc_header",
    "chain",
    "check_step",
    "choose_level",
    "coexist",
    "coexist_sweep",
    "compare",
    "completion_bounds",
    "conformance",
    "credits",
    "default_refinements",
    "dumbbell",
    "ensemble",
    "evaluate_rfc9743",
    "explain",
    "flow_sizes",
    "flows_from",
    "from_networkx",
    "headroom",
    "headroom_table",
    "identify",
    "incast",
    "job_completion",
    "links_from",
    "load_connection_matrix",
    "load_scenario",
    "load_workload",
    "overflow",
    "packet_limit",
    "parking_lot",
    "pause_propagation",
    "permutation",
    "random_traffic",
    "read_connection_matrix",
    "read_mahimahi",
    "read_qlog_trace",
    "read_workload",
    "reduce_scatter",
    "ring",
    "save_scenario",
    "scenario_schema",
    "search_worst",
    "share_intervals",
    "shrink_packets",
    "simulate",
    "slowdowns",
    "takano2006",
    "to_ns2",
    "to_ns3",
    "trace_packets",
    "tree",
    "witness",
    "worst_case",
    "write_qlog",
]
