"""Rates of TCP(a, b) and TFRC under imposed loss, by ns-2 (zheng2002, Sect. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.outputs import loss_events
from validation.generate.programs import Ns2, pairs

PROGRAM = Ns2("loss.tcl")
RTT = 0.048
RTO = 4 * RTT
SEEDS = (1, 2, 3, 4, 5)
COMMON = (1000, 500, 200, 100, 50, 33, 20)
# Packets per loss: drops before the measurement (one less), drops in it.
PLAN = {
    "periodic": {100000: (30, 6), 50000: (30, 10), 20000: (30, 25)}
    | {10000: (50, 60), 5000: (50, 120), 2000: (50, 250)}
    | dict.fromkeys(COMMON, (50, 500)),
    "independent": {100000: (15, 30), 50000: (15, 40), 20000: (15, 80)}
    | {10000: (50, 600), 5000: (50, 600), 2000: (50, 1500)}
    | dict.fromkeys(COMMON, (50, 1500)),
}
RULES = {
    "TCP(1,1/2)": (1.0, 0.5),
    "TCP(3/7,1/4)": (3 / 7, 0.25),
    "TCP(1/5,1/8)": (0.2, 0.125),
    "TFRC": None,
}

INDEX = {
    "rule": Column("", "TCP(a,b) or TFRC"),
    "packets_per_loss": Column("packets", "k: one packet in k is dropped, p = 1/k"),
    "seed": Column(
        "1",
        "independent loss: substream of the random number stream; periodic loss: which packet is "
        "dropped first (see early)",
    ),
}
VALUES = {
    "increase": Column("packets", "a: window increase per round trip; empty for TFRC"),
    "decrease": Column("1", "b: part of the window that is given up at a loss; empty for TFRC"),
    "p_nominal": Column("1", "loss rate asked for, 1/k"),
    "early": Column(
        "packets",
        "periodic loss: the packet that is dropped first; independent loss: one over the "
        "probability of a drop until the first one",
    ),
    "start": Column(
        "s",
        "simulated time discarded before the measurement: the first 51 drops; from 20,000 packets "
        "per loss on 31 (periodic) or 16 (independent)",
    ),
    "duration": Column("s", "length of the measurement"),
    "sent": Column("packets", "data packets sent, also those sent again, before the loss"),
    "drops": Column("packets", "of these, dropped"),
    "delivered": Column("packets", "TCP: newly acknowledged; TFRC: sent less dropped"),
    "resent": Column("packets", "data packets sent again by TCP; empty for TFRC"),
    "loss_events": Column(
        "events", "drops that were sent one round-trip time (48 ms) or more after the drop that "
        "began the loss event before; a rate under independent loss has a sampling error of about "
        "0.5 / sqrt(loss_events)"
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
    "drops before the measurement": (
        "51; from 20,000 packets per loss on 31 (periodic) or 16 (independent)",
        "packets",
    ),
    "early": (
        "2.5 sqrt(k); periodic loss: times 0.8 to 1.2 by the seed",
        "packets sent when slow start is ended by a drop",
    ),
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
        "The first cut of TCP(a,b), and cuts in slow start or after a timeout, are 1/2 in ns-2 "
        "whatever b is."
    ),
    (
        "Slow start is ended by a drop at packet 2.5 sqrt(k) (periodic) or with that number's "
        "inverse as probability (independent), so that the window begins near its mean: with "
        "b = 1/8 a deviation of the first window takes eight loss events to fall to a third. Also, "
        "ns-2's TFRC receiver divides by zero when its first loss comes after some 9,000 packets."
    ),
    (
        "Only the reading 1-b of decrease_num_ (the factor that is kept) is run here: the reading b "
        "makes other rules, TCP(3/7,3/4) and TCP(1/5,7/8), which the dumbbells show."
    ),
    "The p that a TFRC receiver reports cannot be read from ns-2 with enough digits.",
    "simulated_seconds is an estimate by the square-root law; the table has the exact times.",
)
LOSS_NOTES = {
    "periodic": (
        (
            "Nothing is random under periodic loss. A seed moves the first drop, to packet 2 to 3 "
            "sqrt(k): what is left of it in the rates is the end effect of the measurement, which "
            "begins and ends at looks 10 ms apart."
        ),
        (
            "A window leaves in bursts that keep their places in the round trip, so that cycles of "
            "TCP lock to halves of round trips: rates move in steps, most visibly at large p. At "
            "p <= 5e-5 a cycle is over 100 round trips long and this no longer matters."
        ),
    ),
    "independent": (
        (
            "A seed gives every rule and loss rate the same random numbers: the measured p deviates "
            "from the nominal one alike for all rules. Compare with the measured p, and rules by "
            "seed."
        ),
    ),
}


def options(run: Run) -> dict[str, float | str]:
    """Options of ``loss.tcl``."""
    k, loss, seed = run["packets_per_loss"], run["loss"], run["seed"]
    warm, events = PLAN[loss][k]
    phase = 0.7 + 0.1 * seed if loss == "periodic" else 1.0
    chosen: dict[str, float | str] = {
        "loss": loss,
        "k": k,
        "seed": seed,
        "early": round(2.5 * phase * k**0.5),
        "warm": warm,
        "events": events,
    }
    ab = RULES[run["rule"]]
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
    return float((sum(PLAN[run["loss"]][k]) + 1) * RTT * (2 * k / 3) ** 0.5)


def _case(name: str, title: str, loss: str, rules: Sequence[str]) -> Case:
    return Case(
        name=f"zheng2002/{name}",
        title=title,
        claims=("Z01", "Z02"),
        program=PROGRAM,
        parameters=PARAMETERS,
        tables={"rates": Table(INDEX, VALUES)},
        runs=[
            {"loss": loss, "rule": rule, "packets_per_loss": k, "seed": seed}
            for rule in rules
            for k in PLAN[loss]
            for seed in SEEDS
        ],
        calls=calls,
        read=read,
        simulated_seconds=duration,
        notes=NOTES + LOSS_NOTES[loss],
    )


CASES = [
    _case(
        "periodic-loss",
        "rates of TCP(a,b) and TFRC when every k-th packet is lost, p from 0.05 to 1e-5",
        "periodic",
        tuple(RULES),
    ),
    *(
        _case(
            f"independent-loss-{name}",
            f"rates of {rule} when packets are lost independently, p from 0.05 to 1e-5",
            "independent",
            (rule,),
        )
        for name, rule in zip(("tcp", "tcp-quarter", "tcp-eighth", "tfrc"), RULES, strict=True)
    ),
]
