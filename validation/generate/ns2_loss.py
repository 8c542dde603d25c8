"""Rates of TCP(a, b) and TFRC under imposed loss, by ns-2 (zheng2002, Sect. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validation.generate import ns2_tool
from validation.generate.cases import Case, Column, Rows, Run, Table

RTT = 0.048
RTO = 4 * RTT
PACKETS_PER_LOSS = (10000, 5000, 2000, 1000, 500, 200, 100, 50, 33, 20)
RULES = {
    "TCP(1,1/2)": (1.0, 0.5),
    "TCP(3/7,1/4)": (3 / 7, 0.25),
    "TCP(1/5,1/8)": (0.2, 0.125),
    "TFRC": None,
}

INDEX = {
    "rule": Column("", "TCP(a,b) or TFRC"),
    "packets_per_loss": Column("packets", "k: one packet in k is dropped, p = 1/k"),
}
SEED = {"seed": Column("1", "substream of the random number stream")}
VALUES = {
    "increase": Column("packets", "a: window increase per round trip; empty for TFRC"),
    "decrease": Column("1", "b: part of the window that is given up at a loss; empty for TFRC"),
    "p_nominal": Column("1", "loss rate asked for, 1/k"),
    "start": Column("s", "simulated time discarded before the measurement: the first 51 drops"),
    "duration": Column("s", "length of the measurement"),
    "sent": Column("packets", "data packets sent, also those sent again, before the loss"),
    "drops": Column("packets", "of these, dropped"),
    "delivered": Column("packets", "TCP: newly acknowledged; TFRC: sent less dropped"),
    "resent": Column("packets", "data packets sent again by TCP; empty for TFRC"),
    "loss_events": Column(
        "events", "drops that were sent one round-trip time (48 ms) or more after the drop that "
        "began the loss event before"
    ),
    "cuts": Column("events", "window reductions of TCP, also by timeouts; empty for TFRC"),
    "timeouts": Column("events", "retransmission timeouts of TCP; empty for TFRC"),
    "p": Column("1", "drops / sent"),
    "p_event": Column("1", "loss_events / sent"),
    "rate": Column("packets/s", "sent / duration"),
    "goodput": Column("packets/s", "delivered / duration"),
    "mean_rtt": Column(
        "s", "TCP: mean of its latest round-trip sample, looked at every 10 ms; TFRC: the two "
        "propagation delays and transmission times"
    ),
    "rto": Column("s", "smallest t_RTO of TCP; the t_RTO in TFRC's equation (pinned)"),
    "mean_cwnd": Column("packets", "mean of TCP's cwnd, looked at every 10 ms; empty for TFRC"),
    "mean_allowed_rate": Column(
        "packets/s", "mean of the rate that TFRC allows itself, looked at every 10 ms; empty for TCP"
    ),
}  # fmt: skip

PARAMETERS: dict[str, tuple[float | str, str]] = {
    "agent": ("Agent/TCP/Sack1 and Agent/TCPSink/Sack1; Agent/TFRC and Agent/TFRCSink", ""),
    "propagation round trip": (RTT, "s"),
    "link rate": (10e9, "bit/s"),
    "packetSize_": (1000, "bytes (plus 40 of header for TCP, 32 for TFRC)"),
    "fsize_ (TFRC)": (1000, "bytes"),
    "window_ (TCP)": (100000, "packets"),
    "windowOption_ (TCP)": (1, "1"),
    "increase_num_, decrease_num_ (TCP)": ("a, 1 - b (the factor that is kept)", ""),
    "tcpTick_ (TCP)": (1e-4, "s"),
    "minrto_ (TCP, default)": (0.2, "s"),
    "tcp_tick_ (TFRC)": (1e-3, "s"),
    "minrto_ (TFRC)": (RTO, "s (above srtt + 4 rttvar, hence t_RTO = 4 RTT)"),
    "bval_ (TFRC, default)": (1, "packets per acknowledgement"),
    "overhead_ (default)": (0, "1 (no random delay between packets)"),
    "singledup_ (TCP, default)": (1, "1 (limited transmit)"),
    "acknowledgements (TCP)": (1, "per packet"),
    "drops before the measurement": (51, "packets"),
}

NOTES = (
    (
        "SACK recovers any number of losses of one window in one round trip, so that one loss event "
        "costs one reduction and one round trip without growth. NewReno needs a round trip for each "
        "loss of a window; under periodic loss with p <= 1e-3 its cycles are as long."
    ),
    (
        "The link never limits: 1,000 packets of a burst wait less than 0.9 ms. No packet is lost "
        "but by the loss model; acknowledgements are never lost."
    ),
    (
        "A window leaves in bursts that keep their places in the round trip, so that cycles of TCP "
        "under periodic loss lock to whole round trips: rates move in steps, most visibly at large p."
    ),
    (
        "The first cut of TCP(a,b), and cuts in slow start or after a timeout, are 1/2 in ns-2 "
        "whatever b is."
    ),
    (
        "Slow start is ended by a drop at packet 200 or before (periodic), or with probability 1/200 "
        "per packet (independent), because ns-2's TFRC receiver divides by zero when its first loss "
        "comes after some 9,000 packets."
    ),
    (
        "A seed gives every rule and loss rate the same random numbers: under independent loss the "
        "measured p deviates from the nominal one alike for all rules. Compare with the measured p."
    ),
    "The p that a TFRC receiver reports cannot be read from ns-2 with enough digits.",
    "simulated_seconds is an estimate by the square-root law; the table has the exact times.",
)


def options(run: Run) -> dict[str, float | str]:
    """Options of ``loss.tcl``."""
    chosen: dict[str, float | str] = {
        "loss": run["loss"],
        "k": run["packets_per_loss"],
        "events": run["events"],
        "seed": run["seed"],
    }
    ab = RULES[run["rule"]]
    if ab is None:
        return chosen | {"agent": "Agent/TFRC", "rto": RTO}
    return chosen | {"agent": "Agent/TCP/Sack1", "increase": ab[0], "decrease": 1 - ab[1]}


def loss_events(times: Sequence[float]) -> int:
    """Count the loss events: drops sent an RTT or more after the one that began the last."""
    count, begin = 0, -RTT
    for time in times:
        if time - begin >= RTT:
            count += 1
            begin = time
    return count


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Measure one rule at one loss rate."""
    words = ns2_tool.run("loss.tcl", options(run), folder).split()
    out = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    times = [float(line.split()[1]) for line in (folder / "drops.txt").read_text().splitlines()]
    measured = [time for time in times if time > out["start"]]
    events = loss_events(measured)
    ab = RULES[run["rule"]]
    tcp = ab is not None
    sent, drops, duration = int(out["sent"]), int(out["drops"]), out["duration"]
    delivered = int(out["acked"]) if tcp else sent - drops
    increase, decrease = ab or (None, None)
    row = {
        "rule": run["rule"],
        "packets_per_loss": run["packets_per_loss"],
        "seed": run["seed"],
        "increase": increase,
        "decrease": decrease,
        "p_nominal": 1 / run["packets_per_loss"],
        "start": out["start"],
        "duration": duration,
        "sent": sent,
        "drops": drops,
        "delivered": delivered,
        "resent": int(out["resent"]) if tcp else None,
        "loss_events": events,
        "cuts": int(out["cuts"]) if tcp else None,
        "timeouts": int(out["timeouts"]) if tcp else None,
        "p": drops / sent,
        "p_event": events / sent,
        "rate": sent / duration,
        "goodput": delivered / duration,
        "mean_rtt": out["rtt"] if tcp else RTT + (1032 + 40) * 8 / 10e9,
        "rto": 0.2 if tcp else RTO,
        "mean_cwnd": out["window"] if tcp else None,
        "mean_allowed_rate": None if tcp else out["rate"],
    }
    return {"rates": [row]}


def command(run: Run) -> str:
    """Give the command line of one run."""
    return ns2_tool.command("loss.tcl", options(run))


def duration(run: Run) -> float:
    """Estimate the simulated time of a run by the square-root law (the table has the exact one)."""
    k = run["packets_per_loss"]
    return (run["events"] + 51) * RTT * (2 * k / 3) ** 0.5


def _case(loss: str, title: str, events: dict[int, int], seeds: tuple[int, ...]) -> Case:
    keys = INDEX | (SEED if loss == "independent" else {})
    return Case(
        name=f"zheng2002/{loss}-loss",
        title=title,
        claims=("Z01", "Z02"),
        tool=ns2_tool.TOOL,
        version=ns2_tool.version,
        parameters=PARAMETERS,
        tables={"rates": Table(keys, VALUES)},
        runs=[
            {
                "loss": loss,
                "rule": rule,
                "packets_per_loss": k,
                "events": events.get(k, 2500),
                "seed": seed,
            }
            for rule in RULES
            for k in PACKETS_PER_LOSS
            for seed in seeds
        ],
        execute=execute,
        command=command,
        sources=(
            f"{ns2_tool.SCRIPTS}/loss.tcl",
            "validation/generate/ns2_tool.py",
            "validation/generate/ns2_loss.py",
        ),
        simulated_seconds=duration,
        notes=NOTES,
    )


CASES = [
    _case(
        "periodic",
        "rates of TCP(a,b) and TFRC when every k-th packet is lost",
        {10000: 300, 5000: 600, 2000: 1250},
        (0,),
    ),
    _case(
        "independent",
        "rates of TCP(a,b) and TFRC when packets are lost independently",
        {10000: 1000, 5000: 1000},
        (1, 2, 3),
    ),
]
