"""Sources that control their TCP and UDP flows by priority, and best effort (yang2001), by ns-2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table, cross
from validation.generate.outputs import lines
from validation.generate.programs import Ns2, pairs

PROGRAM = Ns2("priority.tcl")
SEEDS = (1, 2, 3, 4, 5)
DISCIPLINES = ("FCFS", "DRR", "RED", "SFQ")
RATIOS = (81, 85, 90, 95, 99)
ALL_RATIOS = tuple(range(81, 100))
MEGABYTE = 1_000_000
BANDWIDTH = 1e6
TIMES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
DRAIN = 5.0

DEFAULTS: dict[str, tuple[float | str, str]] = {
    "topology": ("S1, S2 to R1, R1 to R2, R2 to D1, D2 (Fig. 1 is an image)", ""),
    "bandwidth": (BANDWIDTH, "bit/s (R1 to R2 and back)"),
    "delay": (0.02, "s (R1 to R2)"),
    "access": (10e6, "bit/s (the other four links; their queues never drop)"),
    "near": (0.002, "s (delay of the other four links)"),
    "buffer": (50, "packets (FCFS and RED: limit_; ns-2's default)"),
    "agent": ("Agent/TCP (Tahoe), Agent/TCPSink, one acknowledgement per packet", ""),
    "window": (20, "packets (ns-2's default)"),
    "packet": (1000, "bytes (TCP, header included: useHeaders_ false)"),
    "syn_, delay_growth_, windowInit_, singledup_, tcpTick_": (
        "false, false, 1, 0, 0.1 s",
        "(defaults that ns-2 changed after the paper, set back)",
    ),
    "udp_packet": (210, "bytes (ns-2's default)"),
    "udp_rate": (448e3, "bit/s (ns-2's default)"),
    "random": (1, "1 (random_ of the CBR source: gaps vary by up to half)"),
    "sfq_limit, sfq_buckets": ("40 packets, 16", "(ns-2's defaults)"),
    "drr_limit, drr_buckets, drr_quantum": ("25000 bytes, 10, 250 bytes", "(ns-2's defaults)"),
    "red_min, red_max, red_weight, red_linterm": (
        "5 packets, 15 packets, 0.002, 10",
        "(counted in packets, not gentle)",
    ),
    "start": ("uniform in 0 to 0.01 s", ""),
    "finished": ("TCP: last byte acknowledged; UDP: as many bytes received as asked for", ""),
    "order": ("turns", "(TCP 1, 2, 3, 4, 1, ...; UDP 3, 4, 3, ...; blocks: 1, 1, ..., 2, ...)"),
    "check": (0.2, "s (cc looks for window cuts of the sending TCP flows)"),
    "hold": (1.0, "s (cc: stopped flows send again after this time without a cut)"),
    "stop": ("top", "(cc stops all below the highest priority with unfinished flows)"),
    "acks": ("taken", "(by a stopped TCP sender; lost: thrown away)"),
    "slot": (0.01, "s"),
    "slots per turn": ("2^(9-P)", "(a turn ends early when its flow finishes)"),
    "scale": (1, "1 (factor on the slots per turn)"),
    "ageing": (0, "s per gained level of priority (0: no ageing)"),
}

NOTES = (
    "1 KB is 1000 bytes. A UDP source goes on sending until its receiver has the asked amount.",
    (
        "The paper names none of: link rates and delays, buffers, packet sizes, UDP rate, parameters "
        "of SFQ, RED and DRR, slot, ageing time, what a congestion signal stops and for how long, how "
        "priorities are shared out. Every one is ns-2's default of that time where there is one, "
        "varied in the cases sensitivity-*, slots-per-turn* and priority-ageing*; Table 1's total "
        "load fixes the bottleneck at 1 Mb/s and 1000 bytes per TCP packet, header included."
    ),
    (
        "random_ is 1, not ns-2's default 0: with equal gaps the CBR flows keep their phases at the "
        "full queue, and equal flows get rates that differ twofold (case sensitivity-load)."
    ),
    (
        "SFQ and DRR of ns-2 2.35 tell flows apart by addresses without ports, while the ns-2 of the "
        "paper had the port in the address: every flow has an address of its own here, drawn by the "
        "seed, so that flows share the 16 or 10 buckets at random."
    ),
    (
        "A stopped TCP sender takes acknowledgements but sends nothing (window_ 0); its timer may run "
        "out, so that it goes on with a window of one packet and a doubled timeout. With `acks lost` "
        "it does not even take acknowledgements."
    ),
    (
        "Checked for every run: packets that a TCP sender counts equal those that reach R1's queue, "
        "those equal drops plus departures, and UDP receivers count as many as left the queue."
    ),
    (
        "Against Table 4: the paper's means under DRR exceed the 1600 s that all data take at "
        "1 Mb/s, so that its link idled. With best effort, limits much lower than ns-2's defaults "
        "come near all four rows of be/be: about 10 packets, or 2500 bytes and a bucket per flow "
        "under DRR (case short-queues). In ts/ts the highest priority needs 620 to 720 s here and "
        "450 s there, whatever the discipline: unexplained."
    ),
    "simulated_seconds is the load over the bottleneck rate; the tables have the exact times.",
)

SEED = {"seed": Column("1", "substream of the random number streams")}
FLOW = {"flow": Column("1", "number of the flow: source 1 before 2, TCP before UDP")}
DISCIPLINE = {"discipline": Column("", "queue from R1 to R2: FCFS (DropTail), DRR, RED or SFQ")}
TCP_FLOWS = {
    "tcp_flows": Column("flows", "TCP flows of each source; the rest of 100 are UDP flows")
}
SIZE = {"size": Column("bytes", "data of each flow")}
TIME = {"time": Column("s", "simulated time")}
ENVIRONMENT = {"environment": Column("", "mechanisms of S1 and S2: cc, ts or be (best effort)")}
VARIED = {
    "parameter": Column(
        "", "the one parameter that differs from the default; `default`: none does"
    ),
    "value": Column("", "its value, in the unit of the list of parameters"),
}
WHO = {
    "source": Column("1", "1: S1 to D1, 2: S2 to D2"),
    "protocol": Column("", "TCP or UDP"),
    "priority": Column("1", "1 is the highest; best effort has it for comparison only"),
    "mechanism": Column("", "cc, ts or be (best effort)"),
}
FLOW_VALUES = WHO | {
    "transfer_time": Column("s", "from the start of the flow to its end; empty: not finished"),
    "allowed_time": Column("s", "time during which the source let the flow send"),
    "stops": Column("events", "how often the source stopped the flow before its end"),
    "sent": Column("packets", "data packets sent, also those sent again"),
    "resent": Column("packets", "of these, sent again by TCP; empty for UDP"),
    "timeouts": Column("events", "retransmission timeouts of TCP; empty for UDP"),
    "dropped": Column("packets", "packets dropped at R1's queue, the only place of drops"),
    "received": Column(
        "packets", "packets that left R1's queue and arrived, duplicates and those on the way at "
        "the end of a UDP flow included"
    ),
}  # fmt: skip
SOURCE_TABLE = {
    "mechanism": WHO["mechanism"],
    "signals": Column("events", "cc: looks that found a window cut since the last one"),
    "turns": Column("events", "ts: turns that began"),
    "rounds": Column("events", "ts: full rounds over the unfinished flows"),
    "finish": Column("s", "time when the last flow of the source finished; empty: not all did"),
}


def options(run: Run) -> dict[str, float | str]:
    """Options of ``priority.tcl``: everything of a run but the labels."""
    chosen = {key: value for key, value in run.items() if key not in ("parameter", "value")}
    environment = chosen.pop("environment", "be/be").split("/")
    mechanisms = dict(zip(("s1", "s2"), environment, strict=True))
    if "tcp_flows" in chosen:
        tcp = chosen.pop("tcp_flows")
        chosen |= {"tcp1": tcp, "udp1": 100 - tcp, "tcp2": tcp, "udp2": 100 - tcp}
    return {**mechanisms, **chosen}


def calls(run: Run) -> Calls:
    """Return the options of ``priority.tcl`` as words."""
    return [pairs(options(run))]


ALL_INDEX = VARIED | ENVIRONMENT | DISCIPLINE | SIZE | TCP_FLOWS | SEED


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of one run; check that no packet got lost unseen."""
    index = {name: run[name] for name in ALL_INDEX if name in run}
    flows: Rows = []
    finishes: dict[str, list[float]] = {"1": [], "2": []}
    for words in lines(folder, "flows.txt"):
        flow, source, protocol, priority, mechanism = words[:5]
        start, finish, allowed = map(float, words[5:8])
        stops, arrived, dropped, left, sent, resent, timeouts, _ = map(int, words[8:])
        tcp = protocol == "TCP"
        lost = arrived - dropped - left, sent - (arrived if tcp else left)
        if min(lost) < 0 or (finish >= 0 and max(lost) > 0):
            msg = f"{run}: flow {flow}: {arrived} arrived, {dropped} dropped, {left} left, {sent}"
            raise RuntimeError(msg)
        finishes[source].append(finish)
        row = {
            "flow": int(flow),
            "source": int(source),
            "protocol": protocol,
            "priority": int(priority),
            "mechanism": mechanism,
            "transfer_time": round(finish - start, 4) if finish >= 0 else None,
            "allowed_time": round(allowed, 4),
            "stops": stops,
            "sent": arrived,
            "resent": resent if tcp else None,
            "timeouts": timeouts if tcp else None,
            "dropped": dropped,
            "received": left,
        }
        flows.append(index | row)
    sources: Rows = [
        index
        | {
            "source": int(words[0]),
            "mechanism": words[1],
            "signals": int(words[2]),
            "turns": int(words[3]),
            "rounds": int(words[4]),
            "finish": round(float(words[5]), 4) if min(finishes[words[0]]) >= 0 else None,
        }
        for words in lines(folder, "sources.txt")
    ]
    return {"flows": flows, "sources": sources}


def read_shares(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the packets of each endless flow that passed the queue until each of several times."""
    about = {words[0]: words for words in lines(folder, "flows.txt")}
    index = {name: run[name] for name in ALL_INDEX if name in run}
    rows: Rows = []
    for time, flow, arrived, dropped, left in lines(folder, "shares.txt"):
        _, source, protocol, priority, mechanism, *_ = about[flow]
        rows.append(
            index
            | {
                "time": float(time),
                "flow": int(flow),
                "source": int(source),
                "protocol": protocol,
                "priority": int(priority),
                "mechanism": mechanism,
                "arrived": int(arrived),
                "dropped": int(dropped),
                "departed": int(left),
                "waiting": int(arrived) - int(dropped) - int(left),
            }
        )
    buffer = int(run.get("buffer", DEFAULTS["buffer"][0]))
    for time in {row["time"] for row in rows}:
        waiting = [row["waiting"] for row in rows if row["time"] == time]
        if min(waiting) < 0 or sum(waiting) > buffer:
            raise RuntimeError(f"{run}: {sum(waiting)} packets waiting at {time} s")
    return {"shares": rows}


def duration(run: Run) -> float:
    """Estimate the simulated time of a run by the time that its load needs at the bottleneck."""
    chosen = {"tcp1": 4, "udp1": 3, "tcp2": 3, "udp2": 3, "bandwidth": BANDWIDTH, **options(run)}
    if chosen["size"] == 0:
        return float(chosen["limit"])
    flows = sum(int(chosen[name]) for name in ("tcp1", "udp1", "tcp2", "udp2"))
    return 8 * flows * float(chosen["size"]) / float(chosen["bandwidth"]) + DRAIN


def make(
    name: str,
    title: str,
    claims: Sequence[str],
    runs: Sequence[Run],
    notes: Sequence[str] = (),
) -> Case:
    """Build a case: tables of the flows and the sources of each run, or the shares of endless flows."""
    endless = runs[0]["size"] == 0
    index = {key: column for key, column in ALL_INDEX.items() if key in runs[0]}
    if endless:
        del index["size"]
    tables = {
        "flows": Table(index | FLOW, FLOW_VALUES),
        "sources": Table(index | {"source": WHO["source"]}, SOURCE_TABLE),
    }
    shares = {"shares": Table(index | TIME | FLOW, SHARE_VALUES)}
    return Case(
        name=f"yang2001/{name}",
        title=title,
        claims=tuple(claims),
        program=PROGRAM,
        parameters=DEFAULTS,
        tables=shares if endless else tables,
        runs=runs,
        calls=calls,
        read=read_shares if endless else read,
        simulated_seconds=duration,
        notes=(*notes, *NOTES),
    )


def crossed(environments: Sequence[str], discipline: str, size: int) -> list[Run]:
    """Environments under one discipline: all ratios, all seeds."""
    return [
        {"discipline": discipline, "size": size, **chosen}
        for chosen in cross(environment=environments, tcp_flows=ALL_RATIOS, seed=SEEDS)
    ]


def ninety(environment: str) -> Run:
    """Return an environment under FCFS with 90 + 10 flows of 1 MB per source."""
    return {
        "environment": environment, "discipline": "FCFS", "size": MEGABYTE, "tcp_flows": 90,
    }  # fmt: skip


def varied(
    base: Mapping[str, float | str],
    changes: Mapping[str, Sequence[float | str]],
    seeds: Sequence[int],
) -> list[Run]:
    """One factor at a time around the default; a name ``discipline.option`` sets both."""
    runs: list[Run] = []
    for parameter, values in {"default": ("default",), **changes}.items():
        for value in values:
            change: dict[str, float | str] = {}
            if parameter != "default":
                *discipline, option = parameter.split(".")
                change = {option: value} | ({"discipline": discipline[0]} if discipline else {})
            shown = value if isinstance(value, str) else f"{value:g}"
            label = {"parameter": parameter, "value": shown}
            runs += [{**label, **base, **change, "seed": seed} for seed in seeds]
    return runs


LOAD: dict[str, Sequence[float | str]] = {
    "bandwidth": (2e6,),
    "delay": (0.005, 0.1),
    "access": (100e6,),
    "near": (0.02,),
    "buffer": (10, 25, 100, 200),
    "agent": ("Agent/TCP/Reno", "Agent/TCP/Newreno"),
    "window": (10, 64),
    "packet": (500, 1500),
    "udp_packet": (500, 1000),
    "udp_rate": (224e3, 1e6),
    "random": (0,),
    "jitter": (0.1, 1.0),
    "finished": ("sent",),
}
QUEUES: dict[str, Sequence[float | str]] = {
    "SFQ.sfq_limit": (40, 10, 20, 160),
    "SFQ.sfq_buckets": (64, 256),
    "DRR.drr_limit": (25000, 2500, 5000, 12500, 100000),
    "DRR.drr_buckets": (50, 250),
    "DRR.drr_quantum": (1000,),
    "RED.red_max": (15, 40),
    "RED.red_weight": (0.02,),
    "RED.buffer": (200,),
}
CONTROL: dict[str, Sequence[float | str]] = {
    "hold": (0.25, 4, 16),
    "stop": ("one",),
    "check": (0.1, 0.5, 1),
    "buffer": (25, 200),
    "udp_rate": (1e6,),
    "finished": ("sent",),
    "agent": ("Agent/TCP/Newreno",),
    "acks": ("lost",),
    "order": ("blocks",),
}
SLOTS: dict[str, Sequence[float | str]] = {
    "delay": (0.005, 0.1),
    "buffer": (10, 200),
    "agent": ("Agent/TCP/Newreno",),
    "window": (10, 64),
    "packet": (500, 1500),
    "udp_packet": (1000,),
    "udp_rate": (224e3, 1e6),
    "finished": ("sent",),
    "acks": ("lost",),
    "order": ("blocks",),
}
AGEING_NOTE = "All unfinished flows gain a level at the multiples of the ageing time; 0: no ageing."
SHARE_VALUES = WHO | {
    "arrived": Column("packets", "packets that reached R1's queue from 0 s on"),
    "dropped": Column("packets", "of these, dropped"),
    "departed": Column(
        "packets", "of these, sent on; a TCP packet has 1000 bytes, a UDP packet 210"
    ),
    "waiting": Column("packets", "of these, in the queue at that time"),
}
ENVIRONMENT_CLAIMS = {
    "cc/cc": ("Y03", "Y07", "Y08", "Y09", "Y12", "Y13", "Y18"),
    "ts/ts": ("Y04", "Y07", "Y08", "Y09", "Y12", "Y13", "Y17", "Y18"),
    "cc/be": ("Y05", "Y07", "Y08", "Y09", "Y11", "Y12", "Y13", "Y18"),
    "ts/be": ("Y05", "Y07", "Y08", "Y09", "Y11", "Y12", "Y13", "Y18"),
    "be/be": ("Y06", "Y07", "Y08", "Y11", "Y12", "Y18"),
}
SHORT: Run = {"buffer": 10, "sfq_limit": 10, "drr_limit": 2500, "drr_buckets": 250}
SCALES = (1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64)
AGEING = (10, 30, 100, 300, 1000, 0)


def scaled(**options: float | str) -> list[Run]:
    """Slots per turn times 1/64 to 64, all seeds."""
    return [
        {"parameter": "scale", "value": f"{scale:g}", "scale": scale}
        | {**ninety("ts/ts"), "seed": seed, **options}
        for scale in SCALES
        for seed in SEEDS
    ]


def until(times: Sequence[float]) -> Run:
    """Look at endless flows at some times, and stop after the last."""
    return {"times": " ".join(map(str, times)), "limit": times[-1] + 0.1}


def aged() -> list[Run]:
    """Ageing times in both controlled environments, all seeds."""
    return [
        {"parameter": "ageing", "value": str(ageing), "ageing": ageing}
        | {**ninety(environment), "seed": seed}
        for environment in ("cc/cc", "ts/ts")
        for ageing in AGEING
        for seed in SEEDS
    ]


FIXED_BEFORE = (
    "The number of seeds was fixed before they were run: over five seeds an interval decided nothing, and "
    "these runs cost less than ten minutes of CPU time."
)

CASES = [
    make(
        "transfer-times",
        "7 TCP and 6 UDP flows that transmit 10 KB to 10 MB each (Table 1)",
        ("Y01",),
        [{"size": 10**k, "seed": seed} for k in (4, 5, 6, 7) for seed in SEEDS],
    ),
    make(
        "transfer-times-100mb",
        "7 TCP and 6 UDP flows that transmit 100 MB each (Table 1)",
        ("Y01",),
        [{"size": 10**8, "seed": seed} for seed in SEEDS],
    ),
    make(
        "transfer-times-seeds",
        "7 TCP and 6 UDP flows that transmit 100 KB or 1 MB each (Table 1), twenty more seeds",
        ("Y01",),
        [{"size": 10**k, "seed": seed} for k in (5, 6) for seed in range(6, 26)],
        ("Seeds 6 to 25; seeds 1 to 5 are the case transfer-times.", FIXED_BEFORE),
    ),
    make(
        "bandwidth-shares",
        "7 TCP and 6 UDP endless flows, 1 to 10000 s (Fig. 2)",
        ("Y02",),
        [{"size": 0, **until(TIMES), "seed": seed} for seed in SEEDS],
    ),
    *(
        make(
            f"{environment.replace('/', '-')}-{discipline.lower()}",
            f"{environment} under {discipline}: 100 + 100 flows of 1 MB (Tables 4 and 6)",
            claims,
            [
                run
                for run in crossed((environment,), discipline, MEGABYTE)
                if run["tcp_flows"] in RATIOS or environment == "be/be"
            ],
        )
        for discipline in DISCIPLINES
        for environment, claims in ENVIRONMENT_CLAIMS.items()
    ),
    make(
        "short-queues",
        "five environments, four disciplines: 90 + 10 flows of 1 MB per source, queues of 10 packets",
        ("Y03", "Y04", "Y05", "Y06", "Y12"),
        [
            {**run, **SHORT}
            for discipline in DISCIPLINES
            for run in crossed(tuple(ENVIRONMENT_CLAIMS), discipline, MEGABYTE)
            if run["tcp_flows"] == 90
        ],
        ("FCFS, RED and SFQ hold 10 packets here; DRR 2500 bytes, in 250 buckets.",),
    ),
    make(
        "short-queues-small-windows",
        "ts/ts, four disciplines: 90 + 10 flows of 1 MB per source, queues of 10 packets, windows of 4",
        ("Y04",),
        [
            {**run, **SHORT, "window": 4}
            for discipline in DISCIPLINES
            for run in crossed(("ts/ts",), discipline, MEGABYTE)
            if run["tcp_flows"] == 90
        ],
        ("As short-queues; two windows, of the flows whose turn it is, do not fill the queue.",),
    ),
    *(
        make(
            f"small-{discipline.lower()}",
            f"five environments under {discipline}: 100 + 100 flows of 10 KB (Fig. 7)",
            ("Y10", "Y16"),
            [
                run
                for run in crossed(tuple(ENVIRONMENT_CLAIMS), discipline, MEGABYTE // 100)
                if run["tcp_flows"] in RATIOS
            ],
        )
        for discipline in DISCIPLINES
    ),
    make(
        "small-drr-long-queues",
        "ts/be under DRR: 100 + 100 flows of 10 KB, a queue of 100000 bytes in all buckets together",
        ("Y10",),
        [
            {**run, "drr_limit": 100_000}
            for run in crossed(("ts/be",), "DRR", MEGABYTE // 100)
            if run["tcp_flows"] in RATIOS
        ],
        ("As small-drr, whose queue holds 25000 bytes: here hardly a packet of TCP is lost.",),
    ),
    make(
        "small-signals",
        "cc/cc and cc/be, four disciplines: 90 + 10 flows of 10 KB, looks and holds of other lengths",
        ("Y16",),
        [
            {"parameter": parameter, "value": f"{value:g}", **run, parameter: value}
            for parameter, value in (("check", 0.02), ("hold", 4.0))
            for discipline in DISCIPLINES
            for run in crossed(("cc/cc", "cc/be"), discipline, MEGABYTE // 100)
            if run["tcp_flows"] == 90 and int(str(run["seed"])) <= 3
        ],
        ("The defaults, 0.2 s and 1 s, are in the cases small-*.",),
    ),
    make(
        "slots-per-turn",
        "ts/ts: 90 + 10 flows of 1 MB per source, slots per turn times 1/64 to 64",
        ("Y14", "Y17"),
        scaled(),
        (
            "Only the product of slots and slot length matters: this is the sweep of both.",
            (
                "The round-trip time without waiting is 0.06 s: at 1/64 the turns of priorities 1 to "
                "4 last 0.04, 0.02, 0.01 and 0.005 s, at 1 2.56 to 0.32 s, at 64 164 to 20 s."
            ),
        ),
    ),
    make(
        "slots-per-turn-acks-lost",
        "as slots-per-turn, when a flow loses the acknowledgements that come outside its turns",
        ("Y14",),
        scaled(acks="lost", limit=3000),
        (
            (
                "Section 5.6 says that a turn shorter than the round trip keeps a TCP flow from "
                "getting its acknowledgements. That takes a sender that does not listen outside its "
                "turns; the default listens."
            ),
            "The runs end at 3000 s; a transfer time that is empty is a flow that starved.",
        ),
    ),
    make(
        "priority-ageing",
        "cc/cc and ts/ts: 90 + 10 flows of 1 MB per source, ageing time 10 to 1000 s and none",
        ("Y15",),
        aged(),
        (AGEING_NOTE,),
    ),
    make(
        "priority-ageing-endless",
        "cc/cc and ts/ts: 90 + 10 endless flows per source, ageing time 10 to 1000 s and none",
        ("Y15",),
        [{**run, "size": 0, **until((500, 1000))} for run in aged()],
        (
            AGEING_NOTE,
            "Endless flows of high priority: what the paper says of starving needs them.",
        ),
    ),
    make(
        "sensitivity-load",
        "Table 1 with 1 MB: one parameter at a time",
        ("Y01",),
        varied({"discipline": "FCFS", "size": MEGABYTE}, LOAD, SEEDS),
    ),
    make(
        "sensitivity-shares",
        "7 TCP and 6 UDP endless flows, 50 to 200 s: one parameter at a time",
        ("Y02",),
        varied(
            {"discipline": "FCFS", "size": 0, **until((50, 100, 200))},
            {key: values for key, values in LOAD.items() if key != "finished"},
            SEEDS,
        ),
    ),
    make(
        "sensitivity-best-effort",
        "be/be with 90 + 10 flows of 1 MB per source, FCFS: one parameter at a time",
        ("Y06",),
        varied(ninety("be/be"), LOAD, SEEDS),
    ),
    make(
        "sensitivity-queues",
        "be/be with 90 + 10 flows of 1 MB per source: parameters of SFQ, DRR and RED, one at a time",
        ("Y06", "Y12"),
        varied(ninety("be/be"), QUEUES, SEEDS),
        ("The first value of each discipline's first parameter is the default.",),
    ),
    make(
        "sensitivity-control",
        "cc/cc with 90 + 10 flows of 1 MB per source, FCFS: one parameter at a time",
        ("Y03", "Y13"),
        varied(ninety("cc/cc"), CONTROL, SEEDS),
    ),
    make(
        "sensitivity-slots",
        "ts/ts with 90 + 10 flows of 1 MB per source, FCFS: one parameter at a time",
        ("Y04", "Y17"),
        varied(ninety("ts/ts"), SLOTS, SEEDS),
    ),
]
