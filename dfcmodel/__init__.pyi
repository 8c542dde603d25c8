# The public names of the package by the modules that define them: read on first use, and by type checkers.
from . import lossless as lossless
from .comparing import compare
from .ensembles import ensemble
from .levels.accuracies import share_intervals
from .levels.choices import LevelChoice, choose_level
from .levels.explaining import explain
from .levels.explanations import Explanation
from .levels.packet_limits import PacketLimit, packet_limit
from .levels.packet_sizes import shrink_packets
from .levels.refinements import Refinement, default_refinements
from .lossless import (
    Cable,
    Fabric,
    FrameScenario,
    Headroom,
    Identification,
    PausedLink,
    RequiredCredits,
    TableAudit,
    Witness,
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
from .network.aqm_programs import AFD, CAKE
from .network.arrivals import ArrivalProcess, HeavyTailed, Poisson, Replay
from .network.backpressure import BFC
from .network.buffers import ByteBuffer
from .network.class_pauses import PFC
from .network.collectives import all_to_all, flows_from, incast, permutation
from .network.connection_matrices import load_connection_matrix, read_connection_matrix
from .network.coupled import PI2, DualPI2
from .network.disciplines import DFC, FIFO, Fair, Pause, Priority, QueueManager
from .network.fabric_programs import INT, Trimming
from .network.flow_tables import Flows
from .network.flows import CBR, Flow, OnOff
from .network.link_laws import Credits, LinkEvent, LinkLaw
from .network.links import Link, Links, links_from
from .network.managers import PIE, RED, CoDel
from .network.marking import RampMarking, StepMarking
from .network.networks import Scenario, from_networkx
from .network.programs import QueuedPacket, SwitchProgram
from .network.receivers import Credited, ReceivedPacket, ReceiverAgent
from .network.reductions import all_gather, all_reduce, all_to_all_rounds, reduce_scatter
from .network.scenarios import chain, dumbbell, parking_lot, ring, takano2006, tree
from .network.schedulers import DeficitRoundRobin, FlowQueueCoDel, ShortestRemaining, WeightedFair
from .network.toml_reading import ScenarioFileError, load_scenario
from .network.toml_schema import scenario_schema
from .network.toml_writing import save_scenario
from .network.traffic import FlowSizes, flow_sizes, random_traffic
from .packets.ns2_export import to_ns2
from .packets.ns3_export import to_ns3
from .packets.recoveries import (
    LossRecovery,
    NewRenoRecovery,
    PRRRecovery,
    RackRecovery,
    RenoRecovery,
    SackRecovery,
    TahoeRecovery,
    grow_window,
    limited_transmit,
    reduce_window,
    restart_timer,
    retransmit,
    send_new,
    set_alarm,
)
from .packets.repairs import SelectiveRepair
from .packets.traces import PacketTrace, trace_packets
from .results.ensemble_comparisons import EnsembleComparison
from .results.ensembles import Ensemble
from .results.job_completions import JobCompletion, job_completion
from .results.lower_bounds import completion_bounds
from .results.pause_graphs import PausePropagation, pause_propagation
from .results.run_comparisons import RunComparison
from .results.slowdown_groups import Slowdowns, slowdowns
from .results.trajectories import Trajectory
from .sharing.comparisons import Comparison
from .sharing.evaluations import Evaluation, evaluate_rfc9743
from .sharing.sweeps import coexist_sweep
from .simulation import simulate
from .step_checks import StepCheck, check_step
from .theory.equations import DiffusionEquation, Empty, FeedbackEquation
from .theory.law import bare_law
from .theory.pde import Lines, evolve
from .theory.spectra import Spectrum, spectrum
from .theory.stability import stability_limit, stability_map
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
    "RED",
    "ArrivalProcess",
    "ByteBuffer",
    "Cable",
    "CoDel",
    "Comparison",
    "Credited",
    "Credits",
    "DeficitRoundRobin",
    "DiffusionEquation",
    "DualPI2",
    "Empty",
    "Ensemble",
    "EnsembleComparison",
    "Evaluation",
    "Explanation",
    "Fabric",
    "Fair",
    "FeedbackEquation",
    "Flow",
    "FlowQueueCoDel",
    "FlowSizes",
    "Flows",
    "Fluid",
    "FrameScenario",
    "Headroom",
    "HeavyTailed",
    "Identification",
    "JobCompletion",
    "LevelChoice",
    "Lines",
    "Link",
    "LinkEvent",
    "LinkLaw",
    "Links",
    "LossRecovery",
    "NewRenoRecovery",
    "OnOff",
    "PRRRecovery",
    "PacketLimit",
    "PacketTrace",
    "Packets",
    "Pause",
    "PausePropagation",
    "PausedLink",
    "Poisson",
    "Priority",
    "QueueManager",
    "QueuedPacket",
    "RackRecovery",
    "RampMarking",
    "ReceivedPacket",
    "ReceiverAgent",
    "Refinement",
    "RenoRecovery",
    "Replay",
    "RequiredCredits",
    "RunComparison",
    "SackRecovery",
    "Scenario",
    "ScenarioFileError",
    "SelectiveRepair",
    "ShortestRemaining",
    "Slowdowns",
    "Spectrum",
    "StepCheck",
    "StepMarking",
    "SwitchProgram",
    "TableAudit",
    "TahoeRecovery",
    "Trajectory",
    "Trimming",
    "Twin",
    "WeightedFair",
    "Witness",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_rounds",
    "audit_headroom",
    "bare_law",
    "chain",
    "check_step",
    "choose_level",
    "coexist_sweep",
    "compare",
    "completion_bounds",
    "credits",
    "default_refinements",
    "dumbbell",
    "ensemble",
    "evaluate_rfc9743",
    "evolve",
    "explain",
    "flow_sizes",
    "flows_from",
    "from_networkx",
    "grow_window",
    "headroom",
    "headroom_table",
    "identify",
    "incast",
    "job_completion",
    "limited_transmit",
    "links_from",
    "load_connection_matrix",
    "load_scenario",
    "overflow",
    "packet_limit",
    "parking_lot",
    "pause_propagation",
    "permutation",
    "random_traffic",
    "read_connection_matrix",
    "reduce_scatter",
    "reduce_window",
    "restart_timer",
    "retransmit",
    "ring",
    "save_scenario",
    "scenario_schema",
    "search_worst",
    "send_new",
    "set_alarm",
    "share_intervals",
    "shrink_packets",
    "simulate",
    "slowdowns",
    "spectrum",
    "stability_limit",
    "stability_map",
    "takano2006",
    "to_ns2",
    "to_ns3",
    "trace_packets",
    "tree",
    "witness",
]
