"""Rates of TCP(a, b) and TFRC under imposed loss, by ns-2 (zheng2002, Sect. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validation.generate.case_tables import About, Driver, load, tables_of
from validation.generate.cases import Calls, Case, Rows, Run
from validation.generate.outputs import loss_events
from validation.generate.programs import Ns2, pairs
from validation.generate.zheng2002.dumbbell import AB

PROGRAM = Ns2("loss.tcl")
RTT = 0.048
RTO = 4 * RTT
SEEDS = (1, 2, 3, 4, 5)
TABLES = load(__file__)


def options(run: Run) -> dict[str, float | str]:
    """Options of ``loss.tcl``."""
    k, loss, seed = run["packets_per_loss"], run["loss"], run["seed"]
    warm, events = TABLES[loss]["plan"][str(k)]
    phase = 0.7 + 0.1 * seed if loss == "periodic" else 1.0
    chosen: dict[str, float | str] = {
        "loss": loss,
        "k": k,
        "seed": seed,
        "early": round(2.5 * phase * k**0.5),
        "warm": warm,
        "events": events,
    }
    ab = AB.get(run["rule"])
    if ab is None:
        return chosen | {"agent": "Agent/TFRC", "rto": RTO}
    return chosen | {"agent": "Agent/TCP/Sack1", "increase": ab[0], "decrease": 1 - ab[1]}


def calls(run: Run) -> Calls:
    """Return the options of ``loss.tcl`` as words."""
    return [pairs(options(run))]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:
    """Return the row of one rule at one loss rate."""
    words = printed[0].split()
    out = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    times = [float(line.split()[1]) for line in (folder / "drops.txt").read_text().splitlines()]
    measured = [time for time in times if time > out["start"]]
    events = loss_events(measured, RTT)
    ab = AB.get(run["rule"])
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
        "early": options(run)["early"],
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


def duration(run: Run) -> float:
    """Estimate the simulated time of a run by the square-root law (the table has the exact one)."""
    k = run["packets_per_loss"]
    return float((sum(TABLES[run["loss"]]["plan"][str(k)]) + 1) * RTT * (2 * k / 3) ** 0.5)


def a_case(about: About) -> Case:
    """Return the case of some rules under one kind of loss."""
    loss = TABLES[about["loss"]]
    runs = [
        {"loss": about["loss"], "rule": rule, "packets_per_loss": int(k), "seed": seed}
        for rule in about["rules"]
        for k in loss["plan"]
        for seed in SEEDS
    ]
    driver = Driver("zheng2002", PROGRAM, calls, read, duration, TABLES)
    return driver.case({**about, "notes": loss["notes"]}, runs, tables_of(TABLES["tables"], {}))


CASES = [a_case(about) for about in TABLES["cases"]]
