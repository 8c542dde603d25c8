"""takano2006's scenarios with diffusion-type flow control, by ns-3.

``ns3/dfc.cc`` keeps IP, TCP and UDP in the hosts and replaces the nodes between them by
one object with ns-3's packets and events, which costs a tenth of IP forwarding at every hop: even
123 Gb/s can be simulated. Its window senders behave like ns-2's agents, and ns-3's own TCP stands
beside them; two cases compare the simulators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table, cross
from validation.generate.programs import Ns3

PROGRAM = Ns3(
    "dfc",
    ("core", "network", "point-to-point", "internet", "applications"),
    ("dfc-chain.h", "window-sender.h", "tcp-senders.h"),
)
SEEDS = (1, 2, 3, 4, 5)
BACKGROUND_START = 0.1
# Figs. 12 and 13 name five instants that the text does not repeat.
INSTANTS = (
    *(0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.105, 0.11, 0.115, 0.12, 0.125, 0.13, 0.135, 0.14),
    *(0.145, 0.15, 0.155, 0.16, 0.17, 0.18, 0.19, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5),
)
FEW_INSTANTS = (0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1.0, 1.5)


class Option(NamedTuple):
    """An option of the program: its default, its name and unit as a parameter, and what it means where it is varied."""

    default: Any
    name: str
    unit: str
    meaning: str = ""

    @property
    def column(self) -> Column:
        """The column of a case that varies it."""
        return Column(self.unit.partition(" ")[0], self.meaning)


OPTIONS = {
    "link_rate": Option(370e6, "link rate", "bit/s", "rate of every link"),
    "nodes": Option(30, "nodes", "1"),
    "ingress": Option(15, "background enters at node", "1"),
    "window": Option(5000, "largest window", "packets"),
    "buffer": Option(1800, "buffer", "packets (waiting)", "packets that can wait in a node"),
    "duration": Option(1.5, "duration", "s"),
    "discipline": Option("dfc", "discipline", "", "dfc (per-flow queues) or fifo (one queue)"),
    "target_source": Option("tahoe", "target source", "", "source of the target flow"),
    "background_source": Option("tahoe", "background source", "", "source of the background flow"),
    "host": Option(
        "shaped", "host", "",
        "shaped (sends at what eq. (9) asks for), unshaped (at the link rate), both with unlimited "
        "memory and one link before the first node, or direct (no host: straight into the queue)",
    ),
    "phases": Option("random", "feedback clocks", "", "feedback clocks: random phase per node, or synchronous"),
    "buffers": Option("shared", "buffers", "", "whether the buffer of a node is shared by the flows or per-flow"),
    "diffusion": Option(0.1, "diffusion", "1", "D"),
    "counted": Option("waiting", "n counts", "", "n counts waiting packets, or all including the one in transmission"),
    "spread": Option(
        1.0, "spread of the delays", "1",
        "s: link delays are s^u with u uniform in (-1, 1), scaled to a mean of 0.1 ms; 1: equal",
    ),
    "load": Option(0.5, "load of UDP", "1", "rate of a UDP source over the link rate"),
    "initial": Option(2, "initial window of ns-3's TCP", "packets", "initial window of ns-3's TCP"),
    "vegas": Option(
        1, "thresholds of Vegas over 1, 3, 1 packets", "1",
        "Vegas' thresholds alpha, beta and gamma over ns-2's 1, 3, 1 packets",
    ),
    "jitter": Option(20e-6, "jitter of the starts", "s", "starts are later by a uniform time below this"),
    "bin": Option(1e-2, "interval of the efficiency", "s"),
}  # fmt: skip
SEED = Column("1", "run number of ns-3's random streams (phases, starts, delays)")


@dataclass(frozen=True)
class Sweep:
    """A case: options that differ from the default, factors that are varied, records that are kept."""

    case: str
    title: str
    claims: tuple[str, ...]
    factors: tuple[str, ...]
    settings: Sequence[Mapping[str, Any]]
    common: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = SEEDS
    hosts: bool = True
    instants: tuple[float, ...] = INSTANTS
    notes: tuple[str, ...] = ()

    @property
    def defaults(self) -> dict[str, Any]:
        """All options of a run that no factor varies."""
        return {name: option.default for name, option in OPTIONS.items()} | dict(self.common)


def both(sender: str) -> dict[str, Any]:
    """Target and background with the same sender."""
    return {"target_source": sender, "background_source": sender}


HOSTS = ("shaped", "unshaped", "direct")
READING = ("host", "phases", "buffers", "diffusion")
# the default reading, then one factor at a time
READINGS: tuple[Mapping[str, Any], ...] = (
    {},
    {"host": "unshaped"},
    {"host": "direct"},
    {"phases": "synchronous"},
    {"buffers": "per-flow"},
    {"diffusion": 0.01},
)
FAST = {"link_rate": 12300e6, "window": 10000, "duration": 0.5}
LOSSLESS = (
    (
        "Without loss the three senders behave alike: with shaped hosts Reno and NewReno stand beside "
        "Tahoe for the default of the other factors only."
    ),
)
OVERSHOOT = (
    (
        "The unshaped host sends at the link rate; a window that grows beyond what the link takes "
        "waits in the nodes' buffers."
    ),
)

SWEEPS = {
    sweep.case: sweep
    for sweep in (
        *(
            Sweep(
                f"scenario-1-with-dfc-{host}",
                f"scenario 1 (370 Mb/s) with DFC, {host} hosts: senders x phases x buffers x D",
                ("D04",),
                ("target_source", "phases", "buffers", "diffusion"),
                [
                    {**chosen, "background_source": chosen["target_source"]}
                    for chosen in cross(
                        target_source=("tahoe", "reno", "newreno"),
                        phases=("random", "synchronous"),
                        buffers=("shared", "per-flow"),
                        diffusion=(0.1, 0.01),
                    )
                    if host != "shaped"
                    or chosen["target_source"] == "tahoe"
                    or (chosen["phases"], chosen["buffers"], chosen["diffusion"])
                    == ("random", "shared", 0.1)
                ],
                {"host": host},
                hosts=False,
                instants=FEW_INSTANTS,
                notes=("Both flows have the sender named by the target.", *LOSSLESS),
            )
            for host in HOSTS
        ),
        Sweep(
            "scenario-1-with-dfc-shaped-seeds",
            "scenario 1 (370 Mb/s) with DFC, shaped hosts: the default reading, 27 more seeds",
            ("D04",),
            ("target_source", "phases", "buffers", "diffusion"),
            [
                {
                    **both("tahoe"),
                    "phases": "random",
                    "buffers": "shared",
                    "diffusion": 0.1,
                }
            ],
            {"host": "shaped"},
            seeds=tuple(range(6, 33)),
            hosts=False,
            instants=FEW_INSTANTS,
            notes=(
                (
                    "Seeds 6 to 32; seeds 1 to 5 are the case scenario-1-with-dfc-shaped. Their number, that "
                    "of the runs without DFC, was fixed before they were run: with five runs a rank test "
                    "decided nothing."
                ),
            ),
        ),
        Sweep(
            "scenario-2-with-dfc",
            "scenario 2 (1.23 Gb/s) with DFC, one factor at a time",
            ("D05",),
            ("target_source", *READING),
            [*READINGS, both("reno"), both("newreno")],
            {"link_rate": 1230e6},
            hosts=False,
            instants=FEW_INSTANTS,
            notes=("Both flows have the sender named by the target.",),
        ),
        Sweep(
            "scenario-3-with-dfc",
            "scenario 3 (3.7 Gb/s) with DFC, one factor at a time",
            ("D06",),
            READING,
            READINGS,
            {"link_rate": 3700e6},
            instants=FEW_INSTANTS,
        ),
        Sweep(
            "scenario-4-with-dfc",
            "scenario 4 (12.3 Gb/s) with DFC, one factor at a time",
            ("D07", "D11"),
            READING,
            READINGS,
            FAST,
        ),
        Sweep(
            "scenario-4s-with-dfc",
            "scenario 4S (16 nodes) with DFC, one factor at a time",
            ("D12",),
            READING,
            READINGS,
            {**FAST, "nodes": 16, "ingress": 8},
            instants=FEW_INSTANTS,
        ),
        Sweep(
            "scenario-4l-with-dfc",
            "scenario 4L (60 nodes) with DFC, one factor at a time",
            ("D13",),
            READING,
            READINGS,
            {**FAST, "nodes": 60, "ingress": 30, "window": 20000},
            instants=FEW_INSTANTS,
        ),
        Sweep(
            "scenario-4r-with-dfc",
            "scenario 4R (Reno) with DFC, one factor at a time",
            ("D14",),
            READING,
            READINGS,
            {**FAST, **both("reno")},
            instants=FEW_INSTANTS,
        ),
        Sweep(
            "scenario-4n-with-dfc",
            "scenario 4N (NewReno) with DFC, one factor at a time",
            ("D15",),
            READING,
            READINGS,
            {**FAST, **both("newreno")},
            instants=FEW_INSTANTS,
        ),
        Sweep(
            "scenario-4v-with-dfc",
            "scenarios 4V and 4V' (Vegas, buffers of 1800 and 400 packets) with DFC and with FIFO",
            ("D16", "D17"),
            ("discipline", "host", "buffer"),
            [
                {**chosen, "buffer": buffer}
                for buffer in (1800, 400)
                for chosen in (
                    *({"discipline": "dfc", "host": host} for host in HOSTS),
                    {"discipline": "fifo", "host": "direct"},
                )
            ],
            {**FAST, **both("ns3-vegas"), "bin": 1e-3},
            instants=FEW_INSTANTS,
            notes=("ns-3's TcpVegas with ns-2's parameters alpha 1, beta 3, gamma 1.",),
        ),
        Sweep(
            "vegas-thresholds-with-dfc",
            "scenarios 4V and 4V' with DFC: the packets in queues that Vegas tolerates",
            ("D16", "D17"),
            ("vegas", "buffer"),
            cross(vegas=(1, 10, 30), buffer=(1800, 400)),
            {**FAST, **both("ns3-vegas")},
            hosts=False,
            instants=FEW_INSTANTS,
            notes=(
                (
                    "ns-3's TcpVegas, with thresholds of vegas-thresholds-without-dfc. Not above 30 "
                    "and not without DFC: ns-3's socket takes minutes for a run with windows of "
                    "many thousand packets or with a mass loss."
                ),
            ),
        ),
        Sweep(
            "scenario-5-with-dfc",
            "scenario 5 (37 Gb/s) with DFC, one factor at a time",
            ("D08",),
            READING,
            READINGS,
            {**FAST, "link_rate": 37000e6, "window": 20000},
            seeds=(1, 2, 3),
            notes=OVERSHOOT,
            instants=FEW_INSTANTS,
        ),
        Sweep(
            "scenario-6-with-dfc",
            "scenario 6 (123 Gb/s) with DFC: three hosts",
            ("D09",),
            ("host",),
            cross(host=HOSTS),
            {**FAST, "link_rate": 123000e6, "window": 100000},
            seeds=(1, 2, 3),
            instants=FEW_INSTANTS,
            notes=(
                *OVERSHOOT,
                "Three seeds, and 0.5 of the 1.5 s that the paper shows, keep it below ten minutes.",
            ),
        ),
        Sweep(
            "dfc-unequal-delays",
            "scenario 1 with DFC over links of unequal delays, D_i = D/d_i and tau_i = d_(i-1)",
            ("D18",),
            ("host", "diffusion", "spread"),
            [
                setting
                for setting in cross(host=HOSTS[:2], diffusion=(0.1, 0.01), spread=(1.0, 3.0, 10.0))
                if setting["host"] == "shaped" or setting["diffusion"] == 0.1
            ],
            hosts=False,
            instants=FEW_INSTANTS,
            notes=(
                (
                    "The sum of the 29 delays is that of the equal ones; the hosts' links keep "
                    "0.1 ms. Every seed has its own delays."
                ),
            ),
        ),
        Sweep(
            "dfc-udp",
            "scenario 1 with constant-rate UDP as background, target or both, with DFC and FIFO",
            ("D19",),
            ("discipline", "host", "target_source", "background_source", "load"),
            [
                {
                    **setting,
                    "target_source": target,
                    "background_source": background,
                    "load": load,
                }
                for setting in (
                    {"discipline": "dfc", "host": "shaped"},
                    {"discipline": "dfc", "host": "unshaped"},
                    {"discipline": "fifo", "host": "direct"},
                )
                for target, background in (("tahoe", "udp"), ("udp", "tahoe"), ("udp", "udp"))
                for load in (0.5, 1.0)
            ],
            hosts=False,
            instants=FEW_INSTANTS,
            notes=(
                (
                    "UDP is ns-3's; the paper states no rate, so two are shown. 'unique' is what the "
                    "receiver got."
                ),
            ),
        ),
        Sweep(
            "dfc-integer-counts",
            "what whole packets cost: link rate x D x what n counts, shaped hosts",
            ("D04",),
            ("link_rate", "diffusion", "counted"),
            cross(
                link_rate=(37e6, 123e6, 370e6),
                diffusion=(0.1, 0.01),
                counted=("waiting", "all"),
            ),
            hosts=False,
            instants=FEW_INSTANTS,
            notes=(
                (
                    "One packet more in n_1 takes D/d = 1000 (D = 0.1) or 100 packets/s from r_0: 32, "
                    "9.8 and 3.2 % of the link rate, or a tenth of that."
                ),
            ),
        ),
        Sweep(
            "fifo-370-in-ns3",
            "scenario 1 without DFC in ns-3, to compare with ns-2; also with hosts before the nodes",
            ("D04",),
            ("target_source", "host", "jitter"),
            [
                {**both(sender), **setting}
                for sender in ("tahoe", "reno", "newreno")
                for setting in (
                    {"host": "direct", "jitter": 0.0, "seed": 1},
                    {"host": "direct", "jitter": 20e-6},
                    {"host": "unshaped", "jitter": 20e-6},
                )
            ],
            {"discipline": "fifo", "buffer": 1799, "duration": 3.0},
            instants=FEW_INSTANTS,
            notes=(
                (
                    "Buffer 1799: ns-2's limit of 1800 drops what finds 1799 waiting. Nothing is "
                    "random without jitter: one run. There Reno and NewReno send, resend and lose "
                    "exactly what ns-2's agents do in traces-without-dfc, node by node. Tahoe resends "
                    "4044 and 2035 packets instead of 4045 and 2037, and its target gets 0.852 instead "
                    "of 0.827: one drop more or less decides when it backs off."
                ),
                (
                    "Hosts that send at the link rate over a link of their own keep the target from "
                    "overflowing node 1: the other reading of a host without DFC."
                ),
            ),
        ),
        Sweep(
            "dfc-370-two-stacks",
            "scenario 1 with DFC, shaped hosts: the window sender and ns-3's TCP NewReno",
            ("D04", "D15"),
            ("target_source", "initial"),
            [
                {**both("newreno"), "initial": 2},
                {**both("ns3-newreno"), "initial": 2},
                {**both("ns3-newreno"), "initial": 10},
            ],
            {"jitter": 0.0},
            instants=FEW_INSTANTS,
            notes=(
                (
                    "ns-3's TCP opens a connection and starts with 10 packets by default, ns-2's agents "
                    "with 2: the two rows with 2 deliver the same within 0.4 %. Without jitter the "
                    "phases of the feedback are all that the seed draws."
                ),
            ),
        ),
    )
}

TIME = Column("s", "simulated time")
NODE = Column("1", "node, from 1; its queues are those of the link to the next node")


def tables(sweep: Sweep) -> dict[str, Table]:
    """Tables of a case."""
    options = sweep.defaults
    last, ingress = options["nodes"], options["ingress"]
    flow = Column("", f"target (node 1 to {last}) or background (node {ingress} to {last})")
    index = {name: OPTIONS[name].column for name in sweep.factors} | {"seed": SEED}
    width = f"{options['bin']:g} s"
    end = Column("s", f"end of an interval of {width}")
    found = {
        "efficiency": Table(
            index | {"time": end, "flow": flow},
            {
                "link_packets": Column(
                    "packets", "packets that left any node in the interval, summed over the nodes"
                ),
                "efficiency": Column(
                    "1",
                    "mean number of the flow's packets in propagation on the links of its path in "
                    "the interval, over the sum of link rate x delay of these links",
                ),
            },
        ),
        "occupancy": Table(
            index | {"time": TIME, "node": NODE},
            {
                "queued_target": Column("packets", "packets of the target flow waiting"),
                "queued_background": Column("packets", "packets of the background flow waiting"),
            },
        ),
        "nodes": Table(
            index | {"node": NODE},
            {
                "arrivals": Column("packets", "packets that reached the node, dropped ones too"),
                "departures": Column("packets", "packets that left it"),
                "target_drops": Column("packets", "packets of the target flow dropped"),
                "background_drops": Column("packets", "packets of the background flow dropped"),
                "stored": Column(
                    "packets",
                    "waiting and in transmission at the end; "
                    "arrivals = departures + drops + stored",
                ),
                "peak_target": Column("packets", "longest queue of the target flow"),
                "peak_background": Column("packets", "longest queue of the background flow"),
                "peak": Column("packets", "most packets of both waiting"),
                "first_drop": Column("s", "time of the first drop; empty without drops"),
                "last_drop": Column("s", "time of the last drop"),
            },
        ),
        "flows": Table(
            index | {"flow": flow},
            {
                "start": Column("s", "start of the flow"),
                "offered": Column("packets", "packets given to the host or, direct, to its node"),
                "in_host": Column("packets", "of these in the host at the end"),
                "in_nodes": Column("packets", "in the nodes at the end"),
                "on_links": Column("packets", "in propagation at the end"),
                "dropped": Column("packets", "dropped at all nodes"),
                "received": Column(
                    "packets",
                    "that reached the last node; "
                    "offered = in_host + in_nodes + on_links + dropped + received",
                ),
                "unique": Column("packets", "data packets delivered in order"),
                "sent": Column("packets", "data packets sent, also those sent again"),
                "resent": Column("packets", "of these, sent again"),
                "timeouts": Column("events", "retransmission timeouts"),
                "fast_retransmits": Column("events", "reactions to three duplicate ACKs"),
                "peak_host": Column("packets", "most packets waiting in the host"),
                "mean_efficiency": Column("1", "mean of the efficiency from 0.1 s to the end"),
            },
        ),
    }
    if sweep.hosts:
        found["hosts"] = Table(
            index | {"time": end, "flow": flow},
            {
                "stored": Column("packets", "packets in the host at this time"),
                "window": Column("packets", "congestion window, which may exceed its bound"),
            },
        )
    return found


def calls(run: Run) -> Calls:
    """Return the options of ``dfc.cc``."""
    sweep = SWEEPS[run["case"]]
    options = {**sweep.defaults, **{key: run[key] for key in run if key in OPTIONS}}
    instants = ",".join(f"{time:g}" for time in sweep.instants if time <= options["duration"])
    options["megabits"] = options.pop("link_rate") / 1e6
    words = [
        f"--{name.removesuffix('_source')}={value:g}"
        if isinstance(value, float)
        else f"--{name.removesuffix('_source')}={value}"
        for name, value in options.items()
        if name not in {"phases", "buffers", "counted"}
    ]
    return [
        [
            *words,
            f"--synchronous={int(options['phases'] == 'synchronous')}",
            f"--per-flow={int(options['buffers'] == 'per-flow')}",
            f"--count-transmission={int(options['counted'] == 'all')}",
            f"--instants={instants}",
            f"--seed={run['seed']}",
        ]
    ]


def number(text: str) -> float | int | str:
    """Read an integer, a decimal number or a name."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of all tables; every packet must be accounted for."""
    sweep = SWEEPS[run["case"]]
    names = {"efficiency": "efficiency", "occupancy": "occupancy", "host": "hosts"}
    names |= {"node": "nodes", "flow": "flows"}
    known = tables(sweep)
    rows: dict[str, Rows] = {name: [] for name in known}
    options = {**sweep.defaults, **run}
    labels = {name: options[name] for name in (*sweep.factors, "seed")}
    total: dict[str, float] = {"target": 0.0, "background": 0.0}
    bins = 0
    for line in printed[0].splitlines():
        kind, *fields = line.split()
        name = names[kind]
        if name not in known:
            continue
        columns = [column for column in known[name].columns if column not in labels]
        if name == "flows":
            columns.remove("mean_efficiency")
        row: dict[str, Any] = dict(zip(columns, map(number, fields), strict=True))
        if name == "efficiency":
            if row["time"] > BACKGROUND_START + 1e-9:
                total[row["flow"]] += row["efficiency"]
                bins += row["flow"] == "target"
            row["efficiency"] = round(row["efficiency"], 5)
        elif name == "nodes":
            for drop in ("first_drop", "last_drop"):
                row[drop] = row[drop] if row[drop] >= 0 else None
            lost = row["target_drops"] + row["background_drops"]
            if row["arrivals"] != row["departures"] + lost + row["stored"]:
                msg = f"packets of a node do not add up: {line}"
                raise RuntimeError(msg)
        elif name == "flows":
            row["mean_efficiency"] = round(total[row["flow"]] / bins, 7)
            parts = ("in_host", "in_nodes", "on_links", "dropped", "received")
            if row["offered"] != sum(row[part] for part in parts):
                msg = f"packets of a flow do not add up: {line}"
                raise RuntimeError(msg)
        rows[name].append({**labels, **row})
    return rows


NOTES = (
    (
        "Tahoe, Reno and NewReno are window senders of ours that behave like ns-2's agents with "
        "their defaults (case fifo-370-in-ns3): one ACK of 40 bytes per packet, the first packet of "
        "40 bytes opens a window of 2, limited transmit, timer with a tick of 10 ms and at least "
        "0.2 s. Names with ns3- are ns-3's own TCP (no SACK, no timestamps); udp is ns-3's UDP."
    ),
    (
        "Between the hosts and the last node there is no IP forwarding: packets of 1500 bytes, "
        "queues and links are events of ns-3. ACKs return after the delays of all hops without "
        "queueing. Times have a resolution of 1 ps."
    ),
    (
        "Feedback has no length, travels one link delay and carries the nominal rate J(1, t), "
        "computed when it is sent. What was not yet reported counts as (link rate, 0), which is "
        "also what the last node reports. A flow is active from its first packet on."
    ),
    (
        "Pacing: a packet leaves when the link is free and its flow has a credit of one packet; "
        "credit grows at J, for an empty queue to 1 at most; of two flows the one with more credit "
        "goes first."
    ),
    (
        "The instants of Figs. 12 and 13 are not in the paper's text: those here cover the start of "
        "the background flow and what follows."
    ),
)


def simulated_seconds(run: Run) -> float:
    """Give the simulated time of a run, in s."""
    return float(SWEEPS[run["case"]].defaults["duration"])


def parameters(sweep: Sweep) -> dict[str, tuple[float | str, str]]:
    """Options that no factor varies."""
    return {
        option.name: (sweep.defaults[key], option.unit)
        for key, option in OPTIONS.items()
        if key not in sweep.factors
    } | {"link delay": (1e-4, "s"), "packet": (1500, "bytes"), "start of background": (0.1, "s")}


CASES = tuple(
    Case(
        name=f"takano2006/{sweep.case}",
        title=sweep.title,
        claims=sweep.claims,
        program=PROGRAM,
        parameters=parameters(sweep),
        tables=tables(sweep),
        runs=[
            {"case": sweep.case, **setting, "seed": seed}
            for setting in sweep.settings
            for seed in ((setting["seed"],) if "seed" in setting else sweep.seeds)
        ],
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(*NOTES, *sweep.notes),
    )
    for sweep in SWEEPS.values()
)
