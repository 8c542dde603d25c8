"""Fluid models of hop-by-hop flow control with end-to-end TCP on top.

>>> from dfcmodel import simulate, takano2006
>>> run = simulate(takano2006("1", dfc=True, tcp="newreno"))  # doctest: +SKIP
>>> run.efficiency.plot()  # doctest: +SKIP
"""

from __future__ import annotations

from dfcmodel.comparing import compare
from dfcmodel.ensembles import ensemble
from dfcmodel.levels.accuracies import share_intervals
from dfcmodel.levels.choices import LevelChoice, choose_level
from dfcmodel.levels.explaining import explain
from dfcmodel.levels.explanations import Explanation
from dfcmodel.levels.packet_limits import PacketLimit, packet_limit
from dfcmodel.levels.packet_sizes import shrink_packets
from dfcmodel.levels.refinements import Refinement, default_refinements
from dfcmodel.lossless import (
    Cable,
    Credits,
    Fabric,
    FrameScenario,
    Headroom,
    Identification,
    PausedLink,
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
from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.aqm_programs import AFD, CAKE
from dfcmodel.network.arrivals import ArrivalProcess, HeavyTailed, Poisson, Replay
from dfcmodel.network.buffers import ByteBuffer
from dfcmodel.network.class_pauses import PFC
from dfcmodel.network.collectives import all_to_all, flows_from, incast, permutation
from dfcmodel.network.connection_matrices import (
    load_connection_matrix,
    read_connection_matrix,
)
from dfcmodel.network.coupled import PI2, DualPI2
from dfcmodel.network.disciplines import DFC, FIFO, Fair, Pause, Priority, QueueManager
from dfcmodel.network.fabric_programs import INT, Trimming
from dfcmodel.network.flow_tables import Flows
from dfcmodel.network.flows import CBR, Flow, OnOff
from dfcmodel.network.managers import PIE, RED, CoDel
from dfcmodel.network.marking import RampMarking, StepMarking
from dfcmodel.network.networks import Link, Scenario, from_networkx
from dfcmodel.network.programs import QueuedPacket, SwitchProgram
from dfcmodel.network.receivers import Credited, ReceivedPacket, ReceiverAgent
from dfcmodel.network.reductions import (
    all_gather,
    all_reduce,
    all_to_all_rounds,
    reduce_scatter,
)
from dfcmodel.network.scenarios import chain, dumbbell, parking_lot, ring, takano2006, tree
from dfcmodel.network.schedulers import (
    DeficitRoundRobin,
    FlowQueueCoDel,
    ShortestRemaining,
    WeightedFair,
)
from dfcmodel.network.toml_reading import ScenarioFileError, load_scenario
from dfcmodel.network.toml_schema import scenario_schema
from dfcmodel.network.toml_writing import save_scenario
from dfcmodel.network.traffic import (
    FlowSizes,
    flow_sizes,
    random_traffic,
)
from dfcmodel.packets.ns2_export import to_ns2
from dfcmodel.packets.ns3_export import to_ns3
from dfcmodel.packets.recoveries import (
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
from dfcmodel.packets.repairs import SelectiveRepair
from dfcmodel.packets.traces import PacketTrace, trace_packets
from dfcmodel.results.ensemble_comparisons import EnsembleComparison
from dfcmodel.results.ensembles import Ensemble
from dfcmodel.results.job_completions import JobCompletion, job_completion
from dfcmodel.results.lower_bounds import completion_bounds
from dfcmodel.results.pause_graphs import PausePropagation, pause_propagation
from dfcmodel.results.run_comparisons import RunComparison
from dfcmodel.results.slowdown_groups import Slowdowns, slowdowns
from dfcmodel.results.trajectories import Trajectory
from dfcmodel.sharing.comparisons import Comparison
from dfcmodel.sharing.evaluations import Evaluation, evaluate_rfc9743
from dfcmodel.sharing.sweeps import coexist_sweep
from dfcmodel.simulation import simulate
from dfcmodel.step_checks import StepCheck, check_step
from dfcmodel.theory.equations import DiffusionEquation, Empty, FeedbackEquation
from dfcmodel.theory.law import bare_law
from dfcmodel.theory.pde import Lines, evolve
from dfcmodel.theory.spectra import Spectrum, spectrum
from dfcmodel.theory.stability import stability_limit, stability_map
from dfcmodel.twin.twins import Twin

__all__ = [
    "AFD",
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
