"""The chain of takano2006 (Fig. 5) without diffusion-type flow control, by ns-2: the cases of ``fifo_chain.toml``.

Every scenario of Tables 1-4 (1 to 6, 4S, 4L, 4R, 4N, 4V, 4V') with one FIFO queue per node, several
runs each. The runs differ in the random time below ``overhead_`` that an agent waits before a
packet, because starts jittered by as little give no spread at 370 Mb/s: one case compares the two.
Another follows windows and queues by the millisecond where nothing is random.

Scenarios 1 to 6 also with starts spread over a millisecond. Their own cases start every run at the
same instants; whether packets that are sent again meet the other flow's overshoot is a matter of
less than a round trip, and that phase is what varies there. These runs have a case with Tahoe, and
one with Reno and NewReno in its place (at 12.3 Gb/s these are the paper's 4R and 4N).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from validation.generate.case_tables import About, Driver, columns, crossed, load, tables_of
from validation.generate.cases import Calls, Case, Rows, Run, Table
from validation.generate.outputs import lines
from validation.generate.programs import Ns2, pairs

PROGRAM = Ns2("chain.tcl")

DELAY = 1e-4
BACKGROUND_START = 0.1
PACKET_BITS = 8 * 1500
STEP = 5e-3
BIN = 1e-2
PEAK = 1e-4
# Figs. 12 and 13 name five instants that the text does not repeat: before the background flow
# starts, every 5 ms while node 15 fills up and loses packets, and while it drains.
INSTANTS = (
    *(0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.105, 0.11, 0.115, 0.12, 0.125, 0.13, 0.135, 0.14),
    *(0.145, 0.15, 0.155, 0.16, 0.17, 0.18, 0.19, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0),
    *(2.5, 3.0),
)
FLOWS = ("target", "background")
FLOW_ID = {"1": "target", "2": "background"}
AGENTS = {
    "tahoe": "Agent/TCP",
    "reno": "Agent/TCP/Reno",
    "newreno": "Agent/TCP/Newreno",
    "vegas": "Agent/TCP/Vegas",
}
OPTIONS = (
    *("agent", "bandwidth", "delay", "nodes", "cross", "buffer", "window", "duration", "sample"),
    *("peak", "jitter", "overhead", "vegas", "seed"),
)
"""Of chain.tcl, in the order of the recorded commands."""
TABLES = load(__file__)
RANDOM = 20e-6


@dataclass(frozen=True)
class Scenario:
    """One scenario of the paper; the link rate in bit/s, the window and the buffer in packets."""

    link_rate: float
    window: int
    agent: str = "tahoe"
    nodes: int = 30
    cross: int = 15
    buffer: int = 1800
    duration: float = 3.0
    jitter: float = 0.0
    overhead: float = RANDOM
    vegas: int = 1
    bin: float = BIN

    @property
    def links(self) -> dict[str, int]:
        """Links on the path of each flow."""
        return {"target": self.nodes - 1, "background": self.nodes - self.cross}

    @property
    def entries(self) -> tuple[tuple[int, str], ...]:
        """Nodes where a queue can form, with the flows there."""
        return ((1, "target"), (self.cross, "target"), (self.cross, "background"))

    @property
    def step(self) -> float:
        """Time between two samples in s."""
        return min(STEP, self.bin)

    @property
    def instants(self) -> tuple[float, ...]:
        """Times of the occupancies in s."""
        return tuple(time for time in INSTANTS if time <= self.duration)


SCENARIOS = {name: Scenario(**chosen) for name, chosen in TABLES["scenarios"].items()}
STUDIES = {about["name"]: about for about in TABLES["cases"]}
FACTORS = columns(TABLES["factors"])


def scenario_of(run: Run) -> Scenario:
    """Return the scenario of a run: that of its case, with what the case and the run change."""
    study = STUDIES[run["case"]]
    chosen = {name: value for name, value in run.items() if name not in {"case", "seed"}}
    return replace(SCENARIOS[study["scenario"]], **study.get("changes", {}), **chosen)


def calls(run: Run) -> Calls:
    """Return the options of ``chain.tcl``."""
    scenario = scenario_of(run)
    same = ("nodes", "cross", "buffer", "window", "duration", "jitter", "overhead", "vegas")
    given: dict[str, Any] = {name: getattr(scenario, name) for name in same}
    given |= {"agent": AGENTS[scenario.agent], "bandwidth": scenario.link_rate, "delay": DELAY}
    given |= {"sample": scenario.step, "peak": PEAK, "seed": run["seed"]}
    return [pairs({name: given[name] for name in OPTIONS})]


@dataclass(frozen=True)
class Output:
    """What one run left, a table for each method.

    Attributes
    ----------
    samples
        The numbers of each line of samples.txt, after those at 0 s.
    drops
        Time, node and flow of each.
    """

    scenario: Scenario
    folder: Path
    samples: Sequence[Sequence[float]]
    drops: Sequence[tuple[float, int, str]]

    @classmethod
    def of(cls, scenario: Scenario, folder: Path) -> Output:
        """Read the files of a run; drops must be where a queue can form."""
        samples = [[float(word) for word in words] for words in lines(folder, "samples.txt")]
        drops = [(float(words[1]), int(words[2]) + 1, FLOW_ID[words[7]]) for words in lines(folder, "drops.txt")]
        if elsewhere := {each[1:] for each in drops} - set(scenario.entries):
            raise RuntimeError(f"losses elsewhere: {elsewhere}")
        return cls(scenario, folder, [[0.0] * (6 + scenario.nodes), *samples], drops)

    def time(self, k: int) -> float:
        """Return the time of a sample, s."""
        return round(k * self.scenario.step, 9)

    def queued(self, k: int, node: int) -> int:
        """Return the packets that wait in a node at a sample."""
        return round(self.samples[k][6 + node])

    def sent(self, flow: str, since: int, until: int, seconds: float) -> dict[str, Any]:
        """Return the packets of a flow that any link began to send between two samples, and the efficiency."""
        column = 1 + FLOWS.index(flow)
        packets = round(self.samples[until][column] - self.samples[since][column])
        most = self.scenario.links[flow] * seconds * self.scenario.link_rate / PACKET_BITS
        return {"link_packets": packets, "efficiency": round(packets / most, 7)}

    def efficiency(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the intervals of both flows."""
        stride = round(self.scenario.bin / self.scenario.step)
        for k in range(stride, len(self.samples), stride):
            for flow in FLOWS:
                sent = self.sent(flow, k - stride, k, self.scenario.bin)
                yield {"time": self.time(k), "flow": flow, **sent}

    def occupancy(self) -> Iterator[dict[str, Any]]:
        """Yield the queues of all nodes at the instants of the figures."""
        for time in self.scenario.instants:
            for node in range(1, self.scenario.nodes):
                queued = self.queued(round(time / self.scenario.step), node)
                yield {"time": time, "node": node, "queued": queued}

    def queues(self) -> Iterator[dict[str, Any]]:
        """Yield the queues of the nodes where flows enter, at all samples."""
        for k in range(len(self.samples)):
            for node in (1, self.scenario.cross):
                yield {"time": self.time(k), "node": node, "queued": self.queued(k, node)}

    def windows(self) -> Iterator[dict[str, Any]]:
        """Yield the windows and thresholds of both flows."""
        for k, sample in enumerate(self.samples[1:], 1):
            for flow, window, threshold in zip(FLOWS, sample[3:7:2], sample[4:7:2], strict=True):
                about = {"time": self.time(k), "flow": flow}
                yield {**about, "window": round(window, 2), "threshold": round(threshold)}

    def losses(self) -> Iterator[dict[str, Any]]:
        """Yield the drops of the intervals, where flows enter."""
        binned = Counter((int(time / BIN), node, flow) for time, node, flow in self.drops)
        for k in range(round(self.scenario.duration / BIN)):
            for node, flow in self.scenario.entries:
                about = {"time": round((k + 1) * BIN, 9), "node": node, "flow": flow}
                yield {**about, "dropped": binned[k, node, flow]}

    def nodes(self) -> Iterator[dict[str, Any]]:
        """Yield the totals of the nodes; packets must be accounted for."""
        for words in lines(self.folder, "nodes.txt"):
            node, arrivals, departures, dropped, most = map(int, words)
            here = [(time, flow) for time, where, flow in self.drops if where == node]
            left = self.queued(-1, node)
            # Samples are taken a nanosecond before the counters.
            if len(here) != dropped or abs(arrivals - departures - dropped - left) > 2:
                msg = f"node {node}: {arrivals} in, {departures} out, {dropped} lost, {left} stored"
                raise RuntimeError(msg)
            yield {
                "node": node,
                "arrivals": arrivals,
                "departures": departures,
                **{f"{name}_drops": sum(flow == name for _, flow in here) for name in FLOWS},
                "queued": left,
                "first_drop": here[0][0] if here else None,
                "last_drop": here[-1][0] if here else None,
                "peak_queued": most,
            }

    def flows(self) -> Iterator[dict[str, Any]]:
        """Yield the totals of both flows."""
        since = round(BACKGROUND_START / self.scenario.step)
        seconds = self.scenario.duration - BACKGROUND_START
        for flow, start, *counted in lines(self.folder, "flows.txt"):
            sent, resent, timeouts, cuts, ack = map(int, counted)
            found = self.sent(flow, since, -1, seconds)
            yield {
                "flow": flow,
                "start": float(start),
                "sent": sent,
                "resent": resent,
                "timeouts": timeouts,
                "cuts": cuts,
                "delivered": ack + 1,
                "dropped": sum(where == flow for _, _, where in self.drops),
                "link_packets": found["link_packets"],
                "mean_efficiency": found["efficiency"],
            }


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the rows of one run."""
    study = STUDIES[run["case"]]
    label = {name: run[name] for name in (*study.get("factors", ()), "seed")}
    found = Output.of(scenario_of(run), folder)
    return {name: [label | row for row in getattr(found, name)()] for name in study["tables"]}


def duration(run: Run) -> float:
    """Give the simulated time of a run, in s."""
    return scenario_of(run).duration


DRIVER = Driver("takano2006", PROGRAM, calls, read, duration, TABLES, TABLES["texts"])


def tables(about: About, scenario: Scenario) -> dict[str, Table]:
    """Tables of a case."""
    factors = about.get("factors", ())
    index = {**{name: FACTORS[name] for name in factors}, **columns(TABLES["columns"])}
    found = tables_of(
        {name: TABLES["tables"][name] for name in about["tables"]},
        index,
        **vars(scenario),
        **scenario.links,
        milliseconds=1e3 * scenario.step,
        full="limit_ - 1" if "buffer" in factors else scenario.buffer - 1,
    )
    return {name: found[name] for name in about["tables"]}


def parameters(scenario: Scenario, varied: Collection[str]) -> dict[str, tuple[float | str, str]]:
    """List the constant parameters of the runs; those of ns-2's defaults are in ``fifo_chain.toml``."""
    lowest, most = scenario.vegas, scenario.buffer
    given: dict[str, tuple[str, float | str, str]] = {
        "agent": ("agent", AGENTS[scenario.agent], ""),
        "link_rate": ("link rate", scenario.link_rate, "bit/s"),
        "window": ("window_", scenario.window, "packets"),
        "jitter": ("jitter", scenario.jitter, f"s ({FACTORS['jitter'].meaning})"),
        "overhead": ("overhead_", scenario.overhead, f"s ({FACTORS['overhead'].meaning})"),
        "buffer": ("limit_", most, f"packets (drops what finds {most - 1} waiting)"),
        "vegas": (
            "v_alpha_, v_beta_, v_gamma_",
            f"{lowest}, {3 * lowest}, {lowest}",
            "packets (Vegas only)",
        ),
        "nodes": ("nodes", scenario.nodes, "1"),
        "cross": ("background enters at node", scenario.cross, "1"),
        "duration": ("duration", scenario.duration, "s"),
    }
    return {name: (value, unit) for key, (name, value, unit) in given.items() if key not in varied}


def a_case(about: About) -> Case:
    """Return a case of ``fifo_chain.toml``."""
    runs = [{"case": about["name"], **chosen} for chosen in crossed(about.get("runs", [{}]), about.get("seeds", ()))]
    scenario = replace(SCENARIOS[about["scenario"]], **about.get("changes", {}))
    given = parameters(scenario, runs[0])
    return DRIVER.case({**about, "parameters": given}, runs, tables(about, scenario))


CASES = [a_case(about) for about in TABLES["cases"]]
