"""takano2006, scenario 1 with DFC and TCP NewReno, in ns-3: 30 nodes at 370 Mb/s, shaped hosts.

``ns3/dfc.cc`` runs ns-3's TCP over a chain whose devices follow eqs. (1)-(5) and (9)-(13). No
packet is lost, so the recovery law of TCP is not entered.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from validation.generate.cases import Case, Column, Rows, Run, Table, call
from validation.generate.ns3_build import compiled, ns3_version

DURATION = 1.5

INDEX = {
    "seed": Column("", "run number of ns-3's random streams"),
    "phases": Column("", "feedback clocks: random phase per node, or synchronous"),
}
TIME = Column("s", "simulated time")
NODE = Column("", "node, 1 to 29")
FLOW = Column("", "target (nodes 1 to 30) or background (nodes 15 to 30)")

TABLES = {
    "efficiency": Table(
        index={**INDEX, "time_s": Column("s", "end of the millisecond"), "flow": FLOW},
        values={
            "efficiency": Column(
                "1",
                "mean of the packets in propagation on the flow's links (29 or 15) in the "
                "millisecond, over link rate x delay summed over these links",
            )
        },
    ),
    "queues": Table(
        index={**INDEX, "time_s": TIME, "node": NODE, "flow": FLOW},
        values={
            "packets": Column("packets", "waiting at this time, without the one in transmission"),
            "mean_packets": Column("packets", "time average of the waiting over the last 5 ms"),
        },
    ),
    "hosts": Table(
        index={**INDEX, "time_s": TIME, "flow": FLOW},
        values={
            "waiting": Column("packets", "packets that wait in the host for the shaper"),
            "congestion_window": Column(
                "packets", "TCP's window; ns-3 lets it grow beyond what the receiver allows"
            ),
            "in_flight": Column(
                "packets", "sent by TCP and not acknowledged, host's queue included"
            ),
        },
    ),
    "nodes": Table(
        index={**INDEX, "node": NODE},
        values={
            "accepted": Column("packets", "packets that the node took, both flows"),
            "dropped": Column("packets", "packets that found its buffer full"),
            "sent": Column("packets", "packets that left on the link to the next node"),
            "peak_target": Column("packets", "longest queue of the target, the arrival included"),
            "peak_background": Column("packets", "longest queue of the background flow"),
            "peak": Column("packets", "longest queue of both together"),
        },
    ),
    "flows": Table(
        index={**INDEX, "flow": FLOW},
        values={
            "offered": Column("packets", "packets that TCP gave to its host's device"),
            "in_host": Column("packets", "of these in the host at the end"),
            "in_nodes": Column(
                "packets", "in the nodes at the end, those in transmission included"
            ),
            "on_links": Column("packets", "in propagation at the end, the host's link included"),
            "dropped": Column("packets", "lost at a node"),
            "received": Column("packets", "packets that node 30 received: SYN, ACK and data"),
            "unique": Column("packets", "data packets that the receiver delivered in order"),
        },
    ),
}

PARAMETERS = {
    "nodes": (30.0, "1"),
    "background_node": (15.0, "1"),
    "link_rate": (370.0, "Mb/s"),
    "delay": (0.1, "ms"),
    "buffer": (1800.0, "packets"),
    "packet_size": (1500.0, "bytes"),
    "diffusion": (0.1, "1"),
    "intensity": (1.0, "1"),
    "feedback_period": (0.1, "ms"),
    "window": (5000.0, "packets"),
    "background_start": (0.1, "s"),
    "tcp": ("NewReno", ""),
    "host": ("shaped", ""),
}

NOTES = (
    (
        "ns-3's TCP NewReno (no SACK, no timestamps, an ACK per packet, initial window 10 packets, "
        "unlimited initial threshold), IPv4, nodes and channels; the forward send path is a device "
        "of ours, ACKs return over plain point-to-point devices."
    ),
    (
        "A packet of 1500 bytes is 1458 of data and 42 of TCP, IPv4 and PPP headers. The "
        "receiver's window is 4999 packets (5000 rounded down by window scaling)."
    ),
    (
        "The rates of a node change when feedback of the next node arrives, and when a flow "
        "becomes active, which it is from its first packet on. Feedback has no length, travels "
        "one link delay and carries the nominal rate J(1, t), computed when it is sent, not the "
        "achieved one. What was not yet reported counts as (link rate, 0), which is also what "
        "node 30 reports. n counts the packets that wait, without the one in transmission."
    ),
    (
        "Pacing: a packet leaves when the link is free and its flow has a credit of one packet; "
        "credit grows at J, for an empty queue to 1 at most; of two flows the one with more credit "
        "goes first."
    ),
    "offered = in_host + in_nodes + on_links + dropped + received, exactly.",
    ("unique = received - 2 (SYN and the ACK that opens the connection): nothing was sent twice."),
)

QUANTIZED = (
    "Variant, against the note above: n includes the packet in transmission. At 370 Mb/s one "
    "packet more in n_1 takes D/d = 1000 packets/s, 3.2 % of the link rate, from "
    "r_0 = J_1 - (D/d) n_1."
)


def simulated_seconds(run: Run) -> float:
    """Tell the simulated time, the same for every run."""
    del run
    return DURATION


def _arguments(run: Run) -> str:
    return (
        f"--duration={DURATION:g} --seed={run['seed']} "
        f"--synchronous={int(run['phases'] == 'synchronous')} "
        f"--count-transmission={int(run['count_transmission'])}"
    )


def command(run: Run) -> str:
    """Write the call for the record; the executable's real name carries its source's hash."""
    return f"build/data/bin/dfc {_arguments(run)}"


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Simulate one seed; the rows of all tables."""
    program = compiled("dfc", "core", "network", "point-to-point", "internet", "applications")
    printed = call(f"{shlex.quote(str(program))} {_arguments(run)}", folder)
    names = {"efficiency": "efficiency", "queue": "queues", "host": "hosts"}
    names |= {"node": "nodes", "flow": "flows"}
    rows: dict[str, Rows] = {name: [] for name in TABLES}
    labels = {"seed": run["seed"], "phases": run["phases"]}
    for line in printed.splitlines():
        kind, *fields = line.split()
        columns = [name for name in TABLES[names[kind]].columns if name not in labels]
        values = {
            name: text if name == "flow" else float(text) if "." in text else int(text)
            for name, text in zip(columns, fields, strict=True)
        }
        rows[names[kind]].append({**labels, **values})
    return rows


def _case(name: str, title: str, runs: list[Run], notes: tuple[str, ...]) -> Case:
    return Case(
        name=f"takano2006/{name}",
        title=title,
        claims=("D04", "D14", "D15"),
        tool="ns-3",
        version=ns3_version,
        parameters=PARAMETERS,
        tables=TABLES,
        runs=runs,
        execute=execute,
        command=command,
        sources=(
            "validation/generate/ns3/dfc.cc",
            "validation/generate/ns3/dfc-device.h",
            "validation/generate/ns3_dfc.py",
        ),
        simulated_seconds=simulated_seconds,
        notes=notes,
    )


CASES = (
    _case(
        "dfc-newreno-370",
        "DFC chain of scenario 1 (370 Mb/s) with NewReno and shaped hosts",
        [
            {"seed": seed, "phases": phases, "count_transmission": False}
            for seed, phases in (
                (1, "random"),
                (2, "random"),
                (3, "random"),
                (4, "random"),
                (1, "synchronous"),
            )
        ],
        NOTES,
    ),
    _case(
        "dfc-newreno-370-transmission-counted",
        "The same chain where n counts the packet in transmission too",
        [
            {"seed": 1, "phases": phases, "count_transmission": True}
            for phases in ("random", "synchronous")
        ],
        (*NOTES, QUANTIZED),
    ),
)
