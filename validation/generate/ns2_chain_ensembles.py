"""Ensembles of takano2006's scenarios without diffusion-type flow control, by ns-2.

Every scenario of Tables 1-4 (1 to 6, 4S, 4L, 4R, 4N, 4V, 4V') with one FIFO queue per node, several
runs each. The runs differ in the random time below ``overhead_`` that an agent waits before a
packet, because starts jittered by as little give no spread at 370 Mb/s.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from validation.generate import ns2_tool
from validation.generate.cases import Case, Column, Rows, Run, Table

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


@dataclass(frozen=True)
class Scenario:
    """One scenario of the paper; rates in bit/s, the window and the buffer in packets."""

    name: str
    title: str
    claims: tuple[str, ...]
    agent: str
    bandwidth: float
    window: int
    runs: int
    nodes: int = 30
    cross: int = 15
    buffer: int = 1800
    duration: float = 3.0
    overhead: float = 20e-6
    bin: float = BIN

    @property
    def case(self) -> str:
        """Name of its case."""
        return f"scenario-{self.name}-without-dfc"

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


TAHOE = "Agent/TCP"
RENO = "Agent/TCP/Reno"
NEWRENO = "Agent/TCP/Newreno"
VEGAS = "Agent/TCP/Vegas"
# Vegas takes a random delay of the hosts for congestion: 1 microsecond, about one packet time.
QUIET = 1e-6
FINE = 1e-3

SCENARIOS = {
    scenario.case: scenario
    for scenario in (
        Scenario("1", "scenario 1: 370 Mb/s, Tahoe", ("D04",), TAHOE, 370e6, 5000, 16),
        Scenario("2", "scenario 2: 1.23 Gb/s, Tahoe", ("D05",), TAHOE, 1230e6, 5000, 16),
        Scenario("3", "scenario 3: 3.7 Gb/s, Tahoe", ("D06",), TAHOE, 3700e6, 5000, 16),
        Scenario("4", "scenario 4: 12.3 Gb/s, Tahoe", ("D07", "D10"), TAHOE, 12300e6, 10000, 8),
        Scenario(
            "4s",
            "scenario 4S: 16 nodes, 12.3 Gb/s, Tahoe",
            ("D12",),
            TAHOE,
            12300e6,
            10000,
            8,
            nodes=16,
            cross=8,
        ),
        Scenario(
            "4l",
            "scenario 4L: 60 nodes, 12.3 Gb/s, Tahoe",
            ("D13",),
            TAHOE,
            12300e6,
            20000,
            8,
            nodes=60,
            cross=30,
        ),
        Scenario("4r", "scenario 4R: 12.3 Gb/s, Reno", ("D14",), RENO, 12300e6, 10000, 8),
        Scenario("4n", "scenario 4N: 12.3 Gb/s, NewReno", ("D15",), NEWRENO, 12300e6, 10000, 8),
        Scenario(
            "4v",
            "scenario 4V: 12.3 Gb/s, Vegas",
            ("D16",),
            VEGAS,
            12300e6,
            10000,
            8,
            overhead=QUIET,
            bin=FINE,
        ),
        Scenario(
            "4v-small-buffer",
            "scenario 4V': 12.3 Gb/s, Vegas, buffers of 400 packets",
            ("D17",),
            VEGAS,
            12300e6,
            10000,
            8,
            buffer=400,
            overhead=QUIET,
            bin=FINE,
        ),
        Scenario("5", "scenario 5: 37 Gb/s, Tahoe", ("D08",), TAHOE, 37000e6, 20000, 3),
        Scenario(
            "6",
            "scenario 6: 123 Gb/s, Tahoe",
            ("D09",),
            TAHOE,
            123000e6,
            100000,
            3,
            duration=1.5,
        ),
    )
}


def options(run: Run) -> dict[str, float | str]:
    """Options of ``chain.tcl``."""
    scenario = SCENARIOS[run["case"]]
    return {
        "agent": scenario.agent,
        "bandwidth": scenario.bandwidth,
        "delay": DELAY,
        "nodes": scenario.nodes,
        "cross": scenario.cross,
        "buffer": scenario.buffer,
        "window": scenario.window,
        "duration": scenario.duration,
        "sample": scenario.step,
        "peak": PEAK,
        "overhead": scenario.overhead,
        "seed": run["seed"],
    }


def read(folder: Path, name: str) -> list[list[str]]:
    """Words of each line of an output file."""
    return [line.split() for line in (folder / name).read_text().splitlines()]


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Simulate one run and sum up its counters."""
    scenario = SCENARIOS[run["case"]]
    ns2_tool.run("chain.tcl", options(run), folder)
    seed = {"seed": run["seed"]}
    column = {"target": 1, "background": 2}

    def efficiency(packets: int, flow: str, seconds: float) -> float:
        return packets / (scenario.links[flow] * seconds * scenario.bandwidth / PACKET_BITS)

    samples = [[0.0] * (6 + scenario.nodes)]
    samples += [[float(word) for word in words] for words in read(folder, "samples.txt")]
    stride = round(scenario.bin / scenario.step)
    efficiencies: Rows = []
    for k in range(stride, len(samples), stride):
        for flow in FLOWS:
            packets = round(samples[k][column[flow]] - samples[k - stride][column[flow]])
            value = efficiency(packets, flow, scenario.bin)
            time = round(k * scenario.step, 9)
            row = {"time": time, "flow": flow, "link_packets": packets, "efficiency": value}
            efficiencies.append(seed | row)

    occupancy = [
        seed
        | {
            "time": time,
            "node": node,
            "queued": round(samples[round(time / scenario.step)][6 + node]),
        }
        for time in scenario.instants
        for node in range(1, scenario.nodes)
    ]

    drops = [
        (float(words[1]), int(words[2]) + 1, FLOW_ID[words[7]])
        for words in read(folder, "drops.txt")
    ]
    binned = Counter((int(time / BIN), node, flow) for time, node, flow in drops)
    losses = [
        seed
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
    for words in read(folder, "nodes.txt"):
        node, arrivals, departures, dropped, most = map(int, words)
        here = [(time, flow) for time, where, flow in drops if where == node]
        queued = round(samples[-1][6 + node])
        # Samples are taken a nanosecond before the counters.
        if len(here) != dropped or abs(arrivals - departures - dropped - queued) > 2:
            msg = f"node {node}: {arrivals} in, {departures} out, {dropped} lost, {queued} stored"
            raise RuntimeError(msg)
        nodes.append(
            seed
            | {
                "node": node,
                "arrivals": arrivals,
                "departures": departures,
                "target_drops": sum(flow == "target" for _, flow in here),
                "background_drops": sum(flow == "background" for _, flow in here),
                "queued": queued,
                "first_drop": here[0][0] if here else None,
                "last_drop": here[-1][0] if here else None,
                "peak_queued": most,
            }
        )

    since = round(BACKGROUND_START / scenario.step)
    flows: Rows = []
    for words in read(folder, "flows.txt"):
        flow, start = words[0], float(words[1])
        sent, resent, timeouts, cuts, ack = map(int, words[2:])
        packets = round(samples[-1][column[flow]] - samples[since][column[flow]])
        seconds = scenario.duration - BACKGROUND_START
        flows.append(
            seed
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
    return {
        "efficiency": efficiencies,
        "occupancy": occupancy,
        "losses": losses,
        "nodes": nodes,
        "flows": flows,
    }


def tables(scenario: Scenario) -> dict[str, Table]:
    """Tables of a case."""
    seed = {"seed": Column("1", "substream of the random number stream")}
    node = Column("1", "node, from 1; its queue is the one of the link to the next node")
    last, cross = scenario.nodes, scenario.cross
    flow = Column("", f"target (node 1 to {last}) or background (node {cross} to {last})")
    links = scenario.links
    width = f"{scenario.bin:g} s"
    queued = "packets waiting, without the one being sent"
    return {
        "efficiency": Table(
            seed | {"time": Column("s", f"end of an interval of {width}"), "flow": flow},
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
            seed | {"time": Column("s", "simulated time"), "node": node},
            {"queued": Column("packets", queued)},
        ),
        "losses": Table(
            seed
            | {
                "time": Column("s", "end of an interval of 0.01 s"),
                "node": Column("1", "node where a flow enters; nowhere else was anything dropped"),
                "flow": flow,
            },
            {"dropped": Column("packets", "packets of the flow dropped there in the interval")},
        ),
        "nodes": Table(
            seed | {"node": node},
            {
                "arrivals": Column(
                    "packets", "packets that reached the queue, dropped ones included"
                ),
                "departures": Column("packets", "packets that the link began to send"),
                "target_drops": Column("packets", "packets of the target flow dropped"),
                "background_drops": Column("packets", "packets of the background flow dropped"),
                "queued": Column(
                    "packets",
                    f"{queued}, at the end; arrivals = departures + drops + queued but for what "
                    "happens in the last nanosecond",
                ),
                "first_drop": Column("s", "time of the first drop; empty without drops"),
                "last_drop": Column("s", "time of the last drop"),
                "peak_queued": Column(
                    "packets",
                    f"most packets seen waiting: looked at every {1e3 * scenario.step:g} ms, at the "
                    f"two nodes where flows enter every 0.1 ms; {scenario.buffer - 1} where packets "
                    f"were dropped (ns-2's queue of limit {scenario.buffer} drops what finds "
                    f"{scenario.buffer - 1} waiting)",
                ),
            },
        ),
        "flows": Table(
            seed | {"flow": flow},
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


def parameters(scenario: Scenario) -> dict[str, tuple[float | str, str]]:
    """List what decides the outcome, ns-2's defaults included."""
    return {
        "agent": (scenario.agent, ""),
        "sink": ("Agent/TCPSink", "one acknowledgement of 40 bytes per packet"),
        "nodes": (scenario.nodes, "1"),
        "background enters at node": (scenario.cross, "1"),
        "link rate": (scenario.bandwidth, "bit/s"),
        "link delay": (DELAY, "s"),
        "queue": ("DropTail, shared by the flows", ""),
        "limit_": (scenario.buffer, f"packets (drops what finds {scenario.buffer - 1} waiting)"),
        "window_": (scenario.window, "packets"),
        "packetSize_": (1460, "bytes (plus 40 of header; the first packet of a flow has 40)"),
        "start of target, background": ("0, 0.1", "s"),
        "duration": (scenario.duration, "s"),
        "overhead_": (
            scenario.overhead,
            "s (the agents wait a uniform random time below this before a packet)",
        ),
        "ttl_": (64, "hops"),
        "tcpTick_ (default)": (0.01, "s"),
        "minrto_ (default)": (0.2, "s"),
        "rtxcur_init_ (default)": (3.0, "s"),
        "maxburst_ (default)": (0, "1 (bursts are not limited)"),
        "windowInit_ (default)": (2, "packets"),
        "singledup_ (default)": (1, "1 (limited transmit)"),
        "newreno_changes_, newreno_changes1_ (default)": ("0, 1", "(NewReno only)"),
        "v_alpha_, v_beta_, v_gamma_ (default)": ("1, 3, 1", "packets (Vegas only)"),
    }


NOTES = (
    "Host reading 'direct': agents sit at the nodes, a window goes straight into the queue.",
    (
        "The spread comes from overhead_ alone. It groups packets: whatever the window allows when "
        "the random time is over leaves in one burst, 20 packet times at 12.3 Gb/s. Start jitter "
        "alone leaves Tahoe at 370 Mb/s without any spread (case chain-tahoe-370)."
    ),
    (
        "The instants of Figs. 12 and 13 are not in the paper's text: those here cover the time "
        "before the background flow, its first losses every 5 ms, and the draining of node 15."
    ),
    "The paper names neither ns-2's version nor its agents' settings: Debian's defaults.",
)
VEGAS_NOTE = (
    "Vegas takes a random delay of 20 microseconds for congestion and leaves slow start at half "
    "the window (half the throughput after 3 s), therefore overhead_ is 1 microsecond here."
)


def command(run: Run) -> str:
    """Give the command line of one run."""
    return ns2_tool.command("chain.tcl", options(run))


def duration(run: Run) -> float:
    """Give the simulated time of a run, in s."""
    return SCENARIOS[run["case"]].duration


CASES = [
    Case(
        name=f"takano2006/{scenario.case}",
        title=f"{scenario.title}, without DFC, {scenario.runs} runs",
        claims=scenario.claims,
        tool=ns2_tool.TOOL,
        version=ns2_tool.version,
        parameters=parameters(scenario),
        tables=tables(scenario),
        runs=[{"case": scenario.case, "seed": seed} for seed in range(1, scenario.runs + 1)],
        execute=execute,
        command=command,
        sources=(
            f"{ns2_tool.SCRIPTS}/chain.tcl",
            "validation/generate/ns2_tool.py",
            "validation/generate/ns2_chain_ensembles.py",
        ),
        simulated_seconds=duration,
        notes=(*NOTES, VEGAS_NOTE) if scenario.agent == VEGAS else NOTES,
    )
    for scenario in SCENARIOS.values()
]
