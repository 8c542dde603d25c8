"""malhotra2005, Sect. III, as a packet simulation in ns-3: the pause tandem with Poisson arrivals.

``ns3/pause.cc`` sends packets through two nodes with finite queues and exponential transmission
times; the second pauses the first. Every parameter set is one run with its own random streams, cut
into equal batches after a warm-up; the half-widths are those of Student's t on the batch means.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import stats

from validation.generate.cases import Case, Column, Rows, Run, Table, call
from validation.generate.ns3_build import compiled, ns3_version

BATCHES = 40
SECONDS = {0.1: 1e5, 1.0: 2e5, 5.0: 1.2e6, 20.0: 3e6}
"""Measured time by RTT, in s, for half-widths of the throughput near 0.3 %."""

MEASURES = {
    "throughput": Column("packets/s", "packets that reached the sink per second"),
    "effective_rate_1": Column("packets/s", "packets that queue 1 accepted per second"),
    "effective_rate_2": Column("packets/s", "packets that queue 2 accepted per second"),
    "loss_rate_1": Column("packets/s", "packets that found queue 1 full, per second"),
    "loss_rate_2": Column("packets/s", "packets that found queue 2 full, per second"),
    "mean_queue_1": Column("packets", "time average of queue 1, packet in transmission included"),
    "mean_queue_2": Column("packets", "time average of queue 2, packet in transmission included"),
    "pause_fraction": Column("1", "fraction of the time in which queue 1 is paused"),
    "pause_rate": Column("1/s", "OFF messages per second (each is followed by one ON message)"),
}
COUNTS = {
    "arrivals": "packets that the source sent",
    "accepted_1": "packets that queue 1 accepted",
    "dropped_1": "packets that found queue 1 full",
    "sent_1": "packets that queue 1 transmitted",
    "accepted_2": "packets that queue 2 accepted",
    "dropped_2": "packets that found queue 2 full",
    "sent_2": "packets that queue 2 transmitted",
    "delivered": "packets that reached the sink",
    "left_1": "packets in queue 1 at the end",
    "left_2": "packets in queue 2 at the end",
}
WHOLE = "; whole run, warm-up included, from an empty network"

TABLE = Table(
    index={
        "arrival_rates": Column("packets/s", "lambda_1 ... lambda_N, separated by spaces"),
        "high_threshold": Column("packets", "T1; 20 = B2 switches the control off"),
        "low_threshold": Column("packets", "T2"),
        "paused_rate": Column("packets/s", "mu2, rate of queue 1 while paused"),
        "rtt_s": Column("s", "mean time between two recoveries of the source"),
        "seed": Column("", "run number of ns-3's random streams"),
    },
    values={
        "levels": Column("1", "N"),
        "arrival_rate_1": Column("packets/s", "lambda_1"),
        "arrival_rate_2": Column("packets/s", "lambda_2"),
        "arrival_rate_3": Column("packets/s", "lambda_3, empty for N = 2"),
        "measured_s": Column("s", "simulated time after the warm-up"),
        **{
            name: part
            for key, column in MEASURES.items()
            for name, part in (
                (key, column),
                (
                    f"{key}_half_width",
                    Column(column.unit, f"half width of the 95 % interval of {key}, batch means"),
                ),
            )
        },
        **{key: Column("packets", meaning + WHOLE) for key, meaning in COUNTS.items()},
    },
)

PARAMETERS = {
    "buffer_1": (10.0, "packets"),
    "buffer_2": (20.0, "packets"),
    "link_rate": (100.0, "packets/s"),
    "bottleneck_rate": (15.0, "packets/s"),
    "propagation_delay": (0.0, "s"),
    "batches": (float(BATCHES), "1"),
    "measured_time": (
        ", ".join(f"{seconds:g} at RTT {rtt:g} s" for rtt, seconds in SECONDS.items()),
        "s",
    ),
    "warmup": ("500 + 100 RTT", "s"),
}

NOTES = (
    (
        "Real packets, nodes, channels and receive paths of ns-3; the send path (queue, "
        "transmission times, pause) is a device of ours, as is the source."
    ),
    (
        "Transmission times are exponential and independent at the two queues. When a pause or "
        "its end changes the rate of queue 1, the work left of its packet goes on at the new "
        "rate; the next arrival is drawn anew when the source changes its rate. Both leave the "
        "chain's law unchanged."
    ),
    (
        "The buffers are B1 and B2 and hold the packet in transmission too; the link rate is mu1, "
        "the bottleneck rate nu."
    ),
    (
        "ON/OFF messages arrive at once and take no capacity. An arrival that takes queue 2 "
        "from T1 to T1 + 1 sends OFF, a departure that takes it from T2 to T2 - 1 sends ON; "
        "with T1 = B2 neither happens. Recovery goes on while paused (rule 13 for all k)."
    ),
    (
        "A packet that queue 1 transmits while queue 2 is full is lost there. Losses at either "
        "queue take the source from a to min(2a, N)."
    ),
    (
        "arrivals = accepted_1 + dropped_1, accepted_1 = sent_1 + left_1, sent_1 = accepted_2 + "
        "dropped_2, accepted_2 = sent_2 + left_2, sent_2 = delivered, exactly."
    ),
    (
        "A half width of 0, or one as large as the value, at a loss rate means that (almost) no "
        "packet was lost in the measured time."
    ),
)


def _warmup(run: Run) -> float:
    return 500.0 + 100.0 * run["rtt"]


def _arguments(run: Run) -> str:
    return (
        f"--rates={','.join(f'{rate:g}' for rate in run['rates'])} --rtt={run['rtt']:g} "
        f"--high={run['high']} --low={run['low']} --paused-rate={run['paused_rate']:g} "
        f"--warmup={_warmup(run):g} --batch={SECONDS[run['rtt']] / BATCHES:g} "
        f"--batches={BATCHES} --seed={run['seed']}"
    )


def simulated_seconds(run: Run) -> float:
    """Add the warm-up to the measured time."""
    return SECONDS[run["rtt"]] + _warmup(run)


def command(run: Run) -> str:
    """Write the call for the record; the executable's real name carries its source's hash."""
    return f"build/data/bin/pause {_arguments(run)}"


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Simulate one parameter set; one row."""
    program = compiled("pause", "core", "network", "point-to-point")
    printed = call(f"{shlex.quote(str(program))} {_arguments(run)}", folder)
    lines = np.array([line.split() for line in printed.splitlines()], dtype=np.float64)
    if lines.shape != (BATCHES + 1, 14):
        msg = f"pause printed a table of shape {lines.shape}"
        raise RuntimeError(msg)
    batch = SECONDS[run["rtt"]] / BATCHES
    columns = {
        "throughput": 11,
        "effective_rate_1": 1,
        "effective_rate_2": 5,
        "loss_rate_1": 2,
        "loss_rate_2": 6,
        "mean_queue_1": 4,
        "mean_queue_2": 8,
        "pause_fraction": 9,
        "pause_rate": 10,
    }
    quantile = stats.t.ppf(0.975, BATCHES - 1)
    row: dict[str, float | int | str | None] = {
        "arrival_rates": " ".join(f"{rate:g}" for rate in run["rates"]),
        "high_threshold": run["high"],
        "low_threshold": run["low"],
        "paused_rate": run["paused_rate"],
        "rtt_s": run["rtt"],
        "seed": run["seed"],
        "levels": len(run["rates"]),
        "measured_s": SECONDS[run["rtt"]],
    }
    for k in range(3):
        row[f"arrival_rate_{k + 1}"] = run["rates"][k] if k < len(run["rates"]) else None
    for name, column in columns.items():
        means = lines[1:, column] / batch
        row[name] = float(means.mean())
        row[f"{name}_half_width"] = float(quantile * means.std(ddof=1) / np.sqrt(BATCHES))
    total = lines.sum(axis=0)
    for name, column in zip(COUNTS, (0, 1, 2, 3, 5, 6, 7, 11), strict=False):
        row[name] = int(total[column])
    row["left_1"], row["left_2"] = int(lines[-1, 12]), int(lines[-1, 13])
    return {"measures": [row]}


def _case(name: str, title: str, claims: tuple[str, ...], runs: list[Run]) -> Case:
    return Case(
        name=f"malhotra2005/{name}",
        title=title,
        claims=claims,
        tool="ns-3",
        version=ns3_version,
        parameters=PARAMETERS,
        tables={"measures": TABLE},
        runs=runs,
        execute=execute,
        command=command,
        sources=(
            "validation/generate/ns3/pause.cc",
            "validation/generate/ns3/pause-device.h",
            "validation/generate/ns3_pause.py",
        ),
        simulated_seconds=simulated_seconds,
        notes=NOTES,
    )


def _run(rates: tuple[float, ...], rtt: float, high: int, low: int, paused_rate: float) -> Run:
    return {"rates": rates, "rtt": rtt, "high": high, "low": low, "paused_rate": paused_rate}


def _seeded(first: int, runs: Iterator[Run]) -> list[Run]:
    return [{**run, "seed": first + k} for k, run in enumerate(runs)]


CASES = (
    _case(
        "pause-thresholds",
        "Pause tandem: T1 = T2 from 2 to B2, four RTTs, two loads with N = 2 and one with N = 3",
        ("M01", "M03", "M04", "M06", "M07"),
        _seeded(
            1001,
            (
                _run(rates, rtt, threshold, threshold, 2.0)
                for rates in ((25.0, 1.0), (50.0, 1.0), (50.0, 25.0, 1.0))
                for rtt in SECONDS
                for threshold in (2, 5, 8, 11, 13, 15, 17, 19, 20)
            ),
        ),
    ),
    _case(
        "pause-low-threshold",
        "Pause tandem: T1 = 15 and T2 from 1 to 15, RTT 1 and 5 s",
        ("M01", "M05"),
        _seeded(
            2001,
            (_run((25.0, 1.0), rtt, 15, low, 2.0) for rtt in (1.0, 5.0) for low in (1, 5, 10, 15)),
        ),
    ),
    _case(
        "pause-off",
        "Pause tandem with T1 = B2: the control is off whatever T2 and mu2 are",
        ("M01", "M02"),
        _seeded(
            3001,
            (
                _run((25.0, 1.0), 1.0, 20, low, rate)
                for low, rate in ((20, 2.0), (5, 2.0), (20, 50.0), (5, 0.5))
            ),
        ),
    ),
)
