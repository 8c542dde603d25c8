"""Rates of TCP(a, b) and TFRC under rare imposed loss, p from 5e-5 to 1e-5, by ns-2."""

from __future__ import annotations

from pathlib import Path

from validation.generate import ns2_loss, ns2_tool
from validation.generate.cases import Case, Column, Rows, Run, Table

RTT = ns2_loss.RTT
RTO = ns2_loss.RTO
# Packets per loss: drops before the measurement, loss events asked for in it.
PLAN = {
    "periodic": {20000: (30, 100), 50000: (30, 50), 100000: (30, 30)},
    "independent": {20000: (15, 80), 100000: (15, 30)},
}

VALUES = ns2_loss.VALUES | {
    "start": Column(
        "s",
        "simulated time discarded before the measurement: the first 31 (periodic) or 16 "
        "(independent) drops",
    ),
    "loss_events": Column(
        "events",
        "drops that were sent one round-trip time (48 ms) or more after the drop that began the "
        "loss event before; few: the sampling error of a rate under independent loss is about "
        "0.5 / sqrt(loss_events)",
    ),
}
PARAMETERS = ns2_loss.PARAMETERS | {
    "drops before the measurement": ("31 (periodic), 16 (independent)", "packets"),
    "early": ("2.5 sqrt(k)", "packets sent when slow start is ended by a drop"),
}
NOTES = (
    *ns2_loss.NOTES[:4],
    (
        "Slow start is ended by a drop at packet 2.5 sqrt(k) (periodic), or with that probability's "
        "inverse per packet (independent), so that the window begins near its mean: with b = 1/8 a "
        "deviation of the first window takes eight loss events to fall to a third."
    ),
    *ns2_loss.NOTES[5:7],
    (
        "Windows of hundreds of packets: the cycles are 20 to 500 round trips long, so that whole "
        "round trips no longer matter."
    ),
    *ns2_loss.NOTES[7:],
)


def options(run: Run) -> dict[str, float | str]:
    """Options of ``loss.tcl``."""
    k = run["packets_per_loss"]
    warm, events = PLAN[run["loss"]][k]
    chosen = ns2_loss.options({**run, "events": events})
    return chosen | {"warm": warm, "early": round(2.5 * k**0.5)}


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Measure one rule at one loss rate."""
    words = ns2_tool.run("loss.tcl", options(run), folder).split()
    out = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    times = [float(line.split()[1]) for line in (folder / "drops.txt").read_text().splitlines()]
    events = ns2_loss.loss_events([time for time in times if time > out["start"]])
    ab = ns2_loss.RULES[run["rule"]]
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
    return float(sum(PLAN[run["loss"]][k]) * RTT * (2 * k / 3) ** 0.5)


def _case(loss: str, title: str, seeds: tuple[int, ...]) -> Case:
    keys = ns2_loss.INDEX | (ns2_loss.SEED if loss == "independent" else {})
    return Case(
        name=f"zheng2002/{loss}-loss-rare",
        title=title,
        claims=("Z01", "Z02"),
        tool=ns2_tool.TOOL,
        version=ns2_tool.version,
        parameters=PARAMETERS,
        tables={"rates": Table(keys, VALUES)},
        runs=[
            {"loss": loss, "rule": rule, "packets_per_loss": k, "seed": seed}
            for rule in ns2_loss.RULES
            for k in PLAN[loss]
            for seed in seeds
        ],
        execute=execute,
        command=command,
        sources=(
            f"{ns2_tool.SCRIPTS}/loss.tcl",
            "validation/generate/ns2_tool.py",
            "validation/generate/ns2_loss.py",
            "validation/generate/ns2_rare_loss.py",
        ),
        simulated_seconds=duration,
        notes=NOTES,
    )


CASES = [
    _case("periodic", "rates of TCP(a,b) and TFRC at one periodic loss in 20,000 to 100,000", (0,)),
    _case(
        "independent",
        "rates of TCP(a,b) and TFRC at one independent loss in 20,000 and 100,000",
        (1, 2, 3, 4, 5),
    ),
]
