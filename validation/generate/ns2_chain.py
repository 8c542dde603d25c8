"""The chain of takano2006 (Fig. 5) without diffusion-type flow control, by ns-2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from validation.generate import ns2_tool
from validation.generate.cases import Case, Column, Rows, Run, Table

NODES = 30
CROSS = 15
DELAY = 1e-4
DURATION = 3.0
SAMPLE = 1e-3
BACKGROUND_START = 0.1
PACKET_BITS = 8 * 1500
LINKS = {"target": NODES - 1, "background": NODES - CROSS}
FLOW_ID = {"1": "target", "2": "background"}
PROFILE = (0.05, 0.07, 0.1, 0.12, 0.13, 0.14, 0.15, 0.17, 0.2, 0.25, 0.3, 0.4, 0.5, 1, 1.5, 2, 3)

TIME = Column("s", "simulated time")
FLOW = Column("", "target (node 1 to 30) or background (node 15 to 30)")
NODE = Column("1", "node, from 1; its queue is the one of the link to the next node")
SEED = {"seed": Column("1", "substream of the random number streams")}


@dataclass(frozen=True)
class Setting:
    """One scenario with one TCP; more than one seed makes it an ensemble."""

    case: str
    title: str
    claims: tuple[str, ...]
    agent: str
    bandwidth: float
    window: int
    seeds: tuple[int, ...] = (0,)
    jitter: float = 0.0
    overhead: float = 0.0

    @property
    def ensemble(self) -> bool:
        """Whether there are many random runs and every table carries the seed."""
        return len(self.seeds) > 1


SETTINGS = {
    setting.case: setting
    for setting in (
        Setting(
            "chain-newreno-370",
            "scenario 1 (370 Mb/s) without DFC, NewReno",
            ("D04",),
            "Agent/TCP/Newreno",
            370e6,
            5000,
        ),
        Setting(
            "chain-reno-370",
            "scenario 1 (370 Mb/s) without DFC, Reno",
            ("D04",),
            "Agent/TCP/Reno",
            370e6,
            5000,
        ),
        Setting(
            "chain-tahoe-370",
            "scenario 1 (370 Mb/s) without DFC, Tahoe, 16 runs with jittered starts",
            ("D04",),
            "Agent/TCP",
            370e6,
            5000,
            seeds=tuple(range(1, 17)),
            jitter=20e-6,
        ),
        Setting(
            "chain-tahoe-370-overhead",
            "scenario 1 (370 Mb/s) without DFC, Tahoe, 16 runs with jittered packets",
            ("D04",),
            "Agent/TCP",
            370e6,
            5000,
            seeds=tuple(range(1, 17)),
            overhead=20e-6,
        ),
        Setting(
            "chain-tahoe-12300",
            "scenario 4 (12.3 Gb/s) without DFC, Tahoe",
            ("D07", "D10"),
            "Agent/TCP",
            12300e6,
            10000,
        ),
        Setting(
            "chain-reno-12300",
            "scenario 4R (12.3 Gb/s) without DFC, Reno",
            ("D14",),
            "Agent/TCP/Reno",
            12300e6,
            10000,
        ),
        Setting(
            "chain-newreno-12300",
            "scenario 4N (12.3 Gb/s) without DFC, NewReno",
            ("D15",),
            "Agent/TCP/Newreno",
            12300e6,
            10000,
        ),
    )
}


def bin_width(setting: Setting) -> float:
    """Time between two rows of the efficiency, in s."""
    return 5e-3 if setting.ensemble else SAMPLE


def options(run: Run) -> dict[str, float | str]:
    """Options of ``chain.tcl``."""
    setting = SETTINGS[run["case"]]
    return {
        "agent": setting.agent,
        "bandwidth": setting.bandwidth,
        "window": setting.window,
        "duration": DURATION,
        "sample": SAMPLE,
        "jitter": setting.jitter,
        "overhead": setting.overhead,
        "seed": run["seed"],
    }


def read(folder: Path, name: str) -> list[list[str]]:
    """Words of each line of an output file."""
    return [line.split() for line in (folder / name).read_text().splitlines()]


def efficiency(packets: int, flow: str, seconds: float, setting: Setting) -> float:
    """Packets on all links of a flow's path in ``seconds``, over the most that fit."""
    return packets / (LINKS[flow] * seconds * setting.bandwidth / PACKET_BITS)


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Simulate one run and sum up its counters."""
    setting = SETTINGS[run["case"]]
    ns2_tool.run("chain.tcl", options(run), folder)
    seed = {"seed": run["seed"]} if setting.ensemble else {}

    samples = [[0.0] * (7 + NODES - 2)]
    samples += [[float(word) for word in words] for words in read(folder, "samples.txt")]
    column = {"target": 1, "background": 2}
    times = [round(k * SAMPLE, 9) for k in range(len(samples))]
    stride = round(bin_width(setting) / SAMPLE)

    efficiencies: Rows = []
    for k in range(stride, len(samples), stride):
        for flow in LINKS:
            packets = round(samples[k][column[flow]] - samples[k - stride][column[flow]])
            value = efficiency(packets, flow, bin_width(setting), setting)
            row = {"time": times[k], "flow": flow, "link_packets": packets, "efficiency": value}
            efficiencies.append(seed | row)

    drops = [
        {
            "time": float(words[1]),
            "node": int(words[2]) + 1,
            "flow": FLOW_ID[words[7]],
            "sequence": int(words[10]),
        }
        for words in read(folder, "drops.txt")
    ]

    nodes: Rows = []
    for words in read(folder, "nodes.txt"):
        node, arrivals, departures, dropped, most = map(int, words)
        here = [drop for drop in drops if drop["node"] == node]
        if len(here) != dropped:
            msg = f"node {node}: {dropped} drops counted, {len(here)} traced"
            raise RuntimeError(msg)
        by_flow = {f"{flow}_drops": sum(drop["flow"] == flow for drop in here) for flow in LINKS}
        first = here[0]["time"] if here else None
        counted = {"arrivals": arrivals, "departures": departures}
        row = {"node": node, **counted, **by_flow, "first_drop": first, "peak_queued": most}
        nodes.append(seed | row)

    since = round(BACKGROUND_START / SAMPLE)
    flows: Rows = []
    for words in read(folder, "flows.txt"):
        flow, start = words[0], float(words[1])
        sent, resent, timeouts, cuts, ack = map(int, words[2:])
        packets = round(samples[-1][column[flow]] - samples[since][column[flow]])
        row = {
            "flow": flow,
            "start": start,
            "sent": sent,
            "resent": resent,
            "timeouts": timeouts,
            "cuts": cuts,
            "delivered": ack + 1,
            "dropped": sum(drop["flow"] == flow for drop in drops),
            "link_packets": packets,
            "mean_efficiency": efficiency(packets, flow, times[-1] - times[since], setting),
        }
        flows.append(seed | row)

    tables = {"efficiency": efficiencies, "nodes": nodes, "flows": flows}
    if setting.ensemble:
        return tables
    tables["losses"] = [{"drop": k, **drop} for k, drop in enumerate(drops, 1)]
    busy = [row["node"] for row in nodes if row["peak_queued"] > 1]
    tables["queues"] = [
        {"time": time, "node": node, "queued": round(sample[6 + node])}
        for time, sample in zip(times, samples, strict=True)
        for node in busy
    ]
    tables["profile"] = [
        {"time": time, "node": node, "queued": round(samples[round(time / SAMPLE)][6 + node])}
        for time in PROFILE
        for node in range(1, NODES)
    ]
    tables["window"] = [
        {
            "time": time,
            "flow": flow,
            "cwnd": round(sample[3 + 2 * k], 3),
            "ssthresh": round(sample[4 + 2 * k]),
        }
        for time, sample in zip(times[1:], samples[1:], strict=True)
        for k, flow in enumerate(LINKS)
    ]
    return tables


def tables(setting: Setting) -> dict[str, Table]:
    """Tables of a case; a single run also has its losses, queues and windows."""
    seed = SEED if setting.ensemble else {}
    width = f"{bin_width(setting):g} s"
    efficiency_table = Table(
        seed | {"time": Column("s", f"end of an interval of {width}"), "flow": FLOW},
        {
            "link_packets": Column(
                "packets",
                "packets of the flow that any link of its path began to send in the interval, "
                "summed over the links",
            ),
            "efficiency": Column(
                "1",
                f"link_packets / (links x {width} x rate); with the link delay d of 0.1 ms this "
                "is the mean, over instants d apart, of the flow's propagating packets over the "
                "sum of rate x d over the 29 (target) or 15 (background) links of its path; "
                "packets waiting in queues or being sent do not count",
            ),
        },
    )
    node_table = Table(
        seed | {"node": NODE},
        {
            "arrivals": Column("packets", "packets that reached the queue, dropped ones included"),
            "departures": Column("packets", "packets that the link began to send"),
            "target_drops": Column("packets", "packets of the target flow dropped"),
            "background_drops": Column("packets", "packets of the background flow dropped"),
            "first_drop": Column("s", "time of the first drop; empty without drops"),
            "peak_queued": Column(
                "packets",
                "most packets seen waiting, without the one being sent: looked at every 1 ms, at "
                "nodes 1 and 15 every 0.02 ms; 1799 where packets were dropped (ns-2's queue of "
                "limit 1800 drops what finds 1799 waiting)",
            ),
        },
    )
    flow_table = Table(
        seed | {"flow": FLOW},
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
            "link_packets": Column(
                "packets", "as in the table of efficiencies, from 0.1 s to the end at 3 s"
            ),
            "mean_efficiency": Column("1", "mean of the efficiency from 0.1 s to the end at 3 s"),
        },
    )
    common = {"efficiency": efficiency_table, "nodes": node_table, "flows": flow_table}
    if setting.ensemble:
        return common
    queued = {"queued": Column("packets", "packets waiting, without the one being sent")}
    return common | {
        "losses": Table(
            {"drop": Column("1", "number of the drop, in the order of time")},
            {
                "time": TIME,
                "node": NODE,
                "flow": FLOW,
                "sequence": Column("packets", "TCP sequence number of the dropped packet"),
            },
        ),
        "queues": Table(
            {
                "time": TIME,
                "node": Column("1", "node, from 1; only nodes where packets ever waited"),
            },
            queued,
        ),
        "profile": Table({"time": TIME, "node": NODE}, queued),
        "window": Table(
            {"time": TIME, "flow": FLOW},
            {
                "cwnd": Column("packets", "congestion window"),
                "ssthresh": Column("packets", "slow start threshold"),
            },
        ),
    }


def parameters(setting: Setting) -> dict[str, tuple[float | str, str]]:
    """List what decides the outcome, ns-2's defaults included."""
    return {
        "agent": (setting.agent, ""),
        "sink": ("Agent/TCPSink", "one acknowledgement of 40 bytes per packet"),
        "nodes": (NODES, "1"),
        "background enters at node": (CROSS, "1"),
        "link rate": (setting.bandwidth, "bit/s"),
        "link delay": (DELAY, "s"),
        "queue": ("DropTail, shared by the flows", ""),
        "limit_": (1800, "packets (drops what finds 1799 waiting)"),
        "window_": (setting.window, "packets"),
        "packetSize_": (1460, "bytes (plus 40 of header; the first packet of a flow has 40)"),
        "start of target, background": ("0, 0.1", "s"),
        "jitter of the starts": (setting.jitter, "s (uniform from 0)"),
        "duration": (DURATION, "s"),
        "ttl_": (64, "hops"),
        "tcpTick_ (default)": (0.01, "s"),
        "minrto_ (default)": (0.2, "s"),
        "rtxcur_init_ (default)": (3.0, "s"),
        "overhead_": (
            setting.overhead,
            "s (the agents wait a uniform random time below this before each packet; 0: default)",
        ),
        "maxburst_ (default)": (0, "1 (bursts are not limited)"),
        "slow_start_restart_ (default)": ("true", "(never entered: the sources are greedy)"),
        "syn_, delay_growth_ (default)": ("true", ""),
        "windowInit_ (default)": (2, "packets"),
        "singledup_ (default)": (1, "1 (limited transmit)"),
        "newreno_changes_, newreno_changes1_ (default)": ("0, 1", "(NewReno only)"),
    }


NOTES = (
    "Host reading 'direct': the agents sit at nodes 1 and 15, a window goes straight into the queue.",
    "The first packet of a flow has 40 bytes; its acknowledgement opens the window.",
)


def command(run: Run) -> str:
    """Give the command line of one run."""
    return ns2_tool.command("chain.tcl", options(run))


def duration(run: Run) -> float:  # noqa: ARG001
    """Give the simulated time of a run, in s."""
    return DURATION


CASES = [
    Case(
        name=f"takano2006/{setting.case}",
        title=setting.title,
        claims=setting.claims,
        tool=ns2_tool.TOOL,
        version=ns2_tool.version,
        parameters=parameters(setting),
        tables=tables(setting),
        runs=[{"case": setting.case, "seed": seed} for seed in setting.seeds],
        execute=execute,
        command=command,
        sources=(
            f"{ns2_tool.SCRIPTS}/chain.tcl",
            "validation/generate/ns2_tool.py",
            "validation/generate/ns2_chain.py",
        ),
        simulated_seconds=duration,
        notes=NOTES,
    )
    for setting in SETTINGS.values()
]
