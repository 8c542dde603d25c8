"""What is called: every public function and class, with small valid arguments."""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import dfcmodel
import markov
import responsefn
from dfcmodel import lossless
from dfcmodel.sharing.bbr_observations import Path as BBRPath
from dfcmodel.sharing.bbr_observations import observe
from hopflow.keywords import ELSEWHERE, WithFields
from hopflow.public_names import public_modules

PACKAGES = tuple(map(import_module, public_modules()))


@dataclass(frozen=True)
class Target:
    """A public function with valid arguments; those of ``free`` may be anything hashable."""

    name: str
    call: Callable[..., Any]
    arguments: dict[str, Any]
    free: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """Return all parameters with a valid value: the given ones, and the defaults."""
        try:
            listed = inspect.signature(self.call).parameters.values()
        except ValueError:
            return self.arguments
        usual = {
            each.name: each.default
            for each in listed
            if each.default is not each.empty and each.default is not ELSEWHERE
        }
        return {**usual, **self.arguments}


MADE_BY_THE_LIBRARY = {
    # results
    "Best", "Estimate", "MapFit", "Passage", "Paths", "PhaseFit", "PropertyResult", "QuasiStationary", "Reachable", "InfiniteChain", "InfiniteStationary", "InfinitePassage", "InfiniteTransient",
    "Sensitivity", "Solution", "Stationary", "StationaryByLevel", "Steps", "ThresholdAdvice", "Transient",
    "Lumped", "Coexistence", "Curve", "Fit", "Fused", "SimulatedResponse", "UnfairnessExponents",
    "RuleTwin", "Samples", "Comparison", "EnsembleComparison", "RunComparison", "AnswerComparison", "Ensemble", "Evaluation", "Conformance", "JudgedCase", "QlogTrace", "TraceCheck", "TraceConformance", "WorstCase", "Explanation", "Headroom", "JobCompletion", "LevelChoice", "PausePropagation", "Slowdowns",
    "Flows", "Links", "PacketLimit", "PacketTrace", "Spectrum", "StepCheck", "Trajectory", "Witness", "FrameScenario",
    "Deadlock", "Dependencies", "OverflowEstimate", "PoolRisk", "PoolWitness", "PoolWorstCase",
    "RecombinedEstimate", "OverflowTime", "Chip", "RowAudit", "RowVerdict", "TableAudit", "Identification", "RequiredCredits",
    "CreditScenario", "CreditWitness", "LinkRetry", "BlockedTime", "StormSpread", "UpDown", "WatchdogAlarm", "WatchdogRisk", "WatchdogRun", "Catalogue", "Delivery",
    "Elapsed", "Feedback", "HeadroomPool", "LinkEvent", "PassingPacket", "QueuedPacket", "ReceivedPacket",
    "SuiteConformance", "SuiteVerdict",
    "ExplicitModel", "FileModel", "Claim", "Finding",
    # errors, warnings, statuses
    "Interrupted", "NotSolvedError", "ConvergenceError", "UndecidedError", "NoDerivativeError", "TooLargeError", "FileError", "FitWarning", "RuleError", "RuleWarning",
    "AmbiguousRateError", "UnreachableRateError", "ScenarioFileError", "DamagedDataError", "Status",
    "OutsideDomainWarning", "SeveralAttractorsWarning", "SlowApproachWarning",
    "Verdict",
    # bases to subclass
    "DeliveryRule",
    "ChainModel", "Method", "Law", "RateRule", "WindowRule", "QueueManager", "ArrivalProcess", "SwitchProgram",
    "LossRecovery", "ReceiverAgent", "PathElement",
    "NativeRule",  # of a library, which has to be compiled: tests/dfcmodel/packets/native
}  # fmt: skip
"""Public names that users read or subclass, but do not call."""

WITHOUT_ARGUMENTS = {"OverflowChain", "chips", "cases", "ledger", "overview", "verify", "NO_END"}


def _markov() -> dict[str, dict[str, Any]]:
    import networkx as nx

    from markov import MAP, MM1K, ObservedPath, PausedPort, PauseTandem, PhaseType, explore, stationary

    machine = explore(lambda n, q: [(1 - n, q.a)], start=0, params={"a": 1.0})
    seen = ObservedPath([0.0, 1.0], [0, 1], end=2.0)
    two = [[-1.0, 1.0], [3.0, -3.0]]
    graph = nx.DiGraph([(0, 1, {"rate": 1.0}), (1, 0, {"rate": 2.0})])
    queue = {"down": [[10.0]], "local": [[-17.0]], "up": [[7.0]]}
    small = MM1K(capacity=4)
    tandem = PauseTandem(buffers=(4, 6), high_threshold=5)
    folder = Path(tempfile.mkdtemp())
    markov.write_explicit(two, folder / "two.tra")
    (folder / "a.sm").write_text(
        "ctmc const int n; module m x:[0..n] init 0; [] x<n -> 1:(x'=x+1); [] x>0 -> 1:(x'=x-1); endmodule"
    )
    (folder / "a.xml").write_text(SBML)
    (folder / "a.jani").write_text(JANI)
    port = {"link_rate": 100.0, "bottleneck_rate": 15.0, "rtt": 1.0, "buffers": (4, 6)}
    return {
        "MAP": {"D0": [[-2.0]], "D1": [[2.0]]},
        "PhaseType": {"alpha": [0.25, 0.75], "T": [[-3.0, 1.5], [0.0, -1.0]]},
        "PhaseQueue": {"arrivals": MAP.poisson(0.5), "service": PhaseType.exponential(1.0), "capacity": 4},
        "DiscreteChain": {"P": [[0.5, 0.5], [0.25, 0.75]]},
        "MarkovChain": {"Q": two, "states": ["a", "b"]},
        "GeneratorOperator": {"model": small},
        "QuasiBirthDeath": queue,
        "autocovariance": {"answer": stationary(two), "measure": [1.0, 0.0], "lags": [0.0, 0.25]},
        "best": {"model": tandem, "parameter": "rtt", "among": [1.0, 2.0], "maximize": "throughput"},
        "differentiable": {"model": tandem, "of": "throughput"},
        "estimate": {"model": machine, "data": seen, "parameters": ["a"]},
        "ObservedPath": {"times": [0.0, 1.0], "states": [0, 1], "end": 2.0},
        "Panel": {"times": [0.0, 1.0], "states": [0, 1]},
        "explore": {"model": lambda n: [((n + 1) % 3, 1.0)], "start": 0},
        "fit_map": {"intervals": [1.0, 2.0, 12.0] * 4, "phases": 1},
        "fit_phase_type": {"times": [1.0, 2.0, 6.0], "phases": 1},
        "from_networkx": {"graph": graph},
        "generator": {"model": small},
        "lump": {"model": [[-2.0, 1.0, 1.0], [3.0, -3.0, 0.0], [3.0, 0.0, -3.0]], "keep": [[1.0, 0.0, 0.0]]},
        "mixing_time": {"model": two, "start": 1},
        "passage": {"model": two, "to": 1, "start": 0},
        "paths": {"model": np.array(two), "duration": 2.0, "start": 0, "seed": 1},
        "PausedPort": port,
        "pause_thresholds": {"port": PausedPort(**port), "levels": (2,)},
        "phase_type_of": {"mean": 2.0, "scv": 0.5},
        "quasi_stationary": {"model": [[-1.0, 1.0, 0.0], [1.0, -2.0, 1.0], [0.0, 0.0, 0.0]]},
        "read_explicit": {"path": folder / "two.tra"},
        "read_prism": {"path": folder / "a.sm", "constants": {"n": 3}},
        "read_jani": {"path": folder / "a.jani"},
        "read_sbml": {"path": folder / "a.xml", "limits": 3},
        "stationary": {"chain": two},
        "stationary_by_class": {"chain": two},
        "stationary_by_level": {"chain": markov.QuasiBirthDeath(**queue)},
        "sweep": {"thing": small, "arrival_rate": [1.0, 2.0]},
        "to_networkx": {"model": two},
        "transient": {"model": two, "times": [0.5, 1.0], "start": 0},
        "write_explicit": {"model": two, "path": folder / "out.tra"},
        "PauseTandem": {"buffers": (4, 6), "high_threshold": 5},
        "PauseTandem.exact": {"__call__": lambda high_threshold: stationary(
            PauseTandem(buffers=(4, 6), high_threshold=high_threshold)).throughput, "high_threshold": 5},
        "PhaseType.exponential": {"rate": 2.0},
        "PhaseType.erlang": {"phases": 2, "mean": 1.0},
        "PhaseType.hyperexponential": {"probabilities": [0.5, 0.5], "rates": [1.0, 2.0]},
        "PhaseType.moment": {"self": PhaseType.exponential(1.0), "k": 2},
        "PhaseType.cdf": {"self": PhaseType.exponential(1.0), "x": [0.5, 1.0]},
        "PhaseType.quantile": {"self": PhaseType.exponential(1.0), "q": 0.5},
        "PhaseType.sample": {"self": PhaseType.exponential(1.0), "size": 3, "seed": 1},
        "PhaseType.scaled": {"self": PhaseType.exponential(1.0), "factor": 2.0},
        "MAP.poisson": {"rate": 2.0},
        "MAP.modulated": {"Q": [[-1.0, 1.0], [0.5, -0.5]], "rates": [30.0, 1.0]},
    }  # fmt: skip


SBML = """<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model><listOfSpecies>
<species id="X" initialAmount="3" hasOnlySubstanceUnits="true"/></listOfSpecies><listOfParameters>
<parameter id="mu" value="1"/></listOfParameters><listOfReactions><reaction id="death" reversible="false">
<listOfReactants><speciesReference species="X" stoichiometry="1"/></listOfReactants><kineticLaw>
<math xmlns="http://www.w3.org/1998/Math/MathML"><apply><times/>
<ci>mu</ci><ci>X</ci></apply></math></kineticLaw></reaction></listOfReactions></model></sbml>"""
JANI = """{"jani-version": 1, "name": "m", "type": "ctmc", "variables": [], "properties": [],
"system": {"elements": [{"automaton": "m"}]}, "automata": [{"name": "m", "locations": [{"name": "a"}, {"name": "b"}],
"initial-locations": ["a"], "edges": [
{"location": "a", "rate": {"exp": 1.0}, "destinations": [{"location": "b"}]},
{"location": "b", "rate": {"exp": 2.0}, "destinations": [{"location": "a"}]}]}]}"""
BBR_QLOG = json.dumps({"time": 5.0, "name": "recovery:congestion_state_updated", "data": {"new": "drain"}})
QLOG = json.dumps({"traces": [{"events": [
    *({"name": "transport:packet_sent", "time": 10.0 * n, "data": {"header": {"packet_number": n}}} for n in range(9)),
    {"name": "recovery:packet_lost", "time": 60.0, "data": {"header": {"packet_number": 5}}},
    {"name": "recovery:metrics_updated", "time": 5.0, "data": {"smoothed_rtt": 40.0}},
]}]})  # fmt: skip
SS = """ESTAB 0 0 10.0.0.1:22 10.0.0.2:41000
 cubic rto:228 rtt:25.5/1.2 mss:1448 cwnd:40 retrans:0/12 data_segs_out:40000 delivery_rate 17.4Mbps"""


def _responsefn() -> dict[str, dict[str, Any]]:
    from responsefn import AIMD, CUBIC, TFRC, Reno

    pair = {"p": 0.015625, "rtt": 0.125}
    one = {"rule": Reno(), **pair}
    alone = {"options": responsefn.DirectSimulation(method="auto", seed=0)}
    return {
        "Corrected": {"rule": AIMD()},
        "aggressiveness": {"rule": AIMD()},
        "coexist_sweep": {
            "__call__": WithFields(dfcmodel.coexist_sweep), "rules": [Reno()], "rtt": 0.125, "bandwidth": 500.0, "buffer": [20], "duration": 4.0,
            "loss": 0.0, "warm_up": None, "recovery": "sack", "discipline": None, "pacing": False,
        },
        "coexist": {"__call__": WithFields(dfcmodel.coexist), "rules": [Reno()], "rtt": 0.125, "bandwidth": 500.0, "buffer": 20, "duration": 4.0, "loss": 0.0, "warm_up": None,
                    "recovery": "sack", "starts": 0.0, "processing": None, "ssthresh": None, "max_window": None,
                    "min_rto": 0.2, "elements": ()},
        "convergence_time": {"rule": Reno(), "rtt": 0.125, "bandwidth": 500.0},
        "curve": {"rules": Reno(), "p": [0.0078125, 0.015625], "rtt": 0.125},
        "fit": {"rule": AIMD(), "p": [0.015625, 0.125], "rtt": 0.125, "rate": [80.0, 30.0], "by": "a"},
        "friendliness": one,
        "fused": {"response": Reno(), "rtt": 0.125},
        "hystart": {"rule": Reno()},
        "limited_slow_start": {"rule": Reno()},
        "independent_constant": {"b": 0.5},
        "invert": {"rule": TFRC(), "rate": 1000.0, "rtt": 0.125},
        "jain_index": {"rates": [1.0, 2.0]},
        "loss_events": {"lost": [10, 12], "sent": [1.0, 1.5], "rtt": 0.125},
        "match": {"rule": AIMD(b=0.25), "to": Reno(), "at": 0.015625},
        "read_pcap": {"source": "absent.pcap"},
        "read_qlog": {"source": QLOG},
        "read_ss": {"source": SS, "skip": ("a further field",)},
        "responsiveness": {"rule": AIMD()},
        "rtt_unfairness": one,
        "rule_twin": {"rule": Reno()},
        "twin": {"response": Reno()},
        "simulate_curve": {"rule": Reno(), "p": [0.015625], "rtt": 0.125, "events": 50, **alone},
        "simulate_rule": {**one, "events": 50, **alone},
        "smoothness": {"amounts": [1.0, 3.0], "bin_time": 0.125, "time_scale": 0.125},
        "WindowRule.rate": {"self": Reno(), "p": [0.015625, 0.125], "rtt": 0.125},
        "WindowRule.mean_window": {"self": Reno(), "p": 0.015625, "rtt": 0.125},
        "WindowRule.rate (CUBIC)": {"self": CUBIC(), "p": 0.015625, "rtt": 0.125},
        "Law.rate": {"self": TFRC(), "p": 0.015625, "rtt": 0.125},
        "Gilbert.gaps": {"self": responsefn.Gilbert(), "p": 0.25, "count": 3, "seed": np.random.default_rng(1)},
    }  # fmt: skip


def _dfcmodel() -> dict[str, dict[str, Any]]:
    import networkx as nx

    from dfcmodel import CBR, Flow, PausedLink, Scenario, chain, takano2006
    from dfcmodel.theory import DiffusionEquation, Lines
    from markov import PhaseType
    from responsefn import BBR, NewReno, Reno

    link = {"rate": 1000.0, "delay": 0.0078125, "buffer": 50.0}
    links = chain(2, **link)
    flows = [Flow("a", (1, 2), Reno(), max_window=64.0)]
    small = Scenario("small", links, flows, duration=0.125)
    steady = Scenario("steady", links, [Flow(f"{n}", (1, 2), CBR(600.0)) for n in (1, 2)], duration=0.125)
    dfc = takano2006("1")
    stops = chain(3, **link, discipline=dfcmodel.Pause(high=20, low=10))
    paused = Scenario("paused", stops, [Flow("a", (1, 2, 3), CBR(600.0), host="direct")], duration=0.125)
    apart = [dfcmodel.Link(0, n, discipline=dfcmodel.Pause(high=20, low=10), **link) for n in (1, 2)]
    several = Scenario("ports", apart, [Flow(f"{n}", (0, n), CBR(600.0)) for n in (1, 2)], duration=0.125)
    port = PausedLink(10**10, 9216, 1500, cell=192, cable=1500, response=34304)
    fabric = lossless.leaf_spine(2, 2)
    two = [[("leaf", 0), ("spine", 0), ("leaf", 1)]]
    pool = lossless.headroom_pool([[10.0], [10.0]], 2, 1, size=15.0, shared=20.0, xoff=5.0, rate="10Gbps")
    rows = [lossless.BufferRow(1e11, cable, xoff) for cable, xoff in ((5.0, 44_032), (300.0, 83_968))]
    dog = lossless.Watchdog("10 ms", "100 ms", "200 ms")
    pauses = {"pauses": PhaseType.exponential(1000.0), "gaps": PhaseType.exponential(100.0)}
    folder = Path(tempfile.mkdtemp())
    file = dfcmodel.save_scenario(small, folder / "small.toml")
    mahimahi = folder / "link.trace"
    mahimahi.write_text("1\n2\n10\n")
    lookup = folder / "pg_profile_lookup.ini"
    lookup.write_text("# speed cable size xon xoff\n100000 5m 19456 19456 44032\n")
    bar = DiffusionEquation(lambda x: 1 + 0 * x, coefficient=0.125)
    short = {"duration": 0.0625}
    of_port = {"interface": 0.0, "gearbox": 0.0, "pipeline": 0.0, "velocity": 2e8, "smallest": 64}
    random_starts = {"jitter": None, "seed": 0, "packet_jitter": None}
    circle = dfcmodel.ring(3, **link)
    many = {"sizes": 8, "source": CBR(64.0), "links": circle}
    steps = {"hosts": (1, 2, 3), "packets": 8, "source": CBR(64.0), "links": circle}
    random = {key: many[key] for key in ("source", "links")}
    matrix = "Nodes 3\nConnections 1\n0->1 id 1 start 0 size 3000\n"
    (folder / "one.cm").write_text(matrix)
    workload = "DATA\n1\nlayer -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 9000 1\n"
    (folder / "step.txt").write_text(workload)
    done = dfcmodel.simulate(
        Scenario(
            "transfers",
            stops,
            [Flow("a", (1, 2, 3), CBR(600.0), size=9, host="direct")],
            duration=0.125,
        ),
        dfcmodel.Packets(seed=1),
    )
    return {
        "all_to_all": {"hosts": (1, 2, 3), **many},
        "all_gather": steps,
        "all_reduce": steps,
        "all_to_all_rounds": steps,
        "reduce_scatter": steps,
        "random_traffic": {"hosts": (1, 2, 3), "sizes": "hadoop", "load": 0.5, "duration": 4.0, **random},
        "read_connection_matrix": {"text": matrix, "hosts": (1, 2, 3), **random},
        "load_connection_matrix": {"path": folder / "one.cm", "hosts": (1, 2, 3), **random},
        "read_workload": {"text": workload, "hosts": (1, 2, 3), **random},
        "load_workload": {"path": folder / "step.txt", "hosts": (1, 2, 3), **random},
        "flow_sizes": {"name": "web search"},
        "FlowSizes": {"name": "own", "sizes": (1e3, 1e4), "shares": (0.0, 1.0)},
        "Fabric": {"switches": fabric},
        "completion_bounds": {"scenario": small},
        "job_completion": {"run": done},
        "slowdowns": {"run": done},
        "pause_propagation": {"run": done},
        "rail_optimized": {"servers": 2, "rails": 2, "spines": 2},
        "flows_from": {"sources": (1, 2), "targets": (3, 3), **many},
        "incast": {"senders": (1, 2, 3), "receiver": 3, **many},
        "permutation": {"hosts": (1, 2, 3), **many},
        "Aggregation": {"link": "1->2", "interval": 0.02},
        "BurstLoss": {"link": "1->2", "to_bad": 0.01, "to_good": 0.2},
        "CBR": {"rate": 100.0},
        "OnOff": {"rate": 100.0, "on": 0.25, "off": 0.5},
        "DelayTrace": {"link": "1->2", "times": (0.0, 1.0), "delays": (0.0, 0.01)},
        "Jitter": {"link": "1->2", "bound": 0.01},
        "JitteredPath": {"bandwidth": 1000.0, "rtt": 0.05, "buffer": 50, "bound": 0.01},
        "MaxTransitDelay": {"link": "1->2", "delay": 0.05},
        "PeriodicLoss": {"link": "1->2", "every": 50},
        "Policer": {"link": "1->2", "rate": 100.0, "burst": 10.0},
        "Poisson": {"rate": 100.0},
        "HeavyTailed": {"rate": 100.0, "mean_burst": 4.0, "tail": 1.5},
        "RateTrace": {"link": "1->2", "times": (0.0, 1.0), "rates": (100.0, 50.0)},
        "Reordering": {"link": "1->2", "p": 0.01, "delay": 0.01},
        "Replay": {"times": (0.0, 0.25, 0.5)},
        "Empty": {"distance": 0.25},
        "Flow": {"name": "a", "path": (1, 2), "source": Reno()},
        "ByteBuffer": {"size": 30000},
        "Link": {"source": 1, "target": 2, **link},
        "Scenario": {"name": "small", "links": links, "flows": flows, "duration": 0.125},
        "DiffusionEquation": {"initial": lambda x: 1 + 0 * x, "coefficient": 0.125},
        "FeedbackEquation": {"initial": lambda x: 1 + 0 * x, "diffusion": 0.25},
        "PausedLink": {"rate": 10**10, "mtu": 9216, "lossless_mtu": 1500},
        "Refinement": {"name": "a", "level": "fluid", "on": {"steps_per_delay": 8}},
        "Twin": {"scenario": dfc, "duration": 0.03125, "sample": 0.00390625},
        "bare_law": {"packets": [100.0, 0.0, 4.0], "diffusion": 0.125, "periods": 2},
        "chain": {"nodes": 3, **link},
        "ring": {"nodes": 3, **link},
        "tree": {"levels": 2, **link},
        "dumbbell": {"pairs": 2, "access_rate": 1e4, "access_delay": 0.0078125, **link},
        "parking_lot": {"hops": 2, "access_rate": 1e4, "access_delay": 0.0078125, **link},
        "check_step": {"scenario": small, "duration": 0.0625},
        "choose_level": {"scenario": small, "duration": 0.0625},
        "compare": {"__call__": WithFields(dfcmodel.compare), "rules": [NewReno()], "bandwidth": 500.0, "rtt": 0.03125, "buffer": 20, "duration": 2.0,
                    "runs": 2, "loss": 0.0, "warm_up": None, "recovery": "sack", "discipline": None, "pacing": False},
        "compare (runs)": {"__call__": lambda a, b: dfcmodel.compare(a=a, b=b).summary(), "a": dfcmodel.simulate(small, **short),
                           "b": dfcmodel.simulate(steady, **short)},
        "default_refinements": {"scenario": small},
        "ensemble": {"__call__": WithFields(dfcmodel.ensemble), "scenario": steady, "runs": 2, **short, "packet_jitter": None, "method": None, "level": None},
        "worst_case": {"rule": NewReno(), "path": dfcmodel.JitteredPath(1000.0, 0.05, 50, 0.01, 0.5), "runs": 1},
        "conformance": {"rule": BBR(), "cases": ()},
        "evaluate_rfc9743": {"rule": NewReno(), "paths": ()},
        "evolve": {"equation": bar, "times": [0.0, 0.5], "method": Lines(cells=16)},
        "share_intervals": {"many": dfcmodel.ensemble(small, 2, options=dfcmodel.RunSettings(packet_jitter=2**-10, **short))},
        "explain": {"__call__": WithFields(dfcmodel.explain), "scenario": small, "measures": "losses", "runs": 2, "refinements": (), **short, **random_starts},
        "packet_limit": {"__call__": WithFields(dfcmodel.packet_limit), "scenario": steady, "measures": "losses", "factors": (1, 2, 4), "runs": 2, **short, "jitter": None, "seed": 0},
        "from_networkx": {"graph": nx.path_graph(3), **link},
        "links_from": {"sources": (1, 2), "targets": (2, 3), **link},
        "headroom": {"__call__": WithFields(dfcmodel.headroom), "rate": "400Gbps", "cable": "300m", "cell": 192, **of_port, "response": None, "response_measured": False,
                     "exceeded": 0.0, "merged": False, "resume_queued": False},
        "headroom_table": {"rates": ["100Gbps"], "cables": ["5m"]},
        "read_mahimahi": {"path": mahimahi, "link": "1->2"},
        "read_qlog_trace": {"source": BBR_QLOG, "packet_size": 1200.0},
        "write_qlog": {"trace": observe(BBR(), BBRPath(duration=0.5), seed=1), "file": folder / "out.qlog"},
        "load_scenario": {"path": file},
        "save_scenario": {"scenario": small, "path": folder / "out.toml"},
        "search_worst": {"link": port, "tries": 2},
        "shrink_packets": {"scenario": steady, "factor": 2.0},
        "simulate": {"scenario": small, **short},
        "simulate (packets)": {"__call__": dfcmodel.simulate, "scenario": steady, "method": dfcmodel.Packets(seed=1), **short},
        "spectrum": {"scenario": dfc},
        "stability_limit": {"scenario": dfc},
        "stability_map": {"diffusion": [0.25, 0.5], "hops": [1, 3]},
        "takano2006": {"name": "1"},
        "to_ns2": {"scenario": steady},
        "to_ns3": {"scenario": steady},
        "trace_packets": {"scenario": steady, **short},
        "witness": {"link": port},
        "buffer_cycles": {"graph": fabric},
        "class_per_hop": {"routes": two},
        "class_per_turn": {"graph": fabric, "routes": two},
        "deadlock": {"graph": fabric},
        "dragonfly": {"routers": 2, "global_links": 1},
        "fat_tree": {"ports": 2},
        "leaf_spine": {"leaves": 2, "spines": 2},
        "torus": {"sides": (3, 3)},
        "headroom_pool": {"headroom": [[10.0], [10.0]], "ports": 2, "classes": 1, "size": 15.0, "shared": 20.0,
                          "xoff": 5.0, "rate": "10Gbps"},
        "line_rate_scenario": {"routes": [lossless.Route((1, 2))]},
        "longest_blocking": {"pool": pool},
        "overflow": {"pool": pool, "traffic": lossless.PausedGroups(0.125)},
        "overflow (packets)": {"__call__": lossless.overflow, "pool": 20.0,
                               "traffic": lossless.PacketRuns(several, within=0.0625),
                               "method": lossless.Recombination(runs=100), "seed": 1},
        "audit_headroom": {"table": rows, "cell": 254},
        "identify": {"given": rows},
        "credits": {"__call__": WithFields(lossless.credits), "rate": "100Gbps", "cable": "5m", **of_port, "message": 72, "behind_frame": True, "update": 0.0,
                    "cut_through": False, "overhead": 20},
        "link_retry": {"rate": "100Gbps", "cable": "5m"},
        "chip": {"name": "tomahawk5"},
        "BufferRow": {"rate": 1e11, "cable": 5.0, "xoff": 44_032, "remarks": ("seen",)},
        "BufferTable": {"rows": tuple(rows)},
        "Watermark": {"rate": 1e11, "cable": 5.0, "peak": 44_032},
        "ErrorBursts": {"good": 0.0, "bad": 0.5, "begins": 0.125, "ends": 0.5},
        "PausedGroups": {"paused": 0.125},
        "Episodes": {"starts": 1.0, "held": 0.125, "within": 1.0},
        "PacketRuns": {"scenario": several, "within": 0.0625},
        "read_table": {"path": lookup},
        "recommend_watchdog": {**pauses, "within": "500 ms"},
        "simulate_watchdog": {"watchdog": dog, **pauses, "polls": 10, "seed": 1},
        "storm_spread": {"routes": [(1, 2, 3)], "rates": [10.0], "storm": [(2, 3)], "threshold": 5.0},
        "up_down": {"graph": fabric},
        "watch_packets": {"scenario": paused, "watchdog": dog, "storms": {"2->3": [(0.015625, 0.03125)]}, **short},
        "watchdog_risk": {"watchdog": dog, **pauses},
        "with_hosts": {"graph": fabric},
        "worst_demand": {"pool": pool},
        "Watchdog": {"polling": "10 ms", "detection": "100 ms", "restoration": "200 ms"},
        "Route": {"nodes": (1, 2)},
    }  # fmt: skip


def _others() -> dict[str, dict[str, Any]]:
    return {
        "ms": {"time": 40.0},
        "us": {"time": 40.0},
        "gbps": {"rate": 1.5},
        "mbps": {"rate": 1.5},
        "to_mbps": {"rate": 100.0},
        "load": {"case": "zheng2002/periodic-loss"},
        "provenance": {"case": "zheng2002/periodic-loss"},
        "table": {"case": "zheng2002/periodic-loss"},
        "rejudge": {"claim": "M14", "thresholds": {"level": 1e-6}},
    }


FREE = {
    "Link": ("source", "target"),
    "Flow": ("name", "path", "after"),
    "read_qlog": ("skip",),
    "read_qlog_trace": ("skip",),
    "Scenario": ("name",),
    "Refinement": ("name", "on", "off"),
    "Route": ("nodes", "classes"),
    "SemiMarkov": ("jumps",),
    "MarkovChain": ("states",),
    "DiscreteChain": ("states",),
    "explore": ("params", "start"),
    "ObservedPath": ("states",),
    "Panel": ("states",),
    "links_from": ("sources", "targets"),
}
"""Parameters that name something, or belong to the user: numbers in them mean nothing to hopflow."""

OF_A_RULE = {
    "maximum", "minimum", "where", "add_at", "Mean",
    "grow_window", "limited_transmit", "reduce_window", "restart_timer", "retransmit",
    "send_new", "set_alarm",
}  # fmt: skip
"""Functions for rules and recoveries, which take what these have: numbers, arrays, tracers, senders."""


@cache
def targets() -> tuple[Target, ...]:
    """Return all targets, with one set of valid arguments each."""
    given = {**_others(), **_markov(), **_responsefn(), **_dfcmodel()}
    found = []
    for package in PACKAGES:
        for name in package.__all__:
            known = MADE_BY_THE_LIBRARY | WITHOUT_ARGUMENTS | OF_A_RULE
            if name in known or any(each.name == name and each.call is getattr(package, name) for each in found):
                continue
            own = given.get(name, {})
            if "__call__" in own:
                continue
            if getattr(package, name) is markov.from_networkx:
                own = _markov()["from_networkx"]
            found.append(Target(name, getattr(package, name), own, FREE.get(name, ())))
    for name, own in given.items():
        if "__call__" in own:
            found.append(Target(name, own["__call__"], {k: v for k, v in own.items() if k != "__call__"}))
        elif "." in name:
            kind, _, method = name.partition(" ")[0].partition(".")
            home = next(p for p in PACKAGES if kind in p.__all__)
            bound = getattr(own.get("self", getattr(home, kind)), method)
            found.append(Target(name, bound, {k: v for k, v in own.items() if k != "self"}))
    return tuple(found)
