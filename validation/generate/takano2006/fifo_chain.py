"""The chain of takano2006 (Fig. 5) without diffusion-type flow control, by ns-2.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
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
# Vegas takes a random delay of the hosts for congestion: 1 microsecond, about one packet time.
QUIET = 1e-6
FINE = 1e-3
RANDOM = 20e-6


@dataclass(frozen=True)
class Scenario:
    """One scenario of the paper; the link rate in bit/s, the window and the buffer in packets."""

    title: str
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


SCENARIOS = {
    "1": Scenario("scenario 1: 370 Mb/s, Tahoe", 370e6, 5000),
    "2": Scenario("scenario 2: 1.23 Gb/s, Tahoe", 1230e6, 5000),
    "3": Scenario("scenario 3: 3.7 Gb/s, Tahoe", 3700e6, 5000),
    "4": Scenario("scenario 4: 12.3 Gb/s, Tahoe", 12300e6, 10000),
    "4s": Scenario("scenario 4S: 16 nodes, 12.3 Gb/s, Tahoe", 12300e6, 10000, nodes=16, cross=8),
    "4l": Scenario("scenario 4L: 60 nodes, 12.3 Gb/s, Tahoe", 12300e6, 20000, nodes=60, cross=30),
    "4r": Scenario("scenario 4R: 12.3 Gb/s, Reno", 12300e6, 10000, "reno"),
    "4n": Scenario("scenario 4N: 12.3 Gb/s, NewReno", 12300e6, 10000, "newreno"),
    "4v": Scenario(
        "scenario 4V: 12.3 Gb/s, Vegas", 12300e6, 10000, "vegas", overhead=QUIET, bin=FINE
    ),
    "4v-small-buffer": Scenario(
        "scenario 4V': 12.3 Gb/s, Vegas, buffers of 400 packets",
        *(12300e6, 10000, "vegas"),
        buffer=400,
        overhead=QUIET,
        bin=FINE,
    ),
    "5": Scenario("scenario 5: 37 Gb/s, Tahoe", 37000e6, 20000),
    "6": Scenario("scenario 6: 123 Gb/s, Tahoe", 123000e6, 100000, duration=1.5),
}
FACTORS = {
    "link_rate": Column("bit/s", "rate of every link"),
    "agent": Column("", "TCP of both flows"),
    "jitter": Column("s", "starts are later by a uniform time below this"),
    "overhead": Column("s", "the agents wait a uniform random time below this before a packet"),
    "vegas": Column("1", "Vegas' thresholds alpha, beta and gamma over ns-2's 1, 3, 1 packets"),
    "buffer": Column("packets", "limit_ of the queues (drops what finds one less waiting)"),
}


@dataclass(frozen=True)
class Study:
    """A case: runs of variations of one scenario, the varied factors, and the tables kept."""

    case: str
    title: str
    claims: tuple[str, ...]
    scenario: Scenario
    settings: tuple[Mapping[str, float | str], ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def factors(self) -> tuple[str, ...]:
        """Columns that, with the seed, identify a run."""
        return tuple(name for name in FACTORS if name in self.settings[0])

    def of(self, run: Run) -> Scenario:
        """Scenario of one run."""
        chosen = {name: value for name, value in run.items() if name not in {"case", "seed"}}
        return replace(self.scenario, **chosen)


def ensemble(name: str, claims: tuple[str, ...], runs: int, *notes: str) -> Study:
    """Several runs of one scenario that differ in the agents' random delays."""
    return Study(
        f"scenario-{name}-without-dfc",
        f"{SCENARIOS[name].title}, without DFC, {runs} runs",
        claims,
        SCENARIOS[name],
        tuple({"seed": seed} for seed in range(1, runs + 1)),
        ("efficiency", "occupancy", "losses", "nodes", "flows"),
        (
            (
                "The spread comes from overhead_ alone. It groups packets: whatever the window "
                "allows when the random time is over leaves in one burst, 20 packet times at "
                "12.3 Gb/s."
            ),
            *notes,
        ),
    )


VEGAS_NOTE = (
    "Vegas takes a random delay of 20 microseconds for congestion and leaves slow start at half "
    "the window (half the throughput after 3 s), therefore overhead_ is 1 microsecond here."
)

STUDIES = {
    study.case: study
    for study in (
        ensemble("1", ("D04",), 16),
        ensemble("2", ("D05",), 16),
        ensemble("3", ("D06",), 16),
        ensemble("4", ("D07", "D10"), 8),
        ensemble("4s", ("D12",), 8),
        ensemble("4l", ("D13",), 8),
        ensemble("4r", ("D14",), 8),
        ensemble("4n", ("D15",), 8),
        ensemble("4v", ("D16",), 8, VEGAS_NOTE),
        ensemble("4v-small-buffer", ("D17",), 8, VEGAS_NOTE),
        ensemble("5", ("D08",), 3),
        ensemble("6", ("D09",), 3),
        Study(
            "randomness-without-dfc",
            "scenario 1 without DFC: Tahoe, Reno and NewReno with nothing random, with jittered "
            "starts, and with random times before packets",
            ("D04",),
            SCENARIOS["1"],
            tuple(
                {"agent": agent, "jitter": jitter, "overhead": overhead, "seed": seed}
                for agent in ("tahoe", "reno", "newreno")
                for jitter, overhead, seeds in (
                    (0.0, 0.0, (0,)),
                    (RANDOM, 0.0, range(1, 17)),
                    (0.0, RANDOM, range(1, 17)),
                )
                for seed in seeds
            ),
            ("efficiency", "nodes", "flows"),
            (
                "With nothing random a run has no seed (0) and repeats exactly.",
                (
                    "Tahoe with random times before packets repeats the runs of "
                    "scenario-1-without-dfc: here it stands beside the other agents."
                ),
            ),
        ),
        Study(
            "vegas-thresholds-without-dfc",
            "scenarios 4V and 4V' without DFC: the packets in queues that Vegas tolerates",
            ("D16", "D17"),
            replace(SCENARIOS["4v"], duration=1.0, bin=BIN),
            tuple(
                {"vegas": vegas, "buffer": buffer, "seed": seed}
                for vegas in (1, 3, 10, 30, 100, 300)
                for buffer in (1800, 400)
                for seed in range(1, 6)
            ),
            ("efficiency", "nodes", "flows"),
            (
                VEGAS_NOTE,
                (
                    "The paper does not give Vegas' thresholds. With ns-2's defaults (vegas = 1) no "
                    "queue passes 170 packets, so that 400 are as good as 1800; only above 10 times "
                    "these does the end of slow start overflow 400 packets."
                ),
            ),
        ),
        Study(
            "traces-without-dfc",
            "scenarios 1 and 4 without DFC by the millisecond: windows, efficiencies and queues of "
            "four agents, nothing random",
            ("D04", "D07", "D10", "D14", "D15", "D16"),
            replace(SCENARIOS["1"], overhead=0.0, bin=FINE),
            tuple(
                {
                    "link_rate": SCENARIOS[name].link_rate,
                    "agent": agent,
                    "window": SCENARIOS[name].window,
                    "seed": 0,
                }
                for name in ("1", "4")
                for agent in AGENTS
            ),
            ("efficiency", "windows", "queues", "losses", "nodes", "flows"),
            (
                (
                    "Deterministic, therefore one run each (seed 0); randomness-without-dfc and "
                    "the scenarios' own cases show how far runs spread."
                ),
                "window_ is 5000 packets at 370 Mb/s and 10000 at 12.3 Gb/s.",
            ),
        ),
    )
}


def calls(run: Run) -> Calls:
    """Return the options of ``chain.tcl``."""
    scenario = STUDIES[run["case"]].of(run)
    options = {
        "agent": AGENTS[scenario.agent],
        "bandwidth": scenario.link_rate,
        "delay": DELAY,
        "nodes": scenario.nodes,
        "cross": scenario.cross,
        "buffer": scenario.buffer,
        "window": scenario.window,
        "duration": scenario.duration,
        "sample": scenario.step,
        "peak": PEAK,
        "jitter": scenario.jitter,
        "overhead": scenario.overhead,
        "vegas": scenario.vegas,
        "seed": run["seed"],
    }
    return [pairs(options)]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Sum up the counters of one run."""
    study = STUDIES[run["case"]]
    scenario = study.of(run)
    label = {name: run[name] for name in (*study.factors, "seed")}
    column = {"target": 1, "background": 2}

    def efficiency(packets: int, flow: str, seconds: float) -> float:
        most = scenario.links[flow] * seconds * scenario.link_rate / PACKET_BITS
        return round(packets / most, 7)

    samples = [[0.0] * (6 + scenario.nodes)]
    samples += [[float(word) for word in words] for words in lines(folder, "samples.txt")]
    stride = round(scenario.bin / scenario.step)
    efficiencies: Rows = []
    for k in range(stride, len(samples), stride):
        for flow in FLOWS:
            packets = round(samples[k][column[flow]] - samples[k - stride][column[flow]])
            value = efficiency(packets, flow, scenario.bin)
            time = round(k * scenario.step, 9)
            row = {"time": time, "flow": flow, "link_packets": packets, "efficiency": value}
            efficiencies.append(label | row)

    def queued(k: int, node: int) -> int:
        return round(samples[k][6 + node])

    occupancy = [
        label | {"time": time, "node": node, "queued": queued(round(time / scenario.step), node)}
        for time in scenario.instants
        for node in range(1, scenario.nodes)
    ]
    queues = [
        label | {"time": round(k * scenario.step, 9), "node": node, "queued": queued(k, node)}
        for k in range(len(samples))
        for node in (1, scenario.cross)
    ]
    windows = [
        label
        | {
            "time": round(k * scenario.step, 9),
            "flow": flow,
            "window": round(samples[k][3 + 2 * n], 2),
            "threshold": round(samples[k][4 + 2 * n]),
        }
        for k in range(1, len(samples))
        for n, flow in enumerate(FLOWS)
    ]

    drops = [
        (float(words[1]), int(words[2]) + 1, FLOW_ID[words[7]])
        for words in lines(folder, "drops.txt")
    ]
    binned = Counter((int(time / BIN), node, flow) for time, node, flow in drops)
    losses = [
        label
        | {
            "time": round((k + 1) * BIN, 9),
            "node": node,
            "flow": flow,
            "dropped": binned.pop((k, node, flow), 0),
        }
        for k in range(round(scenario.duration / BIN))
        for node, flow in scenario.entries
    ]
    if binned:
        msg = f"losses elsewhere: {binned}"
        raise RuntimeError(msg)

    nodes: Rows = []
    for words in lines(folder, "nodes.txt"):
        node, arrivals, departures, dropped, most = map(int, words)
        here = [(time, flow) for time, where, flow in drops if where == node]
        left = queued(-1, node)
        # Samples are taken a nanosecond before the counters.
        if len(here) != dropped or abs(arrivals - departures - dropped - left) > 2:
            msg = f"node {node}: {arrivals} in, {departures} out, {dropped} lost, {left} stored"
            raise RuntimeError(msg)
        nodes.append(
            label
            | {
                "node": node,
                "arrivals": arrivals,
                "departures": departures,
                "target_drops": sum(flow == "target" for _, flow in here),
                "background_drops": sum(flow == "background" for _, flow in here),
                "queued": left,
                "first_drop": here[0][0] if here else None,
                "last_drop": here[-1][0] if here else None,
                "peak_queued": most,
            }
        )

    since = round(BACKGROUND_START / scenario.step)
    flows: Rows = []
    for words in lines(folder, "flows.txt"):
        flow, start = words[0], float(words[1])
        sent, resent, timeouts, cuts, ack = map(int, words[2:])
        packets = round(samples[-1][column[flow]] - samples[since][column[flow]])
        seconds = scenario.duration - BACKGROUND_START
        flows.append(
            label
            | {
                "flow": flow,
                "start": start,
                "sent": sent,
                "resent": resent,
                "timeouts": timeouts,
                "cuts": cuts,
                "delivered": ack + 1,
                "dropped": sum(where == flow for _, _, where in drops),
                "link_packets": packets,
                "mean_efficiency": efficiency(packets, flow, seconds),
            }
        )
    found = {
        "efficiency": efficiencies,
        "occupancy": occupancy,
        "queues": queues,
        "windows": windows,
        "losses": losses,
        "nodes": nodes,
        "flows": flows,
    }
    return {name: found[name] for name in study.kept}


def tables(study: Study) -> dict[str, Table]:
    """Tables of a case."""
    scenario = study.scenario
    index = {name: FACTORS[name] for name in study.factors}
    index["seed"] = Column("1", "substream of the random number stream")
    time = Column("s", "simulated time")
    node = Column("1", "node, from 1; its queue is the one of the link to the next node")
    last, cross = scenario.nodes, scenario.cross
    flow = Column("", f"target (node 1 to {last}) or background (node {cross} to {last})")
    links = scenario.links
    width = f"{scenario.bin:g} s"
    full = "limit_ - 1" if "buffer" in study.factors else scenario.buffer - 1
    queued = "packets waiting, without the one being sent"
    found = {
        "efficiency": Table(
            index | {"time": Column("s", f"end of an interval of {width}"), "flow": flow},
            {
                "link_packets": Column(
                    "packets",
                    "packets of the flow that any link of its path began to send in the "
                    "interval, summed over the links",
                ),
                "efficiency": Column(
                    "1",
                    f"link_packets / (links x {width} x rate), links = {links['target']} for the "
                    f"target and {links['background']} for the background flow: the mean number "
                    "of the flow's propagating packets over the most that fit on its links",
                ),
            },
        ),
        "occupancy": Table(
            index | {"time": time, "node": node}, {"queued": Column("packets", queued)}
        ),
        "queues": Table(
            index
            | {
                "time": time,
                "node": Column("1", "node where a flow enters; elsewhere no queue can form"),
            },
            {"queued": Column("packets", queued)},
        ),
        "windows": Table(
            index | {"time": time, "flow": flow},
            {
                "window": Column("packets", "congestion window"),
                "threshold": Column("packets", "slow start threshold"),
            },
        ),
        "losses": Table(
            index
            | {
                "time": Column("s", "end of an interval of 0.01 s"),
                "node": Column("1", "node where a flow enters; nowhere else was anything dropped"),
                "flow": flow,
            },
            {"dropped": Column("packets", "packets of the flow dropped there in the interval")},
        ),
        "nodes": Table(
            index | {"node": node},
            {
                "arrivals": Column(
                    "packets", "packets that reached the queue, dropped ones included"
                ),
                "departures": Column("packets", "packets that the link began to send"),
                "target_drops": Column("packets", "packets of the target flow dropped"),
                "background_drops": Column("packets", "packets of the background flow dropped"),
                "queued": Column(
                    "packets",
                    f"{queued}, at the end; arrivals = departures + drops + queued, except for what "
                    "happens in the last nanosecond",
                ),
                "first_drop": Column("s", "time of the first drop; empty without drops"),
                "last_drop": Column("s", "time of the last drop"),
                "peak_queued": Column(
                    "packets",
                    f"most packets seen waiting: looked at every {1e3 * scenario.step:g} ms, at the "
                    f"two nodes where flows enter every 0.1 ms; {full} where packets "
                    "were dropped (ns-2's queue drops what finds one less than its limit waiting)",
                ),
            },
        ),
        "flows": Table(
            index | {"flow": flow},
            {
                "start": Column("s", "start of the flow"),
                "sent": Column("packets", "data packets sent, also those sent again"),
                "resent": Column("packets", "of these, sent again"),
                "timeouts": Column("events", "retransmission timeouts"),
                "cuts": Column("events", "window reductions, also by timeouts"),
                "delivered": Column(
                    "packets", "packets acknowledged at the end, the first one included"
                ),
                "dropped": Column("packets", "packets dropped at all nodes"),
                "link_packets": Column("packets", "as in the efficiencies, from 0.1 s to the end"),
                "mean_efficiency": Column("1", "mean of the efficiency from 0.1 s to the end"),
            },
        ),
    }
    return {name: found[name] for name in study.kept}


def parameters(study: Study) -> dict[str, tuple[float | str, str]]:
    """List the constant parameters of the runs, including ns-2's defaults."""
    scenario = study.scenario
    varied: dict[str, tuple[float | str, str]] = {
        "agent": (AGENTS[scenario.agent], ""),
        "link_rate": (scenario.link_rate, "bit/s"),
        "window": (scenario.window, "packets"),
        "jitter": (scenario.jitter, "s (starts are later by a uniform time below this)"),
        "overhead": (
            scenario.overhead,
            "s (the agents wait a uniform random time below this before a packet)",
        ),
    }
    varied["buffer"] = (
        scenario.buffer,
        f"packets (drops what finds {scenario.buffer - 1} waiting)",
    )
    varied["vegas"] = (
        f"{scenario.vegas}, {3 * scenario.vegas}, {scenario.vegas}",
        "packets (Vegas only)",
    )
    names = {
        "link_rate": "link rate",
        "window": "window_",
        "overhead": "overhead_",
        "buffer": "limit_",
        "vegas": "v_alpha_, v_beta_, v_gamma_",
    }
    return {
        names.get(name, name): value
        for name, value in varied.items()
        if name not in study.settings[0]
    } | {
        "sink": ("Agent/TCPSink", "one acknowledgement of 40 bytes per packet"),
        "nodes": (scenario.nodes, "1"),
        "background enters at node": (scenario.cross, "1"),
        "link delay": (DELAY, "s"),
        "queue": ("DropTail, shared by the flows", ""),
        "packetSize_": (1460, "bytes (plus 40 of header; the first packet of a flow has 40)"),
        "start of target, background": ("0, 0.1", "s"),
        "duration": (scenario.duration, "s"),
        "ttl_": (64, "hops (the default of 32 would end the target's packets in scenario 4L)"),
        "tcpTick_ (default)": (0.01, "s"),
        "minrto_ (default)": (0.2, "s"),
        "rtxcur_init_ (default)": (3.0, "s"),
        "maxburst_ (default)": (0, "1 (bursts are not limited)"),
        "windowInit_ (default)": (2, "packets"),
        "singledup_ (default)": (1, "1 (limited transmit)"),
        "newreno_changes_, newreno_changes1_ (default)": ("0, 1", "(NewReno only)"),
    }


NOTES = (
    "Host reading 'direct': agents sit at the nodes, a window goes straight into the queue.",
    "The first packet of a flow has 40 bytes; its acknowledgement opens the window.",
    (
        "The instants of Figs. 12 and 13 are not in the paper's text: those here cover the time "
        "before the background flow, its first losses every 5 ms, and the draining of node 15."
    ),
    "The paper names neither ns-2's version nor its agents' settings: Debian's defaults.",
)


def duration(run: Run) -> float:
    """Give the simulated time of a run, in s."""
    return STUDIES[run["case"]].scenario.duration


CASES = [
    Case(
        name=f"takano2006/{study.case}",
        title=study.title,
        claims=study.claims,
        program=PROGRAM,
        parameters=parameters(study),
        tables=tables(study),
        runs=[{"case": study.case, **setting} for setting in study.settings],
        calls=calls,
        read=read,
        simulated_seconds=duration,
        notes=(*NOTES, *study.notes),
    )
    for study in STUDIES.values()
]


SPREAD = 1e-3
"""Of the starts, in s."""
STARTS = {"1": 16, "2": 16, "3": 16, "4": 8, "5": 8, "6": 8}
RECOVERY = {"1": 8, "2": 8, "3": 8, "5": 3, "6": 4}
"""Runs of each scenario with spread starts: with Tahoe, and with each of Reno and NewReno."""
TABLES = ("efficiency", "nodes", "flows")


def _with_starts(name: str, runs: int) -> Case:
    """Return the case of a scenario whose starts are spread."""
    base = next(c for c in CASES if c.name == f"takano2006/scenario-{name}-without-dfc")
    start = (SPREAD, "s (starts are later by a uniform time below this)")
    return replace(
        base,
        name=f"takano2006/scenario-{name}-starts-without-dfc",
        title=f"{SCENARIOS[name].title}, without DFC, starts spread over 1 ms, {runs} runs",
        parameters={**base.parameters, "jitter": start},
        tables={table: base.tables[table] for table in TABLES},
        runs=[{**base.runs[0], "jitter": SPREAD, "seed": seed} for seed in range(1, runs + 1)],
        notes=(*NOTES, "The spread comes from the starts and from overhead_ together."),
    )


def read_agent(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:
    """Sum up the counters of one run; the agent is in every row."""
    label = {"agent": run["agent"]}
    found = read(run, folder, printed)
    return {name: [label | row for row in rows] for name, rows in found.items()}


def _with_recovery(base: Case, name: str, runs: int) -> Case:
    """Return the case of a scenario whose starts are spread, with Reno and NewReno."""
    title = SCENARIOS[name].title.removesuffix(", Tahoe")
    agent = {"agent": FACTORS["agent"]}
    return replace(
        base,
        name=f"takano2006/scenario-{name}-recovery-without-dfc",
        title=f"{title}, Reno and NewReno, without DFC, starts spread over 1 ms, {runs} runs each",
        parameters={what: value for what, value in base.parameters.items() if what != "agent"},
        tables={
            table: replace(columns, index={**agent, **columns.index})
            for table, columns in base.tables.items()
        },
        runs=[
            {**base.runs[0], "agent": agent, "seed": seed}
            for agent in ("reno", "newreno")
            for seed in range(1, runs + 1)
        ],
        read=read_agent,
    )


_SPREAD = {name: _with_starts(name, runs) for name, runs in STARTS.items()}
CASES += _SPREAD.values()
CASES += [_with_recovery(_SPREAD[name], name, runs) for name, runs in RECOVERY.items()]
